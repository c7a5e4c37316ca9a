// From a hook to an event in the ring: what every event is made of, in the order that keeps it exact (a death before the memory goes, a
// birth after it was obtained; retain and release before the call, loads after it). Called by the hooks, in the program's threads.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <malloc.h>

#include "raw.h"
#include "runtime_layout.h"

struct lifespan_self_test lifespan_self_test_counts;

static inline bool testing(uint32_t *counter) {
  if (LIKELY(lifespan_local.inside != LIFESPAN_TESTING)) return false;
  ++*counter;
  return true;
}

static void write_birth(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, uint32_t stack) {
  lifespan_task_note(thread);
  if (!lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_BIRTH)) return;
  lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_BIRTH, 2, (uint64_t)object));
  lifespan_ring_put(thread, 1, (uint64_t)type << 32 | stack, size & LIFESPAN_VALUE_MASK);
  lifespan_ring_publish(thread, 2);
}

static void write_end(struct lifespan_thread *thread, unsigned kind, const void *object, struct lifespan_frame caller) {
  uint32_t stack = LIFESPAN_STACK_NONE;
  if (lifespan_process.death_stacks) stack = lifespan_stack(thread, caller.pc, caller.sp, caller.fp);
  lifespan_task_note(thread);
  unsigned cells = stack ? 2 : 1;
  if (!lifespan_ring_reserve(thread, cells, LIFESPAN_LOSS_DEATH)) return;
  lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(kind, cells, (uint64_t)object));
  if (stack) lifespan_ring_put(thread, 1, stack, 0);
  lifespan_ring_publish(thread, cells);
}

void lifespan_record_birth(const void *object, const void *metadata, uint64_t size, struct lifespan_frame caller) {
  if (UNLIKELY(testing(&lifespan_self_test_counts.births))) return;
  if (!atomic_load_explicit(&lifespan_process.map->recording, memory_order_relaxed)) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  struct lifespan_type type = lifespan_type_at_birth(thread, metadata, caller.pc);
  if (type.id) write_birth(thread, object, type.id, size, lifespan_stack(thread, caller.pc, caller.sp, caller.fp));
  lifespan_leave(thread);
}

// Whether the memory outlives the deinit: an unowned reference besides the object's own.
static bool memory_is_kept(const void *object) {
  uint64_t word = swift_refcount_word(object);
  if (LIKELY(!(word & SWIFT_REFCOUNT_SLOW))) return swift_refcount_unowned(word) > 1;
  static uint64_t (*unowned_count)(const void *);
  if (!unowned_count) unowned_count = (uint64_t(*)(const void *))lifespan_symbol("swift_unownedRetainCount");
  return unowned_count && unowned_count(object) > 1;
}

static inline bool on_own_stack(const struct lifespan_thread *thread, const void *object) {
  return (uintptr_t)object - thread->walk.lo < thread->walk.hi - thread->walk.lo;
}

void lifespan_record_death(const void *object, struct lifespan_frame caller) {
  if (UNLIKELY(testing(&lifespan_self_test_counts.deaths))) return;
  struct lifespan_type type = lifespan_type_known(*(const void *const *)object);
  if (!type.id) return; // its birth was not recorded
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  if (!on_own_stack(thread, object)) {
    bool kept = memory_is_kept(object);
    thread->dying = kept ? NULL : object;
    write_end(thread, kept ? LIFESPAN_R_DEINIT : LIFESPAN_R_DEATH, object, caller);
  }
  lifespan_leave(thread);
}

// ---- Tasks ------------------------------------------------------------------------------------------------------------

void lifespan_record_task_birth(const void *task, struct lifespan_frame caller) {
  bool immortal = (uint32_t)swift_refcount_word(task) == SWIFT_REFCOUNT_IMMORTAL;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  lifespan_task_related(thread, lifespan_task_id(task));
  bool recording = atomic_load_explicit(&lifespan_process.map->recording, memory_order_relaxed);
  if (!immortal && recording) { // immortal: an async let's, inside its parent's memory
    uint32_t type = lifespan_type_named(thread, *(const void *const *)task, LIFESPAN_KIND_TASK, "Swift.Task", 10);
    if (type) write_birth(thread, task, type, malloc_usable_size((void *)(uintptr_t)task), lifespan_stack(thread, caller.pc, caller.sp, caller.fp));
  }
  lifespan_leave(thread);
}

void lifespan_record_task_death(const void *task, struct lifespan_frame caller) {
  struct lifespan_type type = lifespan_type_known(*(const void *const *)task);
  if (!type.id) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  thread->dying = task;
  write_end(thread, LIFESPAN_R_DEATH, task, caller);
  lifespan_leave(thread);
}

// ---- Plain memory -------------------------------------------------------------------------------------------------------

// Whether a block's first word can be read. A program may take all access from the first page of a block and then free it: the allocator's own word
// lies in the page before. Only a block that begins a page can be like that. The call refuses `how` after it has read the word, so it changes
// nothing, and every filter of system calls lets it pass.
static inline bool readable(const void *address) {
  return LIKELY((uintptr_t)address & 4095) || lifespan_raw4(SYS_rt_sigprocmask, -1, (long)address, 0, 8) != -EFAULT;
}

// A freed or moved block is an event when it looks like an object of a type that a birth has shown, and no hook above announced its end.
static bool is_event(const void *address) {
  struct lifespan_local *local = &lifespan_local;
  if (local->thread && local->thread->dying == address) {
    local->thread->dying = NULL;
    return false;
  }
  return readable(address) && lifespan_type_known(*(const void *const *)address).id != 0;
}

void lifespan_record_free(const void *address) {
  if (!address || !lifespan_on() || !is_event(address)) return;
  if (UNLIKELY(lifespan_local.inside == LIFESPAN_TESTING)) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  if (lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_DEATH)) {
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_FREE, 1, (uint64_t)address));
    lifespan_ring_publish(thread, 1);
  }
  lifespan_leave(thread);
}

bool lifespan_record_moving(const void *address) {
  if (!address || !lifespan_on() || !is_event(address)) return false;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return false;
  bool written = lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_OTHER);
  if (written) {
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_MOVING, 1, (uint64_t)address));
    lifespan_ring_publish(thread, 1);
  }
  lifespan_leave(thread);
  return written;
}

void lifespan_record_moved(const void *from, const void *to, uint64_t size) {
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  unsigned cells = to ? 2 : 1;
  if (lifespan_ring_reserve(thread, cells, LIFESPAN_LOSS_OTHER)) {
    unsigned kind = to ? LIFESPAN_R_MOVED : LIFESPAN_R_MOVE_FAILED;
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(kind, cells, (uint64_t)(to ? to : from)));
    if (to) lifespan_ring_put(thread, 1, (uint64_t)from, size & LIFESPAN_VALUE_MASK);
    lifespan_ring_publish(thread, cells);
  }
  lifespan_leave(thread);
}

// ---- Reference counts -----------------------------------------------------------------------------------------------------

void lifespan_record_refcount(unsigned kind, const void *object, uint32_t amount, unsigned flavour, bool count_known, struct lifespan_frame caller) {
  if ((intptr_t)object <= 0) return;
  object = (const void *)((uintptr_t)object & 0x00fffffffffffff8ull);
  uint64_t word = swift_refcount_word(object);
  if ((uint32_t)word == SWIFT_REFCOUNT_IMMORTAL) return;
  if (UNLIKELY(testing(kind == LIFESPAN_R_RETAIN ? &lifespan_self_test_counts.retains : &lifespan_self_test_counts.releases))) return;
  struct lifespan_type type = lifespan_type_known(*(const void *const *)object);
  if (!type.id || !(type.flags & LIFESPAN_TYPE_TRACKED || lifespan_process.refcounts)) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  if (!on_own_stack(thread, object)) {
    uint32_t stack = lifespan_stack(thread, caller.pc, caller.sp, caller.fp);
    lifespan_task_note(thread);
    uint64_t before = count_known && !(word & SWIFT_REFCOUNT_SLOW) ? swift_refcount_strong(word) : (1ull << 56) - 1;
    if (lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_OTHER)) {
      lifespan_ring_put(thread, 0, lifespan_stamp(), lifespan_head_word(kind, 2, (uint64_t)object));
      lifespan_ring_put(thread, 1, (uint64_t)amount << 32 | stack, (uint64_t)flavour << 56 | before);
      lifespan_ring_publish(thread, 2);
    }
  }
  lifespan_leave(thread);
}

// ---- Tokens -------------------------------------------------------------------------------------------------------------

uint64_t lifespan_recorder_token_born(const char *name, size_t length, uint64_t size) {
  if (!lifespan_on() || !atomic_load_explicit(&lifespan_process.map->recording, memory_order_relaxed)) return 0;
  struct lifespan_frame caller = LIFESPAN_CALLER;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return 0;
  uint64_t key = 1469598103934665603ull;
  for (size_t i = 0; i < length; i++) key = (key ^ (uint8_t)name[i]) * 1099511628211ull;
  key = (key >> 2) | 1; // odd: never a metadata
  uint32_t type = lifespan_type_named(thread, (const void *)key, LIFESPAN_KIND_TOKEN, name, length);
  static _Atomic uint64_t next_token = 1;
  uint64_t token = 0;
  if (type) {
    token = LIFESPAN_TOKEN_ADDRESS | (atomic_fetch_add_explicit(&next_token, 1, memory_order_relaxed) & (LIFESPAN_TOKEN_ADDRESS - 1));
    write_birth(thread, (const void *)token, type, size, lifespan_stack(thread, caller.pc, caller.sp, caller.fp));
  }
  lifespan_leave(thread);
  return token;
}

void lifespan_recorder_token_died(uint64_t token) {
  if (!token || !lifespan_on()) return;
  struct lifespan_frame caller = LIFESPAN_CALLER;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  write_end(thread, LIFESPAN_R_DEATH, (const void *)token, caller);
  lifespan_leave(thread);
}

#endif
