// A look at the heap that the program under the recording command has asked for: its state in the drain, and the question (look.c). Part of drain.h.
#ifndef DRAIN_LOOK_H
#define DRAIN_LOOK_H

#include "lifespan_drain.h"
#include "memory.h"

struct drain_look {
  uint32_t state, op;
  uint64_t address;
  struct drain_bytes bytes; // the answer
  int error;
};
int64_t drain_look(struct lifespan_drain *d, uint32_t op, const struct lifespan_question *q, uint8_t *answer, size_t room, bool *more, uint32_t *error);

#endif
