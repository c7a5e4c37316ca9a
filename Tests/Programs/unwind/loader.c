// dlopen and dlclose in turn, of two libraries that come to lie at the same address, while three threads allocate.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int over;
static void *volatile sink;
static __attribute__((noinline)) int busy(int depth) {
  void *block = malloc((size_t)depth + 1);
  sink = block;
  free(block);
  int result = depth ? busy(depth - 1) + 1 : 0;
  __asm__ volatile("" ::: "memory");
  return result;
}
static void *thread(void *argument) {
  while (!over) busy(12);
  return argument;
}

int main(int count, char **paths) {
  unsigned long first = 0;
  int reused = 0;
  if (count < 3) return 64;
  pthread_t ids[3];
  for (int i = 0; i < 3; i++) pthread_create(&ids[i], NULL, thread, NULL);
  for (int round = 0; round < 20; round++) {
    void *library = dlopen(paths[1 + round % 2], RTLD_NOW);
    if (!library) return 1;
    void (*enter)(int) = (void (*)(int))dlsym(library, "enter");
    unsigned long base = ((struct link_map *)library)->l_addr;
    if (!first) first = base;
    else reused += base == first;
    enter(5);
    dlclose(library);
  }
  over = 1;
  for (int i = 0; i < 3; i++) pthread_join(ids[i], NULL);
  printf("reused %d\n", reused);
  return 0;
}
