// Where the heap lies, and the samples of it that go into the trace: what the drain keeps of them, and heap.c's and sample.c's
// functions. Included by drain.h.
#ifndef DRAIN_SAMPLE_H
#define DRAIN_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct lifespan_drain;
struct drain_object;

#define DRAIN_HEAP_GRANULE_LOG2 16u
#define DRAIN_HEAP_LEAF_GRANULES 65536ull // 4 GiB
#define DRAIN_HEAP_LEAF_BYTES (DRAIN_HEAP_LEAF_GRANULES / 8)
#define DRAIN_HEAP_LEAVES 32768u // 128 TiB
#define DRAIN_HEAP_LARGEST (1ull << 40) // a larger block is nobody's

#define DRAIN_PAGES_AT_ONCE 4096u

struct drain_heap {
  uint64_t count, bytes, footprint; // of what lives: as asked for, and as glibc hands it out
  uint64_t **leaves;                // NULL: nobody wants to know where
  uint64_t last;                    // granule
};

struct drain_sample { // the one under way, or the last one
  bool running;
  int file; // pagemap, -1 not to be had
  unsigned flags, wanted; // wanted: flags of one that comes as soon as this one is done, 0 none
  uint64_t stamp, resident, anonymous, swapped, present, away; // the last two in pages
  uint64_t living_count, living_bytes, living_footprint;
  uint64_t granule;          // the next one to look at
  uint64_t cost_ns, done_ns, next_ns; // next_ns: when the next one is due
};

// heap.c
bool drain_heap_create(struct drain_heap *heap);
void drain_heap_destroy(struct drain_heap *heap);
void drain_heap_lies(struct drain_heap *heap, uint64_t address, uint64_t size); // a block of the heap lies there

// glibc's chunk: eight bytes of header, multiples of 16, at least 32.
static inline uint64_t drain_heap_footprint(uint64_t size) { return size <= 24 ? 32 : (size + 8 + 15) & ~15ull; }
static inline void drain_heap_came(struct drain_heap *heap, uint64_t address, uint64_t size) {
  heap->count++;
  heap->bytes += size;
  heap->footprint += drain_heap_footprint(size);
  uint64_t first = address >> DRAIN_HEAP_GRANULE_LOG2, last = (address + (size ? size - 1 : 0)) >> DRAIN_HEAP_GRANULE_LOG2;
  if (first != heap->last || last != heap->last) drain_heap_lies(heap, address, size);
}
static inline void drain_heap_went(struct drain_heap *heap, uint64_t size) {
  heap->count--;
  heap->bytes -= size;
  heap->footprint -= drain_heap_footprint(size);
}

// sample.c
void drain_sample(struct lifespan_drain *d); // once a round: begins one when it is due, goes on with it
void drain_sample_mark(struct lifespan_drain *d);
void drain_sample_drop(struct lifespan_drain *d);
// What a program that ends has asked for: read before a round, answered after it.
uint32_t drain_sample_asked(const struct lifespan_drain *d);
void drain_sample_answer(struct lifespan_drain *d, uint32_t asked);

#endif
