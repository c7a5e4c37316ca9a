// Calls the whole malloc family, also where it fails, and says what lives by bucket of sizes: "EXPECT NAME TOTAL LIVING".
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[64];
static int count;

static void *keep(void *block, int with) {
  printf("%d usable %zu aligned %d errno %d\n", count, malloc_usable_size(block), (int)((uintptr_t)block % 64 % 16), errno);
  if (with) kept[count++] = block;
  return block;
}

int main(void) {
  void (*volatile give_back)(void *) = free; // its address is taken
  volatile size_t huge = PTRDIFF_MAX;
  for (int i = 0; i < 7; i++) {
    void *block = keep(malloc(5001), i < 3);
    if (i >= 3) give_back(block);
  }
  puts("EXPECT malloc 5 KiB 7 3");
  keep(calloc(3, 2003), 1);
  puts("EXPECT malloc 6 KiB 1 1");
  void *grown = realloc(NULL, 100);
  for (int size = 200; size <= 9001; size += 1100) grown = realloc(grown, (size_t)size);
  keep(realloc(grown, 9001), 1);
  puts("EXPECT malloc 10 KiB 1 1");
  void *aligned = NULL;
  printf("posix_memalign %d\n", posix_memalign(&aligned, 64, 7001));
  keep(aligned, 1);
  printf("posix_memalign %d\n", posix_memalign(&aligned, 3, 7001)); // no power of two: the pointer stays
  printf("same %d\n", aligned == kept[count - 1]);
  puts("EXPECT malloc 7 KiB 1 1");
  keep(aligned_alloc(4096, 12288), 1);
  puts("EXPECT malloc 12 KiB 1 1");
  keep(memalign(32, 13001), 1);
  puts("EXPECT malloc 14 KiB 1 1");
  keep(valloc(15001), 1);
  puts("EXPECT malloc 16 KiB 1 1");
  keep(pvalloc(17001), 1);
  puts("EXPECT malloc 20 KiB 1 1");
  keep(reallocarray(NULL, 3, 7001), 1);
  puts("EXPECT malloc 24 KiB 1 1");
  void *stays = keep(malloc(25001), 1);
  memset(stays, 'x', 25001);
  errno = 0;
  printf("realloc %d errno %d\n", realloc(stays, huge) == NULL, errno);
  errno = 0;
  printf("reallocarray %d errno %d\n", reallocarray(stays, huge, huge) == NULL, errno);
  printf("untouched %c\n", ((char *)stays)[25000]);
  puts("EXPECT malloc 28 KiB 1 1");
  void *volatile given = malloc(29001); // volatile: or the compiler makes nothing of both calls
  printf("realloc to 0 %d\n", realloc(given, 0) == NULL);
  puts("EXPECT malloc 32 KiB 1 0");
  errno = 0;
  printf("malloc %d errno %d\n", malloc(huge) == NULL, errno);
  printf("calloc %d errno %d\n", calloc(huge, huge) == NULL, errno);
  errno = 7;
  free(NULL);
  free(malloc(0));
  printf("errno %d\n", errno);
  char *text = strdup("a text whose copy comes from the C library, which calls the program's malloc as anybody does");
  puts(text);
  fflush(stdout);
  return 0;
}
