// References of type Unmanaged: whether they hold is nothing that their type tells. Called by scan.c when all edges are known.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define EXTRA_BITS 30u // of the count word: strong references less one, above the bit that says "deinitialising"
#define EXTRA_SHIFT 33u
#define IS_SLOW (1ull << 63)
#define SIDE_TABLE_COUNTS 16u

bool heap_strong_count(struct heap *heap, uint32_t node, uint64_t *count) {
  const struct heap_block *block = &heap->blocks[node];
  uint64_t word;
  if (heap_type_of(heap, node)->kind == HEAP_KIND_MALLOC || block->size < 16) return false;
  if (!heap_memory_word(&heap->memory, block->address + 8, &word) || (uint32_t)word == UINT32_MAX) return false;
  if (word >> 62 == 3 && !heap_memory_word(&heap->memory, (word << 3) + SIDE_TABLE_COUNTS, &word)) return false;
  if (word & IS_SLOW) return false;
  *count = (word >> EXTRA_SHIFT & ((1ull << EXTRA_BITS) - 1)) + 1;
  return true;
}

// Those that are known to count. Words of unknown layout may be none.
static uint32_t *count_strong_edges(struct heap *heap) {
  uint32_t *counts = heap_own_cleared(heap->count + 1, sizeof *counts);
  for (uint64_t i = 0; counts && i < heap->edge_count; i++)
    if (heap->edges[i].strength == HEAP_STRONG) counts[heap->edges[i].target]++;
  return counts;
}

void heap_settle_unmanaged(struct heap *heap) {
  uint32_t *counts = NULL;
  for (uint64_t i = 0; i < heap->edge_count; i++) {
    struct heap_edge *edge = &heap->edges[i];
    if (edge->strength != HEAP_PERHAPS) continue;
    if (!counts && !(counts = count_strong_edges(heap))) {
      heap->error = ENOMEM;
      return;
    }
    uint64_t counted;
    // Somebody has retained it by hand, and this may be the one.
    bool holds = !heap_strong_count(heap, edge->target, &counted) || counted > counts[edge->target];
    edge->strength = holds ? HEAP_CONSERVATIVE : HEAP_UNMANAGED;
  }
  heap_own_free(counts);
}

#endif
