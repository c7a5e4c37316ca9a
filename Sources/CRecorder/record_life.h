// Births and deaths of Swift objects as records, inlined into their hooks: what nearly every one of them needs. Whatever is not plain goes to the functions
// of the same meaning in record.c. Called by hooks_life.c and record.c.
#ifndef LIFESPAN_RECORD_LIFE_H
#define LIFESPAN_RECORD_LIFE_H

#include "lifespan_spots.h"
#include "record.h"
#include "runtime_layout.h"

#pragma GCC visibility push(hidden)

#define HERE static inline __attribute__((always_inline))

// False: lost, and so will its end be.
HERE bool lifespan_write_birth(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, uint32_t stack) {
  lifespan_task_note(thread);
  if (!lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_BIRTH)) return false;
  lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_BIRTH, 2, (uint64_t)object));
  lifespan_ring_put(thread, 1, (uint64_t)type << 32 | stack, size & LIFESPAN_VALUE_MASK);
  lifespan_ring_publish(thread, 2);
  return true;
}

HERE void lifespan_write_born(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, enum lifespan_spot spot, uint32_t stack) {
  uint8_t *place = lifespan_spot_at(object);
  // Its block was taken for one of malloc.
  if (UNLIKELY(spot == LIFESPAN_SPOT_LIVING && lifespan_spot_in(place) == LIFESPAN_SPOT_BLOCK)) lifespan_block_is_object(thread, object, type, size, stack);
  else if (UNLIKELY(!lifespan_write_birth(thread, object, type, size, stack))) return;
  lifespan_spot_put(place, object, spot);
}

HERE uint32_t lifespan_type_of_birth(struct lifespan_thread *thread, const void *metadata, uintptr_t caller) {
  const struct lifespan_known_type *known = lifespan_known_type(thread, metadata);
  if (LIKELY(known->metadata == metadata)) {
    uint64_t value = atomic_load_explicit(known->value, memory_order_acquire);
    if (LIKELY(value && value <= UINT32_MAX)) return (uint32_t)value; // nothing is told of the type beside its id
  }
  return lifespan_type_at_birth(thread, metadata, caller).id;
}

void lifespan_record_birth_below(const void *object, const void *metadata, uint64_t size, const void *hook); // by its frame pointer

// In a hook, whose frame is the one that enters.
HERE void lifespan_birth(const void *object, const void *metadata, uint64_t size) {
  const void *hook = __builtin_frame_address(0);
  struct lifespan_local *local = &lifespan_local;
  struct lifespan_thread *thread = local->thread;
  uint32_t recording = atomic_load_explicit(&lifespan_process.map->recording, memory_order_relaxed);
  if (UNLIKELY(local->inside || !thread || recording != LIFESPAN_RECORDING_ON)) return lifespan_record_birth_below(object, metadata, size, hook);
  lifespan_enter_plain(local, hook);
  struct lifespan_frame caller = lifespan_frame_above(hook);
  uint32_t type = lifespan_type_of_birth(thread, metadata, caller.pc);
  if (LIKELY(type)) lifespan_write_born(thread, object, type, size, LIFESPAN_SPOT_LIVING, lifespan_stack(thread, caller.pc, caller.sp, caller.fp));
  lifespan_leave(thread);
}

// A death at its plainest, or nothing where the birth was not recorded (too early, left out, or on a stack). No call is made, so nothing has to be kept on the
// stack. False: nothing was written, as something is not plain.
HERE bool lifespan_death(const void *object) {
#if defined(__x86_64__)
  struct lifespan_local *local = &lifespan_local;
  struct lifespan_thread *thread = local->thread;
  uint8_t *place = lifespan_spot_at(object);
  if (UNLIKELY(local->inside || !place)) return false;
  if (*place != LIFESPAN_SPOT_LIVING) return *place == LIFESPAN_SPOT_NONE;
  uint64_t word = swift_refcount_word(object);
  bool frees = !(word & SWIFT_REFCOUNT_SLOW) && swift_refcount_unowned(word) <= 1; // the memory, too
  if (UNLIKELY(!frees || !thread || !lifespan_process.plain_deaths || !atomic_load_explicit(&lifespan_no_tasks, memory_order_relaxed))) return false;
  lifespan_enter_plain(local, __builtin_frame_address(0));
  bool has_room = thread->head < thread->limit; // looked at with the guard held: a handler may have written
  if (LIKELY(has_room)) {
    lifespan_ring_put(thread, 0, lifespan_tsc_ordered(), lifespan_head_word(LIFESPAN_R_DEATH, 1, (uint64_t)object));
    lifespan_ring_publish(thread, 1);
    __atomic_store_n(place, (uint8_t)(lifespan_process.keeps_dead ? LIFESPAN_SPOT_DEAD : LIFESPAN_SPOT_NONE), __ATOMIC_RELAXED); // its free() below us is no event
  }
  lifespan_leave_plain(local);
  return has_room;
#else
  (void)object;
  return false;
#endif
}

#undef HERE

#pragma GCC visibility pop
#endif
