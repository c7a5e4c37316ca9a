// What glibc keeps free in its memory, where not every block of it is known: what lay there before is still there, and holds nothing. Walks the chunks of a
// region one after another; what looks like none ends the walk, and the rest counts as held. Layouts of glibc from 2.32 on. Called by roots.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define CHUNK_LEAST 32u
#define WINDOW (1u << 20)
#define HEADS_MOST 4096u // bytes before the first chunk of an arena's region

struct walk {
  struct heap *heap;
  uint64_t start, end; // of the region
  uint8_t *bytes;      // a window of it
  uint64_t from, to;
};

// 0 where nothing can be read: no chunk begins so.
static uint64_t word_at(struct walk *w, uint64_t address) {
  if (address < w->from || address + 8 > w->to) {
    w->from = address & ~(HEAP_PAGE - 1ull);
    uint64_t most = w->end - w->from;
    w->to = w->from + heap_memory_read(&w->heap->memory, w->from, w->bytes, most < WINDOW ? most : WINDOW);
    if (address + 8 > w->to) return 0;
  }
  return *(const uint64_t *)(const void *)(w->bytes + (address - w->from));
}
static bool is_inside(const struct walk *w, uint64_t address) { return address >= w->start && address <= w->end - 32 && address % 16 == 0; }

static uint64_t size_in(const struct walk *w, uint64_t chunk, uint64_t header) {
  uint64_t size = header & ~7ull;
  return size >= CHUNK_LEAST && size % 16 == 0 && size <= w->end - chunk ? size : 0;
}

// 0: no chunk begins there.
static uint64_t size_of(struct walk *w, uint64_t chunk) { return is_inside(w, chunk) ? size_in(w, chunk, word_at(w, chunk + 8)) : 0; }

// In a bin it is told by the chunk behind it. A thread's cache and the fast bins link their chunks by their first word, in which the place itself is mixed:
// nothing that is in use looks so.
static bool is_free(struct walk *w, uint64_t chunk, uint64_t size) {
  uint64_t next = chunk + size;
  if (next + 16 > w->end) return true; // what is left at the end
  if (!(word_at(w, next + 8) & 1)) return word_at(w, next) == size;
  uint64_t place = chunk + 16, link = word_at(w, place) ^ (place >> 12);
  if (!link) return true;
  // A thread's cache leads to the block, and may to another arena's; a fast bin to the chunk. Of the same size both.
  if (link % 16 || link >> 47 || link <= HEAP_PAGE) return false;
  uint64_t block = 0, other = 0;
  heap_memory_word(&w->heap->memory, link - 8, &block);
  heap_memory_word(&w->heap->memory, link + 8, &other);
  return (block & ~7ull) == size || (is_inside(w, link) && (other & ~7ull) == size);
}

// A known block takes all of its chunk: behind what was asked for nothing is the program's. (The last word is the first of the next chunk's.)
static bool is_known(const struct walk *w, uint64_t chunk) {
  uint32_t node = heap_index_find(&w->heap->index, w->heap->blocks, chunk + 16);
  return node != HEAP_NONE && w->heap->blocks[node].address == chunk + 16;
}

static bool leads_to_end(struct walk *w, uint64_t chunk) {
  for (unsigned i = 0; i < 16; i++) {
    uint64_t size = size_of(w, chunk);
    if (!size) return false;
    chunk += size;
    if (chunk + 16 >= w->end) return true;
  }
  return true;
}

// The first chunk: behind the heads of an arena, none of which can be taken for a row of chunks.
static uint64_t first_chunk(struct walk *w) {
  for (uint64_t at = w->start; at < w->start + HEADS_MOST && at + CHUNK_LEAST < w->end; at += 16)
    if (size_of(w, at) && word_at(w, at + 8) & 1 && leads_to_end(w, at)) return at;
  return w->end;
}

void heap_find_free(struct heap *heap, uint64_t start, uint64_t end) {
  // Pages that were never touched read as zeros.
  struct walk w = {.heap = heap, .start = start, .end = end & ~15ull, .bytes = heap_own(WINDOW)};
  if (!w.bytes) {
    heap->error = ENOMEM;
    return;
  }
  uint64_t chunk = w.end > start + 64 ? first_chunk(&w) : w.end, from = chunk;
  for (uint64_t size; chunk + 16 < w.end && (size = size_of(&w, chunk)); chunk += size) {
    if (is_known(&w, chunk) || is_free(&w, chunk, size)) continue;
    // In use and not known: the user's words of it count as held.
    heap_hole(heap, from, chunk + 16);
    from = chunk + size + 8;
  }
  if (chunk > from) heap_hole(heap, from, chunk);
  heap_own_free(w.bytes);
}

#endif
