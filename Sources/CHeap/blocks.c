// Which block an address lies in: a table of the first block of every 512 bytes, below a table of GiBs. See heap.h.
#include "heap.h"

static int by_address(const void *a, const void *b) {
  uint64_t left = ((const struct heap_block *)a)->address, right = ((const struct heap_block *)b)->address;
  return left < right ? -1 : left > right;
}

// By byte of the address, lowest first: 10 million in a second, where qsort takes four.
static bool sort(struct heap_block *blocks, size_t count) {
  if (count < 4096) {
    qsort(blocks, count, sizeof *blocks, by_address);
    return true;
  }
  struct heap_block *other = malloc(count * sizeof *blocks), *from = blocks, *to = other;
  if (!other) return false;
  for (unsigned shift = 4; shift < 48; shift += 11) {
    size_t counts[2048] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++) counts[from[i].address >> shift & 2047]++;
    for (size_t i = 0; i < 2048; i++) {
      size_t here = counts[i];
      counts[i] = sum;
      sum += here;
    }
    for (size_t i = 0; i < count; i++) to[counts[from[i].address >> shift & 2047]++] = from[i];
    struct heap_block *swap = from;
    from = to;
    to = swap;
  }
  if (from != blocks) memcpy(blocks, from, count * sizeof *blocks);
  free(other);
  return true;
}

static bool mark_grains(struct heap_index *index, uint32_t number, uint64_t address, uint64_t size) {
  for (uint64_t grain = address >> HEAP_GRAIN_LOG2; grain <= (address + (size ? size - 1 : 0)) >> HEAP_GRAIN_LOG2; grain++) {
    uint64_t top = grain >> (HEAP_LEAF_LOG2 - HEAP_GRAIN_LOG2);
    if (top >= HEAP_TOP) return true;
    if (!index->leaves[top]) index->leaves[top] = calloc(1u << (HEAP_LEAF_LOG2 - HEAP_GRAIN_LOG2), sizeof(uint32_t));
    if (!index->leaves[top]) return false;
    uint32_t *place = &index->leaves[top][grain & ((1u << (HEAP_LEAF_LOG2 - HEAP_GRAIN_LOG2)) - 1)];
    if (!*place) *place = number + 1;
  }
  return true;
}

bool heap_index_make(struct heap_index *index, struct heap_block *blocks, size_t count) {
  *index = (struct heap_index){.count = count};
  index->addresses = malloc((count + 1) * sizeof(uint64_t));
  index->leaves = calloc(HEAP_TOP, sizeof *index->leaves);
  if (!index->addresses || !index->leaves || count >= UINT32_MAX || !sort(blocks, count)) return false;
  for (size_t i = 0; i < count; i++) {
    index->addresses[i] = blocks[i].address;
    if (!mark_grains(index, (uint32_t)i, blocks[i].address, blocks[i].size)) return false;
  }
  return true;
}

void heap_index_free(struct heap_index *index) {
  free(index->addresses);
  for (size_t i = 0; index->leaves && i < HEAP_TOP; i++) free(index->leaves[i]);
  free(index->leaves);
}
