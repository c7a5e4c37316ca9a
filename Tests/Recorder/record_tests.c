// From a hook to records, driven with objects that are plain memory and a metadata that is no runtime's.

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "fake_map.h"
#include "record.h"
#include "runtime_layout.h"
#include "spots.h"

struct object {
  const void *metadata;
  uint64_t refcount;
  uint64_t fields[2];
};

static struct lifespan_switch test_switch = {1};
static struct lifespan_thread *thread;
static struct lifespan_cell cells[4096];
static uint64_t cell_count;

static const uint64_t *new_metadata(void) { // of a closure context: word 0 is the kind
  uint64_t *metadata = calloc(4, sizeof *metadata);
  metadata[0] = SWIFT_KIND_HEAP_LOCAL;
  return metadata;
}

static void begin(void) {
  fake_map(4 << 20, LIFESPAN_FULL_DROP);
  lifespan_types_start();
  lifespan_stacks_start();
  lifespan_switch_page = &test_switch;
  for (unsigned i = 0; i < LIFESPAN_SPOT_LEAVES; i++) // what earlier tests left
    if (lifespan_spot_leaves[i]) madvise(lifespan_spot_leaves[i], 64u << 20, MADV_DONTNEED);
  thread = fake_thread(0);
  lifespan_local.thread = thread;
  lifespan_local.inside = 0;
}
static void end(void) {
  memset(&lifespan_local, 0, sizeof lifespan_local);
  free(thread);
}

static struct lifespan_frame at(uintptr_t pc) { return (struct lifespan_frame){pc, 0, 0}; }

// Kinds of the records written since the last call, as a string of hexadecimal digits pairs in `kinds`.
static unsigned records(uint8_t *kinds, unsigned room) {
  unsigned count = 0;
  cell_count = fake_consume(thread->ring, cells, 4096);
  for (uint64_t i = 0; i < cell_count; i += lifespan_cell_count(cells[i].b))
    if (count < room) kinds[count++] = (uint8_t)lifespan_cell_kind(cells[i].b);
  return count;
}
#define EXPECT_RECORDS(...)                                                  \
  do {                                                                       \
    uint8_t wanted[] = {0, ##__VA_ARGS__}, got[64];                          \
    unsigned count = records(got, 64);                                       \
    CHECK_EQUAL(count, sizeof wanted - 1);                                   \
    for (unsigned i = 0; i < count && i + 1 < sizeof wanted; i++) CHECK_EQUAL(got[i], wanted[i + 1]); \
  } while (0)

static void a_type_is_described_once_before_its_first_birth(void) {
  begin();
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}};
  lifespan_record_birth(&object, metadata, 48, at(0x1000));
  EXPECT_RECORDS(LIFESPAN_R_TYPE, LIFESPAN_R_BIRTH);
  uint64_t type = lifespan_cell_value(cells[0].b);
  struct lifespan_cell *birth = &cells[lifespan_cell_count(cells[0].b)];
  CHECK_EQUAL(lifespan_cell_value(birth[0].b), (uintptr_t)&object);
  CHECK_EQUAL(birth[1].a >> 32, type);
  CHECK_EQUAL(birth[1].b, 48);
  lifespan_record_birth(&object, metadata, 48, at(0x1000));
  EXPECT_RECORDS(LIFESPAN_R_BIRTH);
  end();
}

static void closures_are_told_apart_by_the_function_that_makes_them(void) {
  begin();
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(0x1000));
  lifespan_record_birth(&object, metadata, 32, at(0x2000));
  lifespan_record_birth(&object, metadata, 32, at(0x1000));
  EXPECT_RECORDS(LIFESPAN_R_TYPE, LIFESPAN_R_BIRTH, LIFESPAN_R_TYPE, LIFESPAN_R_BIRTH, LIFESPAN_R_BIRTH);
  end();
}

static void unowned_references_keep_the_memory_after_the_deinit(void) {
  begin();
  const void *metadata = new_metadata();
  struct object *freed = calloc(1, sizeof *freed), *kept = calloc(1, sizeof *kept);
  *freed = (struct object){metadata, 1ull << 1, {0, 0}};
  *kept = (struct object){metadata, 2ull << 1, {0, 0}};
  lifespan_record_birth(freed, metadata, 32, at(1));
  lifespan_record_birth(kept, metadata, 32, at(1));
  records((uint8_t[8]){0}, 8);
  lifespan_record_death(freed, at(1));
  EXPECT_RECORDS(LIFESPAN_R_DEATH);
  lifespan_record_free(freed); // below deallocObject: no event of its own
  EXPECT_RECORDS();
  lifespan_record_death(kept, at(1));
  EXPECT_RECORDS(LIFESPAN_R_DEINIT);
  lifespan_record_free(kept); // the last unowned reference went
  EXPECT_RECORDS(LIFESPAN_R_FREE);
  free(freed);
  free(kept);
  end();
}

static void memory_that_is_no_object_is_freed_without_an_event(void) {
  begin();
  uint64_t block[4] = {0x1234, 0, 0, 0};
  lifespan_record_free(block);
  lifespan_record_free(NULL);
  struct object unknown = {new_metadata(), 3, {0, 0}};
  lifespan_record_death(&unknown, at(1)); // born before the recording
  EXPECT_RECORDS();
  end();
}

static void an_object_whose_class_has_changed_still_dies(void) {
  begin();
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(1));
  records((uint8_t[8]){0}, 8);
  object.metadata = new_metadata(); // as CoreFoundation does with its dictionaries
  lifespan_record_free(&object);
  EXPECT_RECORDS(LIFESPAN_R_FREE);
  lifespan_record_free(&object); // once
  EXPECT_RECORDS();
  end();
}

static void what_was_never_born_does_not_die(void) {
  begin();
  const void *metadata = new_metadata();
  struct object born = {metadata, 3, {0, 0}}, on_a_stack = born;
  lifespan_record_birth(&born, metadata, 32, at(1)); // its type is known
  records((uint8_t[8]){0}, 8);
  lifespan_record_death(&on_a_stack, at(1));
  lifespan_record_free(&on_a_stack);
  CHECK(!lifespan_record_moving(&on_a_stack));
  EXPECT_RECORDS();
  end();
}

static void a_lost_birth_takes_its_death_with_it(void) {
  begin();
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(1));
  lifespan_record_death(&object, at(1));
  while (lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_OTHER)) { // fill the ring
    lifespan_ring_put(thread, 0, 0, lifespan_head_word(LIFESPAN_R_NODE, 2, 9));
    lifespan_ring_put(thread, 1, 0, 0);
    lifespan_ring_publish(thread, 2);
  }
  lifespan_record_birth(&object, metadata, 32, at(1));
  CHECK_EQUAL(thread->ring->lost_births, 1);
  fake_consume(thread->ring, NULL, UINT64_MAX);
  lifespan_record_death(&object, at(1));
  EXPECT_RECORDS();
  CHECK_EQUAL(thread->ring->lost_deaths, 0);
  end();
}

static void paused_recordings_see_deaths_but_no_births(void) {
  begin();
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(1));
  atomic_store(&lifespan_process.map->recording, 0);
  records((uint8_t[8]){0}, 8);
  lifespan_record_birth(&object, metadata, 32, at(1));
  EXPECT_RECORDS();
  lifespan_record_death(&object, at(1));
  EXPECT_RECORDS(LIFESPAN_R_DEATH);
  end();
}

static void references_of_immortal_null_and_tagged_values_are_no_events(void) {
  begin();
  lifespan_process.refcounts = 1;
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}}, immortal = {metadata, 0x80000004ffffffffull, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(1));
  records((uint8_t[8]){0}, 8);
  lifespan_record_refcount(LIFESPAN_R_RETAIN, NULL, 1, 0, true, at(1));
  lifespan_record_refcount(LIFESPAN_R_RETAIN, (void *)0x8000000000001000ull, 1, 0, true, at(1));
  lifespan_record_refcount(LIFESPAN_R_RETAIN, &immortal, 1, 0, true, at(1));
  EXPECT_RECORDS();
  end();
}

static void a_reference_event_says_amount_flavour_and_count_before(void) {
  begin();
  lifespan_process.refcounts = 1;
  const void *metadata = new_metadata();
  struct object object = {metadata, 3 | 4ull << 33, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(1));
  records((uint8_t[8]){0}, 8);
  // closures are not told apart here: known as recorded
  lifespan_record_refcount(LIFESPAN_R_RETAIN, (void *)((uintptr_t)&object | 3), 7, LIFESPAN_REF_TRY, true, at(1));
  EXPECT_RECORDS(LIFESPAN_R_RETAIN);
  CHECK_EQUAL(lifespan_cell_value(cells[0].b), (uintptr_t)&object);
  CHECK_EQUAL(cells[1].a >> 32, 7);
  CHECK_EQUAL(cells[1].b, (uint64_t)LIFESPAN_REF_TRY << 56 | 5);
  lifespan_process.refcounts = 0;
  lifespan_record_refcount(LIFESPAN_R_RETAIN, &object, 1, 0, true, at(1)); // not tracked
  EXPECT_RECORDS();
  end();
}

// Cells in the rings of nested entries, which are claimed after the thread's own.
static uint64_t nested_cells(unsigned level) {
  struct lifespan_thread *nested = lifespan_local.nested[level];
  return nested ? fake_consume(nested->ring, cells, 4096) : 0;
}

static void a_handler_that_allocates_inside_a_hook_is_recorded_three_times_and_then_counted(void) {
  begin();
  lifespan_threads_start();
  const void *metadata = new_metadata();
  struct object objects[5] = {{metadata, 3, {0, 0}}, {metadata, 3, {0, 0}}, {metadata, 3, {0, 0}}, {metadata, 3, {0, 0}}, {metadata, 3, {0, 0}}};
  lifespan_record_birth(&objects[4], metadata, 32, at(1)); // names the type
  fake_consume(thread->ring, cells, 4096);
  struct lifespan_thread *held[4];
  for (unsigned level = 0; level < 4; level++) {
    held[level] = lifespan_enter();
    CHECK(held[level] != NULL);
    lifespan_record_birth(&objects[level], metadata, 32, at(1));
    CHECK_EQUAL(level < 3 ? nested_cells(level) : 0, level < 3 ? 2 : 0);
    CHECK(level == 3 || lifespan_local.nested[level]->ring != thread->ring);
  }
  CHECK_EQUAL(thread->ring->suppressed, 1);
  for (unsigned level = 4; level--;) lifespan_leave(held[level]);
  CHECK_EQUAL(lifespan_local.inside, 0);
  lifespan_local.inside |= LIFESPAN_NAMING;
  lifespan_record_birth(&objects[4], metadata, 32, at(1));
  CHECK_EQUAL(thread->ring->suppressed, 1); // nobody's
  EXPECT_RECORDS();
  end();
}

static void a_hook_that_is_left_by_longjmp_is_over(void) {
  begin();
  lifespan_threads_start();
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(1));
  fake_consume(thread->ring, cells, 4096);
  CHECK(lifespan_enter() == thread);
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  CHECK(lifespan_enter() == lifespan_local.nested[0]);
  lifespan_recorder_jumps(here - 4096, here - 2048); // inside a handler
  CHECK(lifespan_local.inside != 0);
  lifespan_recorder_jumps(here - 4096, here + 4096);
  CHECK_EQUAL(lifespan_local.inside, 0);
  CHECK_EQUAL(thread->ring->suppressed, 2);
  lifespan_record_birth(&object, metadata, 32, at(1));
  EXPECT_RECORDS(LIFESPAN_R_BIRTH);
  end();
}

static void a_mark_while_a_type_is_named_is_set_when_the_hook_leaves(void) {
  begin();
  struct lifespan_thread *inside = lifespan_enter();
  lifespan_local.inside |= LIFESPAN_NAMING; // where no entry may interrupt it
  CHECK_EQUAL(lifespan_recorder_mark("x", 1), 0);
  EXPECT_RECORDS();
  lifespan_local.inside &= ~(uintptr_t)LIFESPAN_NAMING;
  lifespan_leave(inside);
  EXPECT_RECORDS(LIFESPAN_R_MARK);
  CHECK(lifespan_recorder_mark("named", 5) != 0);
  EXPECT_RECORDS(LIFESPAN_R_MARK);
  CHECK_EQUAL(lifespan_cell_value(cells[0].b), 5);
  end();
}

static void a_block_that_moves_is_announced_before_and_told_after(void) {
  begin();
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}}, elsewhere = object;
  lifespan_record_birth(&object, metadata, 32, at(1));
  records((uint8_t[8]){0}, 8);
  CHECK_EQUAL(lifespan_record_moving(&object), LIFESPAN_SPOT_LIVING);
  lifespan_record_moved(LIFESPAN_SPOT_LIVING, &object, &elsewhere, 64, at(1));
  EXPECT_RECORDS(LIFESPAN_R_MOVING, LIFESPAN_R_MOVED);
  CHECK_EQUAL(lifespan_record_moving(&elsewhere), LIFESPAN_SPOT_LIVING);
  lifespan_record_moved(LIFESPAN_SPOT_LIVING, &elsewhere, NULL, 64, at(1));
  EXPECT_RECORDS(LIFESPAN_R_MOVING, LIFESPAN_R_MOVE_FAILED);
  end();
}

static void tokens_are_born_and_die_outside_all_memory(void) {
  begin();
  uint64_t one = lifespan_recorder_token_born("Upload", 6, 16), two = lifespan_recorder_token_born("Upload", 6, 16);
  CHECK(one >= LIFESPAN_TOKEN_ADDRESS && two != one);
  EXPECT_RECORDS(LIFESPAN_R_TYPE, LIFESPAN_R_BIRTH, LIFESPAN_R_BIRTH);
  lifespan_recorder_token_died(one);
  EXPECT_RECORDS(LIFESPAN_R_DEATH);
  end();
}

const struct test record_tests[] = {
  {"a type is described once, before its first birth", a_type_is_described_once_before_its_first_birth},
  {"closures are told apart by the function that makes them", closures_are_told_apart_by_the_function_that_makes_them},
  {"unowned references keep the memory after the deinit", unowned_references_keep_the_memory_after_the_deinit},
  {"memory that is no object is freed without an event", memory_that_is_no_object_is_freed_without_an_event},
  {"an object whose class has changed still dies", an_object_whose_class_has_changed_still_dies},
  {"what was never born does not die", what_was_never_born_does_not_die},
  {"a lost birth takes its death with it", a_lost_birth_takes_its_death_with_it},
  {"paused recordings see deaths but no births", paused_recordings_see_deaths_but_no_births},
  {"references of immortal, null and tagged values are no events", references_of_immortal_null_and_tagged_values_are_no_events},
  {"a reference event says amount, flavour and count before", a_reference_event_says_amount_flavour_and_count_before},
  {"a handler that allocates inside a hook is recorded three times and then counted", a_handler_that_allocates_inside_a_hook_is_recorded_three_times_and_then_counted},
  {"a hook that is left by longjmp is over", a_hook_that_is_left_by_longjmp_is_over},
  {"a mark while a type is named is set when the hook leaves", a_mark_while_a_type_is_named_is_set_when_the_hook_leaves},
  {"a block that moves is announced before and told after", a_block_that_moves_is_announced_before_and_told_after},
  {"tokens are born and die outside all memory", tokens_are_born_and_die_outside_all_memory},
  {NULL, NULL},
};
