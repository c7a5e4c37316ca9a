// The moments at which the program waits for the recording command. At its beginning, with a rings file: until the trace has a beginning that says where
// its rings lie, as nobody could put the two together otherwise. At an end of its own: the command looks at its memory once more, as it is when all is done,
// as the last look may lie a second back; in a self-check of reference counts at its marks, too.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "internal.h"
#include "raw.h"
#include "sandbox.h"

#define PATIENCE_NS 100000000ull     // the command counts pages meanwhile: some ms for a GB
#define PATIENCE_VERIFY_NS 60000000000ull // it compares reference counts, object by object
#define PATIENCE_BEGIN_NS 1000000000ull
#define FUTEX_WAIT 0             // not private: the other side is another process
#define FUTEX_WAKE 1

// Until `word` has come to `wanted`, `patience` at most.
static void wait_for(struct lifespan_map *map, const _Atomic uint32_t *word, uint32_t wanted, uint64_t patience, bool may_not_live_yet) {
  if (!lifespan_may(LIFESPAN_CALL_FUTEX)) return;
  atomic_fetch_add_explicit(&map->consumer_wake, 1, memory_order_release);
  lifespan_raw4(SYS_futex, (long)&map->consumer_wake, FUTEX_WAKE, 1, 0);
  uint64_t began = lifespan_monotonic_ns(), now = began;
  while (now - began < patience && (may_not_live_yet || !lifespan_consumer_died(map))) {
    uint32_t value = atomic_load_explicit(word, memory_order_acquire);
    if ((int32_t)(value - wanted) >= 0) return;
    struct lifespan_raw_time pause = {0, 10000000};
    lifespan_raw4(SYS_futex, (long)word, FUTEX_WAIT, value, (long)&pause);
    now = lifespan_monotonic_ns();
  }
}

static void wait_for_look(struct lifespan_map *map) {
  uint32_t wanted = 1 + atomic_fetch_add_explicit(&map->sample_wanted, 1, memory_order_acq_rel);
  wait_for(map, &map->sample_done, wanted, map->options.verify ? PATIENCE_VERIFY_NS : PATIENCE_NS, false);
}

void lifespan_wait_for_trace(struct lifespan_map *map) {
  if (!map->options.rings_file || map->door != LIFESPAN_DOOR_PRELOAD) return;
  struct lifespan_commit *commits = (struct lifespan_commit *)((char *)map + LIFESPAN_COMMIT_OFFSET);
  // The low half, which a futex can wait for: here bytes begin with it (lifespan_platform.h).
  wait_for(map, (const _Atomic uint32_t *)(const void *)&commits->current, 1, PATIENCE_BEGIN_NS, true);
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
