// From a hook to an event: what the hooks (hooks_life.c, hooks_refcount.c) share. Each function enters and leaves our code by itself.
#ifndef LIFESPAN_RECORD_H
#define LIFESPAN_RECORD_H

#include "internal.h"

#pragma GCC visibility push(hidden)

// The caller's registers, taken in the hook itself.
struct lifespan_frame {
  uintptr_t pc, sp, fp;
};
#define LIFESPAN_CALLER                                                                                         \
  ((struct lifespan_frame){(uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_frame_address(0) + 16, \
                           *(uintptr_t *)__builtin_frame_address(0)})

void lifespan_record_birth(const void *object, const void *metadata, uint64_t size, struct lifespan_frame caller);
void lifespan_record_death(const void *object, struct lifespan_frame caller);
void lifespan_record_task_birth(const void *task, struct lifespan_frame caller);
void lifespan_record_task_death(const void *task, struct lifespan_frame caller);
void lifespan_record_refcount(unsigned kind, const void *object, uint32_t amount, unsigned flavour, bool count_known, struct lifespan_frame caller);

// Tests of the hooks after they are installed: the calling thread's events are counted, not recorded, between begin and end.
struct lifespan_self_test {
  uint32_t births, deaths, retains, releases;
};
extern struct lifespan_self_test lifespan_self_test_counts;
bool lifespan_self_test(bool refcounts);

#pragma GCC visibility pop
#endif
