// The heap as the drain knows it: sums of what lives, and in which parts of the address space blocks have ever lain. Kept by apply.c, read by
// sample.c, which counts the resident pages there.
//
// A part is a granule of 64 KiB: a bit in a leaf of 4 GiB. Nothing is ever taken out: memory that was given back to the system has no pages.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define ALL_ONES (~0ull)

bool drain_heap_create(struct drain_heap *heap) {
  heap->leaves = drain_pages(DRAIN_HEAP_LEAVES * sizeof(*heap->leaves));
  return heap->leaves;
}

void drain_heap_destroy(struct drain_heap *heap) {
  if (!heap->leaves) return;
  for (uint32_t i = 0; i < DRAIN_HEAP_LEAVES; i++) drain_pages_free(heap->leaves[i], DRAIN_HEAP_LEAF_BYTES);
  drain_pages_free(heap->leaves, DRAIN_HEAP_LEAVES * sizeof(*heap->leaves));
}

static uint64_t *heap_leaf(struct drain_heap *heap, uint64_t granule) {
  uint64_t **leaf = &heap->leaves[granule / DRAIN_HEAP_LEAF_GRANULES];
  if (!*leaf) *leaf = drain_pages(DRAIN_HEAP_LEAF_BYTES);
  return *leaf;
}

// [first, last], word by word: a block may be as large as memory. What there is no memory for is not counted.
static void heap_touch(struct drain_heap *heap, uint64_t first, uint64_t last) {
  for (uint64_t granule = first; granule <= last;) {
    uint64_t *leaf = heap_leaf(heap, granule);
    uint64_t bit = granule % 64, left = last - granule + 1, count = 64 - bit < left ? 64 - bit : left;
    uint64_t mask = (count == 64 ? ALL_ONES : (1ull << count) - 1) << bit;
    if (leaf) leaf[granule % DRAIN_HEAP_LEAF_GRANULES / 64] |= mask;
    granule += count;
  }
}

void drain_heap_lies(struct drain_heap *heap, uint64_t address, uint64_t size) {
  if (!heap->leaves) return;
  uint64_t first = address >> DRAIN_HEAP_GRANULE_LOG2, last = (address + (size ? size - 1 : 0)) >> DRAIN_HEAP_GRANULE_LOG2;
  if (last >= DRAIN_HEAP_LEAVES * DRAIN_HEAP_LEAF_GRANULES || size > DRAIN_HEAP_LARGEST) return; // no address of a program
  heap->last = last;
  heap_touch(heap, first, last);
}

#endif
