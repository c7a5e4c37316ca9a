// A report being made: lists and texts that grow. Made by report.c, filled by report_leaks.c and report_holders.c.
#ifndef HEAP_REPORT_H
#define HEAP_REPORT_H

#include "lifespan_heap_report.h"
#include "verdict.h"

struct report_list {
  uint8_t *bytes;
  size_t used, room;
};
struct report_writer {
  struct heap *heap;
  struct verdict verdict;
  struct heap_report_head head;
  struct report_list leaks, rows, steps, holders, roots, lost, texts;
  uint32_t *label_texts; // by label, 0: not written yet
  bool failed;           // no memory
};

bool report_begin(struct report_writer *w, struct heap *heap, const struct heap_report_facts *facts);
// The report's bytes; frees everything else. 0 or ENOMEM.
int report_end(struct report_writer *w, struct heap_report *report);
void report_free(struct report_writer *w);

void *report_add(struct report_writer *w, struct report_list *list, const void *item, size_t size); // NULL: no memory
uint32_t report_text(struct report_writer *w, const char *text);
uint32_t report_label(struct report_writer *w, uint32_t label); // of the heap
// The block, and the edge by which it leads on; UINT64_MAX: none.
struct heap_report_step report_step(struct report_writer *w, uint32_t node, uint64_t edge);
void report_root(struct report_writer *w, const struct heap_root *root, bool on_path);

#endif
