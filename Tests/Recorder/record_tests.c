// From a hook to records, driven with objects that are plain memory and a metadata that is no runtime's.

#include "record_support.h"

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
  {"a handler that allocates inside a hook is recorded three times and then counted", a_handler_that_allocates_inside_a_hook_is_recorded_three_times_and_then_counted},
  {"a hook that is left by longjmp is over", a_hook_that_is_left_by_longjmp_is_over},
  {"a mark while a type is named is set when the hook leaves", a_mark_while_a_type_is_named_is_set_when_the_hook_leaves},
  {"a block that moves is announced before and told after", a_block_that_moves_is_announced_before_and_told_after},
  {"tokens are born and die outside all memory", tokens_are_born_and_die_outside_all_memory},
  {NULL, NULL},
};
