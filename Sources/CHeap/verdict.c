// What roots reach, by which shortest way, and the components of the rest (Tarjan, without recursion: lists are a million objects deep). See verdict.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "verdict.h"

bool verdict_holds(const struct verdict *v, uint64_t edge) {
  const struct heap_edge *e = &v->heap->edges[edge];
  uint8_t from = v->heap->flags[v->sources[edge]], to = v->heap->flags[e->target];
  if (from & (HEAP_FLAG_FREE | HEAP_FLAG_SIDE_TABLE) || to & HEAP_FLAG_FREE) return false;
  if (to & HEAP_FLAG_SIDE_TABLE) return true;
  if (from & HEAP_FLAG_ZOMBIE) return false;
  return e->strength == HEAP_STRONG || e->strength == HEAP_CONSERVATIVE || (e->strength == HEAP_UNOWNED && to & HEAP_FLAG_ZOMBIE);
}

static bool make_back(struct verdict *v) {
  const struct heap *heap = v->heap;
  size_t edges = heap->edge_count;
  v->sources = heap_own((edges + 1) * sizeof *v->sources);
  v->back = heap_own((edges + 1) * sizeof *v->back);
  v->back_begin = heap_own_cleared(v->count + 2, sizeof *v->back_begin);
  if (!v->sources || !v->back || !v->back_begin || edges >= HEAP_NONE) return false;
  for (uint32_t node = 0; node < v->count; node++) {
    for (uint64_t edge = heap->begin[node]; edge < heap->begin[node + 1]; edge++) {
      v->sources[edge] = node;
      v->back_begin[heap->edges[edge].target + 2]++;
    }
  }
  for (uint32_t node = 2; node < v->count + 2; node++) v->back_begin[node] += v->back_begin[node - 1];
  for (uint64_t edge = 0; edge < edges; edge++) v->back[v->back_begin[heap->edges[edge].target + 1]++] = (uint32_t)edge;
  return true;
}

// Memory that is not known comes after everything else of its grade: a way through it says nothing.
static unsigned pass_of(const struct heap_root *root) { return (root->maybe ? 2 : 0) + (root->kind == HEAP_ROOT_UNKNOWN ? 1 : 0); }
#define PASSES 4u

// Of several roots of one block the one that says most comes first.
static unsigned rank_of(const struct heap_root *root) {
  static const uint8_t ranks[] = {[HEAP_ROOT_GLOBAL] = 0, [HEAP_ROOT_THREAD_LOCAL] = 1, [HEAP_ROOT_STACK] = 2, [HEAP_ROOT_MAPPING] = 3,
                                  [HEAP_ROOT_REGISTER] = 4, [HEAP_ROOT_UNKNOWN] = 5, [HEAP_ROOT_IN_FLIGHT] = 6};
  return root->kind < sizeof ranks ? ranks[root->kind] : 6;
}
#define RANKS 7u

static void walk(struct verdict *v, uint32_t *queue, size_t from, size_t *to, uint8_t grade) {
  const struct heap *heap = v->heap;
  for (size_t at = from; at < *to; at++) {
    uint32_t node = queue[at];
    for (uint64_t edge = heap->begin[node]; edge < heap->begin[node + 1]; edge++) {
      uint32_t target = heap->edges[edge].target;
      if (v->grades[target] != HEAP_LOST || !verdict_holds(v, edge)) continue;
      v->grades[target] = grade;
      v->came[target] = (uint32_t)edge;
      v->root[target] = HEAP_NONE;
      queue[(*to)++] = target;
    }
  }
}

static bool reach(struct verdict *v) {
  const struct heap *heap = v->heap;
  uint32_t *queue = heap_own(((size_t)v->count + 1) * sizeof *queue);
  if (!queue) return false;
  size_t done = 0;
  for (unsigned pass = 0; pass < PASSES; pass++) {
    size_t to = done;
    uint8_t grade = pass < 2 ? HEAP_FIRM : HEAP_MAYBE;
    for (unsigned rank = 0; rank < RANKS; rank++) {
      for (size_t i = 0; i < heap->root_count; i++) {
        const struct heap_root *root = &heap->roots[i];
        if (pass_of(root) != pass || rank_of(root) != rank || v->grades[root->target] != HEAP_LOST) continue;
        v->grades[root->target] = grade;
        v->root[root->target] = (uint32_t)i;
        queue[to++] = root->target;
      }
    }
    walk(v, queue, done, &to, grade);
    done = to;
  }
  heap_own_free(queue);
  return true;
}

bool verdict_make(struct verdict *v, struct heap *heap) {
  *v = (struct verdict){.heap = heap, .count = (uint32_t)heap->count};
  size_t nodes = heap->count + 1;
  v->grades = heap_own_cleared(nodes, 1);
  v->came = heap_own(nodes * sizeof *v->came);
  v->root = heap_own(nodes * sizeof *v->root);
  if (!v->grades || !v->came || !v->root || !make_back(v)) return false;
  memset(v->came, 0xff, nodes * sizeof *v->came);
  memset(v->root, 0xff, nodes * sizeof *v->root);
  return reach(v);
}

// ---- Components -------------------------------------------------------------------------------------------------------------------

struct search {
  uint32_t *index, *low, *open; // index 0: not seen yet
  struct frame {
    uint32_t node;
    uint64_t edge;
  } *path;
  uint32_t last, open_count, depth;
};

static bool is_lost(const struct verdict *v, uint32_t node) { return v->grades[node] == HEAP_LOST && !verdict_is_free(v->heap, node); }

static void enter(struct verdict *v, struct search *s, uint32_t node) {
  s->index[node] = s->low[node] = ++s->last;
  s->open[s->open_count++] = node;
  s->path[s->depth++] = (struct frame){node, v->heap->begin[node]};
}

// The next one that is to be entered; HEAP_NONE: all of this one's were looked at.
static uint32_t look_on(struct verdict *v, struct search *s, struct frame *top) {
  uint64_t end = v->heap->begin[top->node + 1];
  while (top->edge < end) {
    uint64_t edge = top->edge++;
    uint32_t target = v->heap->edges[edge].target;
    if (!is_lost(v, target) || !verdict_holds(v, edge)) continue;
    if (!s->index[target]) return target;
    if (v->component[target] == HEAP_NONE && s->index[target] < s->low[top->node]) s->low[top->node] = s->index[target];
  }
  return HEAP_NONE;
}

static void close_component(struct verdict *v, struct search *s, uint32_t node) {
  uint32_t member, size = 0;
  do {
    member = s->open[--s->open_count];
    v->component[member] = v->components;
    size++;
  } while (member != node);
  v->cyclic[v->components++] = size > 1;
}

static void visit(struct verdict *v, struct search *s, uint32_t start) {
  enter(v, s, start);
  while (s->depth) {
    struct frame *top = &s->path[s->depth - 1];
    uint32_t next = look_on(v, s, top), node = top->node;
    if (next != HEAP_NONE) {
      enter(v, s, next);
      continue;
    }
    if (--s->depth) {
      uint32_t parent = s->path[s->depth - 1].node;
      if (s->low[node] < s->low[parent]) s->low[parent] = s->low[node];
    }
    if (s->low[node] == s->index[node]) close_component(v, s, node);
  }
}

static void find_held(struct verdict *v) {
  for (uint64_t edge = 0; edge < v->heap->edge_count; edge++) {
    uint32_t from = v->sources[edge], to = v->heap->edges[edge].target;
    if (!is_lost(v, from) || !is_lost(v, to) || !verdict_holds(v, edge)) continue;
    if (v->component[from] != v->component[to]) v->held[v->component[to]] = 1;
    else if (from == to) v->cyclic[v->component[from]] = 1;
  }
}

bool verdict_components(struct verdict *v) {
  size_t nodes = (size_t)v->count + 1;
  struct search s = {.index = heap_own_cleared(nodes, 4), .low = heap_own(nodes * 4), .open = heap_own(nodes * 4), .path = heap_own(nodes * sizeof *s.path)};
  v->component = heap_own(nodes * sizeof *v->component);
  v->cyclic = heap_own_cleared(nodes, 1);
  v->held = heap_own_cleared(nodes, 1);
  bool made = s.index && s.low && s.open && s.path && v->component && v->cyclic && v->held;
  if (made) {
    memset(v->component, 0xff, nodes * sizeof *v->component);
    for (uint32_t node = 0; node < v->count; node++)
      if (is_lost(v, node) && !s.index[node]) visit(v, &s, node);
    find_held(v);
  }
  heap_own_free(s.index);
  heap_own_free(s.low);
  heap_own_free(s.open);
  heap_own_free(s.path);
  return made;
}

void verdict_free(struct verdict *v) {
  void *lists[] = {v->sources, v->back, v->back_begin, v->grades, v->came, v->root, v->component, v->cyclic, v->held};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) heap_own_free(lists[i]);
}

#endif
