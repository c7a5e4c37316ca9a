// From a hook to an event: what the hooks (hooks_life.c, hooks_refcount.c) call. Each function runs on the program's own
// thread, enters and leaves our code by itself, and allocates nothing but mmap'ed pages of our own; an event that cannot
// be written is lost and counted in the ring.
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

// After the memory was obtained, before anyone else knows the object.
void lifespan_record_birth(const void *object, const void *metadata, uint64_t size, struct lifespan_frame caller);
// Before the memory can be given away.
void lifespan_record_death(const void *object, struct lifespan_frame caller);
void lifespan_record_task_birth(const void *task, struct lifespan_frame caller);
void lifespan_record_task_death(const void *task, struct lifespan_frame caller);
// `count_known`: the count word is still as before the event.
void lifespan_record_refcount(unsigned kind, const void *object, uint32_t amount, unsigned flavour, bool count_known, struct lifespan_frame caller);

// What the hooks saw of the self-test's object: its events are counted here, not recorded.
struct lifespan_self_test {
  uint32_t births, deaths, retains, releases;
};
extern struct lifespan_self_test lifespan_self_test_counts;
// Sends an object of our own through the runtime (hooks.c). At the start, outside hooks. False: the hooks missed some of it.
bool lifespan_self_test(bool refcounts);

#pragma GCC visibility pop
#endif
