// The ring's writer: nothing is lost, torn or reordered at any fill level and buffer change; a full ring waits or counts, as it was told.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "fake_map.h"

#define SMALL (1ull << LIFESPAN_RING_SMALL_LOG2)
#define LARGE (1ull << LIFESPAN_RING_LARGE_LOG2)

static bool write_one(struct lifespan_thread *thread, uint64_t number) {
  if (!lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_DEATH)) return false;
  lifespan_ring_put(thread, 0, number, lifespan_head_word(LIFESPAN_R_DEATH, 1, number));
  lifespan_ring_publish(thread, 1);
  return true;
}

// Consumes everything and checks that numbers go on without a hole.
static void expect_numbers(struct lifespan_ring *ring, uint64_t *next) {
  static struct lifespan_cell cells[SMALL + LARGE];
  uint64_t count = fake_consume(ring, cells, SMALL + LARGE);
  for (uint64_t i = 0; i < count; i++) CHECK_EQUAL(cells[i].a, *next + i);
  *next += count;
}

static void a_ring_keeps_every_record_at_every_fill_level(void) {
  fake_map(4 << 20, LIFESPAN_FULL_DROP);
  struct lifespan_thread *thread = fake_thread(0);
  uint64_t written = 0, read = 0;
  for (uint64_t step = 1; step < 3 * SMALL; step = step * 3 / 2 + 1) {
    for (uint64_t i = 0; i < step; i++) CHECK(write_one(thread, written++));
    expect_numbers(thread->ring, &read);
  }
  CHECK_EQUAL(read, written);
  CHECK_EQUAL(thread->ring->lost_deaths, 0);
  free(thread);
}

static void a_full_small_buffer_goes_on_in_a_large_one(void) {
  fake_map(4 << 20, LIFESPAN_FULL_DROP);
  struct lifespan_thread *thread = fake_thread(0);
  uint64_t read = 0;
  for (uint64_t i = 0; i < SMALL + LARGE; i++) CHECK(write_one(thread, i));
  CHECK_EQUAL(lifespan_buffer_log2(thread->ring->next), LIFESPAN_RING_LARGE_LOG2);
  CHECK_EQUAL(thread->ring->switch_at, SMALL);
  CHECK(!write_one(thread, 0)); // both are full now
  CHECK_EQUAL(thread->ring->lost_deaths, 1);
  expect_numbers(thread->ring, &read);
  CHECK_EQUAL(read, SMALL + LARGE);
  CHECK_EQUAL(thread->ring->next, 0);
  free(thread);
}

static void the_change_is_right_wherever_the_consumer_stands(void) {
  for (uint64_t taken = 0; taken <= SMALL; taken += 511) {
    fake_map(4 << 20, LIFESPAN_FULL_DROP);
    struct lifespan_thread *thread = fake_thread(0);
    struct lifespan_cell cells[4096];
    uint64_t read = 0;
    for (uint64_t i = 0; i < SMALL; i++) CHECK(write_one(thread, i));
    read += fake_consume(thread->ring, cells, taken);
    for (uint64_t i = SMALL; i < SMALL + 3000; i++) CHECK(write_one(thread, i));
    expect_numbers(thread->ring, &read);
    for (uint64_t i = SMALL + 3000; i < SMALL + 9000; i++) CHECK(write_one(thread, i));
    expect_numbers(thread->ring, &read);
    CHECK_EQUAL(read, SMALL + 9000);
    free(thread);
  }
}

static void without_memory_for_a_buffer_losses_are_counted_by_kind(void) {
  fake_map(0, LIFESPAN_FULL_DROP);
  struct lifespan_thread *thread = fake_thread(0);
  CHECK(!lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_BIRTH));
  CHECK(!lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_DEATH));
  CHECK(!lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_DEATH));
  CHECK(!lifespan_ring_reserve(thread, 1, LIFESPAN_LOSS_OTHER));
  CHECK_EQUAL(thread->ring->lost_births, 1);
  CHECK_EQUAL(thread->ring->lost_deaths, 2);
  CHECK_EQUAL(thread->ring->lost_other, 1);
  CHECK(thread->ring->lost_from != 0 && thread->ring->lost_to >= thread->ring->lost_from);
  free(thread);
}

static void a_consumer_that_said_goodbye_is_not_waited_for(void) {
  struct lifespan_map *map = fake_map(1 << 20, LIFESPAN_FULL_WAIT);
  struct lifespan_thread *thread = fake_thread(0);
  while (thread->head < SMALL) write_one(thread, 0);
  atomic_store(&map->next_free, map->allocated); // no larger buffer to be had
  atomic_store(&map->consumer_alive, 0);
  uint64_t began = lifespan_monotonic_ns();
  CHECK(!write_one(thread, 0));
  CHECK(lifespan_monotonic_ns() - began < 500000000);
  CHECK_EQUAL(thread->ring->lost_deaths, 1);
  free(thread);
}

static void *consume_later(void *ring) {
  usleep(20000);
  fake_consume(ring, NULL, 10);
  return NULL;
}

static void a_full_ring_waits_for_the_consumer_and_says_how_long(void) {
  struct lifespan_map *map = fake_map(1 << 20, LIFESPAN_FULL_WAIT);
  struct lifespan_thread *thread = fake_thread(0);
  while (thread->head < SMALL) write_one(thread, 0);
  atomic_store(&map->next_free, map->allocated);
  pthread_t consumer;
  pthread_create(&consumer, NULL, consume_later, thread->ring);
  CHECK(write_one(thread, 0));
  pthread_join(consumer, NULL);
  CHECK_EQUAL(thread->ring->lost_deaths, 0);
  CHECK_EQUAL(thread->ring->waits, 1);
  CHECK(thread->ring->waited > 1000000);
  free(thread);
}

static bool drain_in_the_hook(void *ring) { return fake_consume(ring, NULL, 100) != 0; }

static void the_linked_door_drains_its_own_full_ring(void) {
  struct lifespan_map *map = fake_map(1 << 20, LIFESPAN_FULL_WAIT);
  struct lifespan_thread *thread = fake_thread(0);
  lifespan_process.on_full = drain_in_the_hook;
  lifespan_process.on_full_context = thread->ring;
  while (thread->head < SMALL) write_one(thread, 0);
  atomic_store(&map->next_free, map->allocated);
  for (int i = 0; i < 1000; i++) CHECK(write_one(thread, 0));
  CHECK_EQUAL(thread->ring->lost_deaths, 0);
  free(thread);
}

static void a_slot_that_goes_to_another_thread_keeps_what_the_first_wrote(void) {
  fake_map(4 << 20, LIFESPAN_FULL_DROP);
  struct lifespan_thread *first = fake_thread(0);
  uint64_t read = 0;
  for (uint64_t i = 0; i < SMALL + 100; i++) CHECK(write_one(first, i)); // a change of buffers is under way
  struct lifespan_thread *second = fake_thread(0);
  for (uint64_t i = SMALL + 100; i < SMALL + 300; i++) CHECK(write_one(second, i));
  expect_numbers(second->ring, &read);
  CHECK_EQUAL(read, SMALL + 300);
  free(first);
  free(second);
}

static void texts_are_padded_whole_and_cut_at_the_record_limit(void) {
  fake_map(4 << 20, LIFESPAN_FULL_DROP);
  struct lifespan_thread *thread = fake_thread(0);
  static char text[5000];
  for (unsigned i = 0; i < sizeof text; i++) text[i] = 'x';
  for (unsigned length = 0; length < sizeof text; length += 7) {
    struct lifespan_cell fixed = {1, lifespan_head_word(LIFESPAN_R_MARK, 0, length)}, cells[256];
    CHECK(lifespan_ring_text(thread, &fixed, 1, text, length, LIFESPAN_LOSS_OTHER));
    unsigned wanted = 1 + (length + 15) / 16 > 255 ? 255 : 1 + (length + 15) / 16;
    CHECK_EQUAL(fake_consume(thread->ring, cells, 256), wanted);
    CHECK_EQUAL(lifespan_cell_count(cells[0].b), wanted);
    if (length && length % 16 && wanted < 255) CHECK_EQUAL(((char *)&cells[wanted])[-1], 0);
  }
  free(thread);
}

const struct test ring_tests[] = {
  {"a ring keeps every record at every fill level", a_ring_keeps_every_record_at_every_fill_level},
  {"a full small buffer goes on in a large one", a_full_small_buffer_goes_on_in_a_large_one},
  {"the change of buffers is right wherever the consumer stands", the_change_is_right_wherever_the_consumer_stands},
  {"without memory for a buffer losses are counted by kind", without_memory_for_a_buffer_losses_are_counted_by_kind},
  {"a consumer that said goodbye is not waited for", a_consumer_that_said_goodbye_is_not_waited_for},
  {"a full ring waits for the consumer and says how long", a_full_ring_waits_for_the_consumer_and_says_how_long},
  {"the linked door drains its own full ring", the_linked_door_drains_its_own_full_ring},
  {"a slot that goes to another thread keeps what the first wrote", a_slot_that_goes_to_another_thread_keeps_what_the_first_wrote},
  {"texts are padded whole and cut at the record limit", texts_are_padded_whole_and_cut_at_the_record_limit},
  {NULL, NULL},
};
