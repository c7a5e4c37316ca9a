// A thread's life as records: made, seen, named, ended. Each test runs in threads of its own, as a recorder's ring belongs to a thread for ever.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fake_map.h"

static struct lifespan_switch test_switch = {1};
static struct lifespan_cell cells[4096];

static void begin(uint32_t door) {
  struct lifespan_map *map = fake_map(4 << 20, LIFESPAN_FULL_DROP);
  map->door = door;
  lifespan_threads_start();
  lifespan_types_start();
  lifespan_stacks_start();
  lifespan_switch_page = &test_switch;
  lifespan_local.thread = NULL;
  lifespan_local.inside = 0;
  CHECK(lifespan_thread_enter() != NULL); // this one is number 1, main
  lifespan_leave(lifespan_local.thread);
}
static void end(void) { lifespan_local.thread = NULL; }

static struct lifespan_ring *ring_of(uint32_t number) {
  for (uint32_t i = 0; i < 16; i++) {
    struct lifespan_ring *ring = (struct lifespan_ring *)((char *)lifespan_process.map + LIFESPAN_RINGS_OFFSET) + i;
    if (atomic_load(&ring->state) == LIFESPAN_RING_CLAIMED && ring->thread_number == number) return ring;
  }
  abort();
}

// Kinds of the records that the thread has written; each record's first cell goes to `at`.
static unsigned records(uint32_t number, uint8_t *kinds, const struct lifespan_cell **at) {
  uint64_t taken = fake_consume(ring_of(number), cells, 4096);
  unsigned count = 0;
  for (uint64_t i = 0; i < taken && count < 16; i += lifespan_cell_count(cells[i].b)) {
    kinds[count] = (uint8_t)lifespan_cell_kind(cells[i].b);
    at[count++] = &cells[i];
  }
  return count;
}

static void *nothing(void *unused) { return unused; }
static pthread_barrier_t barrier;

struct born {
  struct lifespan_thread_note note;
  bool announced, waits;
};

static void *child(void *context) {
  struct born *born = context;
  lifespan_local.thread = NULL;
  lifespan_local.inside = 0;
  if (born->announced) lifespan_thread_began(&born->note);
  else lifespan_leave(lifespan_enter());
  if (born->waits) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
  }
  lifespan_thread_ended();
  lifespan_thread_ended(); // once more: a key's destructor may be called again
  return NULL;
}

static void run(struct born *born) {
  pthread_t thread;
  pthread_create(&thread, NULL, child, born);
  pthread_join(thread, NULL);
}

static void test_life(void) {
  begin(LIFESPAN_DOOR_PRELOAD);
  struct born born = {.announced = true};
  CHECK(lifespan_thread_creating(&born.note, (uintptr_t)nothing, 0x1234, 0, 0));
  CHECK_EQUAL(born.note.creator, 1);
  run(&born);
  uint8_t kinds[16];
  const struct lifespan_cell *at[16];
  CHECK_EQUAL(records(2, kinds, at), 6);
  const uint8_t wanted[] = {LIFESPAN_R_THREAD, LIFESPAN_R_THREAD_ORIGIN, LIFESPAN_R_TYPE, LIFESPAN_R_BIRTH, LIFESPAN_R_THREAD, LIFESPAN_R_DEATH};
  CHECK(!memcmp(kinds, wanted, sizeof wanted));
  CHECK_EQUAL(at[0][1].b, LIFESPAN_THREAD_SEEN);
  CHECK_EQUAL(lifespan_cell_value(at[1][0].b), 2);
  CHECK_EQUAL(at[1][0].a, born.note.stamp);
  CHECK_EQUAL(at[1][1].a >> 32, 1);
  CHECK_EQUAL(at[1][1].b, (uintptr_t)nothing);
  CHECK(at[1][2].a >= 16384); // its stack
  CHECK_EQUAL((uint32_t)at[2][1].a, LIFESPAN_KIND_THREAD);
  CHECK_EQUAL(at[2][2].a, (uintptr_t)nothing + 1);
  CHECK_EQUAL(at[3][0].a, born.note.stamp); // it is born when it was made
  CHECK_EQUAL(lifespan_cell_value(at[3][0].b), LIFESPAN_THREAD_ADDRESS | 2);
  CHECK_EQUAL(at[3][1].b, 0); // no bytes of the heap
  CHECK_EQUAL(at[4][1].b, LIFESPAN_THREAD_ENDED);
  CHECK_EQUAL(lifespan_cell_value(at[5][0].b), LIFESPAN_THREAD_ADDRESS | 2);
  end();
}

static void test_unannounced(void) {
  begin(LIFESPAN_DOOR_PRELOAD);
  struct born born = {.announced = false};
  run(&born);
  uint8_t kinds[16];
  const struct lifespan_cell *at[16];
  records(2, kinds, at);
  const uint8_t wanted[] = {LIFESPAN_R_THREAD, LIFESPAN_R_TYPE, LIFESPAN_R_BIRTH, LIFESPAN_R_THREAD, LIFESPAN_R_DEATH};
  CHECK(!memcmp(kinds, wanted, sizeof wanted));
  CHECK_EQUAL((uint32_t)at[1][1].b, 6); // "thread": nobody knows what it runs
  end();
}

static void test_linked(void) {
  begin(LIFESPAN_DOOR_LINKED);
  struct born born = {.announced = false};
  run(&born);
  uint8_t kinds[16];
  const struct lifespan_cell *at[16];
  records(2, kinds, at);
  const uint8_t wanted[] = {LIFESPAN_R_THREAD, LIFESPAN_R_THREAD}; // no object: it has no end there that is exact
  CHECK(!memcmp(kinds, wanted, sizeof wanted));
  end();
}

static void test_paused(void) {
  begin(LIFESPAN_DOOR_PRELOAD);
  lifespan_process.map->recording = 0;
  struct born born = {.announced = true};
  lifespan_thread_creating(&born.note, (uintptr_t)nothing, 0x1234, 0, 0);
  run(&born);
  uint8_t kinds[16];
  const struct lifespan_cell *at[16];
  records(2, kinds, at);
  const uint8_t wanted[] = {LIFESPAN_R_THREAD, LIFESPAN_R_THREAD_ORIGIN, LIFESPAN_R_THREAD}; // not born, so it does not die
  CHECK(!memcmp(kinds, wanted, sizeof wanted));
  end();
}

static void test_renamed(void) {
  begin(LIFESPAN_DOOR_PRELOAD);
  pthread_barrier_init(&barrier, NULL, 2);
  struct born born = {.announced = true, .waits = true};
  lifespan_thread_creating(&born.note, (uintptr_t)nothing, 0x1234, 0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, child, &born);
  pthread_barrier_wait(&barrier);
  uint8_t kinds[16];
  const struct lifespan_cell *at[16];
  records(1, kinds, at);
  lifespan_thread_renamed((uintptr_t)thread, "by another");
  lifespan_thread_renamed((uintptr_t)pthread_self(), "itself");
  lifespan_thread_renamed(0x1000, "nobody");
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  lifespan_thread_renamed((uintptr_t)thread, "too late");
  CHECK_EQUAL(records(1, kinds, at), 2);
  CHECK_EQUAL(lifespan_cell_value(at[0][0].b), 2);
  CHECK_EQUAL(at[0][1].b, LIFESPAN_THREAD_RENAMED);
  CHECK(!memcmp(&at[0][2], "by another", 10));
  CHECK_EQUAL(lifespan_cell_value(at[1][0].b), 1);
  CHECK(!memcmp(&at[1][2], "itself", 6));
  end();
}

static void test_off(void) {
  begin(LIFESPAN_DOOR_PRELOAD);
  uint8_t kinds[16];
  const struct lifespan_cell *at[16];
  records(1, kinds, at);
  struct lifespan_switch off = {0};
  lifespan_switch_page = &off; // as in a fork child
  struct born born = {.announced = true};
  CHECK(!lifespan_thread_creating(&born.note, (uintptr_t)nothing, 0x1234, 0, 0));
  lifespan_thread_renamed((uintptr_t)pthread_self(), "nobody");
  lifespan_thread_ended();
  lifespan_recorder_leaving();
  lifespan_switch_page = &test_switch;
  CHECK_EQUAL(records(1, kinds, at), 0);
  CHECK_EQUAL(lifespan_process.map->next_thread, 1);
  CHECK_EQUAL(lifespan_process.map->sample_wanted, 0);
  end();
}

const struct test thread_tests[] = {
  {"a thread is born when it was made and dies when it says so, once", test_life},
  {"a thread that nobody announced is born where it is seen", test_unannounced},
  {"in the linked door a thread is no object", test_linked},
  {"a thread that is made in a pause is seen, and no object", test_paused},
  {"a name goes to the thread that is meant, and to none that has ended", test_renamed},
  {"where nothing is recorded nothing is written", test_off},
  {NULL, NULL},
};
