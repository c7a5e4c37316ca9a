// The drain: reads the rings of a mapping, merges them by stamp, keeps the living table and totals, answers questions and encodes
// the trace. Used by `lifespan record` (another process) and by the linked door (the process itself, also from inside a hook).
//
// Memory comes from mmap/mremap only, never malloc: in the linked door a hook may run it. No function here is safe to call from two
// threads at once unless it says so; the callers hold their own lock (linked door: a trylock). Everything read from the
// mapping is hostile: checked, counted when damaged, never trusted as an index.
#ifndef LIFESPAN_DRAIN_H
#define LIFESPAN_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_map.h"
#include "lifespan_trace.h"

struct lifespan_drain;

// Takes encoded bytes in order. Returns 0 or an errno value; after an error nothing more is offered.
typedef int (*lifespan_sink)(void *context, const void *bytes, size_t length);
// Compresses `length` bytes into `room` bytes (one zstd frame). Returns the compressed size, 0 when it does not fit.
typedef size_t (*lifespan_compressor)(void *context, void *target, size_t room, const void *bytes, size_t length);

// A file that is to take the trace's place. 0 or an errno value; after an error the trace goes on as it is.
struct lifespan_next {
  int (*begin)(void *context);    // makes an empty file beside the trace
  lifespan_sink sink;             // writes to it
  int (*commit)(void *context);   // it takes the trace's place, and the trace's own sink goes on in it
  void (*abandon)(void *context); // it is not wanted any more; also after an error of commit
  void *context;
};

struct lifespan_drain_options {
  struct lifespan_map *map;       // LIFESPAN_MAP_VIRTUAL bytes of address space at least, only `allocated` touched
  int file;                       // the memfd, grown ahead of need by fallocate; -1: all of `allocated` is there already
  lifespan_sink sink;             // NULL: no trace is encoded, only the table is kept
  void *sink_context;
  lifespan_compressor compressor; // NULL: codec none
  void *compressor_context;
  uint32_t ticks_per_unit;        // of the time column: 1024 coarse, 1 exact
  uint64_t ticks_per_second;      // 0: measured against CLOCK_MONOTONIC by the drain
  uint32_t history_events;        // newest events kept for history and save; 0 none
  uint32_t history_when_asked;    // 1: only once the program's linked library could ask for it (map->asks), or another file needs it
  struct lifespan_drain *inherits; // of lifespan_drain_take_fork, taken over whatever happens; NULL: none
  struct lifespan_next next;      // begin NULL: the trace is never made anew, and the four below mean nothing
  uint64_t max_size;              // bytes that the trace never exceeds: the oldest events go; 0 none
  uint64_t keep_least;            // keep_living: bytes below which nothing is discarded; 0: 1 MiB
  uint64_t picture_budget;        // about so many ns of work on another file after each round; 0: 2 ms
  uint32_t keep_living;           // 1: events of what died are discarded
  uint32_t process_tid_check;     // 1: threads are looked up (tgkill) in the mapping's pid, so that rings of dead ones are taken back
  int32_t look_file;              // an eventfd to write to when the program asks for its heap (LEAKS, HOLDERS); 0: nobody here can look at it
  uint32_t sample_pid;            // the program's process as we call it, whose memory is looked at now and then; 0: it is not
};

// NULL: no memory, or the mapping's ABI is another (errno says which: ENOMEM, EPROTO).
struct lifespan_drain *lifespan_drain_create(const struct lifespan_drain_options *options);
void lifespan_drain_destroy(struct lifespan_drain *drain);

// One drain round: cut, heads, merge, table, encoder; grows the mapping, retires rings, answers a posted request. Returns events consumed, < 0: -errno of the sink.
int64_t lifespan_drain_round(struct lifespan_drain *drain);
// Sets the INFO pairs that the writer cannot know (program arguments, options, host). Before the first round.
void lifespan_drain_info(struct lifespan_drain *drain, const char *key, const char *value);
// A mark set from outside, stamped now. Returns its generation number, or < 0.
int64_t lifespan_drain_mark(struct lifespan_drain *drain, const char *name, size_t length);
// Recording on or off from outside, stamped now and kept in the trace. Returns 1 when that changed something, 0 when not, < 0: -errno.
int lifespan_drain_set_recording(struct lifespan_drain *drain, bool on);
// Writes out what is buffered (for a reader of the running file). Returns 0 or an errno value.
int lifespan_drain_flush(struct lifespan_drain *drain);
// Last rounds until the rings are empty, the footer. `clean`: the program ended by itself; `exit_status` as wait gives it. 0 or errno.
int lifespan_drain_finish(struct lifespan_drain *drain, bool clean, int exit_status);

// The loop of the command: rounds with an adaptive pause until `stop` becomes nonzero (then returns without finish). Holds consumer_mutex and moves consumer_beat.
// `lock`/`unlock` are called around each round, so that other threads may call the functions above meanwhile.
int lifespan_drain_run(struct lifespan_drain *drain, const _Atomic int *stop, void (*lock)(void *), void (*unlock)(void *), void *context);

// The state of the parent at a fork, for the child's drain (options.inherits): everything that the child's memory holds is drained first.
// Before or after lifespan_drain_finish. NULL: that fork was not seen.
struct lifespan_drain *lifespan_drain_take_fork(struct lifespan_drain *drain, uint64_t number);
// After lifespan_drain_finish: the newest that nobody has asked for, and its number; NULL: none is left.
struct lifespan_drain *lifespan_drain_left_fork(struct lifespan_drain *drain, uint64_t *number);

// ---- A trace that was cut (resume.c): a drain made of what the trace says takes what is left in its rings file ---------------
// `map` is a private copy of the file. The seed goes into options.inherits; then rewind and finish. False: makes no sense, or no memory.
struct lifespan_type_row;
struct lifespan_drain_counts;
struct lifespan_seed_object {
  uint64_t address, serial, size; // now
  int64_t ticks;                  // of its birth, since the start
  uint32_t site, generation, thread, events;
  bool kept; // its deinit has ended
};
bool lifespan_drain_committed(struct lifespan_map *map, uint64_t *bytes);
struct lifespan_drain *lifespan_drain_seed_create(uint64_t start, uint64_t ticks_per_second);
bool lifespan_drain_seed_type(struct lifespan_drain *seed, const struct lifespan_type_row *row, uint64_t caller, const char *name);
bool lifespan_drain_seed_site(struct lifespan_drain *seed, uint32_t type, uint32_t stack, uint64_t size);
bool lifespan_drain_seed_mark(struct lifespan_drain *seed, int64_t ticks, const char *name, size_t length);
bool lifespan_drain_seed_object(struct lifespan_drain *seed, const struct lifespan_seed_object *object);
void lifespan_drain_seed_counts(struct lifespan_drain *seed, const struct lifespan_drain_counts *counts, int64_t newest_ticks);
void lifespan_drain_rewind(struct lifespan_drain *drain);

struct lifespan_drain_counts {
  uint64_t events, births, deaths, lost, suppressed, late, ends_not_seen, swapped, damaged, waited_ns, waits, living, marks, bytes_written;
  uint64_t elapsed_ticks, ticks_per_second;
  uint64_t unwritten;  // events that the sink did not take
  uint64_t unattached; // retains and releases that lay in no lifetime and near none: dropped
  uint64_t misuses;    // references to objects whose deinit had ended, and what else enum lifespan_misuse says
  uint64_t retyped;    // blocks of malloc that turned out to be objects
  uint64_t mark_ticks; // since the start: when the newest mark was set; 0 before there is one
};
void lifespan_drain_counts(const struct lifespan_drain *drain, struct lifespan_drain_counts *counts);
// How often another file has taken the trace's place, and the errno value of why none did when it was time last (0: one did).
uint64_t lifespan_drain_renewed(const struct lifespan_drain *drain, int *error);

// The whole state as a trace (codec none): living objects, totals of the dead, the newest events. The linked door's `save`. 0 or errno.
int lifespan_drain_save(struct lifespan_drain *drain, lifespan_sink sink, void *context);

// ---- Self-check: recorded counts against the runtime's own (verify.c) ----------------------------------------------------
// Reads two words at each of `count` addresses of the program into words[2 * i]. Gives how many it could read, from the first on.
typedef size_t (*lifespan_word_reader)(void *context, const uint64_t *addresses, size_t count, uint64_t *words);
struct lifespan_count_difference {
  uint64_t serial, address;
  int64_t recorded, actual; // actual -1: its memory can't be read
  uint32_t type, stack;     // of its birth
  uint64_t events;          // of this object so far
};
struct lifespan_count_check {
  uint64_t checked, exact; // living objects whose retains and releases are recorded
  uint64_t uncounted;      // those whose birth nobody saw, or that the runtime does not count any more
};
// Compares every living object. The caller has stopped the program's threads outside retain and release, and drained the rings after that.
// `differ` is called for each difference. 0, or -EAGAIN: nothing runs yet.
int lifespan_drain_verify(struct lifespan_drain *drain, lifespan_word_reader read, void *read_context,
                          void (*differ)(void *context, const struct lifespan_count_difference *), void *differ_context,
                          struct lifespan_count_check *check);
// options.verify: whether the program waits to end until its counts have been compared; and: it may now.
bool lifespan_drain_verify_wanted(const struct lifespan_drain *drain);
void lifespan_drain_verify_done(struct lifespan_drain *drain);

// ---- A picture of the heap (frozen.c) --------------------------------------------------------------------------------------
struct lifespan_block {
  uint64_t address, size, serial; // size: as asked for
  uint32_t type : 28;
  uint32_t state : 4; // 0 lives, 1 its deinit has ended and its memory is kept, 2 is being moved
  uint32_t stack;     // of its birth
};
struct lifespan_type_row;
// What lives now, in no order: at most so many.
size_t lifespan_drain_block_limit(const struct lifespan_drain *drain);
size_t lifespan_drain_blocks(const struct lifespan_drain *drain, struct lifespan_block *blocks, size_t most);
// Types have numbers below this one. False: none. The name is not terminated, and stays until the next round.
uint32_t lifespan_drain_type_limit(const struct lifespan_drain *drain);
bool lifespan_drain_type(const struct lifespan_drain *drain, uint32_t id, struct lifespan_type_row *row, const char **name);
// The number of the thread with this id (of the kernel, in the program's namespace); 0: not known.
uint32_t lifespan_drain_thread(const struct lifespan_drain *drain, uint32_t tid);
// Memory of all drains of this process, by index from 0 on (start 0 or 1: none any more). False: no more of it. Any thread.
bool lifespan_drain_own(uint32_t index, uint64_t *start, uint64_t *end);
// Since the recording's start.
int64_t lifespan_drain_elapsed_ns(const struct lifespan_drain *drain);
// Writes one chunk of a picture; `is_first`: a new one begins. 0; EFBIG: the trace's limit leaves no room; or another errno value.
int lifespan_drain_frozen(struct lifespan_drain *drain, uint32_t kind, const void *bytes, size_t length, bool is_first);
// options.leaks: whether the program waits in exit for its picture; and: it may end now.
bool lifespan_drain_picture_wanted(const struct lifespan_drain *drain);
void lifespan_drain_picture_done(struct lifespan_drain *drain);

// ---- A look at the heap that the program itself asks for (look.c) ---------------------------------------------------------
// Whether one is wanted: once for each. op: LEAKS or HOLDERS (of the object at `address`).
bool lifespan_drain_look_wanted(struct lifespan_drain *drain, uint32_t *op, uint64_t *address);
// Its answer: a report, or an errno value with a text. Kept until it has been taken or another one is asked for.
void lifespan_drain_look_done(struct lifespan_drain *drain, int error, const void *bytes, size_t length);

// ---- Questions (in process, or by the request slot: op, question bytes -> answer bytes) -------------------------------
// All integers little-endian as in memory; structs below are the wire format. A question is a lifespan_question; answers are arrays.
enum lifespan_question_op {
  LIFESPAN_ASK_ROWS = 16,    // rows by type: lifespan_row[] , names follow in a second pass by LIFESPAN_ASK_TYPES
  LIFESPAN_ASK_TYPES = 17,   // lifespan_type_row[] each followed by its name (padded to 8)
  LIFESPAN_ASK_MARK = 18,    // set a mark (name in the question): uint64_t generation
  LIFESPAN_ASK_HISTORY = 19, // newest events of the object at `address`, oldest first: lifespan_history_head then lifespan_history_event[];
                             // `start`: the number of the first one wanted
  LIFESPAN_ASK_COUNTS = 20,  // lifespan_drain_counts
  LIFESPAN_ASK_MARKS = 21,   // lifespan_mark_row[] each followed by its name (padded to 8)
  LIFESPAN_ASK_SAVE = 23,    // the state as a trace, as lifespan_drain_save writes it: its bytes, in pieces of one moment
  // A report of CHeap (lifespan_heap_report.h), in pieces like SAVE: of what is leaked; of who holds the object at `address`. Status EPERM: the data says
  // why not. Answered by whoever runs the drain, as it stops the program for it.
  LIFESPAN_ASK_LEAKS = 24,
  LIFESPAN_ASK_HOLDERS = 25,
  LIFESPAN_ASK_STACK = 22,   // return addresses of stack id `address`, innermost first: uint64_t[]
  // Scopes: what is born between two moments in a task and the tasks below it (scope.c).
  LIFESPAN_ASK_SCOPE_BEGIN = 40,  // `address`: the task's id, or LIFESPAN_SCOPE_OF_THREAD; `generation`: then the thread's id;
                                  // | LIFESPAN_SCOPE_TALLIED. Answer: lifespan_scope_begun
  LIFESPAN_ASK_SCOPE_END = 41,    // `address`: the scope; uint64_t ticks
  LIFESPAN_ASK_SCOPE_ROWS = 42,   // lifespan_scope_row[] of a scope that is tallied
  LIFESPAN_ASK_SCOPE_LIVING = 43, // lifespan_scope_object[] of what lives, of one moment; `address` 0: of all scopes that have ended
  LIFESPAN_ASK_SCOPE_FORGET = 44, // `address`: the scope; no answer
  LIFESPAN_ASK_OBJECT = 45,       // the object that lives at `address`: one lifespan_scope_object
};
#define LIFESPAN_SCOPE_OF_THREAD (1ull << 63)
#define LIFESPAN_SCOPE_TALLIED (1u << 31)
struct lifespan_scope_begun {
  uint64_t scope, ticks; // since the start
};
struct lifespan_scope_row { // of one type, in the scope and those below it
  uint32_t type, reserved;
  uint64_t births, bytes, retains, releases;
};
enum lifespan_scope_place {
  LIFESPAN_SCOPE_INSIDE = 1,
  LIFESPAN_SCOPE_IN_NONE = 2,    // born meanwhile, in no scope
  LIFESPAN_SCOPE_IN_ANOTHER = 3, // born meanwhile, in another scope
};
struct lifespan_scope_object {
  uint64_t inverted; // its address: an answer that lies in the program's memory must not look like a reference to what it tells of
  uint64_t serial, size, ticks, task, scope; // ticks: of its birth, since the start; scope: 0 where it is not inside
  uint32_t type, stack, thread, place;                // place: enum lifespan_scope_place, 0 with OBJECT
};
#define LIFESPAN_SAVE_UNIT 64u // SAVE: every piece but the last holds a multiple of it, and `start` counts in it
struct lifespan_question {
  uint64_t address;     // HISTORY, STACK; MARK: length of the name that follows
  uint32_t generation;  // ROWS: only objects born in generations >= this one (0 all)
  uint32_t start;       // ROWS, TYPES, MARKS, SAVE: index to begin at (continuation); HISTORY: the number of an event
};
struct lifespan_row {
  uint32_t type;
  uint32_t generation; // 0 unless rows are per generation
  uint64_t living_count, living_bytes, total_count, total_bytes;
};
struct lifespan_type_row {
  uint32_t type, kind, superclass, flags;
  uint64_t metadata;
  uint32_t instance_size, name_length;
};
struct lifespan_mark_row {
  uint32_t generation, name_length;
  uint64_t ticks; // since the start
};
struct lifespan_history_head {
  uint64_t serial;      // 0: not known
  uint64_t dropped;     // older events of this object that the ring no longer holds
  uint32_t type, count; // events that follow
  uint64_t size;
  int64_t strong;       // its strong count now, by what was recorded; -1 not known
};
struct lifespan_history_event {
  uint64_t ticks; // since the start
  uint32_t kind;  // enum lifespan_event_kind
  uint32_t flavour;
  uint32_t amount, stack, thread, number; // number: of this event in the object's life, from 0
  int64_t count_before; // strong count, -1 not known
  uint64_t task;
};
// Answers into `answer` (8-byte aligned). Returns bytes written, < 0: -errno (ENOENT unknown, EINVAL malformed, EMSGSIZE). *more: ask again with start advanced.
// Runs no drain round by itself: the caller does, before.
int64_t lifespan_drain_ask(struct lifespan_drain *drain, uint32_t op, const void *question, size_t length, void *answer, size_t room, bool *more);

#endif
