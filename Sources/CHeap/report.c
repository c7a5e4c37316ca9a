// Lists and texts of a report, and what its steps and roots say. See lifespan_heap_report.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "report.h"

#define ELEMENTS_NAMED 1000u // those beyond have no number of their own: their offset tells

void *report_add(struct report_writer *w, struct report_list *list, const void *item, size_t size) {
  if (list->used + size > list->room) {
    size_t room = (list->used + size) * 2 + 1024;
    uint8_t *more = heap_own_larger(list->bytes, room);
    if (!more) {
      w->failed = true;
      return NULL;
    }
    list->bytes = more;
    list->room = room;
  }
  void *place = list->bytes + list->used;
  memcpy(place, item, size);
  list->used += size;
  return place;
}

uint32_t report_text(struct report_writer *w, const char *text) {
  if (!text || !*text || w->texts.used > UINT32_MAX / 2) return 0;
  uint32_t place = (uint32_t)w->texts.used;
  return report_add(w, &w->texts, text, strlen(text) + 1) ? place : 0;
}

uint32_t report_label(struct report_writer *w, uint32_t label) {
  if (label & HEAP_ELEMENT) {
    char text[16];
    uint32_t element = label & ~HEAP_ELEMENT;
    if (element >= ELEMENTS_NAMED) return report_text(w, "[…]");
    snprintf(text, sizeof text, "[%u]", element);
    return report_text(w, text);
  }
  if (!label || label >= w->heap->label_count) return 0;
  if (!w->label_texts[label]) w->label_texts[label] = report_text(w, heap_label(w->heap, label));
  return w->label_texts[label];
}

bool report_begin(struct report_writer *w, struct heap *heap, const struct heap_report_facts *facts) {
  *w = (struct report_writer){.heap = heap};
  w->label_texts = heap_own_cleared(heap->label_count + 1, sizeof *w->label_texts);
  if (!w->label_texts || !verdict_make(&w->verdict, heap) || !report_add(w, &w->texts, "", 1)) return false;
  w->head.objects = heap->count;
  w->head.roots = heap->root_count;
  w->head.pause_ns = facts->pause_ns;
  w->head.knows_all = heap->input->knows_all;
  w->head.notes = report_text(w, facts->notes);
  w->head.withheld = report_text(w, facts->withheld);
  if (heap->memory.unread && !w->head.withheld) {
    char text[96];
    snprintf(text, sizeof text, "%llu bytes of its blocks could not be read", (unsigned long long)heap->memory.unread);
    w->head.withheld = report_text(w, text);
  }
  return !w->failed;
}

void report_free(struct report_writer *w) {
  struct report_list *lists[] = {&w->leaks, &w->rows, &w->steps, &w->holders, &w->roots, &w->lost, &w->texts};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) heap_own_free(lists[i]->bytes);
  heap_own_free(w->label_texts);
  verdict_free(&w->verdict);
}

int report_end(struct report_writer *w, struct heap_report *report) {
  const struct report_list *lists[] = {&w->leaks, &w->rows, &w->steps, &w->holders, &w->roots, &w->lost, &w->texts};
  size_t count = sizeof lists / sizeof *lists, length = sizeof w->head;
  w->head.leaks = (uint32_t)(w->leaks.used / sizeof(struct heap_report_leak));
  w->head.rows = (uint32_t)(w->rows.used / sizeof(struct heap_report_row));
  w->head.steps = (uint32_t)(w->steps.used / sizeof(struct heap_report_step));
  w->head.holders = (uint32_t)(w->holders.used / sizeof(struct heap_report_holder));
  w->head.root_steps = (uint32_t)(w->roots.used / sizeof(struct heap_report_root));
  w->head.lost = (uint32_t)(w->lost.used / sizeof(struct heap_report_lost));
  w->head.text_bytes = (uint32_t)w->texts.used;
  for (size_t i = 0; i < count; i++) length += lists[i]->used;
  *report = (struct heap_report){.bytes = w->failed ? NULL : malloc(length), .length = length};
  if (report->bytes) {
    uint8_t *to = report->bytes;
    memcpy(to, &w->head, sizeof w->head);
    to += sizeof w->head;
    for (size_t i = 0; i < count; i++) {
      if (lists[i]->used) memcpy(to, lists[i]->bytes, lists[i]->used);
      to += lists[i]->used;
    }
  }
  report_free(w);
  return report->bytes ? 0 : ENOMEM;
}

struct heap_report_step report_step(struct report_writer *w, uint32_t node, uint64_t edge) {
  const struct heap_block *block = &w->heap->blocks[node];
  struct heap_report_step step = {.inverted = ~block->address, .serial = block->serial, .type = block->type, .stack = block->stack,
                                  .name = report_label(w, w->heap->names[node])};
  if (edge == UINT64_MAX) return step;
  const struct heap_edge *by = &w->heap->edges[edge];
  step.label = report_label(w, by->label);
  step.offset = by->offset;
  step.strength = by->strength;
  return step;
}

void report_root(struct report_writer *w, const struct heap_root *root, bool on_path) {
  struct heap *heap = w->heap;
  struct heap_symbol symbol = {0};
  struct heap_report_root out = {.kind = root->kind, .firm = !root->maybe, .on_path = on_path};
  bool has_thread = root->thread < heap->input->thread_count, found = false;
  if (has_thread) out.thread = heap->input->threads[root->thread].number;
  switch ((enum heap_root_kind)root->kind) {
  case HEAP_ROOT_GLOBAL: found = heap_variable(heap, root->place, &symbol); break;
  case HEAP_ROOT_STACK: found = has_thread && heap_frame(heap, root->thread, root->place, &symbol); break;
  case HEAP_ROOT_REGISTER: found = has_thread && heap_function(heap, heap->input->threads[root->thread].pc, &symbol); break;
  case HEAP_ROOT_THREAD_LOCAL: found = heap_thread_local(heap, root->thread, root->place, &symbol); break;
  case HEAP_ROOT_MAPPING:
  case HEAP_ROOT_IN_FLIGHT:
  case HEAP_ROOT_UNKNOWN: break;
  }
  if (found) {
    out.symbol = report_text(w, symbol.name);
    // How far into a function its frame's value was reached says nothing of it.
    if (root->kind == HEAP_ROOT_GLOBAL || root->kind == HEAP_ROOT_THREAD_LOCAL) out.offset = symbol.offset;
  }
  if (root->kind == HEAP_ROOT_GLOBAL || root->kind == HEAP_ROOT_MAPPING) out.file = report_text(w, heap_file(heap, root->place));
  report_add(w, &w->roots, &out, sizeof out);
}

#endif
