// A picture: what lives at one moment, told to an encoder as the beginning of a trace of its own. Taken at once, told in
// pieces, so that the rings are drained meanwhile. Used by save.c (a program's save) and next.c (the file that takes a
// running trace's place). On the thread that holds the drain; memory by mmap alone.
#ifndef DRAIN_PICTURE_H
#define DRAIN_PICTURE_H

#include "drain.h"

struct drain_pictured { // an object that lived
  uint64_t serial, stamp, task;
  uint64_t address; // before the first move that the history holds
  uint32_t site;    // the same
  uint32_t generation, thread;
  uint32_t events, held;       // of it so far; of these in the history
  bool kept, moved, deinit;    // deinited, memory kept; such an event is in the history
};
_Static_assert(sizeof(struct drain_pictured) == 56, "pictured");

struct drain_order { // objects by serial
  uint64_t serial;
  uint64_t object;
};
struct drain_rest { // of a row of totals: what the trace has no events for
  uint64_t births, bytes;
};

enum drain_picture_phase {
  DRAIN_PICTURE_COLLECT,
  DRAIN_PICTURE_SORT,
  DRAIN_PICTURE_LOOK_BACK,
  DRAIN_PICTURE_OBJECTS,
  DRAIN_PICTURE_EVENTS,
  DRAIN_PICTURE_DONE
};

#define DRAIN_PICTURE_ALL UINT64_MAX // a budget: to the end
#define DRAIN_PICTURE_DIGIT 11u
#define DRAIN_PICTURE_PASSES 6u // 66 bits

struct drain_picture {
  struct drain_encoder *encoder; // the caller's
  bool keeps_dead;               // the dead whose birth the history holds are told, too
  bool failed;                   // no memory
  enum drain_picture_phase phase;
  uint64_t at; // within the phase
  struct drain_pictured *objects;
  struct drain_order *order, *spare;
  size_t room, count, row_count;
  size_t left;         // objects that are still to be collected
  uint64_t mask;       // of the living table as it is walked through
  unsigned pass, passes;
  size_t starts[DRAIN_PICTURE_PASSES][1u << DRAIN_PICTURE_DIGIT];
  struct drain_rest *rest;
  struct drain_bytes events; // struct drain_event: the history's, then what came since
  uint64_t held;             // how many of them the history held
  uint64_t first_event;      // number of the first of them in the recording
  uint64_t first_serial;     // births from here on are in the history
  uint64_t newest_serial;
  uint64_t dropped; // events of its objects that it has no place for
  uint32_t marks;
};

// Begins a picture of this moment: the history is copied, some milliseconds. False: no memory. With `keeps_dead` it must be
// worked to its end before anything else happens; without, objects are collected in pieces, and whoever changes one that is
// not pictured yet has it collected before (drain_picture_collect).
bool drain_picture_begin(struct lifespan_drain *d, struct drain_picture *picture, struct drain_encoder *encoder,
                         bool keeps_dead);
void drain_picture_collect(struct lifespan_drain *d, struct drain_picture *picture, struct drain_object *object);
// An event since then, for as long as the picture is not done: of objects that were collected or born since.
void drain_picture_add(struct drain_picture *picture, const struct drain_event *event);
// Works for about `budget` nanoseconds. True: done, and the encoder has everything up to now but the rows of totals.
bool drain_picture_step(struct lifespan_drain *d, struct drain_picture *picture, uint64_t budget);
// Rows of what was discarded: after the picture is done.
void drain_picture_totals(struct lifespan_drain *d, struct drain_picture *picture);
void drain_picture_free(struct drain_picture *picture);
static inline uint64_t drain_picture_waiting(const struct drain_picture *picture) {
  return picture->events.used / sizeof(struct drain_event) - picture->held;
}

// picture_sort.c: an object is counted when it is collected; then pieces of the sorting by serial, which return how many
// objects they have handled, 0: sorted.
void drain_picture_count(struct drain_picture *picture, uint64_t serial);
size_t drain_picture_sort(struct drain_picture *picture, size_t most);
struct drain_pictured *drain_picture_find(const struct drain_picture *picture, uint64_t serial);

#endif
