// An allocator of its own, linked into the executable: one size class for each power of two, whose calloc and realloc come to its own malloc, and whose
// memory comes from mmap. Says what lives by bucket of sizes: "EXPECT NAME TOTAL LIVING".
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifdef HIDDEN // shared libraries go on with the C library's
#define OWN __attribute__((visibility("hidden"), noinline))
#else
#define OWN __attribute__((noinline))
#endif

struct block {
  struct block *next;
  size_t size;
};
static struct block *unused[48];
static char *room, *room_end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned class_of(size_t size) { return size <= 16 ? 4 : 64 - (unsigned)__builtin_clzll(size - 1); }

OWN void *malloc(size_t size) {
  if (size > (1ul << 40)) return errno = ENOMEM, NULL;
  unsigned class = class_of(size);
  pthread_mutex_lock(&lock);
  struct block *block = unused[class];
  if (block) {
    unused[class] = block->next;
  } else {
    size_t bytes = (1ul << class) + sizeof *block;
    if ((size_t)(room_end - room) < bytes) {
      size_t more = (bytes + (1ul << 20)) & ~4095ul;
      room = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      room_end = room + more;
    }
    block = (struct block *)room;
    room += bytes;
  }
  block->size = size;
  pthread_mutex_unlock(&lock);
  return block + 1;
}

OWN void free(void *address) {
  if (!address) return;
  struct block *block = (struct block *)address - 1;
  unsigned class = class_of(block->size);
  pthread_mutex_lock(&lock);
  block->next = unused[class];
  unused[class] = block;
  pthread_mutex_unlock(&lock);
}

OWN void *calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return errno = ENOMEM, NULL;
  void *block = malloc(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

OWN void *realloc(void *address, size_t size) {
  if (!address) return malloc(size);
  size_t before = ((struct block *)address - 1)->size;
  void *moved = malloc(size);
  if (!moved) return NULL;
  memcpy(moved, address, before < size ? before : size);
  free(address);
  return moved;
}

OWN int posix_memalign(void **out, size_t alignment, size_t size) {
  if (alignment > 16) return EINVAL;
  return (*out = malloc(size)) ? 0 : ENOMEM;
}

// ---- The program ------------------------------------------------------------------------------------------------------------

static void *volatile kept[64];
static int count;

static void *work(void *unused_argument) {
  (void)unused_argument;
  for (int i = 0; i < 20000; i++) {
    void *volatile block = malloc(40001);
    free(block);
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < 7; i++) {
    void *volatile block = malloc(5001);
    if (i < 3) kept[count++] = block;
    else free(block);
  }
  puts("EXPECT malloc 5 KiB 7 3");
  kept[count++] = calloc(3, 2003);
  puts("EXPECT malloc 6 KiB 1 1");
  void *volatile grown = realloc(NULL, 100);
  for (size_t size = 200; size <= 9001; size += 1100) grown = realloc(grown, size);
  kept[count++] = realloc(grown, 9001);
  puts("EXPECT malloc 10 KiB 1 1");
  void *aligned;
  if (!posix_memalign(&aligned, 16, 7001)) kept[count++] = aligned;
  puts("EXPECT malloc 7 KiB 1 1");
  void *volatile stays = malloc(25001);
  kept[count++] = stays;
  printf("realloc %d\n", realloc(stays, 1ul << 50) == NULL);
  puts("EXPECT malloc 28 KiB 1 1");
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  puts("EXPECT malloc 40 KiB 80000 0");
  fflush(stdout);
  return 0;
}
