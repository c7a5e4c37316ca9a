// Two libraries from one file (-DFRAME=n): the same size and symbols, other frames. Loaded one after the other they
// lie at the same address.
#include <stdlib.h>
#include <string.h>

static void *volatile sink;
__attribute__((noinline)) static void inner(int n) {
  volatile char room[FRAME];
  room[0] = (char)n;
  sink = malloc(24);
  free(sink);
  if (n) inner(n - 1);
  room[1] = room[0];
}
void enter(int n) { inner(n); }
__attribute__((constructor)) static void start(void) { inner(2); }
