// What a round does beside events: losses that the program counted, rings of dead threads, room ahead of need. Used by
// merge.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM_AHEAD (4ull << 20)
#define ROOM_STEP (8ull << 20)
#define RETIRE_EVERY_NS 100000000ull
#define RETIRE_OFTEN_NS 5000000ull
#define RINGS_MANY (LIFESPAN_RING_SLOTS / 4)
#define GROW_AGAIN_NS 1000000000ull

static struct lifespan_ring *upkeep_ring(const struct lifespan_drain *d, uint32_t slot) {
  return (struct lifespan_ring *)((uint8_t *)d->map + LIFESPAN_RINGS_OFFSET) + slot;
}

static void gap_widen(struct drain_gap *gap, uint64_t from, uint64_t to) {
  bool fresh = !(gap->births | gap->deaths | gap->others);
  if (fresh || from < gap->from) gap->from = from;
  if (fresh || to > gap->to) gap->to = to;
}

// Widens the ring's gap of this reason; the caller adds to its numbers.
void drain_add_gap(struct drain_ring *r, unsigned reason, uint64_t from, uint64_t to) {
  r->has_gap = true;
  gap_widen(&r->gaps[reason], from, to);
}

// The producer only adds (or begins at 0 again with a new thread): what came since we looked.
static uint64_t upkeep_since(_Atomic uint64_t *counter, uint64_t *last) {
  uint64_t now = atomic_load_explicit(counter, memory_order_relaxed), before = *last;
  *last = now;
  return now >= before ? now - before : now;
}

static void upkeep_lost(struct lifespan_drain *d, struct drain_ring *r, struct lifespan_ring *shared) {
  uint64_t births = upkeep_since(&shared->lost_births, &r->lost_births);
  uint64_t deaths = upkeep_since(&shared->lost_deaths, &r->lost_deaths);
  uint64_t others = upkeep_since(&shared->lost_other, &r->lost_other);
  if (!(births | deaths | others)) return;
  uint64_t from = atomic_load_explicit(&shared->lost_from, memory_order_relaxed);
  uint64_t to = atomic_load_explicit(&shared->lost_to, memory_order_relaxed);
  if (from < r->lost_to) from = r->lost_to; // lost_from may be that of the first loss ever
  if (to < from) to = from;
  r->lost_to = to;
  drain_add_gap(r, DRAIN_GAP_FULL, from, to);
  r->gaps[DRAIN_GAP_FULL].births += births;
  r->gaps[DRAIN_GAP_FULL].deaths += deaths;
  r->gaps[DRAIN_GAP_FULL].others += others;
  d->counts.lost += births + deaths + others;
}

// Reads the ring's counters of what it could not write.
void drain_ring_losses(struct lifespan_drain *d, uint32_t slot) {
  struct drain_ring *r = &d->rings[slot];
  struct lifespan_ring *shared = upkeep_ring(d, slot);
  upkeep_lost(d, r, shared);
  uint64_t suppressed = upkeep_since(&shared->suppressed, &r->suppressed);
  if (suppressed) {
    drain_add_gap(r, DRAIN_GAP_SUPPRESSED, d->floor ? d->floor : d->start, drain_now(d->clock));
    r->gaps[DRAIN_GAP_SUPPRESSED].others += suppressed;
    d->counts.suppressed += suppressed;
  }
  d->counts.waited_ns += drain_to_ns(upkeep_since(&shared->waited, &r->waited), d->ticks_per_second);
  d->counts.waits += upkeep_since(&shared->waits, &r->waits);
}

// Events of threads that got no ring.
void drain_refused(struct lifespan_drain *d) {
  uint64_t refused = upkeep_since(&d->map->rings_refused, &d->refused);
  if (!refused) {
    d->refused_from = d->floor;
    return;
  }
  gap_widen(&d->refused_gap, d->refused_from ? d->refused_from : d->start, drain_now(d->clock));
  d->refused_gap.others += refused;
  d->counts.lost += refused;
}

static void upkeep_gap_row(struct lifespan_drain *d, uint32_t thread, struct drain_gap *gap, unsigned reason) {
  if (!(gap->births | gap->deaths | gap->others)) return;
  struct drain_bytes *row = drain_row_begin(d);
  bool made = drain_put_varint(row, thread) && drain_put_varint(row, drain_zigzag(drain_since_start(d, gap->from))) &&
              drain_put_varint(row, drain_zigzag(drain_since_start(d, gap->to))) &&
              drain_put_varint(row, gap->births) && drain_put_varint(row, gap->deaths) &&
              drain_put_varint(row, gap->others) && drain_put_varint(row, reason);
  if (made) drain_keep(d, LIFESPAN_CHUNK_GAPS, row);
  *gap = (struct drain_gap){0};
}

// Writes the gaps of one ring, in the name of the thread that has it now.
void drain_write_ring_gaps(struct lifespan_drain *d, uint32_t slot) {
  struct drain_ring *r = &d->rings[slot];
  if (!r->has_gap) return;
  r->has_gap = false;
  if (!r->thread) r->thread = __atomic_load_n(&upkeep_ring(d, slot)->thread_number, __ATOMIC_RELAXED);
  for (unsigned reason = 0; reason < DRAIN_GAPS; reason++) upkeep_gap_row(d, r->thread, &r->gaps[reason], reason);
}

// Gaps become rows when a chunk is closed, not in each round: a program that loses all the time would fill the trace
// with them.
void drain_write_gaps(struct lifespan_drain *d) {
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) drain_write_ring_gaps(d, slot);
  upkeep_gap_row(d, 0, &d->refused_gap, DRAIN_GAP_NO_RING);
  // Births may be lost for hours for want of room: a row each time that they have doubled.
  uint64_t lost = d->space.gap.births + d->space.gap.deaths;
  if (lost <= d->space.told) return;
  d->space.told += lost;
  upkeep_gap_row(d, 0, &d->space.gap, DRAIN_GAP_LIMIT);
}

static void upkeep_retire(struct lifespan_drain *d, uint32_t slot) {
  struct drain_ring *r = &d->rings[slot];
  struct lifespan_ring *shared = upkeep_ring(d, slot);
  if (!r->claimed || atomic_load_explicit(&shared->state, memory_order_acquire) != LIFESPAN_RING_CLAIMED) return;
  uint32_t tid = __atomic_load_n(&shared->tid, __ATOMIC_RELAXED);
  if (!tid || atomic_load_explicit(&shared->head, memory_order_acquire) != r->tail) return;
  if (r->passed || atomic_load_explicit(&shared->tail, memory_order_relaxed) != r->tail) return; // not committed yet
  if (!drain_thread_is_gone(d, r, tid)) return;
  // Its last records were written before it went: look again now that it is known to be gone.
  if (atomic_load_explicit(&shared->head, memory_order_acquire) != r->tail) return;
  // A new thread with the same id may take the ring over just now: whoever changes the tid has it. The next owner writes its tid after it has
  // claimed: until then there must be none that we could look up.
  if (!__atomic_compare_exchange_n(&shared->tid, &tid, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  drain_ring_losses(d, slot);
  drain_write_ring_gaps(d, slot);
  if (r->lives) drain_thread_gone(d, r->thread, tid, d->cut);
  r->claimed = false;
  atomic_store_explicit(&shared->state, LIFESPAN_RING_UNUSED, memory_order_release);
}

// Takes back the empty rings of threads that are gone: every 100 ms, and more often where rings become few.
void drain_retire(struct lifespan_drain *d) {
  if (!d->options.process_tid_check) return;
  uint64_t now = drain_monotonic_ns();
  if (now - d->threads_checked_ns < (d->claimed < RINGS_MANY ? RETIRE_EVERY_NS : RETIRE_OFTEN_NS)) return;
  d->threads_checked_ns = now;
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) upkeep_retire(d, slot);
}

// Keeps 4 MiB free ahead of the program's bump pointer. A disk or memory that is full is tried again every second: the
// program counts what it can't write.
void drain_grow(struct lifespan_drain *d) {
  if (d->options.file < 0) return;
  uint64_t next_free = atomic_load_explicit(&d->map->next_free, memory_order_relaxed);
  // Beyond what exists it can't be by an honest program.
  if (next_free > d->allocated || d->allocated - next_free >= ROOM_AHEAD) return;
  uint64_t now = drain_monotonic_ns();
  if (now < d->grow_again_ns) return;
  uint64_t room = LIFESPAN_MAP_VIRTUAL - d->allocated, step = room < ROOM_STEP ? room : ROOM_STEP;
  if (!step) return;
  if (posix_fallocate(d->options.file, (off_t)d->allocated, (off_t)step)) {
    d->grow_again_ns = now + GROW_AGAIN_NS;
    return;
  }
  d->allocated += step;
  atomic_store_explicit(&d->map->allocated, d->allocated, memory_order_release);
}

#endif
