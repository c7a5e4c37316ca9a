// The recorder's interface to the two doors: the preload library (CMallocHooks) and the linked library (CLinkedDoor).
#ifndef LIFESPAN_RECORDER_H
#define LIFESPAN_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan.h"
#include "lifespan_map.h"

#ifdef __cplusplus
extern "C" {
#endif

// What lifespan_recorder_start did.
enum lifespan_start_status {
  LIFESPAN_START_OK = 0,          // recording; map->capture and capture_reason say how much is seen
  LIFESPAN_START_NO_RUNTIME = 1,  // no Swift runtime in this process that can be found
  LIFESPAN_START_UNHOOKABLE = 2,  // there is one, but nothing could be hooked; the reason is in map->capture_reason
  LIFESPAN_START_NO_MEMORY = 3,
  LIFESPAN_START_PLATFORM = 4,    // not Linux, glibc, x86-64
  LIFESPAN_START_RUNNING = 5,     // started already
};

// Starts recording into `map` (header filled as lifespan_map.h says). One thread at a time, outside hooks; may allocate. `on_full` (or NULL) is called in
// a hook by a thread whose ring is full: it drains by trylock and returns true when it did.
enum lifespan_start_status lifespan_recorder_start(struct lifespan_map *map, bool (*on_full)(void *), void *context);

// Before the start: free() as the program calls it, to be detoured because no door interposes it (NULL: it is interposed).
void lifespan_recorder_foreign_free(void *entry);

// Births on or off; deaths stay recorded, so that what was recorded stays exact. Any thread.
void lifespan_recorder_pause(void);
void lifespan_recorder_resume(void);

// The mapping that this process records into, NULL when nothing is recorded here. Any thread.
struct lifespan_map *lifespan_recorder_map(void);

// Path of the executable, absolute where that is known; its length, 0 where nothing tells it. Outside hooks.
size_t lifespan_recorder_executable(char *path, size_t room);

// Whether the calling process has a Swift runtime: 1 one that can be hooked, 0 none, 2 one that can't be (`reason` says why and what to do).
int lifespan_recorder_runtime(char *reason, size_t room);

// Marks a class as tracked, with its subclasses: refcounts are recorded from its next instance on. Any thread outside hooks.
void lifespan_recorder_track(const void *metadata);

// Registers a protocol (its descriptor): every type that conforms is tracked. Reads the conformance records of all images. Outside hooks.
void lifespan_recorder_track_protocol(const void *protocol_descriptor);

// A value that is counted by name (Allocations.Token): born, and dead by the number that birth gave (0: not recorded). Any thread.
uint64_t lifespan_recorder_token_born(const char *name, size_t length, uint64_t size);
void lifespan_recorder_token_died(uint64_t token);

// A mark with its exact stamp (0: nothing recorded). Any thread, also signal handlers.
uint64_t lifespan_recorder_mark(const char *name, size_t length);

// The program ends by itself: the recording command gets a moment, 100 ms at most, to look at its memory. Outside hooks.
void lifespan_recorder_leaving(void);
// After a mark of the program's own: in a self-check of reference counts it waits as long until they were compared. Not in a signal handler.
void lifespan_recorder_marked(void);

// Looks for images that came or went. Outside hooks.
void lifespan_recorder_refresh_images(void);

// Clock of the mapping: ticks now, and whether the processor's time stamp counter can be trusted on this machine.
uint64_t lifespan_recorder_now(const struct lifespan_map *map);
bool lifespan_recorder_tsc_usable(void);

// ---- Forks (fork.c): by the preload door, with options.children -------------------------------------------------------------
// Before a fork, on the forking thread: its number, 0: the child will not be recorded. In the child, before all else: says what it holds.
uint64_t lifespan_recorder_fork_begins(void);
void lifespan_recorder_fork_child(uint64_t number);
// In that child, one thread: records from now on into a mapping of its own, with everything that is known from before.
void lifespan_recorder_go_on(struct lifespan_map *map);
// The number of this process's recording in its session.
uint32_t lifespan_recorder_number(void);

// ---- The door of the preload library, as the linked library finds it with dlsym("lifespan_preload_door") --------------------
struct lifespan_door_table {
  uint32_t abi; // LIFESPAN_ABI
  uint32_t size;
  struct lifespan_map *(*map)(void); // NULL while nothing is recorded
  void (*track)(const void *metadata);
  void (*track_protocol)(const void *protocol_descriptor);
  uint64_t (*token_born)(const char *name, size_t length, uint64_t size);
  void (*token_died)(uint64_t token);
  uint64_t (*mark)(const char *name, size_t length);
  void (*pause)(void);
  void (*resume)(void);
};
// The preload library's table where it is loaded, else our own. Not in hooks (dlsym).
const struct lifespan_door_table *lifespan_recorder_door(void);
const struct lifespan_door_table *lifespan_recorder_own_door(void);
// The linked library has found our door. Any time, also before the start.
void lifespan_recorder_is_asked(void);

#ifdef __cplusplus
}
#endif
#endif
