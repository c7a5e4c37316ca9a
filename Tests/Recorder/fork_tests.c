// A fork from both sides: what the recorder says before and after it (CRecorder/fork.c), what the drain makes of that for the child's trace
// (CDrain/fork.c), and that no record of a fork can stop a drain. Parent and child are one process here.

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "drain.h"
#include "fake_map.h"
#include "lifespan_drain.h"
#include "record.h"
#include "runtime_layout.h"

#define KEPT 10u

struct object {
  const void *metadata;
  uint64_t refcount;
  uint64_t fields[2];
};

static struct lifespan_switch on = {1};
static struct lifespan_map *map;
static uint64_t *metadata;
static struct object *objects[KEPT];

static struct lifespan_fork *slot(void) { return (struct lifespan_fork *)((char *)map + LIFESPAN_DATA_OFFSET); }
static struct lifespan_frame frame(uintptr_t pc) { return (struct lifespan_frame){pc, 0, 0}; }

static int take(void *context, const void *bytes, size_t length) {
  (void)bytes;
  *(size_t *)context += length;
  return 0;
}

static struct lifespan_drain *drain_of(struct lifespan_map *made, struct lifespan_drain *inherits) {
  static size_t written;
  struct lifespan_drain_options options = {
    .map = made, .file = -1, .sink = take, .sink_context = &written, .ticks_per_unit = 1024, .ticks_per_second = 1000000000, .inherits = inherits};
  return lifespan_drain_create(&options);
}

static struct lifespan_map *prepare(struct lifespan_map *made) {
  made->pid = (uint32_t)getpid();
  made->options.children = 1;
  made->next_free += LIFESPAN_FORK_BYTES * 2; // the slot's place
  made->start_stamp = made->start_monotonic_ns = lifespan_monotonic_ns();
  atomic_store(&made->capture, LIFESPAN_CAPTURE_COMPLETE);
  atomic_store(&made->state, LIFESPAN_PROGRAM_RUNNING);
  return made;
}

static struct lifespan_drain *begin(void) {
  map = prepare(fake_map(8 << 20, LIFESPAN_FULL_DROP));
  lifespan_types_start();
  lifespan_stacks_start();
  lifespan_threads_start();
  lifespan_threads_forked();
  lifespan_switch_page = &on;
  metadata = calloc(4, sizeof *metadata);
  metadata[0] = SWIFT_KIND_HEAP_LOCAL;
  return drain_of(map, NULL);
}

static void make(unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++) {
    objects[i] = calloc(1, sizeof *objects[i]);
    *objects[i] = (struct object){metadata, 3, {0, 0}};
    lifespan_record_birth(objects[i], metadata, sizeof *objects[i], frame(0x1000));
  }
}
static void drop(unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++) {
    lifespan_record_death(objects[i], frame(0x3000));
    free(objects[i]);
  }
}

static struct lifespan_drain_counts counts_of(struct lifespan_drain *drain) {
  struct lifespan_drain_counts counts = {0};
  lifespan_drain_counts(drain, &counts);
  return counts;
}

static void end(struct lifespan_drain *drain) {
  CHECK_EQUAL(lifespan_drain_finish(drain, true, 0), 0);
  lifespan_drain_destroy(drain);
  memset(&lifespan_local, 0, sizeof lifespan_local);
  free(metadata);
}

static void test_state(void) {
  struct lifespan_drain *drain = begin();
  make(0, 6);
  drop(0, 2);
  uint64_t number = lifespan_recorder_fork_begins();
  CHECK(number);
  CHECK_EQUAL(slot()->state, LIFESPAN_FORK_PREPARED);
  make(6, 9); // by another thread, say, between its word and the copy of its memory
  CHECK(lifespan_drain_round(drain) >= 0);
  CHECK_EQUAL(counts_of(drain).births, 6); // no further than the record
  lifespan_recorder_fork_child(number);
  CHECK_EQUAL(slot()->state, LIFESPAN_FORK_TOLD);
  make(9, 10); // the parent goes on
  drop(2, 4);
  struct lifespan_drain *state = lifespan_drain_take_fork(drain, number);
  CHECK(state);
  CHECK_EQUAL(slot()->state, LIFESPAN_FORK_FREE);
  CHECK_EQUAL(lifespan_drain_take_fork(drain, number) == NULL, 1);
  CHECK(lifespan_drain_round(drain) >= 0);
  CHECK_EQUAL(counts_of(drain).births, 10);
  CHECK_EQUAL(counts_of(drain).living, 6);
  // The child's own drain: what its memory held is born there.
  struct lifespan_map *parent = map;
  static _Alignas(4096) char room[LIFESPAN_DATA_OFFSET + (4 << 20)];
  memcpy(room, parent, sizeof *parent);
  struct lifespan_map *child = prepare((struct lifespan_map *)room);
  child->allocated = sizeof room;
  child->parent_pid = parent->pid;
  struct lifespan_drain *childs = drain_of(child, state);
  CHECK(childs);
  CHECK(lifespan_drain_round(childs) >= 0);
  CHECK_EQUAL(counts_of(childs).living, 7);
  CHECK_EQUAL(counts_of(childs).births, 7);
  lifespan_drain_finish(childs, true, 0);
  lifespan_drain_destroy(childs);
  end(drain);
}

static void test_one_at_a_time(void) {
  struct lifespan_drain *drain = begin();
  uint64_t first = lifespan_recorder_fork_begins();
  CHECK(first);
  map->consumer_alive = 0; // nobody will free the slot
  CHECK_EQUAL(lifespan_recorder_fork_begins(), 0);
  map->consumer_alive = 1;
  lifespan_recorder_fork_child(first + 1); // another's
  CHECK_EQUAL(slot()->state, LIFESPAN_FORK_PREPARED);
  lifespan_recorder_fork_child(first);
  CHECK_EQUAL(slot()->state, LIFESPAN_FORK_TOLD);
  CHECK(lifespan_drain_round(drain) >= 0);
  CHECK(lifespan_drain_round(drain) >= 0);
  CHECK_EQUAL(slot()->state, LIFESPAN_FORK_FREE);
  uint64_t second = lifespan_recorder_fork_begins();
  CHECK_EQUAL(second, first + 1);
  lifespan_recorder_fork_child(second);
  CHECK_EQUAL(lifespan_drain_finish(drain, true, 0), 0);
  // Both children ended before they said hello: newest first.
  uint64_t number = 0;
  for (uint64_t wanted = second; wanted >= first; wanted--) {
    struct lifespan_drain *left = lifespan_drain_left_fork(drain, &number);
    CHECK(left);
    CHECK_EQUAL(number, wanted);
    lifespan_drain_destroy(left);
  }
  CHECK_EQUAL(lifespan_drain_left_fork(drain, &number) == NULL, 1);
  end(drain);
}

static void test_without_children(void) {
  struct lifespan_drain *drain = begin();
  map->options.children = 0;
  CHECK_EQUAL(lifespan_recorder_fork_begins(), 0);
  lifespan_recorder_fork_child(0);
  CHECK_EQUAL(slot()->state, LIFESPAN_FORK_FREE);
  make(0, 3);
  CHECK(lifespan_drain_round(drain) >= 0);
  CHECK_EQUAL(counts_of(drain).births, 3);
  drop(0, 3);
  end(drain);
}

// As no honest program would: one record of a fork after the other, each of which is prepared and never told of.
static void test_hostile_holds(void) {
  struct lifespan_drain *drain = begin();
  make(0, 1);
  struct lifespan_thread *thread = lifespan_local.thread;
  for (uint64_t number = 1; number <= 1000; number++) {
    CHECK(lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_OTHER));
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_FORK, 1, number));
    lifespan_ring_publish(thread, 1);
  }
  make(1, 2);
  drain->fork_held_ns = 1ull << 60; // it has waited for long: the bound is reached without the time it takes
  for (unsigned round = 0; round < 2000 && counts_of(drain).births < 2; round++) {
    slot()->number = drain->fork;
    atomic_store(&slot()->state, LIFESPAN_FORK_PREPARED);
    CHECK(lifespan_drain_round(drain) >= 0);
  }
  CHECK_EQUAL(counts_of(drain).births, 2);
  // And what is waited for adds up.
  drain->fork_held_ns = 0;
  drain_fork_seen(drain, 2000);
  slot()->number = 2000;
  atomic_store(&slot()->state, LIFESPAN_FORK_PREPARED);
  CHECK(!drain_fork_settle(drain));
  drain->fork_ns -= 1000000000; // a second later
  CHECK(drain_fork_settle(drain));
  CHECK(drain->fork_held_ns >= 1000000000);
  CHECK_EQUAL(slot()->state, LIFESPAN_FORK_FREE);
  drop(0, 2);
  end(drain);
}

// Nor can copies for children that never ask become many.
static void test_hostile_copies(void) {
  struct lifespan_drain *drain = begin();
  make(0, 1);
  for (unsigned i = 0; i < 200; i++) {
    uint64_t number = lifespan_recorder_fork_begins();
    CHECK(number);
    slot()->heads[0] = i % 2 ? UINT64_MAX : 0; // more than there is, less than was read
    if (i % 3) lifespan_recorder_fork_child(number);
    else atomic_store(&slot()->state, LIFESPAN_FORK_TOLD);
    for (unsigned round = 0; round < 3; round++) CHECK(lifespan_drain_round(drain) >= 0);
    CHECK_EQUAL(slot()->state, LIFESPAN_FORK_FREE);
  }
  unsigned copies = 0;
  for (struct lifespan_drain *copy = drain->forks; copy; copy = copy->forked_next) copies++;
  CHECK_EQUAL(copies, 64);
  for (struct lifespan_drain *copy = drain->forks; copy; copy = copy->forked_next) copy->forked_ns -= 10000000000ull;
  uint64_t number = lifespan_recorder_fork_begins();
  lifespan_recorder_fork_child(number);
  struct lifespan_drain *asked = lifespan_drain_take_fork(drain, number);
  CHECK(asked); // old ones have given way
  lifespan_drain_destroy(asked);
  drop(0, 1);
  end(drain);
}

const struct test fork_tests[] = {
  {"a fork child's trace begins with what its memory held, whatever the parent does meanwhile", test_state},
  {"forks are one at a time, and children that nobody asks for are left to whoever comes", test_one_at_a_time},
  {"without --children a fork is nothing", test_without_children},
  {"forks of which nobody says anything do not stop a drain", test_hostile_holds},
  {"copies for children that never ask do not become many", test_hostile_copies},
  {NULL, NULL},
};
