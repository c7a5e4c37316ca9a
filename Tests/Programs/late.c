// A program without a Swift runtime that loads a library written in Swift while it runs, with threads or without.
//   late LIBRARY COUNT THREADS      prints how many objects the library keeps
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic int stop, running;
static void *volatile sink;

static void *churn(void *unused) {
  running++;
  while (!stop) {
    void *volatile mine = malloc(48);
    free(mine);
  }
  return unused;
}

int main(int count, char **words) {
  char *kept[10];
  for (int i = 0; i < 10; i++) sink = kept[i] = malloc(3000 + i);
  int threads = count > 3 ? atoi(words[3]) : 0;
  pthread_t thread[8];
  for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, churn, NULL);
  while (running < threads) {}
  void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return fputs(dlerror(), stderr), 1;
  int (*make)(int) = (int (*)(int))dlsym(library, "make_nodes");
  printf("%d\n", make(atoi(words[2])));
  stop = 1;
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < 5; i++) free(kept[i]);
  return 7;
}
