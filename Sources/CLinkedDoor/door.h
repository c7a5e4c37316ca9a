// What CLinkedDoor's files share: the door's state and its lock.
#ifndef LIFESPAN_LINKED_DOOR_H
#define LIFESPAN_LINKED_DOOR_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "lifespan_linked.h"
#include "lifespan_platform.h"
#include "lifespan_recorder.h"

#if LIFESPAN_RECORDS_HERE
#include <pthread.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

// The descriptor of Lifespan.Tracked. Weak: tests of this folder link without the Swift module.
extern const char lifespan_tracked_protocol[] __asm__("$s8Lifespan7TrackedMp")
  __attribute__((weak, visibility("default")));

// Our own recording. Written once, by start.c, under `starting`; `drain` last.
struct lifespan_linked_door {
  struct lifespan_map *map;
  _Atomic(struct lifespan_drain *) drain; // not NULL: the recorder runs
  pid_t pid;                              // of the recorded process
  pthread_mutex_t lock; // of the drain: held by C code alone, which allocates no object; hooks only try it
};
extern struct lifespan_linked_door lifespan_linked_door;

// The drain, locked, after a round; NULL when there is none in this process (*status says why). Unlock with
// lifespan_linked_unlock.
struct lifespan_drain *lifespan_linked_lock(enum lifespan_linked_status *status);
void lifespan_linked_unlock(void);

// The preload library's door (preload.c): NULL when there is none. *status: OK, ABI (then NULL with *abi set), INACTIVE
// (it records nothing here).
const struct lifespan_door_table *lifespan_linked_preload(enum lifespan_linked_status *status, uint32_t *abi);
// The mapping that this process records into, by whichever door; NULL: none.
struct lifespan_map *lifespan_linked_map(enum lifespan_linked_status *status);

// What the program asks for where the command records (asked.c). False: it has asked for something else before. Below
// the start's lock.
bool lifespan_linked_ask_for(const struct lifespan_linked_settings *settings);
// Whether a class (or a token: metadata NULL) belongs to it; all do while the program has not started.
enum lifespan_linked_recorded lifespan_linked_is_asked_for(const void *metadata, const char *name, size_t length);
// Whether a class is tracked (tell.c). Looks at all images where it seems not to be.
bool lifespan_linked_tracks(const void *metadata);

// The program stops, or starts, its recording (pauses.c): what is born between is missing, and the capture says so.
// Below the start's lock.
void lifespan_linked_pause_begins(struct lifespan_map *map);
void lifespan_linked_pause_ends(struct lifespan_map *map);

// A question to the recording command (request.c).
enum lifespan_linked_status lifespan_linked_request(struct lifespan_map *map, uint32_t op,
                                                    const struct lifespan_question *question,
                                                    struct lifespan_linked_answer *answer);

// Makes an answer's memory at least `room` bytes, keeping what is there (ask.c).
bool lifespan_linked_grow(struct lifespan_linked_answer *answer, size_t room);

#pragma GCC visibility pop
#endif

#endif
