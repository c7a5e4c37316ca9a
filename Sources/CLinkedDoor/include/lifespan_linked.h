// The linked door in C: starts the recorder in this process, drains it, asks it; or finds the preload library's
// recorder and asks the recording command. Called by Lifespan (Swift) alone.
//
// It is C because of two rules: whoever holds the door's lock runs no Swift code (Swift code allocates objects, and
// their hooks may need the lock), and a full ring is drained from inside a hook. Answers are therefore copied out
// whole, and made into Swift values afterwards.
#ifndef LIFESPAN_LINKED_H
#define LIFESPAN_LINKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_drain.h"
#include "lifespan_heap_report.h"
#include "lifespan_map.h"

#ifdef __cplusplus
extern "C" {
#endif

enum lifespan_linked_status {
  LIFESPAN_LINKED_OK = 0,
  LIFESPAN_LINKED_PLATFORM = 1,      // not Linux, glibc, x86-64
  LIFESPAN_LINKED_NOT_STARTED = 2,   // nothing is recorded here
  LIFESPAN_LINKED_FORKED = 3,        // this process was forked from the recorded one
  LIFESPAN_LINKED_ABI = 4,           // the preload library is of another version
  LIFESPAN_LINKED_INACTIVE = 5,      // the preload library is there and records another process, or nothing
  LIFESPAN_LINKED_OTHER_OPTIONS = 6, // started already, with other options
  LIFESPAN_LINKED_UNHOOKABLE = 7,    // the runtime could not be hooked
  LIFESPAN_LINKED_NO_MEMORY = 8,
  LIFESPAN_LINKED_GONE = 9,          // the recording command does not answer
  LIFESPAN_LINKED_UNKNOWN = 10,      // no such object, stack, …
  LIFESPAN_LINKED_FAILED = 11,       // an errno value says how
  LIFESPAN_LINKED_FORBIDDEN = 12,    // the system or the program itself forbids it: a text says why
  LIFESPAN_LINKED_NO_EYES = 13,      // the recording command is the small one, which can't look at a heap
};

// ---- Start (start.c) ----------------------------------------------------------------------------------------------
struct lifespan_linked_settings {
  uint32_t scope;          // enum lifespan_scope
  uint32_t refcounts;      // 1: retain and release of all recorded types
  uint32_t history_events; // newest events kept
  const char *rules;       // as in lifespan_options, zero terminated; may be NULL
};

// Starts recording, or goes on after a stop. Any thread, outside hooks; may allocate. `reason` gets one sentence when
// it is not OK.
enum lifespan_linked_status lifespan_linked_start(const struct lifespan_linked_settings *settings, char *reason,
                                                  size_t room);
// Births off. Any thread outside hooks. Nothing when nothing is recorded.
void lifespan_linked_stop(void);

// What is recorded now. Any thread; allocates nothing.
struct lifespan_linked_state {
  uint32_t status;    // enum lifespan_linked_status: OK, or why there is nothing
  uint32_t recording; // 0: stopped
  uint32_t capture;   // enum lifespan_capture
  uint32_t door;      // enum lifespan_door, 0 none
  uint32_t preload_abi; // with LIFESPAN_LINKED_ABI
  char reason[256];   // of the capture, zero terminated
};
void lifespan_linked_state(struct lifespan_linked_state *state);

// ---- What the program tells (tell.c) ------------------------------------------------------------------------------
// All of them: any thread, outside hooks.
void lifespan_linked_track(const void *metadata);
uint64_t lifespan_linked_token_born(const char *name, size_t length, uint64_t size); // 0: not recorded
void lifespan_linked_token_died(uint64_t token);
// Ticks since the start at which the mark was set; < 0: nothing is recorded. Constant time.
int64_t lifespan_linked_mark(const char *name, size_t length);

// Whether objects of a class (or values of a token: metadata NULL) are recorded, by scope, tracked types and rules.
// `name` as the runtime prints it.
enum lifespan_linked_recorded {
  LIFESPAN_LINKED_RECORDED = 0,
  LIFESPAN_LINKED_NOT_TRACKED = 1, // only tracked types are recorded, and it is none
  LIFESPAN_LINKED_BY_RULE = 2,     // a rule leaves it out
};
enum lifespan_linked_recorded lifespan_linked_records(const void *metadata, const char *name, size_t length);

// Whether a type of an answer belongs to what the program asked for at its start. Always where it records itself: then
// nothing else is there. The recording command records more: what it was told.
bool lifespan_linked_wants(const struct lifespan_type_row *type, const char *name);

// A type's name without private discriminators, into `plain`. Returns its length. Any thread.
size_t lifespan_linked_plain_name(const char *name, size_t length, char *plain, size_t room);

// ---- Questions (ask.c; request.c under a recording command) -------------------------------------------------------
struct lifespan_linked_answer {
  void *bytes; // 8-byte aligned; to be given to lifespan_linked_forget
  size_t length;
  size_t room;
};
// One whole answer as of now (a drain round runs before it). Any thread outside hooks; memory by mmap; may wait for the
// command (2 s at most).
enum lifespan_linked_status lifespan_linked_ask(uint32_t op, const struct lifespan_question *question,
                                                struct lifespan_linked_answer *answer);
void lifespan_linked_forget(struct lifespan_linked_answer *answer);

// ---- The heap (heap.c, picture.c, stop.c) -------------------------------------------------------------------------
// A report (lifespan_heap_report.h): of what is leaked (place 0), or of who holds the object at the address ~place. All threads
// stand still meanwhile for as long as it takes to copy the process's page tables. Any thread outside hooks; allocates.
// `reason` says why not with FORBIDDEN. Before it: clears what calls that have returned have left below the caller's frame, so that it holds nothing while ours lie there.
void lifespan_linked_clear_stack(void);
enum lifespan_linked_status lifespan_linked_heap(uint64_t place, struct lifespan_linked_answer *answer, char *reason,
                                                 size_t room);

// ---- Save (save.c) ------------------------------------------------------------------------------------------------
// Writes the state as a trace: a file beside `path`, then a rename. Below a recording command its state is written: it
// hands the bytes over, the file is the program's. `error` gets an errno value with LIFESPAN_LINKED_FAILED.
enum lifespan_linked_status lifespan_linked_save(const char *path, int *error);

// ---- Names of addresses (name.c) ----------------------------------------------------------------------------------
// Function and image of a return address by the dynamic symbol tables; demangled. False when neither is known. May
// allocate.
struct lifespan_linked_name {
  char function[1024]; // empty: no symbol
  char image[256];     // path, empty: none
  uint64_t offset;     // from the function's start, or the image's when there is no symbol
};
bool lifespan_linked_name(uint64_t return_address, struct lifespan_linked_name *name);

// The name that a mangled one stands for, into `plain`; as it is where it is none. May allocate.
void lifespan_linked_demangle(const char *mangled, char *plain, size_t room);

// Text of an errno value. Any thread.
void lifespan_linked_error_text(int error, char *text, size_t room);

#ifdef __cplusplus
}
#endif
#endif
