// Answers from a scanned heap, as bytes: what is leaked, and who holds one object. Made in the process that read the heap (the recording command, or the
// program itself with the linked library), read by Lifespan. Both ends are of one version: integers as in memory.
#ifndef LIFESPAN_HEAP_REPORT_H
#define LIFESPAN_HEAP_REPORT_H

#include "lifespan_heap.h"

// A report: its head, then the lists that it counts, in the order of their counts, then texts. A text is named by its place in those, 0 none; it ends
// with a zero. Types, stacks and threads are the recording's numbers. Addresses are inverted: a report that lies in the program's memory must not look like
// references to what it tells of.
struct heap_report_head {
  uint64_t objects, roots; // looked at
  uint64_t pause_ns;       // how long the program stood still
  uint32_t knows_all;      // 0: leaks may be missed, the notes say why
  uint32_t withheld;       // a text: why no leak is told
  uint32_t notes;          // a text, a line for each
  uint32_t leaks, rows, steps, holders, root_steps, lost;
  uint32_t text_bytes;
  uint32_t reachable;      // of holders: 0 nothing holds it, 1 perhaps (a word of a stack or a register), 2 something does
};

enum heap_leak_kind { HEAP_LEAK_CYCLE = 0, HEAP_LEAK_ROOT = 1, HEAP_LEAK_SUSPENDED_TASK = 2 };
// Leaks of the same kind, type, cycle and allocating stack.
struct heap_report_leak {
  uint64_t bytes, inverted, serial; // of all, heads and what only they hold; of the first head
  uint32_t kind, type, name, stack;
  uint32_t instances, count;       // leaks; objects and blocks in them and below
  uint32_t first_row, rows;        // by type, the head's first
  uint32_t first_step, steps;      // of a cycle: the objects, each with the property that holds the next
  uint32_t cycle_length;
  uint32_t toolchains;             // 1: nothing of the program's own types is in it
};
struct heap_report_row {
  uint64_t bytes;
  uint32_t type, name, count, reserved;
};
struct heap_report_step {
  uint64_t inverted, serial;
  uint32_t type, name, stack; // name: what its memory told, better than its type
  uint32_t label, offset, strength; // of the reference that leads on; label: a property, and behind HEAP_CLOSURE a mangled function
};
// References of one kind to the object. Of holders: the object itself is steps[0], the path (or from the head of its leak) the steps behind it.
struct heap_report_holder {
  struct heap_report_step step;
  uint32_t count, holds;
};
struct heap_report_root {
  uint64_t offset;                // into what the symbol names
  uint32_t kind, firm, thread;    // thread: 0 not known
  uint32_t symbol, file, on_path; // texts: mangled, a path; 1: where the path begins
};

// An object in a leak or below it, and the leak, by the number of its first head.
struct heap_report_lost {
  uint64_t serial, leak;
};

struct heap_report_facts {
  uint64_t pause_ns;
  const char *notes, *withheld; // lines; NULL or "": none
};
struct heap_report {
  uint8_t *bytes; // by malloc
  size_t length;
};
// 0 or an errno value: ENOMEM; of holders ENOENT: no block of the heap has that address.
int heap_report_leaks(struct heap *heap, const struct heap_report_facts *facts, struct heap_report *report);
int heap_report_holders(struct heap *heap, uint64_t address, const struct heap_report_facts *facts, struct heap_report *report);

#endif
