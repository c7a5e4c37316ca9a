// fork under `record --children`: before it the parent's thread takes the fork slot and says so in its ring; the child's first act is to say
// how much of every ring its memory holds, from which the recording command knows what lives in the child; then it goes on in a mapping of its
// own. Called by the preload library's fork handlers; without --children nothing here does anything, and a child is off in its first instruction.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "raw.h"
#include "sandbox.h"

#define SLOT_TRIES 1000u // of a millisecond: the consumer frees the slot of another thread's fork

static struct lifespan_fork *slot_of(struct lifespan_map *map) { return (struct lifespan_fork *)((char *)map + LIFESPAN_DATA_OFFSET); }

// One fork at a time. False: the consumer does not free the slot; this child will not be recorded.
static bool take_slot(struct lifespan_map *map) {
  for (unsigned tries = 0; tries < SLOT_TRIES; tries++) {
    uint32_t free = LIFESPAN_FORK_FREE;
    if (atomic_compare_exchange_strong(&slot_of(map)->state, &free, LIFESPAN_FORK_PREPARED)) return true;
    if (!atomic_load_explicit(&map->consumer_alive, memory_order_relaxed) || !lifespan_may(LIFESPAN_CALL_NANOSLEEP)) return false;
    lifespan_raw_sleep(1000000);
  }
  return false;
}

uint64_t lifespan_recorder_fork_begins(void) {
  static uint64_t last; // of whoever has the slot
  struct lifespan_map *map = lifespan_process.map;
  if (!lifespan_on() || !map->options.children || !take_slot(map)) return 0;
  uint64_t number = ++last;
  slot_of(map)->number = number;
  struct lifespan_thread *thread = lifespan_enter();
  bool written = thread && lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_OTHER);
  if (written) {
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_FORK, 1, number));
    lifespan_ring_publish(thread, 1);
  }
  if (thread) lifespan_leave(thread);
  if (written) return number;
  atomic_store(&slot_of(map)->state, LIFESPAN_FORK_FREE);
  return 0;
}

void lifespan_recorder_fork_child(uint64_t number) {
  struct lifespan_map *map = lifespan_process.map;
  if (!number || !map || slot_of(map)->number != number || atomic_load(&slot_of(map)->state) != LIFESPAN_FORK_PREPARED) return;
  lifespan_threads_heads(slot_of(map)->heads);
  atomic_store_explicit(&slot_of(map)->state, LIFESPAN_FORK_TOLD, memory_order_release);
  atomic_fetch_add_explicit(&map->consumer_wake, 1, memory_order_release);
  if (lifespan_may(LIFESPAN_CALL_FUTEX)) lifespan_raw4(SYS_futex, (long)&map->consumer_wake, 1 /* FUTEX_WAKE, shared */, 1, 0);
}

uint32_t lifespan_recorder_number(void) { return lifespan_process.map ? lifespan_process.map->number : 0; }

void lifespan_recorder_go_on(struct lifespan_map *map) {
  struct lifespan_process *process = &lifespan_process;
  struct lifespan_map *before = process->map;
  lifespan_recorder_fill_header(map);
  memcpy(map->program, before->program, sizeof map->program);
  memcpy(map->capture_reason, before->capture_reason, sizeof map->capture_reason);
  atomic_store(&map->capture, atomic_load(&before->capture));
  for (unsigned i = 0; i < LIFESPAN_OWN_RANGES; i++) {
    atomic_store(&map->own[i].start, atomic_load(&before->own[i].start));
    atomic_store(&map->own[i].end, atomic_load(&before->own[i].end));
  }
  atomic_store(&map->runtime, atomic_load(&before->runtime));
  atomic_store(&map->runtime_stamp, atomic_load(&before->runtime_stamp));
  atomic_store(&map->next_thread, atomic_load(&before->next_thread));
  atomic_store(&map->recording, atomic_load(&before->recording));
  process->map = map;
  lifespan_threads_forked();
  lifespan_images_forked();
  atomic_store_explicit(&map->state, LIFESPAN_PROGRAM_RUNNING, memory_order_release);
  lifespan_wait_for_trace(map);
  lifespan_switch_page->on = 1;
}

#endif
