// Blocks of the allocator that the recorder does not know, and that a variable of the program refers to: the runtime's own memory for names of types that it
// was asked for on our behalf (its cache of names grows then), or from before the recorder's start. What lies in them counts as held. Called by roots.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define BLOCKS_MOST 65536u
#define BYTES_MOST (1u << 20) // of one

struct heap_unknown {
  uint64_t *places; // a set and a list: by hash, and in the order in which they came
  uint64_t *list;
  uint32_t count, done;
};

static bool note(struct heap_unknown *unknown, uint64_t place) {
  size_t mask = 2 * BLOCKS_MOST - 1, at = (place * 0x9e3779b97f4a7c15ull) >> 40 & mask;
  for (; unknown->places[at]; at = (at + 1) & mask)
    if (unknown->places[at] == place) return false;
  unknown->places[at] = place;
  unknown->list[unknown->count++] = place;
  return true;
}

static bool is_allocators(const struct heap *heap, uint64_t place) {
  const struct heap_mapping *mapping = heap_maps_find(&heap->maps, place);
  if (!mapping || !mapping->writable) return false;
  if (mapping->kind == HEAP_MAPPING_ALLOCATOR) return true;
  for (size_t i = 0; i < heap->arena_count; i++)
    if (place >= heap->arenas[i].start && place < heap->arenas[i].end) return true;
  return false;
}

// Where not every block is known, what is free was found (free.c), and is in the list of holes, which is sorted by now.
static bool is_free(const struct heap *heap, uint64_t place) {
  size_t low = 0, high = heap->input->knows_all ? 0 : heap->hole_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (heap->holes[middle].end <= place) low = middle + 1;
    else high = middle;
  }
  return !heap->input->knows_all && low < heap->hole_count && heap->holes[low].start <= place;
}

void heap_note_unknown(struct heap *heap, uint64_t word) {
  if (word % 16 || word >> 47 || word < HEAP_PAGE || (heap->unknown && heap->unknown->count == BLOCKS_MOST) || !is_allocators(heap, word) || is_free(heap, word)) return;
  if (!heap->unknown) {
    struct heap_unknown *made = heap_own_cleared(1, sizeof *made);
    if (made) made->places = heap_own_cleared(2 * BLOCKS_MOST, sizeof *made->places), made->list = heap_own_cleared(BLOCKS_MOST, sizeof *made->list);
    if (!made || !made->places || !made->list) {
      heap->error = ENOMEM;
      heap_own_free(made);
      return;
    }
    heap->unknown = made;
  }
  note(heap->unknown, word);
}

// As glibc describes it in the word before. 0: nothing that could be a block, or another one begins in it.
static uint64_t size_at(struct heap *heap, uint64_t place) {
  uint64_t header;
  if (!heap_memory_word(&heap->memory, place - 8, &header)) return 0;
  uint64_t size = header & ~7ull;
  if (size < 32 || size % 16 || size > BYTES_MOST) return 0;
  size_t low = 0, high = heap->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (heap->blocks[middle].address < place) low = middle + 1;
    else high = middle;
  }
  return low < heap->count && heap->blocks[low].address < place + size - 16 ? 0 : size - 8;
}

void heap_follow_unknown(struct heap *heap) {
  struct heap_unknown *unknown = heap->unknown;
  while (unknown && unknown->done < unknown->count && !heap->error) {
    uint64_t place = unknown->list[unknown->done++], size = size_at(heap, place), word;
    for (uint64_t at = 0; at + 8 <= size; at += 8) {
      if (!heap_memory_word(&heap->memory, place + at, &word)) break;
      if (heap_index_find(&heap->index, heap->blocks, word) != HEAP_NONE) heap_add_root(heap, word, HEAP_ROOT_UNKNOWN, !heap->input->knows_all, place + at, UINT32_MAX);
      else heap_note_unknown(heap, word);
    }
  }
}

void heap_unknown_free(struct heap *heap) {
  if (!heap->unknown) return;
  heap_own_free(heap->unknown->places);
  heap_own_free(heap->unknown->list);
  heap_own_free(heap->unknown);
}

#endif
