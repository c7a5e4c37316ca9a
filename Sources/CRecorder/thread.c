// Threads: who writes to which ring. A thread claims a slot at its first event and never gives it back (frees come after any destructor of
// ours): the consumer takes it when the ring is empty and the thread is gone. Called in hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "images.h"
#include "internal.h"
#include "raw.h"
#include "sandbox.h"

__thread struct lifespan_local lifespan_local INITIAL_EXEC;

static struct lifespan_thread *thread_states; // one for each slot, touched lazily
static _Atomic uint32_t slots_in_use;         // slots below it were claimed once

// The kernel's id of this thread: asked for, or where that is forbidden what libc keeps of it, if it does so where we know.
#if defined(__x86_64__)
#define LIBC_ID 0x2d0
static uint32_t libc_id(void) {
  uint32_t id;
  __asm__("movq %%fs:0x10, %%rax\n\tmovl %c1(%%rax), %0" : "=r"(id) : "i"(LIBC_ID) : "rax");
  return id;
}
#else
static uint32_t libc_id(void) { return 0; }
#endif
static bool libc_knows;

static uint32_t own_id(void) {
  if (lifespan_may(LIFESPAN_CALL_GETTID)) return (uint32_t)lifespan_raw4(SYS_gettid, 0, 0, 0, 0);
  return libc_knows ? libc_id() : 0;
}

bool lifespan_threads_start(void) {
  if (thread_states) return true;
  size_t bytes = sizeof(struct lifespan_thread) * (size_t)LIFESPAN_RING_SLOTS;
  thread_states = lifespan_raw_pages(bytes);
  if (!thread_states) return false;
  lifespan_recorder_owns(thread_states, bytes);
  libc_knows = libc_id() == (uint32_t)lifespan_raw4(SYS_gettid, 0, 0, 0, 0);
  return true;
}

#define TAKEN_OVER 0x80000000u // in a ring's tid, for a moment: no thread has such an id

static struct lifespan_ring *ring_at(uint32_t slot) {
  return (struct lifespan_ring *)((char *)lifespan_process.map + LIFESPAN_RINGS_OFFSET) + slot;
}

// A slot whose owner had this thread's kernel id: that thread is gone, its ring goes on with us. The consumer may be about to take it back: whoever changes
// the tid has it (attach writes ours again).
static bool take_over(uint32_t tid, uint32_t *slot) {
  uint32_t used = tid ? atomic_load_explicit(&slots_in_use, memory_order_acquire) : 0;
  for (uint32_t i = 0; i < used; i++) {
    struct lifespan_ring *ring = ring_at(i);
    uint32_t owner = tid;
    if (atomic_load_explicit(&ring->state, memory_order_acquire) != LIFESPAN_RING_CLAIMED) continue;
    if (!__atomic_compare_exchange_n(&ring->tid, &owner, tid | TAKEN_OVER, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
    *slot = i;
    return true;
  }
  return false;
}

bool lifespan_hold_signals(uint64_t *mask_before) {
  static const uint8_t faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
  uint64_t wait = ~0ull;
  for (unsigned i = 0; i < sizeof faults; i++) wait &= ~(1ull << (faults[i] - 1));
  if (!lifespan_may(LIFESPAN_CALL_SIGPROCMASK)) return false;
  return !lifespan_raw4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&wait, (long)mask_before, sizeof wait);
}

static bool claim_fresh(uint32_t *slot) {
  for (uint32_t i = 0; i < LIFESPAN_RING_SLOTS; i++) {
    struct lifespan_ring *ring = ring_at(i);
    uint32_t unused = LIFESPAN_RING_UNUSED;
    if (atomic_load_explicit(&ring->state, memory_order_relaxed) != unused || thread_states[i].kept) continue;
    if (!atomic_compare_exchange_strong(&ring->state, &unused, LIFESPAN_RING_CLAIMED)) continue;
    uint32_t used = atomic_load_explicit(&slots_in_use, memory_order_relaxed);
    while (used < i + 1 && !atomic_compare_exchange_weak(&slots_in_use, &used, i + 1)) {}
    *slot = i;
    return true;
  }
  return false;
}

static bool claim(uint32_t tid, uint32_t *slot) { return take_over(tid, slot) || claim_fresh(slot); }

static void write_seen(struct lifespan_thread *thread, uint32_t tid) {
  char name[16] = {0};
  if (lifespan_may(LIFESPAN_CALL_PRCTL)) lifespan_raw4(SYS_prctl, 16 /* PR_GET_NAME */, (long)name, 0, 0);
  size_t length = strnlen(name, sizeof name);
  struct lifespan_cell fixed[2] = {
    {lifespan_stamp(), lifespan_head_word(LIFESPAN_R_THREAD, 0, thread->number)},
    {(uint64_t)tid << 32 | length, LIFESPAN_THREAD_SEEN},
  };
  lifespan_ring_text(thread, fixed, 2, name, length, LIFESPAN_LOSS_OTHER);
}

// Its own state and ring for this thread, or for handlers that interrupt a hook of it (`number`: the thread's, already told).
static struct lifespan_thread *attach(uint32_t number) {
  struct lifespan_map *map = lifespan_process.map;
  uint32_t tid = own_id(), slot = 0;
  if (!(number ? claim_fresh(&slot) : claim(tid, &slot))) {
    atomic_fetch_add_explicit(&map->rings_refused, 1, memory_order_relaxed);
    return NULL;
  }
  struct lifespan_thread *thread = &thread_states[slot];
  thread->ring = ring_at(slot);
  thread->slot = slot;
  thread->number = number ? number : 1 + atomic_fetch_add_explicit(&map->next_thread, 1, memory_order_relaxed);
  thread->dead_beat = 0;
  thread->task = 0;
  thread->pending_mark = 0;
  thread->counted = 0;
  thread->outer = 0;
  thread->checks = lifespan_process.check_every;
  thread->walk.count = thread->walk.kept = 0;
  if (!lifespan_stack_bounds(&thread->walk.lo, &thread->walk.hi)) thread->walk.lo = thread->walk.hi = 0;
  thread->ring->thread_number = thread->number;
  __atomic_store_n(&thread->ring->tid, tid, __ATOMIC_RELEASE);
  lifespan_ring_bind(thread);
  atomic_store(&thread->self, 0); // another's, of before
  if (number) return thread;
  lifespan_local.thread = thread;
  // Whoever names us from outside sets the name and then looks for us: one of the two sees the other.
  atomic_store(&thread->self, (uintptr_t)__builtin_thread_pointer());
  write_seen(thread, tid);
  return thread;
}

uint32_t lifespan_thread_number(uintptr_t self, uint32_t *tid) {
  uint32_t used = atomic_load_explicit(&slots_in_use, memory_order_acquire), newest = 0;
  for (uint32_t i = 0; i < used; i++) {
    if (atomic_load(&thread_states[i].self) != self) continue;
    const struct lifespan_ring *ring = ring_at(i);
    if (atomic_load_explicit(&ring->state, memory_order_acquire) != LIFESPAN_RING_CLAIMED) continue; // its thread is gone
    // One that is gone without a word may have had the same stack: the newest number is the living one's.
    uint32_t number = __atomic_load_n(&ring->thread_number, __ATOMIC_RELAXED);
    if (number <= newest) continue;
    newest = number;
    *tid = __atomic_load_n(&ring->tid, __ATOMIC_RELAXED) & ~TAKEN_OVER;
  }
  return newest;
}

// ---- Entries that never leave ---------------------------------------------------------------------------------------------

// Whether a handler runs on the stack that was made for handlers: 1, 0; -1 not known.
static int on_own_stack(stack_t *own) {
  if (!lifespan_may(LIFESPAN_CALL_SIGALTSTACK) || lifespan_raw4(SYS_sigaltstack, 0, (long)own, 0, 0)) return -1;
  return own->ss_flags & SS_ONSTACK ? 1 : 0;
}

// A signal handler that interrupts a hook may leave by siglongjmp, or end the thread: the hook never goes on. Seen at the next entry from a frame
// that cannot lie below the old one, or told by an interposed longjmp. Not decided on a stack of a handler's own, which may lie anywhere.
bool lifespan_left_behind(uintptr_t inside, uintptr_t frame) {
  uintptr_t entered = inside & ~(uintptr_t)LIFESPAN_FLAGS, lo, hi;
  if (!entered || !lifespan_stack_bounds(&lo, &hi)) return false;
  if (entered >= lo && entered < hi && frame < entered) return false; // may be: a handler's frames, or the same entry's
  stack_t own = {0};
  return on_own_stack(&own) == 0;
}

static void count_suppressed(const struct lifespan_local *local) {
  if (local->thread) atomic_fetch_add_explicit(&local->thread->ring->suppressed, 1, memory_order_relaxed);
  else atomic_fetch_add_explicit(&lifespan_process.map->rings_refused, 1, memory_order_relaxed);
}

static unsigned level_of(uintptr_t inside) { return (unsigned)(inside & LIFESPAN_FLAGS) / LIFESPAN_LEVEL; }

// The innermost entry is over: what it was about to write is lost, and the state that it left half done begins anew.
static void end_entry(struct lifespan_local *local) {
  unsigned level = level_of(local->inside);
  struct lifespan_thread *thread = level ? local->nested[level - 1] : local->thread;
  count_suppressed(local);
  images_find_left(level && thread ? thread->finds : 0);
  if (thread) {
    thread->walk.count = thread->walk.kept = 0;
    lifespan_ring_bind(thread);
  }
  local->inside = thread ? thread->outer : 0;
}

// Whether the jump stays above the entry, inside a handler that has interrupted it.
static bool stays(uintptr_t here, uintptr_t target, uintptr_t entered) {
  if (target >= here && target < entered) return true;
  stack_t own = {0};
  if (on_own_stack(&own) != 1) return false;
  uintptr_t lo = (uintptr_t)own.ss_sp, hi = lo + own.ss_size;
  return target >= lo && target < hi && !(entered >= lo && entered < hi);
}

void lifespan_recorder_jumps(uintptr_t here, uintptr_t target) {
  struct lifespan_local *local = &lifespan_local;
  if (!lifespan_on()) return;
  uintptr_t quiet = lifespan_quiet & ~(uintptr_t)LIFESPAN_FLAGS;
  if (quiet && !stays(here, target, quiet)) lifespan_quiet = LIFESPAN_QUIET_NO;
  while (local->inside & ~(uintptr_t)LIFESPAN_FLAGS && !stays(here, target, local->inside & ~(uintptr_t)LIFESPAN_FLAGS)) end_entry(local);
}

// A signal handler allocates in the middle of a hook: into a ring of its own, as another thread would, but in this one's name.
static struct lifespan_thread *enter_nested(struct lifespan_local *local, uintptr_t frame) {
  uintptr_t outer = local->inside;
  unsigned level = level_of(outer);
  if (outer & (LIFESPAN_NAMING | LIFESPAN_TESTING) || !local->thread || level == LIFESPAN_LEVELS_MOST) return NULL;
  local->inside = (frame & ~(uintptr_t)LIFESPAN_FLAGS) | (level + 1) * LIFESPAN_LEVEL;
  __asm__ volatile("" ::: "memory");
  if (!local->nested[level]) local->nested[level] = attach(local->thread->number);
  struct lifespan_thread *thread = local->nested[level];
  if (thread) thread->outer = outer, thread->finds = images_find_depth();
  else local->inside = outer;
  return thread;
}

struct lifespan_thread *lifespan_inside(void) {
  struct lifespan_local *local = &lifespan_local;
  unsigned level = level_of(local->inside);
  return level ? local->nested[level - 1] : local->thread;
}

void lifespan_end_entries(void) {
  struct lifespan_local *local = &lifespan_local;
  while (local->inside) end_entry(local);
  lifespan_quiet = LIFESPAN_QUIET_NO;
}

static struct lifespan_thread *enter(uintptr_t frame, bool announced) {
  struct lifespan_local *local = &lifespan_local;
  while (local->inside && lifespan_left_behind(local->inside, frame)) end_entry(local);
  if (local->inside) {
    struct lifespan_thread *nested = enter_nested(local, frame);
    if (!nested && !(local->inside & LIFESPAN_NAMING)) count_suppressed(local); // what is allocated for a name is nobody's
    return nested;
  }
  uint64_t mask = 0;
  bool held = !local->thread && lifespan_hold_signals(&mask);
  local->inside = frame & ~(uintptr_t)LIFESPAN_FLAGS;
  __asm__ volatile("" ::: "memory");
  struct lifespan_thread *thread = local->thread;
  if (!thread) {
    thread = attach(0);
    if (thread && !announced) lifespan_thread_unannounced(thread);
  }
  if (!thread) local->inside = 0;
  if (held) lifespan_raw4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask);
  return thread;
}

struct lifespan_thread *lifespan_enter_slow(uintptr_t frame) { return enter(frame, false); }
struct lifespan_thread *lifespan_thread_enter(void) { return lifespan_on() ? enter((uintptr_t)__builtin_frame_address(0), true) : NULL; }

void lifespan_leave_slow(struct lifespan_thread *thread) {
  thread->pending_mark = 0;
  struct lifespan_cell mark = {lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_MARK, 0, 0)};
  lifespan_ring_text(thread, &mark, 1, "", 0, LIFESPAN_LOSS_OTHER);
}

// A thread counts what it has published in its own memory first: the copy of it is what the child's heap is made of.
void lifespan_threads_heads(uint64_t heads[LIFESPAN_RING_SLOTS]) {
  uint32_t used = atomic_load_explicit(&slots_in_use, memory_order_acquire);
  for (uint32_t i = 0; i < LIFESPAN_RING_SLOTS; i++) heads[i] = i < used && thread_states[i].ring ? thread_states[i].head : 0;
}

void lifespan_threads_forked(void) {
  atomic_store(&slots_in_use, 0);
  struct lifespan_local *local = &lifespan_local;
  for (unsigned level = 0; local->inside && level <= level_of(local->inside); level++) {
    struct lifespan_thread *interrupted = level ? local->nested[level - 1] : local->thread;
    if (interrupted) interrupted->kept = 1;
    atomic_fetch_add_explicit(&lifespan_process.map->rings_refused, 1, memory_order_relaxed); // what that hook was about to write
  }
  memset(&lifespan_local, 0, sizeof lifespan_local);
}

struct lifespan_rings lifespan_recorder_rings(void) {
  struct lifespan_map *map = lifespan_on() ? lifespan_process.map : NULL;
  return (struct lifespan_rings){map, map ? atomic_load_explicit(&map->allocated, memory_order_relaxed) : 0};
}

void lifespan_recorder_forked(struct lifespan_rings rings) {
  if (!rings.memory) return;
  lifespan_raw6(SYS_mmap, (long)rings.memory, (long)rings.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

bool lifespan_recorder_is_naming(void) { return lifespan_local.inside & LIFESPAN_NAMING; }

#endif
