// From a hook to an event: what the hooks (hooks_life.c, hooks_refcount.c) call. Each function runs on the program's own
// thread, enters and leaves our code by itself, and allocates nothing but mmap'ed pages of our own; an event that cannot
// be written is lost and counted in the ring.
#ifndef LIFESPAN_RECORD_H
#define LIFESPAN_RECORD_H

#include "internal.h"

#pragma GCC visibility push(hidden)

// After the memory was obtained, before anyone else knows the object.
void lifespan_record_birth(const void *object, const void *metadata, uint64_t size, struct lifespan_frame caller);
// Before the memory can be given away.
void lifespan_record_death(const void *object, struct lifespan_frame caller);
void lifespan_record_task_birth(const void *task, struct lifespan_frame caller);
void lifespan_record_task_death(const void *task, struct lifespan_frame caller);
// `count_known`: the count word is still as before the event.
void lifespan_record_refcount(unsigned kind, const void *object, uint32_t amount, unsigned flavour, bool count_known, struct lifespan_frame caller);
// Before an unowned reference is read: whether the object's deinit has ended already.
void lifespan_record_unowned(const void *object, struct lifespan_frame caller);
// Before an object's memory goes: whether references to it are left.
void lifespan_record_deallocating(const void *object, struct lifespan_frame caller);

// The pieces that events are made of (record.c), for record_block.c. Inside, with the guard held.
// A birth, with a stack or that of `caller`. The address is marked as `spot` (enum lifespan_spot) when it is written.
void lifespan_born_at(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, unsigned spot, uint32_t stack);
void lifespan_born(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, unsigned spot, struct lifespan_frame caller);
// A block of malloc has turned out to be an object of that type.
#define LIFESPAN_SIZE_SAME LIFESPAN_VALUE_MASK
void lifespan_block_is_object(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, uint32_t stack);
// Births of what was allocated before the start. Once, at the start.
void lifespan_record_early_blocks(void);
// The block that QUIET_TASK held back: recorded where it isn't the task's own. Between hooks.
void lifespan_record_held_back(const void *task);

// What the hooks saw of the self-test's object: its events are counted here, not recorded.
struct lifespan_self_test {
  uint32_t births, deaths, retains, releases;
};
extern struct lifespan_self_test lifespan_self_test_counts;
// Sends an object of our own through the runtime (hooks.c). At the start, outside hooks. False: the hooks missed some of it.
bool lifespan_self_test(bool refcounts);

#pragma GCC visibility pop
#endif
