// Which block an address lies in: a table of the first block of every 512 bytes, below a table of GiBs. See heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

static int by_address(const void *a, const void *b) {
  uint64_t left = ((const struct heap_block *)a)->address, right = ((const struct heap_block *)b)->address;
  return left < right ? -1 : left > right;
}

// In pieces of 2 MiB of address space, which fit into the processor's caches, each then by two parts of the address: the way through all of the list is
// the dear one, with 10 million blocks it is 320 MB. A sort by four parts of the address took twice as long, qsort eight times.
#define PIECE_LOG2 21u
#define LOW_LOG2 9u
#define LOW_SHIFT 4u
#define PIECES_OF_LEAF (1u << (HEAP_LEAF_LOG2 - PIECE_LOG2))

static void sort_by(const struct heap_block *from, struct heap_block *to, size_t count, unsigned shift) {
  uint32_t places[1u << LOW_LOG2] = {0}, sum = 0;
  for (size_t i = 0; i < count; i++) places[from[i].address >> shift & ((1u << LOW_LOG2) - 1)]++;
  for (size_t i = 0; i < 1u << LOW_LOG2; i++) {
    uint32_t here = places[i];
    places[i] = sum;
    sum += here;
  }
  for (size_t i = 0; i < count; i++) to[places[from[i].address >> shift & ((1u << LOW_LOG2) - 1)]++] = from[i];
}

struct pieces {
  uint32_t *leaves; // by GiB: its number among those that hold blocks
  size_t *ends;     // by piece: where its next block goes
  size_t count;
  struct heap_block *blocks; // all by piece
};

static uint64_t leaf_of(uint64_t address) { return address >> HEAP_LEAF_LOG2 & (HEAP_TOP - 1); }
static size_t piece_of(const struct pieces *pieces, uint64_t address) {
  return (size_t)pieces->leaves[leaf_of(address)] * PIECES_OF_LEAF + (address >> PIECE_LOG2 & (PIECES_OF_LEAF - 1));
}

// The greatest of them; 0: no memory.
static size_t into_pieces(struct pieces *pieces, const struct heap_block *blocks, size_t count) {
  size_t largest = 0, sum = 0;
  uint32_t used = 0;
  pieces->leaves = heap_own_cleared(HEAP_TOP, sizeof *pieces->leaves);
  if (!pieces->leaves) return 0;
  for (size_t i = 0; i < count; i++) pieces->leaves[leaf_of(blocks[i].address)] = 1;
  for (size_t i = 0; i < HEAP_TOP; i++)
    if (pieces->leaves[i]) pieces->leaves[i] = used++;
  pieces->count = (size_t)used * PIECES_OF_LEAF;
  pieces->ends = heap_own_cleared(pieces->count, sizeof *pieces->ends);
  pieces->blocks = heap_own(count * sizeof *blocks);
  if (!pieces->ends || !pieces->blocks) return 0;
  for (size_t i = 0; i < count; i++) pieces->ends[piece_of(pieces, blocks[i].address)]++;
  for (size_t i = 0; i < pieces->count; i++) {
    size_t here = pieces->ends[i];
    if (here > largest) largest = here;
    pieces->ends[i] = sum;
    sum += here;
  }
  for (size_t i = 0; i < count; i++) pieces->blocks[pieces->ends[piece_of(pieces, blocks[i].address)]++] = blocks[i];
  return largest;
}

static bool sort(struct heap_block *blocks, size_t count) {
  if (count < 4096) {
    heap_sort(blocks, count, sizeof *blocks, by_address);
    return true;
  }
  struct pieces pieces = {0};
  size_t largest = into_pieces(&pieces, blocks, count), begin = 0;
  struct heap_block *half = largest ? heap_own(largest * sizeof *half) : NULL;
  for (size_t i = 0; half && i < pieces.count; begin = pieces.ends[i++]) {
    size_t length = pieces.ends[i] - begin;
    if (!length) continue;
    sort_by(pieces.blocks + begin, half, length, LOW_SHIFT);
    sort_by(half, blocks + begin, length, LOW_SHIFT + LOW_LOG2);
  }
  heap_own_free(pieces.leaves);
  heap_own_free(pieces.ends);
  heap_own_free(pieces.blocks);
  heap_own_free(half);
  return half != NULL;
}

#define LEAF_GRAINS (1u << (HEAP_LEAF_LOG2 - HEAP_GRAIN_LOG2))

static bool mark_grains(struct heap_index *index, uint32_t number, uint64_t address, uint64_t size) {
  for (uint64_t grain = address >> HEAP_GRAIN_LOG2; grain <= (address + (size ? size - 1 : 0)) >> HEAP_GRAIN_LOG2; grain++) {
    uint64_t top = grain >> (HEAP_LEAF_LOG2 - HEAP_GRAIN_LOG2);
    if (top >= HEAP_TOP) return true;
    if (!index->leaves[top]) index->leaves[top] = heap_own_cleared(LEAF_GRAINS, sizeof(uint32_t));
    if (!index->leaves[top]) return false;
    uint32_t *place = &index->leaves[top][grain & (LEAF_GRAINS - 1)];
    if (!*place) *place = number + 1;
  }
  return true;
}

bool heap_index_make(struct heap_index *index, struct heap_block *blocks, size_t count) {
  *index = (struct heap_index){.count = count};
  index->addresses = heap_own((count + 1) * sizeof(uint64_t));
  index->leaves = heap_own_cleared(HEAP_TOP, sizeof *index->leaves);
  if (!index->addresses || !index->leaves || count >= UINT32_MAX || !sort(blocks, count)) return false;
  for (size_t i = 0; i < count; i++) {
    index->addresses[i] = blocks[i].address;
    if (!mark_grains(index, (uint32_t)i, blocks[i].address, blocks[i].size)) return false;
  }
  return true;
}

void heap_index_free(struct heap_index *index) {
  heap_own_free(index->addresses);
  for (size_t i = 0; index->leaves && i < HEAP_TOP; i++) heap_own_free(index->leaves[i]);
  heap_own_free(index->leaves);
}

#endif
