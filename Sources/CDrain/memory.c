// Memory of the drain: pages by mmap, growing byte arrays, an index. Used by all of CDrain. Never malloc: in the linked
// door the drain may run below a hook of malloc itself.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <sys/mman.h>

// What is ours, for who must tell it from the program's memory: it is full of addresses of the program's objects.
#define OWN_MOST 1024u
static _Atomic uint64_t own_starts[OWN_MOST], own_ends[OWN_MOST]; // start 0: free, 1: being filled
static _Atomic uint32_t own_limit;                                // none is used from here on

static void own_add(const void *pages, size_t bytes) {
  for (uint32_t i = 0; i < OWN_MOST; i++) {
    uint64_t free_one = 0;
    if (!atomic_compare_exchange_strong(&own_starts[i], &free_one, 1)) continue;
    atomic_store(&own_ends[i], (uint64_t)(uintptr_t)pages + bytes);
    atomic_store(&own_starts[i], (uint64_t)(uintptr_t)pages);
    uint32_t limit = atomic_load(&own_limit);
    while (limit <= i && !atomic_compare_exchange_weak(&own_limit, &limit, i + 1)) {}
    return;
  }
}

static void own_remove(const void *pages) {
  for (uint32_t i = 0; i < atomic_load(&own_limit); i++) {
    if (atomic_load(&own_starts[i]) != (uint64_t)(uintptr_t)pages) continue;
    atomic_store(&own_starts[i], 0);
    return;
  }
}

bool lifespan_drain_own(uint32_t index, uint64_t *start, uint64_t *end) {
  if (index >= atomic_load(&own_limit)) return false;
  *start = atomic_load(&own_starts[index]);
  *end = *start > 1 ? atomic_load(&own_ends[index]) : *start;
  return true;
}

void *drain_pages(size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  own_add(pages, bytes);
  return pages;
}

void drain_pages_free(void *pages, size_t bytes) {
  if (!pages) return;
  own_remove(pages);
  munmap(pages, bytes);
}

bool drain_reserve_more(struct drain_bytes *bytes, size_t more) {
  if (more > SIZE_MAX / 4 || bytes->used > SIZE_MAX / 4) return false;
  size_t need = bytes->used + more, room = bytes->room ? bytes->room : 16384;
  while (room < need) room *= 2;
  void *data = bytes->data ? mremap(bytes->data, bytes->room, room, MREMAP_MAYMOVE) : drain_pages(room);
  if (!data || data == MAP_FAILED) return false;
  if (bytes->data) {
    own_remove(bytes->data);
    own_add(data, room);
  }
  bytes->data = data;
  bytes->room = room;
  return true;
}

bool drain_append(struct drain_bytes *bytes, const void *data, size_t length) {
  if (!drain_reserve(bytes, length)) return false;
  if (length) memcpy(bytes->data + bytes->used, data, length);
  bytes->used += length;
  return true;
}

void drain_bytes_free(struct drain_bytes *bytes) {
  drain_pages_free(bytes->data, bytes->room);
  *bytes = (struct drain_bytes){0};
}

bool drain_index_create(struct drain_index *index) {
  index->count = 0;
  index->mask = 1023;
  index->slots = drain_pages((index->mask + 1) * sizeof(*index->slots));
  return index->slots;
}

void drain_index_destroy(struct drain_index *index) {
  if (index->slots) drain_pages_free(index->slots, (index->mask + 1) * sizeof(*index->slots));
  index->slots = NULL;
}

static bool index_double(struct drain_index *index) {
  uint64_t mask = index->mask * 2 + 1;
  struct drain_index_slot *slots = drain_pages((mask + 1) * sizeof(*slots));
  if (!slots) return false;
  for (uint64_t i = 0; i <= index->mask; i++) {
    const struct drain_index_slot *old = &index->slots[i];
    if (!old->used) continue;
    uint64_t at = drain_index_hash(old->a, old->b) & mask;
    while (slots[at].used) at = (at + 1) & mask;
    slots[at] = *old;
  }
  drain_index_destroy(index);
  index->slots = slots;
  index->mask = mask;
  return true;
}

uint32_t drain_index_add(struct drain_index *index, uint64_t a, uint64_t b, uint32_t limit) {
  uint64_t at = drain_index_hash(a, b) & index->mask;
  for (; index->slots[at].used; at = (at + 1) & index->mask) {
    if (index->slots[at].a == a && index->slots[at].b == b) return index->slots[at].number;
  }
  if (index->count >= limit) return UINT32_MAX;
  if ((uint64_t)index->count * 2 > index->mask) {
    if (!index_double(index)) return UINT32_MAX;
    at = drain_index_hash(a, b) & index->mask;
    while (index->slots[at].used) at = (at + 1) & index->mask;
  }
  index->slots[at] = (struct drain_index_slot){a, b, index->count, 1};
  return index->count++;
}

#endif
