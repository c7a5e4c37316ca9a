// A retain or release as a record, inlined into its hook: by far the most frequent event, so that what every one of them needs is here and nothing
// else. Called by hooks_refcount.c and record.c.
#ifndef LIFESPAN_RECORD_REFCOUNT_H
#define LIFESPAN_RECORD_REFCOUNT_H

#include "record.h"
#include "runtime_layout.h"
#include "lifespan_spots.h"

#pragma GCC visibility push(hidden)

// Whatever is not plainly a counted object that lives: one that is over, a task that is being made, a type that may not be counted.
void lifespan_record_refcount_rare(unsigned kind, const void *object, uint32_t amount, unsigned flavour, bool count_known, struct lifespan_frame caller);
void lifespan_record_below_zero(const void *object, uint64_t before, struct lifespan_frame caller);

static inline __attribute__((always_inline)) void lifespan_write_refcount(unsigned kind, const void *object, uint32_t amount, unsigned flavour,
                                                                          bool count_known, struct lifespan_frame caller) {
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  uint32_t stack = LIFESPAN_STACK_NONE;
  if (lifespan_process.unwind != LIFESPAN_UNWIND_NONE) stack = lifespan_stack(thread, caller.pc, caller.sp, caller.fp);
  lifespan_task_note(thread);
  uint64_t bits = swift_refcount_bits(object), before = count_known ? swift_refcount_strong(bits) : (1ull << 56) - 1;
  bool deiniting = bits & SWIFT_REFCOUNT_DEINITING, below = deiniting && count_known && kind == LIFESPAN_R_RELEASE && amount > before;
  if (lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_OTHER)) {
    lifespan_ring_put(thread, 0, lifespan_stamp(), lifespan_head_word(kind, 2, (uint64_t)object));
    lifespan_ring_put(thread, 1, (uint64_t)amount << 32 | stack, (uint64_t)(flavour | (deiniting ? LIFESPAN_REF_DEINITING : 0)) << 56 | before);
    lifespan_ring_publish(thread, 2);
  }
  lifespan_leave(thread);
  if (UNLIKELY(below)) lifespan_record_below_zero(object, before, caller);
}

// Of whatever the program retains or releases; spare bits of the address are taken off.
static inline __attribute__((always_inline)) void lifespan_record_counted(unsigned kind, const void *object, uint32_t amount, unsigned flavour,
                                                                          bool count_known, struct lifespan_frame caller) {
  if (UNLIKELY((intptr_t)object <= 0)) return; // while a task is being made, these come here, too
  object = (const void *)((uintptr_t)object & 0x00fffffffffffff8ull);
  // Where all counts are recorded, whatever was recorded is counted, whatever it says of itself by now.
  bool plain = lifespan_process.refcounts && !lifespan_local.creator.pc && lifespan_spot(object) == LIFESPAN_SPOT_LIVING &&
               (uint32_t)swift_refcount_word(object) != SWIFT_REFCOUNT_IMMORTAL;
  if (LIKELY(plain)) lifespan_write_refcount(kind, object, amount, flavour, count_known, caller);
  else lifespan_record_refcount_rare(kind, object, amount, flavour, count_known, caller);
}

// The same of one strong reference to an object that lives, where nothing else is to be told: no stacks are recorded and no task runs. No call is made,
// so nothing has to be kept on the stack. False: nothing was written, as it is not so, or the object is not at its plainest.
static inline __attribute__((always_inline)) bool lifespan_record_bare(unsigned kind, const void *object) {
#if defined(__x86_64__)
  if (!lifespan_process.bare_counts || !atomic_load_explicit(&lifespan_no_tasks, memory_order_relaxed)) return false;
  struct lifespan_local *local = &lifespan_local;
  struct lifespan_thread *thread = local->thread;
  if (UNLIKELY(local->inside || !thread)) return false;
  object = (const void *)((uintptr_t)object & 0x00fffffffffffff8ull);
  uint64_t bits = swift_refcount_word(object);
  if (UNLIKELY(bits & (SWIFT_REFCOUNT_SLOW | SWIFT_REFCOUNT_DEINITING) || (uint32_t)bits == SWIFT_REFCOUNT_IMMORTAL)) return false;
  lifespan_enter_plain(local, __builtin_frame_address(0));
  bool has_room = thread->head + 2 <= thread->limit; // looked at with the guard held: a handler may have written
  if (LIKELY(has_room)) {
    lifespan_ring_put(thread, 0, lifespan_tsc(), lifespan_head_word(kind, 2, (uint64_t)object));
    lifespan_ring_put(thread, 1, 1ull << 32 | LIFESPAN_STACK_NONE, (uint64_t)LIFESPAN_REF_STRONG << 56 | (swift_refcount_extra(bits) + 1));
    lifespan_ring_publish(thread, 2);
  }
  lifespan_leave_plain(local);
  return has_room;
#else
  (void)kind, (void)object;
  return false;
#endif
}

#pragma GCC visibility pop
#endif
