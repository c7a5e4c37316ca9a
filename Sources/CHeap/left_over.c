// Words that look like references and are what is left of one: in memory where nothing tells what lies there (a task's frames, the part of an enum's payload
// that its case does not use, malloc's blocks), and on stacks that nobody may be using. The runtime counts an object's strong references. Where the known
// ones in other objects are as many, no other word is one: whoever borrows the object has a counted reference behind it. Called by scan.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define DEAD (HEAP_FLAG_ZOMBIE | HEAP_FLAG_FREE | HEAP_FLAG_SIDE_TABLE)

enum account { NOT_LOOKED_AT, OPEN, CLOSED };

struct accounts {
  uint32_t *strong; // known references of each block
  uint8_t *states;  // enum account
};

static bool make(struct accounts *a, const struct heap *heap) {
  a->strong = heap_own_cleared(heap->count + 1, sizeof *a->strong);
  a->states = heap_own_cleared(heap->count + 1, 1);
  if (!a->strong || !a->states) return false;
  for (uint32_t node = 0; node < heap->count; node++) {
    if (heap->flags[node] & DEAD) continue; // a deinit may have given back what its fields still show
    for (uint64_t at = heap->begin[node]; at < heap->begin[node + 1]; at++)
      if (heap->edges[at].strength == HEAP_STRONG) a->strong[heap->edges[at].target]++;
  }
  return true;
}

static bool is_closed(struct accounts *a, struct heap *heap, uint32_t node) {
  if (a->states[node] == NOT_LOOKED_AT) {
    uint64_t counted;
    bool plain = a->strong[node] && !(heap->flags[node] & (DEAD | HEAP_FLAG_TASK | HEAP_FLAG_IN_FLIGHT));
    a->states[node] = plain && heap_strong_count(heap, node, &counted) && counted == a->strong[node] ? CLOSED : OPEN;
  }
  return a->states[node] == CLOSED;
}

static void drop_edges(struct accounts *a, struct heap *heap) {
  uint64_t kept = 0, at = 0;
  for (uint32_t node = 0; node < heap->count; node++) {
    uint64_t end = heap->begin[node + 1];
    heap->begin[node] = kept;
    for (; at < end; at++) {
      struct heap_edge edge = heap->edges[at];
      if (edge.strength != HEAP_CONSERVATIVE || !is_closed(a, heap, edge.target)) heap->edges[kept++] = edge;
    }
  }
  heap->begin[heap->count] = kept;
  heap->edge_count = kept;
}

static void drop_roots(struct accounts *a, struct heap *heap) {
  size_t kept = 0;
  for (size_t at = 0; at < heap->root_count; at++)
    if (!heap->roots[at].maybe || !is_closed(a, heap, heap->roots[at].target)) heap->roots[kept++] = heap->roots[at];
  heap->root_count = kept;
}

void heap_drop_left_over(struct heap *heap) {
  struct accounts a = {0};
  if (heap->error) return;
  if (make(&a, heap)) {
    drop_edges(&a, heap);
    drop_roots(&a, heap);
  } else {
    heap->error = ENOMEM;
  }
  heap_own_free(a.strong);
  heap_own_free(a.states);
}

#endif
