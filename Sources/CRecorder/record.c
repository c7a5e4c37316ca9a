// From a hook to an event in the ring: what every event is made of, in the order that keeps it exact (a death before the memory goes, a
// birth after it was obtained; retain and release before the call, loads after it). Called by the hooks, in the program's threads.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "record_life.h"
#include "record_refcount.h"

#include <errno.h>
#include <malloc.h>

#include "raw.h"
#include "runtime_layout.h"
#include "lifespan_spots.h"

struct lifespan_self_test lifespan_self_test_counts;

static inline bool testing(uint32_t *counter) {
  if (LIKELY(!(lifespan_local.inside & LIFESPAN_TESTING))) return false;
  ++*counter;
  return true;
}

void lifespan_born_at(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, unsigned spot, uint32_t stack) {
  lifespan_write_born(thread, object, type, size, (enum lifespan_spot)spot, stack);
}

void lifespan_born(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, unsigned spot, struct lifespan_frame caller) {
  lifespan_born_at(thread, object, type, size, spot, lifespan_stack(thread, caller.pc, caller.sp, caller.fp));
}

static inline __attribute__((always_inline)) void write_end(struct lifespan_thread *thread, unsigned kind, const void *object, struct lifespan_frame caller) {
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
  if (!lifespan_births_on()) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  struct lifespan_type type = lifespan_type_at_birth(thread, metadata, caller.pc);
  if (type.id) lifespan_born(thread, object, type.id, size, LIFESPAN_SPOT_LIVING, caller);
  lifespan_leave(thread);
}

void lifespan_record_birth_below(const void *object, const void *metadata, uint64_t size, const void *hook) {
  lifespan_record_birth(object, metadata, size, lifespan_frame_above(hook));
}

// Whether the memory outlives the deinit: an unowned reference besides the object's own.
static bool memory_is_kept(const void *object) {
  uint64_t word = swift_refcount_word(object);
  if (LIKELY(!(word & SWIFT_REFCOUNT_SLOW))) return swift_refcount_unowned(word) > 1;
  static uint64_t (*unowned_count)(const void *);
  if (!unowned_count) unowned_count = (uint64_t(*)(const void *))lifespan_symbol("swift_unownedRetainCount");
  return unowned_count && unowned_count(object) > 1;
}

void lifespan_record_death(const void *object, struct lifespan_frame caller) {
  if (UNLIKELY(testing(&lifespan_self_test_counts.deaths))) return;
  uint8_t *place = lifespan_spot_at(object);
  enum lifespan_spot spot = lifespan_spot_in(place);
  if (spot != LIFESPAN_SPOT_LIVING && spot != LIFESPAN_SPOT_BLOCK) return; // its birth was not recorded: too early, left out, or on a stack
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  if (UNLIKELY(spot == LIFESPAN_SPOT_BLOCK)) { // nobody announced the object at its birth
    struct lifespan_type type = lifespan_type_at_birth(thread, *(const void *const *)object, caller.pc);
    if (type.id) lifespan_block_is_object(thread, object, type.id, LIFESPAN_SIZE_SAME, LIFESPAN_STACK_NONE);
  }
  bool kept = memory_is_kept(object);
  write_end(thread, kept ? LIFESPAN_R_DEINIT : LIFESPAN_R_DEATH, object, caller);
  // Its free() below us is no event then.
  lifespan_spot_put(place, object, kept ? LIFESPAN_SPOT_KEPT : lifespan_process.keeps_dead ? LIFESPAN_SPOT_DEAD : LIFESPAN_SPOT_NONE);
  lifespan_leave(thread);
}

// ---- Tasks ------------------------------------------------------------------------------------------------------------

void lifespan_record_task_birth(const void *task, struct lifespan_frame caller) {
  if (lifespan_spot(task) == LIFESPAN_SPOT_LIVING) return; // born when it was retained first
  bool immortal = (uint32_t)swift_refcount_word(task) == SWIFT_REFCOUNT_IMMORTAL;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  lifespan_task_related(thread, lifespan_task_id(task));
  bool recording = lifespan_births_on();
  if (!immortal && recording) { // immortal: an async let's, inside its parent's memory
    uint32_t type = lifespan_type_named(thread, *(const void *const *)task, LIFESPAN_KIND_TASK, "Swift.Task", 10);
    if (type) lifespan_born(thread, task, type, malloc_usable_size((void *)(uintptr_t)task), LIFESPAN_SPOT_LIVING, caller);
  }
  lifespan_leave(thread);
}

void lifespan_record_task_death(const void *task, struct lifespan_frame caller) {
  if (lifespan_spot(task) != LIFESPAN_SPOT_LIVING) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  write_end(thread, LIFESPAN_R_DEATH, task, caller);
  lifespan_spot_set(task, LIFESPAN_SPOT_NONE);
  lifespan_leave(thread);
}

// ---- Reference counts -----------------------------------------------------------------------------------------------------

// swift_task_create_common retains a task and gives it to other threads before it returns: whoever counts from its return on has missed that,
// and what those threads did. Its first retain comes before anybody else knows it.
static void task_seen_early(const void *object) {
  static void *const *task_metadata;
  if (!task_metadata) task_metadata = lifespan_symbol("_swift_concurrency_debug_asyncTaskMetadata");
  if (!task_metadata || *(void *const *)object != *task_metadata) return;
  lifespan_record_task_birth(object, lifespan_local.creator);
}

static void write_misuse(const void *object, enum lifespan_misuse what, uint64_t count, struct lifespan_frame caller) {
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  uint32_t stack = lifespan_stack(thread, caller.pc, caller.sp, caller.fp);
  lifespan_task_note(thread);
  if (lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_OTHER)) {
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_MISUSE, 2, (uint64_t)object));
    lifespan_ring_put(thread, 1, (uint64_t)what << 32 | stack, count);
    lifespan_ring_publish(thread, 2);
  }
  lifespan_leave(thread);
}

// Whether words where an object died are those of one that lives there, unseen: on a task's own stack, which lies in a block that was allocated
// over it. What an allocator leaves in a freed block does not look like that.
static bool looks_alive(const void *object) {
  uint64_t word = swift_refcount_word(object);
  if (word & SWIFT_REFCOUNT_SLOW) {
    uint64_t owner = 0;
    long got = lifespan_raw_read(&owner, (const void *)(uintptr_t)(word << 3), sizeof owner);
    return got == sizeof owner ? owner == (uint64_t)object : got != -EFAULT;
  }
  return word & SWIFT_REFCOUNT_PURE_SWIFT && !(word & SWIFT_REFCOUNT_DEINITING) && swift_refcount_unowned(word) &&
         swift_refcount_unowned(word) < 0x10000;
}

// A reference to an object that no longer lives, or never did as far as we know.
static __attribute__((noinline)) void not_living(unsigned kind, const void *object, enum lifespan_spot spot, struct lifespan_frame caller) {
  if (spot != LIFESPAN_SPOT_KEPT && (spot != LIFESPAN_SPOT_DEAD || looks_alive(object))) return;
  write_misuse(object, kind == LIFESPAN_R_RETAIN ? LIFESPAN_MISUSE_RETAIN : LIFESPAN_MISUSE_RELEASE, 0, caller);
}

static bool is_counted(const void *object) {
  struct lifespan_type type = lifespan_type_known(*(const void *const *)object);
  return type.id && (type.flags & LIFESPAN_TYPE_TRACKED || lifespan_process.refcounts);
}

void lifespan_record_unowned(const void *object, struct lifespan_frame caller) {
  if ((intptr_t)object <= 0 || lifespan_spot(object) != LIFESPAN_SPOT_KEPT || !is_counted(object)) return;
  write_misuse(object, LIFESPAN_MISUSE_UNOWNED, 0, caller);
}

void lifespan_record_deallocating(const void *object, struct lifespan_frame caller) {
  if (lifespan_spot(object) != LIFESPAN_SPOT_LIVING || !is_counted(object)) return;
  uint64_t bits = swift_refcount_bits(object);
  if (LIKELY(!swift_refcount_extra(bits)) || !(bits & SWIFT_REFCOUNT_DEINITING) || (uint32_t)bits == SWIFT_REFCOUNT_IMMORTAL) return;
  write_misuse(object, LIFESPAN_MISUSE_ESCAPED, swift_refcount_extra(bits), caller);
}

void lifespan_record_refcount_rare(unsigned kind, const void *object, uint32_t amount, unsigned flavour, bool count_known, struct lifespan_frame caller) {
  if (testing(kind == LIFESPAN_R_RETAIN ? &lifespan_self_test_counts.retains : &lifespan_self_test_counts.releases)) return;
  if (lifespan_local.creator.pc) task_seen_early(object);
  enum lifespan_spot spot = lifespan_spot(object);
  if (spot <= LIFESPAN_SPOT_BLOCK || (uint32_t)swift_refcount_word(object) == SWIFT_REFCOUNT_IMMORTAL) return;
  struct lifespan_type type = {UINT32_MAX, 0};
  if (spot != LIFESPAN_SPOT_LIVING || !lifespan_process.refcounts) type = lifespan_type_known(*(const void *const *)object);
  if (type.id ? !(type.flags & LIFESPAN_TYPE_TRACKED || lifespan_process.refcounts) : type.flags & LIFESPAN_TYPE_IGNORED) return;
  if (spot != LIFESPAN_SPOT_LIVING) return not_living(kind, object, spot, caller);
  if (type.id) lifespan_write_refcount(kind, object, amount, flavour, count_known, caller);
}

void lifespan_record_refcount(unsigned kind, const void *object, uint32_t amount, unsigned flavour, bool count_known, struct lifespan_frame caller) {
  lifespan_record_counted(kind, object, amount, flavour, count_known, caller);
}

void lifespan_record_below_zero(const void *object, uint64_t before, struct lifespan_frame caller) {
  write_misuse(object, LIFESPAN_MISUSE_BELOW_ZERO, before, caller);
}

// ---- Tokens -------------------------------------------------------------------------------------------------------------

uint64_t lifespan_recorder_token_born(const char *name, size_t length, uint64_t size) {
  if (!lifespan_on() || !lifespan_births_on()) return 0;
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
    lifespan_write_birth(thread, (const void *)token, type, size, lifespan_stack(thread, caller.pc, caller.sp, caller.fp));
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
