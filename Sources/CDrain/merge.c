// A drain round: the cut, every head, the events up to the cut merged by stamp. Used by drain.c (rounds), run.c and
// marks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

static void heap_down(struct drain_heap_entry *heap, uint32_t count, uint32_t at) {
  struct drain_heap_entry moving = heap[at];
  for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && heap[child + 1].stamp < heap[child].stamp) child++;
    if (heap[child].stamp >= moving.stamp) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moving;
}

// Opens all rings; those with an event for this round make the heap. Returns its size.
static uint32_t merge_open(struct lifespan_drain *d, uint64_t cut) {
  uint32_t count = 0, claimed = 0;
  double fill = 0, held = 0;
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    bool filled = drain_ring_open(d, slot);
    struct drain_ring *r = &d->rings[slot];
    claimed += r->claimed;
    if (filled) {
      double own = (double)(r->head - r->tail) / (double)(r->mask + 1);
      if (own > fill) fill = own;
      if (r->held > held) held = r->held;
    }
  }
  // Heads first, then records: what is published while we read the first ring must not be taken from the last.
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    struct drain_ring *r = &d->rings[slot];
    if (!r->claimed || !r->open || r->position == r->head) continue;
    if (drain_ring_next(d, slot, cut) == DRAIN_NEXT_EVENT)
      d->heap[count++] = (struct drain_heap_entry){r->record.stamp, slot};
  }
  d->fill = fill;
  d->held = held;
  d->claimed = claimed;
  for (uint32_t i = count / 2; i-- > 0;) heap_down(d->heap, count, i);
  return count;
}

static uint64_t merge_second(const struct drain_heap_entry *heap, uint32_t count) {
  if (count < 2) return UINT64_MAX;
  if (count < 3) return heap[1].stamp;
  return heap[1].stamp < heap[2].stamp ? heap[1].stamp : heap[2].stamp;
}

// Returns the number of records of the event kinds that were consumed.
int64_t drain_merge(struct lifespan_drain *d, uint64_t cut) {
  uint32_t count = merge_open(d, cut);
  drain_history_look(d); // behind the heads: what was published after the linked library came is kept
  struct drain_heap_entry *heap = d->heap;
  int64_t consumed = 0;
  while (count && !d->fork) {
    uint32_t slot = heap[0].slot;
    struct drain_ring *r = &d->rings[slot];
    // As long as this ring has the smallest stamp the heap needs no look.
    uint64_t second = merge_second(heap, count);
    enum drain_next next;
    do {
      drain_apply(d, &r->record);
      r->position += r->record.cells;
      // A long round, on a machine that has little time for us: who waits for room sees that we are at work.
      if (!(++consumed & 0xfff)) atomic_fetch_add_explicit(&d->map->consumer_beat, 1, memory_order_relaxed);
      if (d->fork) break; // what comes after it may not be in the child's memory
      next = drain_ring_next(d, slot, cut);
    } while (next == DRAIN_NEXT_EVENT && r->record.stamp <= second);
    if (d->fork) break;
    if (next == DRAIN_NEXT_EVENT) {
      heap[0].stamp = r->record.stamp;
    } else {
      heap[0] = heap[--count];
    }
    heap_down(heap, count, 0);
  }
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    if (!d->rings[slot].claimed) continue;
    drain_ring_close(d, slot);
    drain_ring_losses(d, slot);
  }
  return consumed;
}

int64_t drain_round_until(struct lifespan_drain *d, uint64_t cut) {
  const struct drain_encoder *encoder = d->encoder;
  uint32_t chunk = encoder ? encoder->chunk : 0;
  d->round++;
  d->floor = d->newest;
  if (d->fork && !drain_fork_settle(d)) {
    drain_grow(d);
    return d->error ? -d->error : 0;
  }
  uint64_t now = drain_now(d->clock);
  d->cut = cut < now ? cut : now;
  int64_t consumed = drain_merge(d, cut);
  drain_refused(d);
  drain_waiting_end_round(d);
  drain_grow(d);
  drain_retire(d);
  if (d->encoder && (d->encoder != encoder || d->encoder->chunk != chunk)) {
    drain_write_gaps(d);
    drain_encoder_write_rest(d->encoder);
  }
  if (d->encoder && d->encoder->error && !d->error) d->error = d->encoder->error;
  drain_space_round(d);
  return d->error ? -d->error : consumed;
}

#endif
