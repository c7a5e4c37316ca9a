// The moments at which the program waits for the recording command. At its beginning, with a rings file: until the trace has a beginning that says where
// its rings lie, as nobody could put the two together otherwise. At an end of its own: the command looks at its memory once more, as it is when all is done,
// as the last look may lie a second back; in a self-check of reference counts at its marks, too.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <dlfcn.h>

#include "detour.h"
#include "internal.h"
#include "raw.h"
#include "sandbox.h"

#define PATIENCE_NS 100000000ull     // the command counts pages meanwhile: some ms for a GB
#define PATIENCE_VERIFY_NS 60000000000ull // it compares reference counts, object by object
#define PATIENCE_BEGIN_NS 1000000000ull
#define FUTEX_WAIT 0             // not private: the other side is another process
#define FUTEX_WAKE 1
#define PATIENCE_PICTURE_NS 600000000000ull // it reads the whole heap, and a slow machine's may be large

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

// Asks by `wanted` and waits for the answer.
static void ask_for(struct lifespan_map *map, _Atomic uint32_t *wanted, const _Atomic uint32_t *done, uint64_t patience) {
  wait_for(map, done, 1 + atomic_fetch_add_explicit(wanted, 1, memory_order_acq_rel), patience, false);
}

static void wait_for_look(struct lifespan_map *map) {
  ask_for(map, &map->sample_wanted, &map->sample_done, map->options.verify ? PATIENCE_VERIFY_NS : PATIENCE_NS);
}

void lifespan_wait_for_trace(struct lifespan_map *map) {
  if (!map->options.rings_file || map->door != LIFESPAN_DOOR_PRELOAD) return;
  struct lifespan_commit *commits = (struct lifespan_commit *)((char *)map + LIFESPAN_COMMIT_OFFSET);
  // The low half, which a futex can wait for: here bytes begin with it (lifespan_platform.h).
  wait_for(map, (const _Atomic uint32_t *)(const void *)&commits->current, 1, PATIENCE_BEGIN_NS, true);
}

// ---- The entry of exit (options.leaks) ------------------------------------------------------------------------------------------
// What atexit handlers and static destructors release is still held there. The C library calls exit itself when main returns, by a jump that nobody can
// interpose: so its entry is detoured.

static void (*original_exit)(int);
static bool exit_is_seen;
static _Atomic uint32_t exits;

static void exit_hook(int status) {
  struct lifespan_map *map = lifespan_process.map;
  // A second call (of another thread, or in a handler) waits for nothing: the first one's picture is the program's end. The child of a vfork is not the program.
  if (lifespan_on() && (uint32_t)lifespan_raw4(SYS_getpid, 0, 0, 0, 0) == map->pid && !atomic_fetch_add(&exits, 1)) {
    ask_for(map, &map->picture_wanted, &map->picture_done, PATIENCE_PICTURE_NS);
  }
  original_exit(status);
  __builtin_unreachable();
}

void lifespan_leave_start(bool one_thread) {
  if (!lifespan_process.map->options.leaks) return;
  struct lifespan_detour detour = {.name = "exit", .entry = dlsym(RTLD_NEXT, "exit"), .hook = (void *)exit_hook, .original = (void **)&original_exit};
  exit_is_seen = lifespan_detours_install(&detour, 1, one_thread) == 1;
}

void lifespan_recorder_leaving(void) {
  if (!lifespan_on()) return;
  struct lifespan_map *map = lifespan_process.map;
  atomic_store_explicit(&map->state, LIFESPAN_PROGRAM_ENDING, memory_order_release);
  // Where the entry of exit could not be changed the picture is later than it should be, and better than none.
  if (map->options.leaks && !exit_is_seen) ask_for(map, &map->picture_wanted, &map->picture_done, PATIENCE_PICTURE_NS);
  wait_for_look(map);
}

void lifespan_recorder_marked(void) {
  if (lifespan_on() && lifespan_process.map->options.verify) wait_for_look(lifespan_process.map);
}

#endif
