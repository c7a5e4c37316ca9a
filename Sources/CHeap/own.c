// Memory of a look at the heap: of its own mappings, which are gone when the look is over. In a program that looks at itself what the program's
// allocator gets back would be its memory again: full of addresses, which the next look would take for references where nothing was written yet.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define CHUNK (1u << 18)
#define LARGE (CHUNK / 8) // has a mapping of its own
#define WIDE (1u << 22)   // comes in pages of 2 MiB, where the system has them: a tenth of the time goes into page faults else

struct chunk {
  _Atomic size_t users; // blocks, and the thread that fills it
  size_t used;
};

struct head {
  size_t size;         // of the block; where it has a mapping of its own: of that
  struct chunk *chunk; // NULL: has one
};
_Static_assert(sizeof(struct head) == 16 && sizeof(struct chunk) == 16, "blocks lie at multiples of 16");

static _Thread_local struct chunk *filled;

static void *map(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void leave(struct chunk *chunk) {
  if (chunk && atomic_fetch_sub(&chunk->users, 1) == 1) munmap(chunk, CHUNK);
}

static size_t whole(size_t size) { return (size + sizeof(struct head) + HEAP_PAGE - 1) & -(size_t)HEAP_PAGE; }

static void *map_large(size_t size) {
  struct head *head = size < SIZE_MAX / 2 ? map(whole(size)) : NULL;
  if (!head) return NULL;
  // All of the mapping: one that is told so in part counts as several, and cannot grow.
  if (whole(size) >= WIDE) madvise(head, whole(size), MADV_HUGEPAGE);
  *head = (struct head){.size = whole(size)};
  return head + 1;
}

void *heap_own(size_t size) {
  if (size >= LARGE) return map_large(size);
  size_t room = (size + 15 + sizeof(struct head)) & ~(size_t)15;
  if (!filled || filled->used + room > CHUNK) {
    leave(filled);
    filled = map(CHUNK);
    if (!filled) return NULL;
    filled->users = 1;
    filled->used = sizeof *filled;
  }
  struct head *head = (struct head *)(void *)((uint8_t *)filled + filled->used);
  filled->used += room;
  atomic_fetch_add(&filled->users, 1);
  *head = (struct head){.size = size, .chunk = filled};
  return head + 1;
}

void *heap_own_cleared(size_t count, size_t size) { // all of it is new
  return size && count > SIZE_MAX / size ? NULL : heap_own(count * size);
}

void *heap_own_larger(void *memory, size_t size) {
  if (!memory) return heap_own(size);
  struct head *head = (struct head *)memory - 1;
  if (!head->chunk && size >= LARGE && size < SIZE_MAX / 2) {
    struct head *moved = mremap(head, head->size, whole(size), MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return NULL;
    if (whole(size) >= WIDE) madvise(moved, whole(size), MADV_HUGEPAGE);
    moved->size = whole(size);
    return moved + 1;
  }
  size_t had = head->chunk ? head->size : head->size - sizeof *head;
  if (size <= had) return memory;
  void *larger = heap_own(size);
  if (!larger) return NULL;
  memcpy(larger, memory, had);
  heap_own_free(memory);
  return larger;
}

char *heap_own_text(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = heap_own(size);
  return copy ? memcpy(copy, text, size) : NULL;
}

void heap_own_free(void *memory) {
  if (!memory) return;
  struct head *head = (struct head *)memory - 1;
  if (head->chunk) leave(head->chunk);
  else munmap(head, head->size);
}

void heap_own_end(void) {
  leave(filled);
  filled = NULL;
}

// ---- Sorting ----------------------------------------------------------------------------------------------------------------------
// In place: the library's function takes memory for it.

static void exchange(uint8_t *a, uint8_t *b, size_t size) {
  for (size_t i = 0; i < size; i++) {
    uint8_t byte = a[i];
    a[i] = b[i];
    b[i] = byte;
  }
}

static void sink(uint8_t *items, size_t at, size_t count, size_t size, int (*compare)(const void *, const void *)) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && compare(items + child * size, items + (child + 1) * size) < 0) child++;
    if (compare(items + at * size, items + child * size) >= 0) return;
    exchange(items + at * size, items + child * size, size);
  }
}

void heap_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *)) {
  for (size_t at = count / 2; at-- > 0;) sink(items, at, count, size, compare);
  for (size_t last = count; last-- > 1;) {
    exchange(items, (uint8_t *)items + last * size, size);
    sink(items, 0, last, size, compare);
  }
}

#endif
