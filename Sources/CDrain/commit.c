// With a rings file nothing is lost when program and command are killed together: cells are given back to the program only when what they
// became was written, and a commit in the mapping says what was. Whoever opens the trace later drains the rest. Used by drain.c after each round.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMMIT_NS 20000000ull
#define HELD_MOST 0.25   // of a ring: more would make the program wait
#define HELD_URGENT 0.75 // and rather a birth that is told apart wrongly from an end that was not seen

static struct lifespan_ring *commit_ring(const struct lifespan_drain *d, uint32_t slot) {
  return (struct lifespan_ring *)((uint8_t *)d->map + LIFESPAN_RINGS_OFFSET) + slot;
}

// Space for the program, after the commit that says so.
static void commit_give_back(struct lifespan_drain *d, uint32_t slot) {
  struct drain_ring *r = &d->rings[slot];
  struct lifespan_ring *shared = commit_ring(d, slot);
  if (r->passed) {
    atomic_store_explicit(&shared->data, r->passed, memory_order_relaxed);
    atomic_store_explicit(&shared->next, 0, memory_order_release);
    r->passed = 0;
  }
  if (atomic_load_explicit(&shared->tail, memory_order_relaxed) != r->tail) atomic_store_explicit(&shared->tail, r->tail, memory_order_release);
}

static void commit(struct lifespan_drain *d) {
  struct lifespan_commit *commits = (struct lifespan_commit *)((uint8_t *)d->map + LIFESPAN_COMMIT_OFFSET);
  // A record that waits for its place is in no file yet.
  if (d->waiting_count && d->held > HELD_URGENT) drain_waiting_expire(d, UINT64_MAX);
  if (d->waiting_count || lifespan_drain_flush(d)) return;
  uint64_t next = atomic_load_explicit(&commits->current, memory_order_relaxed) + 1;
  commits->sides[next % 2].bytes = d->encoder->bytes_written;
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    const struct drain_ring *r = &d->rings[slot];
    commits->sides[next % 2].tails[slot] = r->claimed ? r->tail : UINT64_MAX;
    commits->sides[next % 2].tasks[slot] = r->task;
  }
  atomic_store_explicit(&commits->current, next, memory_order_release);
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++)
    if (d->rings[slot].claimed) commit_give_back(d, slot);
  d->uncommitted = false;
}

// The trace has its header and says where its rings lie, and nothing of them stands in it yet: from now on it can be cut anywhere. The program
// waits for this before it runs (CRecorder/leave.c).
void drain_commit_begin(struct lifespan_drain *d) {
  if (!d->commits || !d->encoder || d->error) return;
  struct lifespan_commit *commits = (struct lifespan_commit *)((uint8_t *)d->map + LIFESPAN_COMMIT_OFFSET);
  commit(d);
  d->uncommitted = true;
  syscall(SYS_futex, &commits->current, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void drain_commit_due(struct lifespan_drain *d) {
  if (!d->commits || !d->encoder || !d->begun || d->error || !d->uncommitted) return;
  uint64_t now = drain_monotonic_ns();
  if (now - d->committed_ns < COMMIT_NS && d->held < HELD_MOST) return;
  commit(d);
  d->committed_ns = now;
}

#endif
