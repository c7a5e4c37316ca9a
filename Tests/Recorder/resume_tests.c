// A trace that was cut goes on with what its rings file still holds (CDrain/commit.c, CDrain/resume.c): from the last commit on, each event once.

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "drain.h"
#include "fake_map.h"
#include "lifespan_drain.h"
#include "record.h"
#include "runtime_layout.h"

#define OBJECTS 9u

struct object {
  const void *metadata;
  uint64_t refcount;
  uint64_t fields[2];
};

static struct lifespan_switch on = {1};
static struct lifespan_map *map;
static uint64_t *metadata;
static struct object *objects[OBJECTS];

static struct lifespan_frame frame(uintptr_t pc) { return (struct lifespan_frame){pc, 0, 0}; }

static int take(void *context, const void *bytes, size_t length) {
  (void)bytes;
  *(size_t *)context += length;
  return 0;
}

static struct lifespan_drain *drain_of(struct lifespan_map *made, struct lifespan_drain *inherits, size_t *written) {
  struct lifespan_drain_options options = {
    .map = made, .file = -1, .sink = take, .sink_context = written, .ticks_per_unit = 1024, .ticks_per_second = 1000000000, .inherits = inherits};
  return lifespan_drain_create(&options);
}

static struct lifespan_drain *begin(size_t *written) {
  map = fake_map(8 << 20, LIFESPAN_FULL_DROP);
  map->pid = (uint32_t)getpid();
  map->options.rings_file = 1;
  map->next_free += LIFESPAN_FORK_BYTES + LIFESPAN_COMMIT_BYTES;
  map->start_stamp = map->start_monotonic_ns = lifespan_monotonic_ns();
  atomic_store(&map->capture, LIFESPAN_CAPTURE_COMPLETE);
  atomic_store(&map->state, LIFESPAN_PROGRAM_RUNNING);
  lifespan_types_start();
  lifespan_stacks_start();
  lifespan_threads_start();
  lifespan_threads_forked();
  lifespan_switch_page = &on;
  metadata = calloc(4, sizeof *metadata);
  metadata[0] = SWIFT_KIND_HEAP_LOCAL;
  struct lifespan_drain *drain = drain_of(map, NULL, written);
  drain->commits = true; // as with a file
  return drain;
}
static void end(struct lifespan_drain *drain) {
  lifespan_drain_destroy(drain);
  memset(&lifespan_local, 0, sizeof lifespan_local);
  for (unsigned i = 0; i < OBJECTS; i++) free(objects[i]);
  memset(objects, 0, sizeof objects);
  free(metadata);
}

static void make(unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++) {
    objects[i] = calloc(1, sizeof *objects[i]);
    *objects[i] = (struct object){metadata, 3, {0, 0}};
    lifespan_record_birth(objects[i], metadata, sizeof *objects[i], frame(0x1000));
  }
}
static void drop(unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++) lifespan_record_death(objects[i], frame(0x3000));
}

static void round_of(struct lifespan_drain *drain, bool commits) {
  drain->committed_ns = 0;
  CHECK((commits ? lifespan_drain_round(drain) : drain_round_until(drain, drain_now(drain->clock))) >= 0);
}

// As if the consumer had been killed between a commit and the giving back of what it says: a ring's shared words are those of before.
struct shared {
  uint64_t data, next, tail;
};
static struct shared shared_of(const struct lifespan_ring *ring) { return (struct shared){ring->data, ring->next, ring->tail}; }
static void set_back(struct lifespan_map *copy, struct shared before) {
  struct lifespan_ring *ring = (struct lifespan_ring *)((char *)copy + LIFESPAN_RINGS_OFFSET);
  ring->data = before.data;
  ring->next = before.next;
  ring->tail = before.tail;
}

static struct lifespan_drain_counts counts_of(struct lifespan_drain *drain) {
  struct lifespan_drain_counts counts = {0};
  lifespan_drain_counts(drain, &counts);
  return counts;
}

// What a reader of the trace up to the last commit tells: the first `births` objects, without those of [gone, gone_end).
static struct lifespan_drain *seed_of(const struct drain_site *site, unsigned births, unsigned gone, unsigned gone_end) {
  struct lifespan_drain *seed = lifespan_drain_seed_create(map->start_stamp, 1000000000);
  struct lifespan_type_row row = {.type = site->type, .kind = LIFESPAN_KIND_CLOSURE, .metadata = (uintptr_t)metadata, .name_length = 7};
  CHECK(lifespan_drain_seed_type(seed, &row, 0x1000, "closure"));
  CHECK(lifespan_drain_seed_site(seed, site->type, site->stack, sizeof *objects[0]));
  struct lifespan_drain_counts counts = {.births = births, .deaths = gone_end - gone, .events = births + gone_end - gone};
  for (unsigned i = 0; i < births; i++) {
    struct lifespan_seed_object object = {.address = (uintptr_t)objects[i], .serial = i + 1, .size = sizeof *objects[i], .ticks = 10 + i, .thread = 1, .events = 1};
    if (i < gone || i >= gone_end) CHECK(lifespan_drain_seed_object(seed, &object));
  }
  lifespan_drain_seed_counts(seed, &counts, 100);
  return seed;
}

static void rest(bool given_back) {
  size_t written = 0, bytes_more = 0;
  struct lifespan_drain *drain = begin(&written);
  uint64_t bytes = 1;
  CHECK(!lifespan_drain_committed(map, &bytes)); // nobody has begun the trace
  make(0, 4);
  drop(0, 1);
  struct shared before = shared_of(lifespan_local.thread->ring);
  round_of(drain, true);
  CHECK(lifespan_drain_committed(map, &bytes));
  CHECK_EQUAL(bytes, written);
  CHECK(lifespan_local.thread->ring->tail > before.tail);
  make(4, 7);
  drop(1, 2);
  round_of(drain, false); // drained, not committed
  CHECK_EQUAL(counts_of(drain).births, 7);
  make(7, 9); // not even drained
  drop(4, 5);
  // Both are killed. Somebody opens the trace.
  CHECK(lifespan_drain_committed(map, &bytes));
  struct drain_site site = drain_sites(drain)[0];
  size_t size = map->allocated;
  struct lifespan_map *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(copy, map, size);
  if (!given_back) set_back(copy, before);
  struct lifespan_drain *resumed = drain_of(copy, seed_of(&site, 4, 0, 1), &bytes_more);
  CHECK(resumed);
  lifespan_drain_rewind(resumed);
  CHECK_EQUAL(lifespan_drain_finish(resumed, false, 0), 0);
  struct lifespan_drain_counts counts = counts_of(resumed);
  CHECK_EQUAL(counts.births, 9);
  CHECK_EQUAL(counts.deaths, 3);
  CHECK_EQUAL(counts.living, 6);
  CHECK_EQUAL(counts.events, 12);
  CHECK_EQUAL(counts.lost + counts.damaged + counts.ends_not_seen, 0);
  CHECK(bytes_more > 0);
  CHECK_EQUAL(drain_living_find(&resumed->living, (uintptr_t)objects[8])->serial, 9);
  lifespan_drain_destroy(resumed);
  munmap(copy, size);
  end(drain);
}

static void test_rest(void) {
  rest(true);
  rest(false);
}

// Killed in the first moments: the trace has its header and nothing else, though events were drained. All of them are still in the rings.
static void test_first_moments(void) {
  for (unsigned drained = 0; drained < 2; drained++) {
    size_t written = 0, bytes_more = 0;
    struct lifespan_drain *drain = begin(&written);
    CHECK_EQUAL(lifespan_drain_round(drain), 0);
    uint64_t bytes = 0;
    CHECK(lifespan_drain_committed(map, &bytes));
    CHECK(bytes > 0);
    CHECK_EQUAL(bytes, written);
    make(0, 4);
    drop(0, 1);
    if (drained) round_of(drain, false);
    struct lifespan_drain *seed = lifespan_drain_seed_create(map->start_stamp, 1000000000);
    struct lifespan_drain *resumed = drain_of(map, seed, &bytes_more);
    CHECK(resumed);
    lifespan_drain_rewind(resumed);
    CHECK_EQUAL(lifespan_drain_finish(resumed, false, 0), 0);
    struct lifespan_drain_counts counts = counts_of(resumed);
    CHECK_EQUAL(counts.births, 4);
    CHECK_EQUAL(counts.deaths, 1);
    CHECK_EQUAL(counts.events, 5);
    CHECK_EQUAL(counts.lost + counts.damaged + counts.ends_not_seen, 0);
    lifespan_drain_destroy(resumed);
    end(drain);
  }
}

// A ring that went on in a larger buffer after the commit, one whose change the consumer had passed before it, and one where it had not said so yet.
static void test_switches(void) {
  for (unsigned turn = 0; turn < 3; turn++) {
    bool passed = turn > 0;
    struct shared before_commit = {0};
    size_t written = 0, rest = 0;
    struct lifespan_drain *drain = begin(&written);
    make(0, 1);
    round_of(drain, true);
    uint64_t most = 3000;
    for (uint64_t i = 0; i < most; i++) {
      lifespan_record_death(objects[0], frame(0x3000));
      lifespan_record_birth(objects[0], metadata, sizeof *objects[0], frame(0x1000));
      if (i != most - 10) continue;
      before_commit = shared_of(lifespan_local.thread->ring);
      round_of(drain, passed);
    }
    const struct lifespan_ring *ring = lifespan_local.thread->ring;
    CHECK(lifespan_buffer_log2(passed ? ring->data : ring->next) == LIFESPAN_RING_LARGE_LOG2);
    struct drain_site site = drain_sites(drain)[0];
    size_t size = map->allocated;
    struct lifespan_map *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, map, size);
    if (turn == 2) set_back(copy, before_commit);
    struct lifespan_drain *seed = seed_of(&site, 1, 0, 0);
    struct lifespan_drain_counts before = {.births = 1, .events = 1};
    if (passed) before = counts_of(drain), drain_living_find(&seed->living, (uintptr_t)objects[0])->serial = before.births;
    lifespan_drain_seed_counts(seed, &before, 100);
    struct lifespan_drain *resumed = drain_of(copy, seed, &rest);
    lifespan_drain_rewind(resumed);
    CHECK_EQUAL(lifespan_drain_finish(resumed, false, 0), 0);
    struct lifespan_drain_counts counts = counts_of(resumed);
    CHECK_EQUAL(counts.births, most + 1);
    CHECK_EQUAL(counts.deaths, most);
    CHECK_EQUAL(counts.living, 1);
    CHECK_EQUAL(counts.damaged + counts.ends_not_seen, 0);
    lifespan_drain_destroy(resumed);
    munmap(copy, size);
    end(drain);
  }
}

static void test_nonsense(void) {
  struct lifespan_drain *seed = lifespan_drain_seed_create(1000, 1000000000);
  struct lifespan_type_row row = {.type = 1, .kind = LIFESPAN_KIND_CLOSURE, .name_length = 1};
  CHECK(lifespan_drain_seed_type(seed, &row, 0, "x"));
  row.type = 0;
  CHECK(!lifespan_drain_seed_type(seed, &row, 0, "x"));
  row.type = UINT32_MAX;
  CHECK(!lifespan_drain_seed_type(seed, &row, 0, "x"));
  CHECK(lifespan_drain_seed_site(seed, 1, 2, 48));
  CHECK(!lifespan_drain_seed_site(seed, 1, 2, 48)); // told twice: sites of the rest would have other numbers
  struct lifespan_seed_object object = {.address = 0x1000, .serial = 1, .size = 48};
  CHECK(lifespan_drain_seed_object(seed, &object));
  CHECK(!lifespan_drain_seed_object(seed, &object)); // two at one address
  object.address = 0;
  CHECK(!lifespan_drain_seed_object(seed, &object));
  object.address = 0x2000;
  object.site = 1;
  CHECK(!lifespan_drain_seed_object(seed, &object)); // no such site
  lifespan_drain_destroy(seed);
}

const struct test resume_tests[] = {
  {"a cut trace goes on from its last commit, each event once", test_rest},
  {"cut in its first moments it has all that was in the rings", test_first_moments},
  {"it goes on wherever a ring has changed its buffer", test_switches},
  {"what makes no sense is no state to go on from", test_nonsense},
  {NULL, NULL},
};
