// What a scanned heap's roots reach, and how what they don't reach hangs together. Made by verdict.c, used by report*.c.
#ifndef HEAP_VERDICT_H
#define HEAP_VERDICT_H

#include "heap.h"

enum heap_grade { HEAP_LOST = 0, HEAP_MAYBE = 1, HEAP_FIRM = 2 };

struct verdict {
  const struct heap *heap;
  uint32_t count;
  uint32_t *sources;  // of each edge: the block that it stands in
  uint32_t *back;     // edges by target: those of block i are back[back_begin[i]] up to back[back_begin[i + 1]]
  uint64_t *back_begin;
  uint8_t *grades;    // enum heap_grade
  uint32_t *came;     // the edge by which the shortest way comes; HEAP_NONE: a root refers to it, or it is not reached
  uint32_t *root;     // that root
  uint32_t *component; // of what is lost; HEAP_NONE else
  uint8_t *cyclic, *held; // of a component: its objects hold each other; another lost one holds it
  uint32_t components;
};

// False: no memory.
bool verdict_make(struct verdict *verdict, struct heap *heap);
bool verdict_components(struct verdict *verdict);
void verdict_free(struct verdict *verdict);
// Whether that edge keeps its target: free memory holds nothing, a side table not its object, what was deinited only its own side table. A weak reference
// holds the side table, an unowned one the memory of what was deinited.
bool verdict_holds(const struct verdict *verdict, uint64_t edge);
static inline bool verdict_is_free(const struct heap *heap, uint32_t node) { return heap->flags[node] & HEAP_FLAG_FREE; }

#endif
