// Threads: who writes to which ring. A thread claims a slot at its first event and never gives it back (frees come after any destructor of
// ours): the consumer takes it when the ring is empty and the thread is gone. Called in hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "raw.h"

__thread struct lifespan_local lifespan_local INITIAL_EXEC;

static struct lifespan_thread *thread_states; // one for each slot, touched lazily
static _Atomic uint32_t slots_in_use;         // slots below it were claimed once

bool lifespan_threads_start(void) {
  if (thread_states) return true;
  size_t bytes = sizeof(struct lifespan_thread) * (size_t)LIFESPAN_RING_SLOTS;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  thread_states = memory;
  return true;
}

#define TAKEN_OVER 0x80000000u // in a ring's tid, for a moment: no thread has such an id

static struct lifespan_ring *ring_at(uint32_t slot) {
  return (struct lifespan_ring *)((char *)lifespan_process.map + LIFESPAN_RINGS_OFFSET) + slot;
}

// A slot whose owner had this thread's kernel id: that thread is gone, its ring goes on with us. The consumer may be about to take it back: whoever changes
// the tid has it (attach writes ours again).
static bool take_over(uint32_t tid, uint32_t *slot) {
  uint32_t used = atomic_load_explicit(&slots_in_use, memory_order_acquire);
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

static bool claim(uint32_t tid, uint32_t *slot) {
  if (take_over(tid, slot)) return true;
  for (uint32_t i = 0; i < LIFESPAN_RING_SLOTS; i++) {
    struct lifespan_ring *ring = ring_at(i);
    uint32_t unused = LIFESPAN_RING_UNUSED;
    if (atomic_load_explicit(&ring->state, memory_order_relaxed) != unused) continue;
    if (!atomic_compare_exchange_strong(&ring->state, &unused, LIFESPAN_RING_CLAIMED)) continue;
    uint32_t used = atomic_load_explicit(&slots_in_use, memory_order_relaxed);
    while (used < i + 1 && !atomic_compare_exchange_weak(&slots_in_use, &used, i + 1)) {}
    *slot = i;
    return true;
  }
  return false;
}

static void write_seen(struct lifespan_thread *thread, uint32_t tid) {
  char name[16] = {0};
  lifespan_raw4(SYS_prctl, 16 /* PR_GET_NAME */, (long)name, 0, 0);
  size_t length = strnlen(name, sizeof name);
  struct lifespan_cell fixed[2] = {
    {lifespan_stamp(), lifespan_head_word(LIFESPAN_R_THREAD, 0, thread->number)},
    {(uint64_t)tid << 32 | length, LIFESPAN_THREAD_SEEN},
  };
  lifespan_ring_text(thread, fixed, 2, name, length, LIFESPAN_LOSS_OTHER);
}

static struct lifespan_thread *attach(void) {
  struct lifespan_map *map = lifespan_process.map;
  uint32_t tid = (uint32_t)lifespan_raw4(SYS_gettid, 0, 0, 0, 0), slot = 0;
  if (!claim(tid, &slot)) {
    atomic_fetch_add_explicit(&map->rings_refused, 1, memory_order_relaxed);
    return NULL;
  }
  struct lifespan_thread *thread = &thread_states[slot];
  thread->ring = ring_at(slot);
  thread->slot = slot;
  thread->number = 1 + atomic_fetch_add_explicit(&map->next_thread, 1, memory_order_relaxed);
  thread->dead_beat = 0;
  thread->task = 0;
  thread->pending_mark = 0;
  thread->counted = 0;
  thread->checks = lifespan_process.check_every;
  thread->walk.count = thread->walk.kept = 0;
  if (!lifespan_stack_bounds(&thread->walk.lo, &thread->walk.hi)) thread->walk.lo = thread->walk.hi = 0;
  __atomic_store_n(&thread->ring->tid, tid, __ATOMIC_RELEASE);
  thread->ring->thread_number = thread->number;
  lifespan_ring_bind(thread);
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

static struct lifespan_thread *enter(bool announced) {
  struct lifespan_local *local = &lifespan_local;
  if (local->inside) {
    if (local->thread && local->inside != LIFESPAN_NAMING) atomic_fetch_add_explicit(&local->thread->ring->suppressed, 1, memory_order_relaxed);
    return NULL;
  }
  local->inside = 1;
  __asm__ volatile("" ::: "memory");
  struct lifespan_thread *thread = local->thread;
  if (!thread) {
    thread = attach();
    if (thread && !announced) lifespan_thread_unannounced(thread);
  }
  if (!thread) local->inside = 0;
  return thread;
}

struct lifespan_thread *lifespan_enter_slow(void) { return enter(false); }
struct lifespan_thread *lifespan_thread_enter(void) { return lifespan_on() ? enter(true) : NULL; }

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
  memset(&lifespan_local, 0, sizeof lifespan_local);
}

bool lifespan_recorder_is_naming(void) { return lifespan_local.inside == LIFESPAN_NAMING; }

#endif
