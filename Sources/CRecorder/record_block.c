// Blocks of malloc: from the allocator's hooks to events. Every block is recorded (`blocks`), or only what happens to Swift objects by free and
// realloc. Called by the interposed functions of the preload library and by the detours of an executable's own allocator.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "record.h"

#include "block_types.h"
#include "late.h"
#include "runtime_layout.h"
#include "lifespan_spots.h"

__thread volatile uintptr_t lifespan_quiet INITIAL_EXEC;

// ---- Before the start -------------------------------------------------------------------------------------------------------
// The dynamic linker and other libraries' constructors allocate before ours runs.
#define EARLY_ROOM 2048u
static struct early {
  _Atomic(const void *) block;
  size_t size;
} early[EARLY_ROOM];
static _Atomic uint32_t early_count; // places taken, also beyond the room
static _Atomic bool early_closed;
bool lifespan_record_frees_all = true; // until it is

static void early_born(const void *block, size_t size) {
  if (!block || lifespan_local.inside || lifespan_quiet) return;
  uint32_t place = atomic_fetch_add(&early_count, 1);
  if (place >= EARLY_ROOM) return;
  early[place].size = size;
  atomic_store(&early[place].block, block);
}

static struct early *early_find(const void *block) {
  uint32_t count = atomic_load(&early_count);
  for (uint32_t i = 0; i < count && i < EARLY_ROOM; i++)
    if (block && atomic_load_explicit(&early[i].block, memory_order_relaxed) == block) return &early[i];
  return NULL;
}

static void early_freed(const void *block) {
  struct early *found = early_find(block);
  if (found) atomic_store(&found->block, NULL);
}

static void early_moved(const void *from, const void *to, size_t size) {
  if (!to) return;
  early_freed(from);
  early_born(to, size);
}

static inline bool early_open(void) { return UNLIKELY(!atomic_load_explicit(&early_closed, memory_order_relaxed)); }

static void close_early(void) {
  atomic_store(&early_closed, true);
  lifespan_record_frees_all = false;
}

void lifespan_record_no_early_blocks(void) { close_early(); }

void lifespan_record_early_blocks(void) {
  close_early();
  struct lifespan_thread *thread = lifespan_process.blocks ? lifespan_enter() : NULL;
  if (!thread) return;
  uint32_t count = atomic_load(&early_count);
  for (uint32_t i = 0; i < count && i < EARLY_ROOM; i++) {
    const void *block = atomic_load(&early[i].block);
    uint32_t type = block ? lifespan_block_type(thread, early[i].size) : 0;
    if (type) lifespan_born_at(thread, block, type, early[i].size, LIFESPAN_SPOT_BLOCK, LIFESPAN_STACK_NONE);
  }
  lifespan_leave(thread);
  if (count > EARLY_ROOM) lifespan_say_partial("", "more blocks were allocated before the recorder's start than it keeps: those are missing");
}

// ---- Births ---------------------------------------------------------------------------------------------------------------

static void block_born(const void *block, size_t size, struct lifespan_frame caller) {
  if (!lifespan_births_on()) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  uint32_t type = lifespan_block_type(thread, size);
  if (type) lifespan_born(thread, block, type, size, LIFESPAN_SPOT_BLOCK, caller);
  lifespan_leave(thread);
}

// The allocator was entered from within an allocator's function: a signal handler's, or a library's that stands between.
static void count_nested(void) {
  struct lifespan_thread *thread = lifespan_local.thread;
  if (thread) atomic_fetch_add_explicit(&thread->ring->suppressed, 1, memory_order_relaxed);
}

// A signal handler's block is not the object's in whose making it comes. The runtime's own call lies 160 to 304 bytes below the hook that announced it
// (Swift 6.3); between a handler and what it interrupts on the same stack lie at least the red zone, the signal's context and the registers' area.
#define SIGNAL_FRAME_LEAST 1024u
static uintptr_t runtimes_depth; // at the self-test: more, where a library stands between the runtime and us

uintptr_t lifespan_quiet_reach;

static uintptr_t depth_below(uintptr_t quiet, uintptr_t sp) { return (quiet & ~(uintptr_t)LIFESPAN_FLAGS) - sp; } // of another stack: any number

static void note_depth(uintptr_t quiet, uintptr_t sp) {
  if ((quiet & LIFESPAN_FLAGS) != LIFESPAN_QUIET_OBJECT) return;
  runtimes_depth = depth_below(quiet, sp);
  lifespan_quiet_reach = runtimes_depth < SIGNAL_FRAME_LEAST && !lifespan_process.keeps_dead ? SIGNAL_FRAME_LEAST : 0;
}

static bool is_handlers(uintptr_t quiet, uintptr_t sp) {
  return depth_below(quiet, sp) >= SIGNAL_FRAME_LEAST && runtimes_depth < SIGNAL_FRAME_LEAST;
}

void lifespan_record_block(const void *block, size_t size, struct lifespan_frame caller) {
  if (!lifespan_on()) {
    if (early_open()) early_born(block, size);
    return;
  }
  if (UNLIKELY(lifespan_process.keeps_dead) && block && lifespan_spot(block) == LIFESPAN_SPOT_DEAD) lifespan_spot_set(block, LIFESPAN_SPOT_NONE);
  uintptr_t quiet = lifespan_quiet;
  if (UNLIKELY(lifespan_local.inside & LIFESPAN_TESTING)) return note_depth(quiet, caller.sp);
  if (!block || !lifespan_process.blocks) return;
  if (UNLIKELY(atomic_load_explicit(&lifespan_late_state, memory_order_acquire)) && !lifespan_local.inside) lifespan_late_block(caller.pc);
  if (UNLIKELY(quiet && caller.sp > quiet && lifespan_left_behind(quiet, caller.sp))) quiet = lifespan_quiet = LIFESPAN_QUIET_NO;
  switch ((enum lifespan_quiet)(quiet & LIFESPAN_FLAGS)) {
  case LIFESPAN_QUIET_NO: break;
  case LIFESPAN_QUIET_OURS: return;
  case LIFESPAN_QUIET_ALLOCATOR: return count_nested();
  case LIFESPAN_QUIET_OBJECT:
    if (UNLIKELY(is_handlers(quiet, caller.sp))) break;
    lifespan_quiet = LIFESPAN_QUIET_NO;
    return;
  case LIFESPAN_QUIET_TASK:
    if (UNLIKELY(is_handlers(quiet, caller.sp))) break;
    lifespan_quiet = LIFESPAN_QUIET_NO;
    lifespan_local.held_back = block;
    lifespan_local.held_back_size = size;
    return;
  }
  block_born(block, size, caller);
}

void lifespan_record_block_below(const void *block, size_t size, const void *hook) { lifespan_record_block(block, size, lifespan_frame_above(hook)); }

void lifespan_record_block_unless_known(const void *block, size_t size, struct lifespan_frame caller) {
  bool known = lifespan_on() ? (lifespan_spot(block) & ~LIFESPAN_SPOT_DEAD) != LIFESPAN_SPOT_NONE : early_find(block) != NULL;
  if (!known) lifespan_record_block(block, size, caller);
}

void lifespan_record_held_back(const void *task) {
  const void *block = lifespan_local.held_back;
  lifespan_local.held_back = NULL;
  if (block && block != task) block_born(block, lifespan_local.held_back_size, LIFESPAN_CALLER);
}

// ---- Ends -----------------------------------------------------------------------------------------------------------------

// While the runtime names a type for us, what it allocates is nobody's; what it gives back may be the program's all the same (its cache of names grows). No
// record is half written then: the outer hook is about to ask for a type.
static struct lifespan_thread *enter_naming_too(bool *naming) {
  struct lifespan_thread *thread = lifespan_local.inside & LIFESPAN_NAMING ? lifespan_inside() : NULL;
  *naming = thread != NULL;
  return thread ? thread : lifespan_enter();
}
static void leave_naming_too(struct lifespan_thread *thread, bool naming) {
  if (!naming) lifespan_leave(thread);
}

// Whether a block that is about to go was a Swift object that nobody announced: its first word is the metadata of a type that was seen, its second
// one a reference count as the runtime leaves it. The block is the caller's own and can be read, unless its pages were protected: that takes a
// block at a page's begin, as the allocator's own header lies before it.
static void look_for_object(struct lifespan_thread *thread, const void *block) {
  if (!((uintptr_t)block & 4095)) return;
  const uint64_t *words = block;
  uint64_t count = words[1];
  if (!words[0] || words[0] & 7 || !(count & SWIFT_REFCOUNT_PURE_SWIFT) || count & SWIFT_REFCOUNT_SLOW) return;
  if (!swift_refcount_unowned(count) || swift_refcount_unowned(count) > 0xffff) return;
  struct lifespan_type type = lifespan_type_known((const void *)words[0]);
  if (type.id && type.id != UINT32_MAX) lifespan_block_is_object(thread, block, type.id, LIFESPAN_SIZE_SAME, LIFESPAN_STACK_NONE);
}

void lifespan_record_free(const void *address) {
  if (!lifespan_on()) {
    if (early_open()) early_freed(address);
    return;
  }
  uint8_t *place = lifespan_spot_at(address);
  enum lifespan_spot spot = lifespan_spot_in(place);
  if (spot == LIFESPAN_SPOT_NONE || spot == LIFESPAN_SPOT_DEAD || UNLIKELY(lifespan_local.inside & LIFESPAN_TESTING)) return;
  bool naming;
  struct lifespan_thread *thread = enter_naming_too(&naming);
  if (!thread) return;
  if (spot == LIFESPAN_SPOT_BLOCK && !naming) look_for_object(thread, address);
  if (lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_DEATH)) {
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_FREE, 1, (uint64_t)address));
    lifespan_ring_publish(thread, 1);
  }
  lifespan_spot_put(place, address, LIFESPAN_SPOT_NONE);
  leave_naming_too(thread, naming);
}

// ---- realloc --------------------------------------------------------------------------------------------------------------

uint32_t lifespan_record_moving(const void *address) {
  if (!lifespan_on()) return LIFESPAN_SPOT_NONE;
  enum lifespan_spot spot = lifespan_spot(address);
  if (spot != LIFESPAN_SPOT_LIVING && spot != LIFESPAN_SPOT_BLOCK) return LIFESPAN_SPOT_NONE;
  bool naming;
  struct lifespan_thread *thread = enter_naming_too(&naming);
  if (!thread) return LIFESPAN_SPOT_NONE;
  bool written = lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_OTHER);
  if (written) {
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_MOVING, 1, (uint64_t)address));
    lifespan_ring_publish(thread, 1);
    lifespan_spot_set(address, LIFESPAN_SPOT_NONE); // once the call has given it away it is another's
  }
  leave_naming_too(thread, naming);
  return written ? spot : LIFESPAN_SPOT_NONE;
}

static void write_moved(struct lifespan_thread *thread, const void *from, const void *to, size_t size, uint32_t type, uint32_t stack) {
  if (!lifespan_ring_reserve(thread, 3, LIFESPAN_LOSS_OTHER)) return;
  lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_MOVED, 3, (uint64_t)to));
  lifespan_ring_put(thread, 1, (uint64_t)from, size & LIFESPAN_VALUE_MASK);
  lifespan_ring_put(thread, 2, (uint64_t)type << 32 | stack, 0);
  lifespan_ring_publish(thread, 3);
}

void lifespan_record_moved(uint32_t recorded, const void *from, const void *to, size_t size, struct lifespan_frame caller) {
  if (recorded == LIFESPAN_SPOT_NONE) {
    if (!lifespan_on() && early_open()) early_moved(from, to, size);
    if (UNLIKELY(lifespan_process.keeps_dead) && to && lifespan_spot(to) == LIFESPAN_SPOT_DEAD) lifespan_spot_set(to, LIFESPAN_SPOT_NONE);
    return;
  }
  bool naming;
  struct lifespan_thread *thread = enter_naming_too(&naming);
  if (!thread) return;
  if (to) {
    uint32_t type = 0, stack = LIFESPAN_STACK_NONE;
    if (recorded == LIFESPAN_SPOT_BLOCK && !naming) {
      type = lifespan_block_type(thread, size);
      stack = lifespan_stack(thread, caller.pc, caller.sp, caller.fp);
    }
    lifespan_spot_set(to, recorded);
    write_moved(thread, from, to, size, type, stack);
  } else {
    lifespan_spot_set(from, recorded);
    if (lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_OTHER)) {
      lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_MOVE_FAILED, 1, (uint64_t)from));
      lifespan_ring_publish(thread, 1);
    }
  }
  leave_naming_too(thread, naming);
}

// ---- Blocks that are objects --------------------------------------------------------------------------------------------------

void lifespan_block_is_object(struct lifespan_thread *thread, const void *object, uint32_t type, uint64_t size, uint32_t stack) {
  write_moved(thread, object, object, size, type, stack);
}

#endif
