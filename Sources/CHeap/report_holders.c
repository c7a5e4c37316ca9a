// Who holds one object: direct holders, a way from a root, or from the head of its leak. See lifespan_heap_report.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "report.h"

#define HOLDERS_MOST 256u
#define ROOTS_MOST 64u

static bool is_same(const struct heap_report_holder *a, const struct heap_report_holder *b) {
  return a->step.type == b->step.type && a->step.name == b->step.name && a->step.label == b->step.label && (a->step.label || a->step.offset == b->step.offset) &&
         a->step.strength == b->step.strength && a->holds == b->holds;
}

static void add_holder(struct report_writer *w, uint64_t edge) {
  struct heap_report_holder holder = {.step = report_step(w, w->verdict.sources[edge], edge), .count = 1, .holds = verdict_holds(&w->verdict, edge)};
  struct heap_report_holder *list = (struct heap_report_holder *)(void *)w->holders.bytes;
  size_t count = w->holders.used / sizeof holder;
  for (size_t i = 0; i < count; i++) {
    if (!is_same(&list[i], &holder)) continue;
    list[i].count++;
    return;
  }
  if (count < HOLDERS_MOST) report_add(w, &w->holders, &holder, sizeof holder);
}

static int by_holding(const void *a, const void *b) {
  const struct heap_report_holder *left = a, *right = b;
  if (left->holds != right->holds) return left->holds ? -1 : 1;
  if (left->count != right->count) return left->count > right->count ? -1 : 1;
  return left->step.inverted > right->step.inverted ? -1 : left->step.inverted < right->step.inverted;
}

static void reverse(struct heap_report_step *steps, size_t count) {
  for (size_t i = 0; i < count / 2; i++) {
    struct heap_report_step step = steps[i];
    steps[i] = steps[count - 1 - i];
    steps[count - 1 - i] = step;
  }
}

static void write_path(struct report_writer *w, uint32_t node) {
  const struct verdict *v = &w->verdict;
  size_t from = w->steps.used / sizeof(struct heap_report_step);
  uint64_t edge = UINT64_MAX;
  for (;;) {
    struct heap_report_step step = report_step(w, node, edge);
    if (!report_add(w, &w->steps, &step, sizeof step)) return;
    if (v->came[node] == HEAP_NONE) break;
    edge = v->came[node];
    node = v->sources[edge];
  }
  struct heap_report_step *steps = (struct heap_report_step *)(void *)w->steps.bytes;
  reverse(steps + from, w->steps.used / sizeof *steps - from);
  if (v->root[node] != HEAP_NONE) report_root(w, &w->heap->roots[v->root[node]], true);
}

// From the head of a leak: backwards to a block that nothing lost holds from above, or to the last new one of a cycle.
static bool write_leak_path(struct report_writer *w, uint32_t node) {
  const struct verdict *v = &w->verdict;
  uint64_t *next = heap_own(((size_t)v->count + 1) * sizeof *next);
  uint32_t *queue = heap_own(((size_t)v->count + 1) * sizeof *queue);
  size_t to = 0;
  if (!next || !queue) goto end;
  memset(next, 0xff, ((size_t)v->count + 1) * sizeof *next);
  next[node] = UINT64_MAX - 1;
  queue[to++] = node;
  for (size_t at = 0; at < to; at++) {
    for (uint64_t i = v->back_begin[queue[at]]; i < v->back_begin[queue[at] + 1]; i++) {
      uint32_t source = v->sources[v->back[i]];
      if (!verdict_holds(v, v->back[i]) || next[source] != UINT64_MAX) continue;
      next[source] = v->back[i];
      queue[to++] = source;
    }
  }
  for (uint32_t at = queue[to - 1]; to > 1;) {
    bool last = next[at] == UINT64_MAX - 1;
    struct heap_report_step step = report_step(w, at, last ? UINT64_MAX : next[at]);
    if (!report_add(w, &w->steps, &step, sizeof step) || last) break;
    at = v->heap->edges[next[at]].target;
  }
end:
  heap_own_free(next);
  heap_own_free(queue);
  return to > 0;
}

static bool find(struct report_writer *w, uint32_t node) {
  const struct verdict *v = &w->verdict;
  struct heap_report_step own = report_step(w, node, UINT64_MAX);
  report_add(w, &w->steps, &own, sizeof own);
  w->head.reachable = v->grades[node];
  for (uint64_t i = v->back_begin[node]; i < v->back_begin[node + 1]; i++) add_holder(w, v->back[i]);
  size_t count = w->holders.used / sizeof(struct heap_report_holder);
  if (count) qsort(w->holders.bytes, count, sizeof(struct heap_report_holder), by_holding);
  if (v->grades[node] != HEAP_LOST) write_path(w, node);
  else if (!write_leak_path(w, node)) return false;
  for (size_t i = 0, roots = 0; i < w->heap->root_count && roots < ROOTS_MOST; i++) {
    if (w->heap->roots[i].target != node) continue;
    report_root(w, &w->heap->roots[i], false);
    roots++;
  }
  return !w->failed;
}

int heap_report_holders(struct heap *heap, uint64_t address, const struct heap_report_facts *facts, struct heap_report *report) {
  struct report_writer w;
  uint32_t node = heap_index_find(&heap->index, heap->blocks, address);
  if (node == HEAP_NONE) return ENOENT;
  if (report_begin(&w, heap, facts) && find(&w, node)) return report_end(&w, report);
  report_free(&w);
  return ENOMEM;
}

#endif
