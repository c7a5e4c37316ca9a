// The recorder against the drain, each in threads of its own, as in a program under `record`: nothing is lost, torn or
// counted twice. Meant for ThreadSanitizer above all: what two threads touch must be atomic.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "fake_map.h"
#include "lifespan_drain.h"
#include "record.h"
#include "runtime_layout.h"

#define THREADS 4
#define ROUNDS 3000u
#define KEPT 16u
#define GENERATIONS_OF_THREADS 8

struct object {
  const void *metadata;
  uint64_t refcount;
  uint64_t fields[2];
};

static struct lifespan_switch on = {1};
static uint64_t *metadata[KEPT];
static _Atomic int running;

static struct lifespan_frame frame(uintptr_t pc) { return (struct lifespan_frame){pc, 0, 0}; }

// A worker's objects live overlapping lives; every fourth one is a closure, told apart by where it is made.
static void *work(void *unused) {
  (void)unused;
  struct object *objects[KEPT] = {0};
  for (uint32_t i = 0; i < ROUNDS; i++) {
    struct object **place = &objects[i % KEPT];
    if (*place) {
      lifespan_record_death(*place, frame(0x3000));
      free(*place);
    }
    *place = malloc(sizeof **place);
    **place = (struct object){metadata[i % KEPT], 3, {0, 0}};
    lifespan_record_birth(*place, (*place)->metadata, sizeof **place, frame(0x1000 + i % 7 * 16));
    if (i % 500 == 0) lifespan_recorder_mark("here", 4);
    if (i % 97 == 0) lifespan_recorder_token_died(lifespan_recorder_token_born("token", 5, 8));
  }
  for (uint32_t i = 0; i < KEPT; i++) {
    if (!objects[i]) continue;
    lifespan_record_death(objects[i], frame(0x3000));
    free(objects[i]);
  }
  atomic_fetch_sub(&running, 1);
  return NULL;
}

static int count_bytes(void *context, const void *bytes, size_t length) {
  (void)bytes;
  *(size_t *)context += length;
  return 0;
}

static struct lifespan_drain *begin(size_t *written, uint64_t room, uint32_t when_full) {
  struct lifespan_map *map = fake_map(room, when_full);
  map->pid = (uint32_t)getpid();
  map->start_stamp = map->start_monotonic_ns = lifespan_monotonic_ns();
  atomic_store(&map->capture, LIFESPAN_CAPTURE_COMPLETE);
  atomic_store(&map->state, LIFESPAN_PROGRAM_RUNNING);
  lifespan_types_start();
  lifespan_stacks_start();
  lifespan_threads_start();
  lifespan_switch_page = &on;
  for (uint32_t i = 0; i < KEPT; i++) {
    metadata[i] = calloc(4, sizeof **metadata);
    metadata[i][0] = SWIFT_KIND_HEAP_LOCAL;
  }
  struct lifespan_drain_options options = {.map = map,
                                           .file = -1,
                                           .sink = count_bytes,
                                           .sink_context = written,
                                           .ticks_per_unit = 1024,
                                           .ticks_per_second = 1000000000,
                                           .history_events = 64,
                                           .process_tid_check = 1};
  return lifespan_drain_create(&options);
}

static void start(pthread_t threads[THREADS]) {
  atomic_store(&running, THREADS);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
}

static void the_drain_counts_what_several_threads_did(void) {
  size_t written = 0;
  struct lifespan_drain *drain = begin(&written, 32 << 20, LIFESPAN_FULL_WAIT);
  CHECK(drain);
  if (!drain) return;
  struct lifespan_drain_counts counts;
  // New threads again and again: rings of the dead are taken back while others write.
  for (int generation = 0; generation < GENERATIONS_OF_THREADS; generation++) {
    pthread_t threads[THREADS];
    start(threads);
    while (atomic_load(&running)) CHECK(lifespan_drain_round(drain) >= 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  }
  CHECK_EQUAL(lifespan_drain_finish(drain, true, 0), 0);
  lifespan_drain_counts(drain, &counts);
  uint64_t tokens = (ROUNDS + 96) / 97, workers = THREADS * GENERATIONS_OF_THREADS;
  CHECK_EQUAL(counts.births, workers * (ROUNDS + tokens));
  CHECK_EQUAL(counts.deaths, counts.births);
  CHECK_EQUAL(counts.marks, workers * ((ROUNDS + 499) / 500));
  CHECK_EQUAL(counts.lost, 0);
  CHECK_EQUAL(counts.damaged, 0);
  CHECK_EQUAL(counts.ends_not_seen, 0);
  CHECK(written > 1000);
  lifespan_drain_destroy(drain);
}

static void what_full_rings_drop_is_counted(void) {
  size_t written = 0;
  struct lifespan_drain *drain = begin(&written, THREADS << 16, LIFESPAN_FULL_DROP);
  CHECK(drain);
  if (!drain) return;
  pthread_t threads[THREADS];
  start(threads);
  // Slowly, so that the rings are full at times.
  while (atomic_load(&running)) {
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    CHECK(lifespan_drain_round(drain) >= 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK_EQUAL(lifespan_drain_finish(drain, true, 0), 0);
  struct lifespan_drain_counts counts;
  lifespan_drain_counts(drain, &counts);
  uint64_t births = 0, lost = 0;
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    struct lifespan_ring *ring =
        (struct lifespan_ring *)((char *)lifespan_process.map + LIFESPAN_RINGS_OFFSET) + slot;
    births += ring->lost_births;
    lost += ring->lost_births + ring->lost_deaths + ring->lost_other;
  }
  CHECK_EQUAL(counts.births + births, THREADS * (ROUNDS + (ROUNDS + 96) / 97));
  CHECK_EQUAL(counts.lost, lost);
  CHECK_EQUAL(counts.damaged, 0);
  lifespan_drain_destroy(drain);
}

const struct test concurrency_tests[] = {
  {"the drain counts what several threads did", the_drain_counts_what_several_threads_did},
  {"what full rings drop is counted", what_full_rings_drop_is_counted},
  {NULL, NULL},
};
