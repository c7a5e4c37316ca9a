// A program that ends by itself lets the recording command look at its memory once more, as it is when all is done: the last look otherwise lies up to
// a second back. Called by the preload library's destructor. In a self-check of reference counts it does so at its marks, too.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "internal.h"
#include "raw.h"
#include "sandbox.h"

#define PATIENCE_NS 100000000ull     // the command counts pages meanwhile: some ms for a GB
#define PATIENCE_VERIFY_NS 60000000000ull // it compares reference counts, object by object
#define FUTEX_WAIT 0             // not private: the other side is another process
#define FUTEX_WAKE 1

static void wait_for_look(struct lifespan_map *map) {
  if (!lifespan_may(LIFESPAN_CALL_FUTEX)) return;
  uint32_t wanted = 1 + atomic_fetch_add_explicit(&map->sample_wanted, 1, memory_order_acq_rel);
  atomic_fetch_add_explicit(&map->consumer_wake, 1, memory_order_release);
  lifespan_raw4(SYS_futex, (long)&map->consumer_wake, FUTEX_WAKE, 1, 0);
  uint64_t began = lifespan_monotonic_ns(), now = began;
  uint64_t patience = map->options.verify ? PATIENCE_VERIFY_NS : PATIENCE_NS;
  while (now - began < patience && !lifespan_consumer_died(map)) {
    uint32_t done = atomic_load_explicit(&map->sample_done, memory_order_acquire);
    if ((int32_t)(done - wanted) >= 0) return;
    struct lifespan_raw_time pause = {0, 10000000};
    lifespan_raw4(SYS_futex, (long)&map->sample_done, FUTEX_WAIT, done, (long)&pause);
    now = lifespan_monotonic_ns();
  }
}

void lifespan_recorder_leaving(void) {
  if (!lifespan_on()) return;
  atomic_store_explicit(&lifespan_process.map->state, LIFESPAN_PROGRAM_ENDING, memory_order_release);
  wait_for_look(lifespan_process.map);
}

void lifespan_recorder_marked(void) {
  if (lifespan_on() && lifespan_process.map->options.verify) wait_for_look(lifespan_process.map);
}

#endif
