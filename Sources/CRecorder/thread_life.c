// A thread's life as events: made by whom and where, named, ended. Called by the interposed thread functions of the preload library
// (CMallocHooks/thread_hooks.c). In the linked door nobody calls: there a thread is seen with its first event, and the consumer finds it gone.
//
// A thread is an object of kind thread, too. The new thread writes its own birth, with its creator's stamp: a creation that fails leaves no record.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>

#include "internal.h"
#include "raw.h"
#include "sandbox.h"

#define MAIN 1u
#define NAME_ROOM 16u
#define PR_GET_NAME 16

static uint64_t address_of(uint32_t number) { return LIFESPAN_THREAD_ADDRESS | number; }

// No bytes: a thread's stack is address space that the kernel fills when it is touched, and no heap.
static void write_birth(struct lifespan_thread *thread, uint64_t stamp, uintptr_t start, uint32_t stack) {
  if (thread->counted || thread->number == MAIN || !atomic_load_explicit(&lifespan_process.map->recording, memory_order_relaxed)) return;
  uint32_t type = lifespan_type_of_threads(thread, start);
  if (!type || !lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_BIRTH)) return;
  lifespan_ring_put(thread, 0, stamp, lifespan_head_word(LIFESPAN_R_BIRTH, 2, address_of(thread->number)));
  lifespan_ring_put(thread, 1, (uint64_t)type << 32 | stack, 0);
  lifespan_ring_publish(thread, 2);
  thread->counted = 1;
}

void lifespan_thread_unannounced(struct lifespan_thread *thread) {
  if (lifespan_process.map->door == LIFESPAN_DOOR_PRELOAD) write_birth(thread, lifespan_stamp_ordered(), 0, LIFESPAN_STACK_NONE);
}

bool lifespan_thread_creating(struct lifespan_thread_note *note, uintptr_t start, uintptr_t pc, uintptr_t sp, uintptr_t fp) {
  if (!lifespan_on()) return false;
  *note = (struct lifespan_thread_note){.stamp = lifespan_stamp_ordered(), .start = start};
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return true; // its creator stays unknown
  note->creator = thread->number;
  note->stack = lifespan_stack(thread, pc, sp, fp);
  note->stamp = lifespan_stamp_ordered();
  lifespan_leave(thread);
  return true;
}

void lifespan_thread_began(const struct lifespan_thread_note *note) {
  struct lifespan_thread *thread = lifespan_thread_enter();
  if (!thread) return;
  if (lifespan_ring_reserve(thread, 3, LIFESPAN_LOSS_OTHER)) {
    lifespan_ring_put(thread, 0, note->stamp, lifespan_head_word(LIFESPAN_R_THREAD_ORIGIN, 3, thread->number));
    lifespan_ring_put(thread, 1, (uint64_t)note->creator << 32 | note->stack, note->start);
    lifespan_ring_put(thread, 2, thread->walk.hi - thread->walk.lo, 0);
    lifespan_ring_publish(thread, 3);
  }
  write_birth(thread, note->stamp, note->start, note->stack);
  lifespan_leave(thread);
}

static void write_op(struct lifespan_thread *thread, uint32_t number, uint32_t tid, enum lifespan_thread_op op, const char *name) {
  size_t length = strnlen(name, NAME_ROOM);
  struct lifespan_cell fixed[2] = {
    {lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_THREAD, 0, number)},
    {(uint64_t)tid << 32 | length, op},
  };
  lifespan_ring_text(thread, fixed, 2, name, length, LIFESPAN_LOSS_OTHER);
}

void lifespan_thread_ended(void) {
  struct lifespan_local *local = &lifespan_local;
  if (!lifespan_on() || !local->thread) return;
  lifespan_end_entries(); // an asynchronous cancellation may have come inside a hook
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  if (!atomic_exchange(&thread->self, 0)) return lifespan_leave(thread); // it has said so
  char name[NAME_ROOM] = {0}; // it may have named itself by a bare system call
  if (lifespan_may(LIFESPAN_CALL_PRCTL)) lifespan_raw4(SYS_prctl, PR_GET_NAME, (long)name, 0, 0);
  write_op(thread, thread->number, __atomic_load_n(&thread->ring->tid, __ATOMIC_RELAXED), LIFESPAN_THREAD_ENDED, name);
  if (thread->counted && lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_DEATH)) {
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_DEATH, 1, address_of(thread->number)));
    lifespan_ring_publish(thread, 1);
  }
  thread->counted = 0;
  lifespan_leave(thread);
}

void lifespan_thread_renamed(uintptr_t self, const char *name) {
  if (!lifespan_on()) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  uint32_t tid = 0, number = lifespan_thread_number(self, &tid);
  if (number) write_op(thread, number, tid, LIFESPAN_THREAD_RENAMED, name);
  lifespan_leave(thread);
}

#endif
