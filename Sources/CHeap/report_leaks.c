// What is leaked: components that nothing lost holds from above are heads; what hangs below is counted once. See lifespan_heap_report.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "report.h"

#define CYCLE_SHOWN 64u

struct head {
  uint32_t anchor, component;
  uint32_t kind, cycle, cycle_length; // cycle: place of its edges in the list of all
  uint64_t signature, serial; // serial: of the anchor
};
struct leaks {
  struct report_writer *w;
  struct head *heads;
  uint32_t count;
  uint32_t *members, *member_begin; // of components: blocks
  uint64_t *cycles;                 // edges
  size_t cycle_count, cycle_room;
  uint32_t *came;                   // while a shortest cycle is looked for: edge + 1
  uint32_t *queue;
  uint8_t *counted;
};

// What a reader looks at first: the program's own objects, then others, then blocks.
static unsigned rank_of(const struct heap *heap, uint32_t node) {
  const struct heap_type *type = heap_type_of(heap, node);
  static const uint8_t ranks[] = {[HEAP_KIND_MALLOC] = 4, [HEAP_KIND_OBJECT] = 0, [HEAP_KIND_ARRAY] = 3, [HEAP_KIND_DICTIONARY] = 3, [HEAP_KIND_SET] = 3,
                                  [HEAP_KIND_TASK] = 1, [HEAP_KIND_CONTEXT] = 2, [HEAP_KIND_STRING] = 3, [HEAP_KIND_BREADCRUMBS] = 3,
                                  [HEAP_KIND_DEQUE] = 3, [HEAP_KIND_CF] = 3, [HEAP_KIND_KEY_PATH] = 3};
  unsigned rank = type->kind < sizeof ranks ? ranks[type->kind] : 4;
  return rank < 4 && type->toolchains ? rank + 5 : rank;
}

static bool is_before(const struct heap *heap, uint32_t a, uint32_t b) {
  unsigned left = rank_of(heap, a), right = rank_of(heap, b);
  if (left != right) return left < right;
  const struct heap_block *one = &heap->blocks[a], *other = &heap->blocks[b];
  return one->type != other->type ? one->type < other->type : one->serial < other->serial;
}

static bool list_members(struct leaks *l) {
  const struct verdict *v = &l->w->verdict;
  l->member_begin = heap_own_cleared((size_t)v->components + 2, 4);
  l->members = heap_own(((size_t)v->count + 1) * 4);
  if (!l->member_begin || !l->members) return false;
  for (uint32_t node = 0; node < v->count; node++)
    if (v->component[node] != HEAP_NONE) l->member_begin[v->component[node] + 2]++;
  for (uint32_t i = 2; i < v->components + 2; i++) l->member_begin[i] += l->member_begin[i - 1];
  for (uint32_t node = 0; node < v->count; node++)
    if (v->component[node] != HEAP_NONE) l->members[l->member_begin[v->component[node] + 1]++] = node;
  return true;
}

// The edges of the shortest cycle through a block, within its component.
static void find_cycle(struct leaks *l, struct head *head) {
  const struct verdict *v = &l->w->verdict;
  const struct heap *heap = v->heap;
  uint32_t end = HEAP_NONE, last = HEAP_NONE;
  size_t to = 0;
  l->queue[to++] = head->anchor;
  for (size_t at = 0; at < to && end == HEAP_NONE; at++) {
    uint32_t node = l->queue[at];
    for (uint64_t edge = heap->begin[node]; edge < heap->begin[node + 1] && end == HEAP_NONE; edge++) {
      uint32_t target = heap->edges[edge].target;
      if (!verdict_holds(v, edge)) continue;
      if (target == head->anchor) end = node, last = (uint32_t)edge;
      else if (v->component[target] == head->component && !l->came[target]) l->came[target] = (uint32_t)edge + 1, l->queue[to++] = target;
    }
  }
  uint32_t length = 0;
  for (uint32_t node = end; node != HEAP_NONE && node != head->anchor; node = v->sources[l->came[node] - 1]) length++;
  head->cycle_length = end == HEAP_NONE ? 0 : length + 1;
  head->cycle = (uint32_t)l->cycle_count;
  for (uint32_t i = 0; i < head->cycle_length; i++) {
    uint64_t *more = heap_more(l->w->heap, l->cycles, &l->cycle_room, l->cycle_count, sizeof *more);
    if (!more) break;
    l->cycles = more;
    l->cycle_count++;
  }
  if (l->cycle_count == head->cycle + head->cycle_length && head->cycle_length) {
    uint64_t *edges = l->cycles + head->cycle;
    edges[head->cycle_length - 1] = last;
    uint32_t node = end;
    for (uint32_t i = head->cycle_length - 1; i > 0; i--) {
      edges[i - 1] = l->came[node] - 1;
      node = v->sources[edges[i - 1]];
    }
  } else {
    head->cycle_length = 0;
  }
  for (size_t at = 1; at < to; at++) l->came[l->queue[at]] = 0;
}

static uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15ull + (hash >> 29); }

static uint64_t part_of(const struct heap *heap, uint64_t edge, uint32_t node) {
  const struct heap_edge *by = &heap->edges[edge];
  uint64_t hash = mix(heap->blocks[node].type, heap->names[node]);
  return by->label & HEAP_ELEMENT ? mix(hash, HEAP_ELEMENT) : mix(hash, by->label ? by->label : (uint64_t)by->offset << 32);
}

// Kind, type, properties and stack: nothing that differs between two leaks that are the same. How long a ring is does not matter.
static uint64_t sign(const struct leaks *l, const struct head *head) {
  const struct heap *heap = l->w->heap;
  const struct heap_block *anchor = &heap->blocks[head->anchor];
  uint64_t hash = mix(mix(mix(head->kind + 1, anchor->type), heap->names[head->anchor]), anchor->stack), parts = 0;
  for (uint32_t i = 0; i < head->cycle_length; i++) {
    uint64_t edge = l->cycles[head->cycle + i], part = part_of(heap, edge, l->w->verdict.sources[edge]);
    bool seen = false;
    for (uint32_t k = i > CYCLE_SHOWN ? i - CYCLE_SHOWN : 0; k < i && !seen; k++) {
      uint64_t other = l->cycles[head->cycle + k];
      seen = part_of(heap, other, l->w->verdict.sources[other]) == part;
    }
    if (!seen) parts = mix(parts, part);
  }
  return mix(hash, parts);
}

static void add_head(struct leaks *l, uint32_t component) {
  const struct verdict *v = &l->w->verdict;
  struct head head = {.component = component, .anchor = l->members[l->member_begin[component]]};
  bool is_task = false;
  for (uint32_t i = l->member_begin[component]; i < l->member_begin[component + 1]; i++) {
    uint32_t node = l->members[i];
    if (is_before(v->heap, node, head.anchor)) head.anchor = node;
    is_task |= v->heap->flags[node] & HEAP_FLAG_TASK || heap_type_of(v->heap, node)->kind == HEAP_KIND_TASK;
  }
  if (v->cyclic[component]) find_cycle(l, &head);
  head.kind = is_task ? HEAP_LEAK_SUSPENDED_TASK : v->cyclic[component] ? HEAP_LEAK_CYCLE : HEAP_LEAK_ROOT;
  head.signature = sign(l, &head);
  head.serial = v->heap->blocks[head.anchor].serial;
  l->heads[l->count++] = head;
}

static int by_signature(const void *a, const void *b) {
  const struct head *left = a, *right = b;
  if (left->signature != right->signature) return left->signature < right->signature ? -1 : 1;
  return left->serial < right->serial ? -1 : left->serial > right->serial;
}

// ---- What hangs below -------------------------------------------------------------------------------------------------------------

static void tally(struct leaks *l, struct heap_report_leak *leak, uint32_t node) {
  struct report_writer *w = l->w;
  const struct heap_type *type = heap_type_of(w->heap, node);
  const struct heap_block *block = &w->heap->blocks[node];
  uint32_t name = type->kind == HEAP_KIND_MALLOC ? report_label(w, w->heap->names[node]) : 0;
  struct heap_report_row *rows = (struct heap_report_row *)(void *)w->rows.bytes, *row = NULL;
  if (type->kind != HEAP_KIND_MALLOC && !type->toolchains) leak->toolchains = 0;
  leak->bytes += block->size;
  leak->count++;
  for (uint32_t i = leak->first_row; i < leak->first_row + leak->rows && !row; i++)
    if (rows[i].type == block->type && rows[i].name == name) row = &rows[i];
  if (row) {
    row->bytes += block->size;
    row->count++;
    return;
  }
  struct heap_report_row made = {.bytes = block->size, .type = block->type, .name = name, .count = 1};
  if (report_add(w, &w->rows, &made, sizeof made)) leak->rows++;
}

static void count_below(struct leaks *l, struct heap_report_leak *leak, const struct head *head) {
  const struct verdict *v = &l->w->verdict;
  size_t to = 0;
  for (uint32_t i = l->member_begin[head->component]; i < l->member_begin[head->component + 1]; i++) l->queue[to++] = l->members[i];
  // The head's type has the first row.
  for (size_t i = 0; i < to; i++)
    if (l->queue[i] == head->anchor) l->queue[i] = l->queue[0], l->queue[0] = head->anchor;
  for (size_t i = 0; i < to; i++) l->counted[l->queue[i]] = 1;
  for (size_t at = 0; at < to; at++) {
    uint32_t node = l->queue[at];
    tally(l, leak, node);
    struct heap_report_lost lost = {v->heap->blocks[node].serial, leak->serial};
    if (heap_type_of(v->heap, node)->kind != HEAP_KIND_MALLOC) report_add(l->w, &l->w->lost, &lost, sizeof lost);
    for (uint64_t edge = v->heap->begin[node]; edge < v->heap->begin[node + 1]; edge++) {
      uint32_t target = v->heap->edges[edge].target;
      if (v->component[target] == HEAP_NONE || l->counted[target] || !verdict_holds(v, edge)) continue;
      l->counted[target] = 1;
      l->queue[to++] = target;
    }
  }
}

static void write_group(struct leaks *l, const struct head *heads, uint32_t count) {
  struct report_writer *w = l->w;
  const struct head *first = &heads[0];
  struct heap_report_step anchor = report_step(w, first->anchor, UINT64_MAX);
  struct heap_report_leak leak = {.inverted = anchor.inverted, .serial = anchor.serial, .kind = first->kind, .type = anchor.type, .name = anchor.name,
                                  .stack = anchor.stack, .cycle_length = first->cycle_length, .instances = count, .toolchains = 1};
  leak.first_row = (uint32_t)(w->rows.used / sizeof(struct heap_report_row));
  leak.first_step = (uint32_t)(w->steps.used / sizeof(struct heap_report_step));
  for (uint32_t i = 0; i < first->cycle_length && i < CYCLE_SHOWN; i++) {
    uint64_t edge = l->cycles[first->cycle + i];
    struct heap_report_step step = report_step(w, w->verdict.sources[edge], edge);
    if (report_add(w, &w->steps, &step, sizeof step)) leak.steps++;
  }
  for (uint32_t i = 0; i < count; i++) count_below(l, &leak, &heads[i]);
  report_add(w, &w->leaks, &leak, sizeof leak);
}

static int by_bytes(const void *a, const void *b) {
  const struct heap_report_leak *left = a, *right = b;
  if (left->toolchains != right->toolchains) return left->toolchains ? 1 : -1;
  if (left->bytes != right->bytes) return left->bytes > right->bytes ? -1 : 1;
  return left->serial < right->serial ? -1 : left->serial > right->serial;
}

static bool find(struct leaks *l) {
  struct verdict *v = &l->w->verdict;
  size_t nodes = (size_t)v->count + 1;
  if (!verdict_components(v) || !list_members(l)) return false;
  l->heads = heap_own(((size_t)v->components + 1) * sizeof *l->heads);
  l->came = heap_own_cleared(nodes, 4);
  l->queue = heap_own(nodes * 4);
  l->counted = heap_own_cleared(nodes, 1);
  if (!l->heads || !l->came || !l->queue || !l->counted) return false;
  for (uint32_t i = 0; i < v->components; i++)
    if (!v->held[i]) add_head(l, i);
  if (l->count) qsort(l->heads, l->count, sizeof *l->heads, by_signature);
  for (uint32_t i = 0, end; i < l->count; i = end) {
    for (end = i + 1; end < l->count && l->heads[end].signature == l->heads[i].signature;) end++;
    write_group(l, l->heads + i, end - i);
  }
  size_t leaks = l->w->leaks.used / sizeof(struct heap_report_leak);
  if (leaks) qsort(l->w->leaks.bytes, leaks, sizeof(struct heap_report_leak), by_bytes);
  return !l->w->failed && !l->w->heap->error;
}

int heap_report_leaks(struct heap *heap, const struct heap_report_facts *facts, struct heap_report *report) {
  struct report_writer w;
  struct leaks l = {.w = &w};
  bool made = report_begin(&w, heap, facts) && (w.head.withheld || find(&l));
  void *lists[] = {l.heads, l.members, l.member_begin, l.cycles, l.came, l.queue, l.counted};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) heap_own_free(lists[i]);
  if (made) return report_end(&w, report);
  report_free(&w);
  return ENOMEM;
}

#endif
