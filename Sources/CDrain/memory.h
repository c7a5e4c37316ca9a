// Memory of the drain: pages by mmap, growing byte arrays and an index from pairs of words to numbers. Used by all of
// CDrain.
#ifndef DRAIN_MEMORY_H
#define DRAIN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed pages, NULL when there are none.
void *drain_pages(size_t bytes);
void drain_pages_free(void *pages, size_t bytes);

struct drain_bytes {
  uint8_t *data;
  size_t used, room;
};
// Makes room for `more` bytes behind `used`; new bytes are zero as long as nothing was taken back. False: no memory,
// unchanged.
bool drain_reserve_more(struct drain_bytes *bytes, size_t more);
static inline bool drain_reserve(struct drain_bytes *bytes, size_t more) {
  return bytes->room - bytes->used >= more || drain_reserve_more(bytes, more);
}
bool drain_append(struct drain_bytes *bytes, const void *data, size_t length);
void drain_bytes_free(struct drain_bytes *bytes);

// Numbers pairs of words in the order in which they come.
struct drain_index_slot {
  uint64_t a, b;
  uint32_t number, used;
};
struct drain_index {
  struct drain_index_slot *slots;
  uint64_t mask;
  uint32_t count;
};
bool drain_index_create(struct drain_index *index);
void drain_index_destroy(struct drain_index *index);
static inline uint64_t drain_index_hash(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b * 0x9e3779b97f4a7c15ull)) * 0xd6e8feb86659fd93ull;
  return h ^ (h >> 32);
}
static inline uint32_t drain_index_find(const struct drain_index *index, uint64_t a, uint64_t b) { // UINT32_MAX: not in it
  for (uint64_t at = drain_index_hash(a, b) & index->mask; index->slots[at].used; at = (at + 1) & index->mask) {
    if (index->slots[at].a == a && index->slots[at].b == b) return index->slots[at].number;
  }
  return UINT32_MAX;
}
// The pair's number; a new pair gets the next one while there are less than `limit`. UINT32_MAX: no memory, or the
// limit.
uint32_t drain_index_add(struct drain_index *index, uint64_t a, uint64_t b, uint32_t limit);

#endif
