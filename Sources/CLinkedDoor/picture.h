// A look at this process's own heap: what picture.c gives to heap.c.
#ifndef LIFESPAN_LINKED_PICTURE_H
#define LIFESPAN_LINKED_PICTURE_H

#include "door.h"
#include "lifespan_heap_report.h"

#pragma GCC visibility push(hidden)

// Makes a report of the heap as it is now (address 0: of leaks, else of who holds the object there). `sp`: where the caller's own stack
// begins to count. The report's bytes are by malloc. FAILED, FORBIDDEN: `reason` says why.
enum lifespan_linked_status lifespan_linked_picture(uint64_t address, uint64_t sp, struct heap_report *report, char *reason, size_t room);

#pragma GCC visibility pop
#endif
