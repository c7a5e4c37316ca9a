// Start and stop: the mapping in our own memory, the drain, the recorder. Called by Lifespan's Allocations.start and
// stop.

#include "door.h"

#include <stdio.h>
#include <string.h>

static void say(char *reason, size_t room, const char *text) {
  if (room) snprintf(reason, room, "%s", text);
}

#if LIFESPAN_RECORDS_HERE

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define SMALL_MAP (256ull << 20) // where address space is limited
// Far from the images: a hook that is installed while threads run needs one certain place within 2 GiB of the runtime.
#define FAR_AWAY ((void *)0x200000000000)

struct lifespan_linked_door lifespan_linked_door = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static struct lifespan_linked_settings given; // of the recording that runs; its rules stand in the mapping
static enum lifespan_linked_status failed;    // a start that failed is not tried again: hooks may be half there
static char failure[256];

// Called in a hook by a thread whose ring is full. No Swift, no allocation but the drain's own mmap.
static bool drain_when_full(void *context) {
  struct lifespan_linked_door *door = context;
  struct lifespan_drain *drain = atomic_load_explicit(&door->drain, memory_order_acquire);
  if (!drain || pthread_mutex_trylock(&door->lock)) return false;
  lifespan_drain_round(drain);
  pthread_mutex_unlock(&door->lock);
  return true;
}

static struct lifespan_map *make_map(const struct lifespan_linked_settings *settings) {
  size_t bytes = LIFESPAN_MAP_VIRTUAL;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = mmap(FAR_AWAY, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) memory = mmap(FAR_AWAY, bytes = SMALL_MAP, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  madvise(memory, bytes, MADV_DONTDUMP); // not in a core file
  struct lifespan_map *map = memory;
  map->magic = LIFESPAN_MAP_MAGIC;
  map->abi = LIFESPAN_ABI;
  map->door = LIFESPAN_DOOR_LINKED;
  map->clock = lifespan_recorder_tsc_usable() ? LIFESPAN_CLOCK_TSC : LIFESPAN_CLOCK_MONOTONIC;
  atomic_store(&map->allocated, bytes);
  atomic_store(&map->next_free, LIFESPAN_DATA_OFFSET);
  atomic_store(&map->recording, 1);
  atomic_store(&map->consumer_alive, 1);
  struct lifespan_options *options = &map->options;
  options->scope = settings->scope;
  options->refcounts = settings->refcounts;
  options->unwind = LIFESPAN_UNWIND_AUTO;
  options->depth = 256;
  options->when_full = LIFESPAN_FULL_WAIT; // a full ring is drained by its own thread
  options->rules_length = settings->rules ? (uint32_t)strlen(settings->rules) : 0;
  if (options->rules_length) memcpy(options->rules, settings->rules, options->rules_length);
  return map;
}

static enum lifespan_linked_status status_of(enum lifespan_start_status status) {
  switch (status) {
  case LIFESPAN_START_OK: return LIFESPAN_LINKED_OK;
  case LIFESPAN_START_NO_MEMORY: return LIFESPAN_LINKED_NO_MEMORY;
  case LIFESPAN_START_PLATFORM: return LIFESPAN_LINKED_PLATFORM;
  case LIFESPAN_START_RUNNING: return LIFESPAN_LINKED_OTHER_OPTIONS;
  case LIFESPAN_START_NO_RUNTIME:
  case LIFESPAN_START_UNHOOKABLE: break;
  }
  return LIFESPAN_LINKED_UNHOOKABLE;
}

static enum lifespan_linked_status start_recorder(const struct lifespan_linked_settings *settings) {
  struct lifespan_linked_door *door = &lifespan_linked_door;
  door->map = make_map(settings);
  if (!door->map) return LIFESPAN_LINKED_NO_MEMORY;
  struct lifespan_drain_options options = {
    .map = door->map,
    .file = -1,
    .ticks_per_unit = 1,
    .history_events = settings->history_events,
    .process_tid_check = 1,
  };
  struct lifespan_drain *drain = lifespan_drain_create(&options);
  if (!drain) return LIFESPAN_LINKED_NO_MEMORY;
  door->pid = getpid();
  // Before the hooks: a thread may fill its ring while they are being installed.
  atomic_store_explicit(&door->drain, drain, memory_order_release);
  if (lifespan_tracked_protocol) lifespan_recorder_track_protocol(lifespan_tracked_protocol);
  enum lifespan_start_status status = lifespan_recorder_start(door->map, drain_when_full, door);
  if (status == LIFESPAN_START_OK) return LIFESPAN_LINKED_OK;
  atomic_store_explicit(&door->drain, NULL, memory_order_release);
  if (status == LIFESPAN_START_NO_RUNTIME) say(failure, sizeof failure, "no Swift runtime was found in this process");
  else say(failure, sizeof failure, door->map->capture_reason);
  return status_of(status);
}

static bool same_settings(const struct lifespan_linked_settings *settings) {
  const struct lifespan_options *options = &lifespan_linked_door.map->options;
  size_t length = settings->rules ? strlen(settings->rules) : 0;
  return settings->scope == given.scope && settings->refcounts == given.refcounts &&
         settings->history_events == given.history_events && length == options->rules_length &&
         (!length || !memcmp(settings->rules, options->rules, length));
}

static enum lifespan_linked_status start_locked(const struct lifespan_linked_settings *settings) {
  struct lifespan_linked_door *door = &lifespan_linked_door;
  if (atomic_load_explicit(&door->drain, memory_order_acquire)) {
    if (door->pid != getpid()) return LIFESPAN_LINKED_FORKED;
    if (!same_settings(settings)) return LIFESPAN_LINKED_OTHER_OPTIONS;
    lifespan_recorder_resume();
    lifespan_linked_pause_ends(door->map);
    return LIFESPAN_LINKED_OK;
  }
  if (failed) return failed;
  if (settings->rules && strlen(settings->rules) > sizeof door->map->options.rules) {
    say(failure, sizeof failure, "the rules are longer than 2,048 bytes");
    return LIFESPAN_LINKED_FAILED;
  }
  enum lifespan_linked_status status = start_recorder(settings);
  if (status != LIFESPAN_LINKED_OK) return failed = status;
  given = *settings;
  given.rules = NULL;
  return status;
}

// The command's recording goes on, with the command's options; the program's answers are of what it asks for here.
static enum lifespan_linked_status start_below_command(const struct lifespan_door_table *preload,
                                                       const struct lifespan_linked_settings *settings) {
  if (!lifespan_linked_ask_for(settings)) return LIFESPAN_LINKED_OTHER_OPTIONS;
  preload->resume();
  lifespan_linked_pause_ends(preload->map());
  return LIFESPAN_LINKED_OK;
}

enum lifespan_linked_status lifespan_linked_start(const struct lifespan_linked_settings *settings, char *reason,
                                                  size_t room) {
  enum lifespan_linked_status status;
  say(reason, room, "");
  const struct lifespan_door_table *preload = lifespan_linked_preload(&status, NULL);
  if (status != LIFESPAN_LINKED_OK) return status;
  pthread_mutex_lock(&starting);
  status = preload ? start_below_command(preload, settings) : start_locked(settings);
  if (status != LIFESPAN_LINKED_OK) say(reason, room, failure);
  pthread_mutex_unlock(&starting);
  return status;
}

void lifespan_linked_stop(void) {
  enum lifespan_linked_status status;
  const struct lifespan_door_table *preload = lifespan_linked_preload(&status, NULL);
  if (status != LIFESPAN_LINKED_OK) return;
  struct lifespan_map *map = lifespan_linked_map(&status);
  // In a fork child nothing is recorded, and the lock may be held for ever by a thread that does not exist there.
  if (!map || (!preload && lifespan_linked_door.pid != getpid())) return;
  pthread_mutex_lock(&starting);
  lifespan_linked_pause_begins(map);
  if (preload) preload->pause();
  else lifespan_recorder_pause();
  pthread_mutex_unlock(&starting);
}

void lifespan_linked_state(struct lifespan_linked_state *state) {
  memset(state, 0, sizeof *state);
  enum lifespan_linked_status status;
  const struct lifespan_door_table *preload = lifespan_linked_preload(&status, &state->preload_abi);
  struct lifespan_map *map = status == LIFESPAN_LINKED_OK ? lifespan_linked_map(&status) : NULL;
  if (map && !preload && lifespan_linked_door.pid != getpid()) status = LIFESPAN_LINKED_FORKED;
  state->status = status;
  if (status != LIFESPAN_LINKED_OK || !map) return;
  state->recording = atomic_load(&map->recording);
  state->capture = atomic_load(&map->capture);
  state->door = preload ? LIFESPAN_DOOR_PRELOAD : LIFESPAN_DOOR_LINKED;
  memcpy(state->reason, map->capture_reason, sizeof state->reason - 1);
}

#else

enum lifespan_linked_status lifespan_linked_start(const struct lifespan_linked_settings *settings, char *reason,
                                                  size_t room) {
  (void)settings;
  say(reason, room, "");
  return LIFESPAN_LINKED_PLATFORM;
}
void lifespan_linked_stop(void) {}
void lifespan_linked_state(struct lifespan_linked_state *state) {
  memset(state, 0, sizeof *state);
  state->status = LIFESPAN_LINKED_PLATFORM;
}

#endif
