// C alone, without a Swift runtime: allocates, prints, and on request writes beyond a block, races.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared;
static void *race(void *block) {
  shared++;
  free(block);
  return NULL;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  char *block = malloc(100);
  memset(block, 'x', 100);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, race, malloc(50));
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  if (!strcmp(what, "beyond")) block[argc + 98] = 1; // argc is 2
  printf("%.3s\n", block);
  free(block);
  return 3;
}
