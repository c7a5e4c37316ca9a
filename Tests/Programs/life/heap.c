// An allocator that signal handlers may use at any moment, in place of libc's: so a handler that allocates while it
// interrupts an allocation is legal, also in a hook of the recorder. Blocks are never used again, each lies behind its size.
// Linked into the programs that need it.
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROOM (1u << 30)
static char room[ROOM] __attribute__((aligned(4096)));
static atomic_size_t used, freed;

static void *take(size_t alignment, size_t size) {
  if (alignment < 16) alignment = 16;
  size_t bytes = ((size + 15) & ~(size_t)15) + alignment + 16;
  if (bytes < size) return errno = ENOMEM, NULL;
  size_t at = atomic_fetch_add(&used, bytes);
  if (at + bytes > ROOM) return errno = ENOMEM, NULL;
  uintptr_t block = ((uintptr_t)&room[at] + 16 + alignment - 1) & ~(alignment - 1);
  ((size_t *)block)[-1] = size;
  return (void *)block;
}

void *malloc(size_t size) { return take(16, size); }
void free(void *block) { if (block) atomic_fetch_add(&freed, 1); }
void *calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return errno = ENOMEM, NULL;
  return take(16, bytes); // fresh memory is zero
}
size_t malloc_usable_size(void *block) { return block ? ((size_t *)block)[-1] : 0; }
void *realloc(void *block, size_t size) {
  void *fresh = take(16, size);
  size_t old = malloc_usable_size(block);
  if (fresh && block) memcpy(fresh, block, old < size ? old : size);
  return fresh;
}
void *memalign(size_t alignment, size_t size) { return take(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) { return (*block = take(alignment, size)) ? 0 : ENOMEM; }
