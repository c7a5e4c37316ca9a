// What the files of CDrain share: the drain's state and the functions between its pieces. Included first by each of
// them; no one outside of CDrain sees it. Every function runs on the thread that holds the drain, and allocates by mmap
// alone; where memory runs out the drain's `error` is set and the trace ends there.
#ifndef DRAIN_H
#define DRAIN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <string.h>

#include "encode.h"
#include "lifespan_drain.h"
#include "living.h"
#include "look.h"
#include "memory.h"
#include "regions.h"
#include "sample.h"

// Ids are handed out by counters in the program: an id beyond these is no id but damage.
#define DRAIN_TYPE_LIMIT (1u << 20)
#define DRAIN_NODE_LIMIT (1u << 26)
#define DRAIN_NODE_WINDOW (1u << 20)
#define DRAIN_SITE_LIMIT (1u << 26)
#define DRAIN_ROW_LIMIT (1u << 26)
#define DRAIN_MARK_LIMIT (1u << 22)
#define DRAIN_NAMES_LIMIT (256u << 20)
#define DRAIN_KEPT_LIMIT (16u << 20)
#define DRAIN_WAITING 64u
#define DRAIN_RECENT 4096u
#define DRAIN_TASKS_TOLD 4096u

// ---- Types, totals, marks, stacks -----------------------------------------------------------------------------------
struct drain_type {
  uint64_t metadata, caller;
  uint32_t kind; // 0: not known (its record was lost)
  uint32_t superclass, flags, instance_size, name, name_length;
  uint32_t newest_row, rows; // + 1: the row of the newest generation, the chain of all of them
};
struct drain_row { // totals of a type's objects that were born in one generation
  uint32_t type, generation, next, reserved;
  uint64_t births, bytes, deaths, freed; // counts follow the deinit, bytes the memory
};
struct drain_site {
  uint32_t type, stack, class;
  uint32_t elsewhere; // 1: no part of the heap
  uint64_t size;
};
struct drain_mark {
  uint64_t stamp, serial_before, events_before;
  uint32_t name, name_length;
};
struct drain_node {
  uint64_t pc;
  uint32_t parent, epoch, label, known;
};

// ---- Records and events ---------------------------------------------------------------------------------------------
struct drain_record { // of a ring, as read
  uint64_t stamp, value, xa, xb, xc, xd, xe, task; // words of the further cells, in order
  uint32_t thread, slot;
  uint8_t kind, cells;
};

struct drain_recent { // an object that died lately, for refcount events that come after its death
  uint64_t address, serial, birth, end;
  uint64_t died; // events of the recording by then
  uint32_t site, events;
};

struct drain_waiting { // a record whose place is not decided yet: see repair.c
  struct drain_record record;
  uint64_t round, distance; // distance: ticks to the end of the object in `dead`
  bool orphan;
  struct drain_recent dead;
};

// ---- Rings ----------------------------------------------------------------------------------------------------------
struct drain_gap {
  uint64_t from, to, births, deaths, others;
};
enum {
  DRAIN_GAP_FULL = 1,
  DRAIN_GAP_NO_RING = 2,
  DRAIN_GAP_SUPPRESSED = 3,
  DRAIN_GAP_DIED = 4,
  DRAIN_GAP_DAMAGED = 5,
  DRAIN_GAPS = 6
};

struct drain_ring {
  // of the ring, between rounds; the mapping's own words are never believed twice
  uint64_t tail, last_switch, task;
  uint32_t thread;
  bool claimed, switched;
  uint64_t resumed_task; // of the ring's thread where a cut trace goes on
  double held;     // with commits: how much of the buffer is not given back
  uint64_t passed; // with commits: the buffer that the ring has gone over to, not told yet
  bool lives;       // its thread has said who it is, and not yet that it has ended
  uint64_t gone_ns; // since when its thread is known to be gone without having said so, 0: it is not
  uint64_t lost_births, lost_deaths, lost_other, lost_to, suppressed, waited, waits;
  struct drain_gap gaps[DRAIN_GAPS];
  bool has_gap;
  // of this round
  bool open;
  uint64_t position, head, segment_end, next, switch_at, start;
  const struct lifespan_cell *cells;
  uint64_t mask;
  struct drain_record record; // the event that stands at `position`
};
struct drain_heap_entry {
  uint64_t stamp;
  uint32_t slot;
};

// ---- History --------------------------------------------------------------------------------------------------------
struct drain_history {
  struct drain_event *events;
  uint32_t room, next; // next: total % room
  uint64_t total;      // events ever; the newest `room` of them are there
};

// ---- Room for the trace: see next.c ---------------------------------------------------------------------------------
struct drain_space {
  bool full;                      // births are not recorded any more
  uint64_t base;                  // bytes of the file when its picture was done
  uint64_t again;                 // bytes of the file from which on another file is tried
  uint64_t living_when_full;
  struct drain_encoder *parked;   // of a file without any room left; `encoder` is NULL then
  uint64_t unwritten;             // deaths since then
  struct drain_gap gap;           // births that were not recorded, deaths that were not written
  uint64_t told;                  // so many have stood in rows since the trace was full
  uint32_t looks;
  int error;                      // why the last other file could not take the place, for good
};
struct drain_successor;

// ---- The drain ------------------------------------------------------------------------------------------------------
struct lifespan_drain {
  struct lifespan_drain_options options;
  struct lifespan_map *map;
  uint64_t allocated; // of the mapping, as we have checked or grown it
  uint32_t clock;
  bool begun, finished;
  int error;
  uint64_t start, start_realtime_ns, ticks_per_second, microsecond;
  uint64_t pair_stamp, pair_ns; // taken at create, for the rate
  uint32_t capture;             // as written
  uint32_t runtime;             // as written; enum lifespan_runtime_state

  uint64_t round, newest, floor; // floor: newest stamp of the rounds before
  uint64_t cut;                  // of this round, or of the last one
  uint64_t threads_checked_ns, grow_again_ns;
  uint32_t claimed; // rings in this round
  double fill; // of the fullest ring of the last round, 0…1
  uint64_t heads_ns, interval_ns;
  uint64_t refused, refused_from; // map->rings_refused as last seen, and since when
  struct drain_gap refused_gap;

  struct drain_living living;
  struct drain_regions regions;
  struct drain_moving moving[DRAIN_MOVING]; // newest at next_moving - 1
  struct drain_aside aside[DRAIN_MOVING];
  uint32_t next_moving, next_aside;
  struct drain_index site_index, row_index, class_index;
  struct drain_bytes types, rows, sites, marks, nodes, names;
  uint32_t type_count, mark_count, node_count;     // highest id + 1
  struct drain_bytes kept[LIFESPAN_CHUNK_KINDS]; // encoded rows for save
  uint64_t kept_rows[LIFESPAN_CHUNK_KINDS];
  struct drain_history history;
  bool keeps_history; // as of this round
  bool counts_references; // of some type: who died lately is remembered
  struct drain_encoder *encoder; // NULL: no sink, or no room
  uint32_t picture_bit; // what `pictured` is of an object that the next file knows; of all while none is made
  struct drain_successor *next;       // NULL: no other file is being made
  struct drain_space space;
  uint64_t renewed; // how often another file took the trace's place

  // commit.c
  uint64_t committed_ns; // when the last commit was
  bool uncommitted;     // cells were consumed since
  double held;          // of the fullest ring: what is not given back, 0…1
  bool commits;         // cells are given back by commits alone
  bool resumes;         // a trace that was cut goes on
  // fork.c
  uint64_t fork, fork_ns;       // the fork that is waited for, 0 none, and since when
  uint64_t fork_held_ns;        // waited for forks of which nobody has said anything, in all
  bool fork_limits;             // a round ends at fork_heads
  struct lifespan_drain *forks; // copies for children, newest first
  struct lifespan_drain *forked_next;
  uint64_t forked_number, forked_ns;
  uint32_t forked_pid;
  bool inherits; // this one began as such a copy
  uint64_t inherited_start, inherited_realtime_ns;

  struct drain_heap memory;
  struct drain_sample sample;
  uint64_t sampling_since_ns;
  uint32_t sample_answered;
  uint32_t pictured; // options.leaks: map->picture_wanted as last answered
  struct drain_bytes frozen; // chunks of the newest picture of the heap, for a file that takes the trace's place
  uint32_t verified; // options.verify: the program that wants to end may, as far as its counts go

  struct lifespan_drain_counts counts;
  struct drain_waiting waiting[DRAIN_WAITING];
  uint32_t waiting_count;
  struct drain_recent recent[DRAIN_RECENT];
  struct lifespan_cell scratch[256];
  struct drain_bytes row; // a row that is being made
  struct drain_bytes saved; // a trace that is being handed over in pieces
  struct drain_scopes *scopes; // NULL: nobody has begun one
  uint64_t newest_task;        // highest id seen; the runtime counts them up
  uint64_t tasks_told[DRAIN_TASKS_TOLD];
  uint64_t question[512];
  struct drain_look look;
  struct drain_heap_entry heap[LIFESPAN_RING_SLOTS];
  uint64_t fork_heads[LIFESPAN_RING_SLOTS];
  struct drain_ring rings[LIFESPAN_RING_SLOTS];
  uint64_t pages[DRAIN_PAGES_AT_ONCE];
};

static inline struct drain_type *drain_types(const struct lifespan_drain *d) {
  return (struct drain_type *)d->types.data;
}
static inline struct drain_row *drain_rows(const struct lifespan_drain *d) { return (struct drain_row *)d->rows.data; }
static inline struct drain_site *drain_sites(const struct lifespan_drain *d) {
  return (struct drain_site *)d->sites.data;
}
static inline struct drain_mark *drain_marks(const struct lifespan_drain *d) {
  return (struct drain_mark *)d->marks.data;
}
static inline struct drain_node *drain_nodes(const struct lifespan_drain *d) {
  return (struct drain_node *)d->nodes.data;
}
static inline int64_t drain_since_start(const struct lifespan_drain *d, uint64_t stamp) {
  return (int64_t)(stamp - d->start);
}

// clock.c
uint64_t drain_monotonic_ns(void);
uint64_t drain_now(uint32_t clock);
void drain_pair(uint32_t clock, uint64_t *stamp, uint64_t *ns);
uint64_t drain_rate(uint32_t clock, uint64_t stamp, uint64_t ns);
uint64_t drain_to_ns(uint64_t ticks, uint64_t ticks_per_second);
#define DRAIN_DIGITS 24
const char *drain_digits(uint64_t value, char text[DRAIN_DIGITS]);
#define DRAIN_DATE_ROOM 32
size_t drain_date(uint64_t seconds_since_1970, char text[DRAIN_DATE_ROOM]);

// ring.c: one ring, record by record
enum drain_next { DRAIN_NEXT_NONE, DRAIN_NEXT_EVENT };
bool drain_ring_open(struct lifespan_drain *d, uint32_t slot);
enum drain_next drain_ring_next(struct lifespan_drain *d, uint32_t slot, uint64_t cut);
// Copies the record that stands at the ring's position into d->scratch (256 cells).
void drain_ring_copy(struct lifespan_drain *d, const struct drain_ring *r, unsigned cells);
void drain_ring_close(struct lifespan_drain *d, uint32_t slot);

// threads.c: threads that end without a word
// Its row, and its end as an object.
void drain_thread_gone(struct lifespan_drain *d, uint32_t thread, uint32_t tid, uint64_t stamp);
// Whether a ring's thread is gone; not while the whole process ends, when no thread of it ended by itself. To be asked
// again later where it says no.
bool drain_thread_is_gone(struct lifespan_drain *d, struct drain_ring *r, uint32_t tid);

// upkeep.c: losses, dead threads, room
void drain_ring_losses(struct lifespan_drain *d, uint32_t slot);
void drain_refused(struct lifespan_drain *d);
void drain_retire(struct lifespan_drain *d);
void drain_grow(struct lifespan_drain *d);
void drain_add_gap(struct drain_ring *r, unsigned reason, uint64_t from, uint64_t to);
void drain_write_ring_gaps(struct lifespan_drain *d, uint32_t slot);
void drain_write_gaps(struct lifespan_drain *d);

// merge.c
int64_t drain_merge(struct lifespan_drain *d, uint64_t cut);
// A round without the request slot: what lifespan_drain_mark may run inside an answer.
int64_t drain_round_until(struct lifespan_drain *d, uint64_t cut);

// apply.c: what a record does to the state
void drain_apply(struct lifespan_drain *d, const struct drain_record *record);
void drain_dispatch(struct lifespan_drain *d, const struct drain_record *record);
void drain_born(struct lifespan_drain *d, const struct drain_record *record);
void drain_end(struct lifespan_drain *d, struct drain_object *object, const struct drain_record *record, unsigned kind);
void drain_count(struct drain_object *object, const struct drain_record *record);
void drain_refcount(struct lifespan_drain *d, const struct drain_record *record, struct drain_event *event);
void drain_emit(struct lifespan_drain *d, struct drain_event *event);

// mapped.c: regions
void drain_mapped(struct lifespan_drain *d, const struct drain_record *record);
void drain_unmapped(struct lifespan_drain *d, const struct drain_record *record);
void drain_regions_inherit(struct lifespan_drain *d); // of the living table, as it was taken over
bool drain_type_is(const struct lifespan_drain *d, uint32_t type, uint32_t kind);

// scope.c: what is born in a task and the tasks below it
void drain_scope_task(struct lifespan_drain *d, uint64_t task, uint64_t parent);
void drain_scope_thread(struct lifespan_drain *d, uint32_t tid, uint32_t thread);
void drain_scope_tally(struct lifespan_drain *d, const struct drain_record *record, const struct lifespan_scope_row *more); // scopes: there
void drain_scopes_destroy(struct lifespan_drain *d);
int64_t drain_scope_begin(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room);
int64_t drain_scope_end(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room);
int64_t drain_scope_forget(struct lifespan_drain *d, const struct lifespan_question *q);
int64_t drain_scope_rows(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room, bool *more);
int64_t drain_scope_living(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room, bool *more);
int64_t drain_ask_object(const struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room);

// tell.c: what a trace needs to be told before an event, and the event
uint32_t drain_tell_site(struct lifespan_drain *d, struct drain_encoder *e, uint32_t site); // its number in that trace
void drain_tell_type(struct lifespan_drain *d, struct drain_encoder *e, uint32_t type);
bool drain_is_told(const struct drain_encoder *e, unsigned chunk, uint32_t id);
void drain_put(struct lifespan_drain *d, struct drain_encoder *e, struct drain_event *event);

// next.c: the file that takes the trace's place
#define DRAIN_GAP_LIMIT 6u // reason: the trace may not grow
void drain_space_look(struct lifespan_drain *d);   // between records
void drain_space_round(struct lifespan_drain *d);  // after a round
void drain_space_finish(struct lifespan_drain *d); // before the end is written
void drain_next_picture(struct lifespan_drain *d, struct drain_object *object); // before it changes
void drain_next_missed(struct lifespan_drain *d);                               // one that was not pictured goes
uint64_t drain_next_death(const struct lifespan_drain *d, const struct drain_object *object); // when, for drain_put
void drain_next_event(struct lifespan_drain *d, const struct drain_event *event);
struct drain_encoder *drain_next_rows(const struct lifespan_drain *d);  // takes rows of facts; NULL: none
struct drain_encoder *drain_next_marks(const struct lifespan_drain *d); // takes marks; NULL: none
void drain_next_abandon(struct lifespan_drain *d);
bool drain_next_busy(const struct lifespan_drain *d); // its picture is being told
void drain_space_prepare(struct lifespan_drain *d, struct drain_encoder *e);

// prune.c
void drain_prune_sites(struct lifespan_drain *d);

// repair.c: records that wait for their place
void drain_wait(struct lifespan_drain *d, const struct drain_record *record);
void drain_orphan(struct lifespan_drain *d, const struct drain_record *record);
bool drain_waiting_takes(struct lifespan_drain *d, const struct drain_record *record);
void drain_waiting_expire(struct lifespan_drain *d, uint64_t stamp);
void drain_waiting_end_round(struct lifespan_drain *d);
void drain_waiting_born(struct lifespan_drain *d, const struct drain_object *object);
void drain_misuse(struct lifespan_drain *d, const struct drain_record *record);
void drain_remember(struct lifespan_drain *d, const struct drain_object *object, uint64_t end);
struct drain_recent *drain_recall(struct lifespan_drain *d, uint64_t address);

// side.c: side records
bool drain_side_record(struct lifespan_drain *d, struct drain_ring *r, unsigned kind, unsigned cells);
void drain_task(struct lifespan_drain *d, const struct drain_record *record);
void drain_recording(struct lifespan_drain *d, uint64_t stamp, uint64_t on);

// rows.c: rows of the chunks
struct drain_bytes *drain_row_begin(struct lifespan_drain *d);
void drain_keep(struct lifespan_drain *d, unsigned chunk, const struct drain_bytes *row);
void drain_info_row(struct lifespan_drain *d, const char *key, const char *value, size_t length);
void drain_info_number(struct lifespan_drain *d, const char *key, uint64_t value);
void drain_thread_row(struct lifespan_drain *d, uint32_t thread, uint32_t tid, unsigned op, uint64_t stamp,
                      const void *name, size_t length);
void drain_type_row(struct drain_encoder *e, uint32_t id, const struct drain_type *type, const uint8_t *names);
void drain_node_row(struct drain_encoder *e, uint32_t id, const struct drain_node *node);
void drain_site_row(struct drain_encoder *e, const struct drain_site *site);
void drain_mark_row(struct lifespan_drain *d, struct drain_encoder *e, uint32_t generation);
void drain_end_rows(struct lifespan_drain *d, struct drain_encoder *e, bool clean, int exit_status);
void drain_begin_trace(struct lifespan_drain *d, struct drain_encoder *e);

// history.c
// Whether events are kept from now on.
void drain_history_look(struct lifespan_drain *d);
bool drain_history_create(struct drain_history *history, uint32_t room);
void drain_history_destroy(struct drain_history *history);
void drain_history_add(struct drain_history *history, const struct drain_event *event);
static inline uint64_t drain_history_first(const struct drain_history *h) {
  return h->total > h->room ? h->total - h->room : 0;
}
static inline struct drain_event *drain_history_at(const struct drain_history *h, uint64_t index) {
  return &h->events[index % h->room];
}
int64_t drain_ask_history(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room,
                          bool *more);

// commit.c: with a rings file: what may be given back
void drain_commit_begin(struct lifespan_drain *d);
void drain_commit_due(struct lifespan_drain *d);

// resume.c, fork.c
void drain_resume(struct lifespan_drain *d, const struct lifespan_drain *seed);
void drain_fork_seen(struct lifespan_drain *d, uint64_t number);
bool drain_fork_settle(struct lifespan_drain *d);
void drain_fork_last(struct lifespan_drain *d);
struct lifespan_drain *drain_fork_pop(struct lifespan_drain *d);
void drain_fork_inherit(struct lifespan_drain *d, struct lifespan_drain *from);
void drain_fork_begin(struct lifespan_drain *d, uint64_t forked);

// frozen.c
void drain_frozen_tell(struct lifespan_drain *d, struct drain_encoder *e);

// run.c: the request slot
void drain_futex_wake(_Atomic uint32_t *word);
bool drain_request_posted(const struct lifespan_drain *d);
void drain_answer_request(struct lifespan_drain *d);

#include "tables.h"

#endif
