// Retains and releases as records: what they say, what is none, and what is done to an object that is over.

#include "record_support.h"

#include "record_refcount.h"

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
  lifespan_local.creator.pc = 1; // while a task is being made, every object may be it
  lifespan_record_refcount(LIFESPAN_R_RETAIN, NULL, 1, 0, true, at(1));
  lifespan_record_refcount(LIFESPAN_R_RETAIN, (void *)0x8000000000001000ull, 1, 0, true, at(1));
  EXPECT_RECORDS();
  lifespan_local.creator.pc = 0;
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

#define DEINITING (1ull << 32)

// The short way of the hooks writes what the long one writes, or nothing.
static void a_bare_reference_event_is_the_same_record(void) {
  begin();
  lifespan_process.refcounts = lifespan_process.bare_counts = 1;
  lifespan_no_tasks = true;
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(1));
  records((uint8_t[8]){0}, 8);
  lifespan_process.unwind = LIFESPAN_UNWIND_NONE;
  for (uint64_t extra = 0; extra < 3; extra++) {
    object.refcount = 3 | extra << 33;
    lifespan_record_refcount(LIFESPAN_R_RETAIN, (void *)((uintptr_t)&object | 5), 1, LIFESPAN_REF_STRONG, true, at(1));
    CHECK(lifespan_record_bare(LIFESPAN_R_RETAIN, (void *)((uintptr_t)&object | 5)));
    EXPECT_RECORDS(LIFESPAN_R_RETAIN, LIFESPAN_R_RETAIN);
    CHECK_EQUAL(cells[0].b, cells[2].b);
    CHECK_EQUAL(cells[1].a, cells[3].a);
    CHECK_EQUAL(cells[1].b, cells[3].b);
  }
  CHECK_EQUAL(lifespan_local.inside, 0);
  const uint64_t others[] = {3 | DEINITING, 0x80000004ffffffffull, SWIFT_REFCOUNT_SLOW | 1};
  for (unsigned i = 0; i < 3; i++) {
    object.refcount = others[i];
    CHECK(!lifespan_record_bare(LIFESPAN_R_RELEASE, &object));
  }
  object.refcount = 3;
  lifespan_local.inside = 16; // a handler has interrupted a hook
  CHECK(!lifespan_record_bare(LIFESPAN_R_RELEASE, &object));
  lifespan_local.inside = 0;
  uint64_t limit = thread->limit;
  thread->limit = thread->head + 1; // no room
  CHECK(!lifespan_record_bare(LIFESPAN_R_RELEASE, &object));
  thread->limit = limit;
  lifespan_tasks_made();
  CHECK(!lifespan_record_bare(LIFESPAN_R_RELEASE, &object));
  lifespan_no_tasks = true;
  lifespan_process.bare_counts = 0;
  CHECK(!lifespan_record_bare(LIFESPAN_R_RELEASE, &object));
  lifespan_no_tasks = false;
  EXPECT_RECORDS();
  CHECK_EQUAL(lifespan_local.inside, 0);
  lifespan_process.refcounts = 0;
  lifespan_process.unwind = LIFESPAN_UNWIND_AUTO;
  end();
}

// The filter of every retain and release of the program.
static void only_what_was_recorded_passes_the_filter(void) {
  begin();
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}}, other = object;
  lifespan_record_birth(&object, metadata, 32, at(1));
  CHECK_EQUAL(lifespan_spot_of_reference(&object), LIFESPAN_SPOT_LIVING);
  CHECK_EQUAL(lifespan_spot_of_reference((void *)((uintptr_t)&object | 0x7f00000000000005ull)), LIFESPAN_SPOT_LIVING);
  CHECK_EQUAL(lifespan_spot_of_reference((void *)((uintptr_t)&object | 0x8000000000000000ull)), LIFESPAN_SPOT_NONE);
  CHECK_EQUAL(lifespan_spot_of_reference(NULL), LIFESPAN_SPOT_NONE);
  CHECK_EQUAL(lifespan_spot_of_reference((void *)0x10), LIFESPAN_SPOT_NONE);
  CHECK_EQUAL(lifespan_spot_of_reference(&other), LIFESPAN_SPOT_NONE);
  lifespan_record_death(&object, at(1));
  CHECK_EQUAL(lifespan_spot_of_reference(&object), LIFESPAN_SPOT_NONE);
  records((uint8_t[8]){0}, 8);
  end();
}

static void a_reference_event_in_a_deinit_says_so(void) {
  begin();
  lifespan_process.refcounts = 1;
  const void *metadata = new_metadata();
  struct object object = {metadata, 3 | DEINITING | 1ull << 33, {0, 0}};
  struct { uint64_t owner, unused, word, more; } __attribute__((aligned(16))) table = {(uintptr_t)&object, 0, 3 | 6ull << 33, 0};
  lifespan_record_birth(&object, metadata, 32, at(1));
  records((uint8_t[8]){0}, 8);
  lifespan_record_refcount(LIFESPAN_R_RELEASE, &object, 1, 0, true, at(1));
  EXPECT_RECORDS(LIFESPAN_R_RELEASE);
  CHECK_EQUAL(cells[1].b, (uint64_t)LIFESPAN_REF_DEINITING << 56 | 1);
  object.refcount = 3 | DEINITING; // nobody has retained it there
  lifespan_record_refcount(LIFESPAN_R_RELEASE, &object, 1, 0, true, at(1));
  EXPECT_RECORDS(LIFESPAN_R_RELEASE, LIFESPAN_R_MISUSE);
  CHECK_EQUAL(cells[3].a >> 32, LIFESPAN_MISUSE_BELOW_ZERO);
  object.refcount = SWIFT_REFCOUNT_SLOW | (uintptr_t)&table >> 3; // counted in a side table
  lifespan_record_refcount(LIFESPAN_R_RETAIN, &object, 1, 0, true, at(1));
  EXPECT_RECORDS(LIFESPAN_R_RETAIN);
  CHECK_EQUAL(cells[1].b, 7);
  lifespan_process.refcounts = 0;
  end();
}

static void what_is_done_to_an_object_that_is_over_is_told(void) {
  begin();
  lifespan_process.refcounts = lifespan_process.keeps_dead = lifespan_process.blocks = 1;
  const void *metadata = new_metadata();
  struct object object = {metadata, 3 | 2ull << 1, {0, 0}}; // an unowned reference besides its own
  lifespan_record_birth(&object, metadata, 32, at(1));
  lifespan_record_deallocating(&object, at(1));
  records((uint8_t[8]){0}, 8);
  object.refcount = 3 | 2ull << 1 | DEINITING | 2ull << 33;
  lifespan_record_unowned(&object, at(1)); // it lives
  lifespan_record_deallocating(&object, at(1));
  EXPECT_RECORDS(LIFESPAN_R_MISUSE);
  CHECK_EQUAL(cells[1].a >> 32, LIFESPAN_MISUSE_ESCAPED);
  CHECK_EQUAL(cells[1].b, 2);
  lifespan_record_death(&object, at(1)); // kept
  lifespan_record_unowned(&object, at(1));
  lifespan_record_refcount(LIFESPAN_R_RETAIN, &object, 1, 0, true, at(1));
  EXPECT_RECORDS(LIFESPAN_R_DEINIT, LIFESPAN_R_MISUSE, LIFESPAN_R_MISUSE);
  CHECK_EQUAL(cells[2].a >> 32, LIFESPAN_MISUSE_UNOWNED);
  CHECK_EQUAL(cells[4].a >> 32, LIFESPAN_MISUSE_RETAIN);
  end();
}

static void freed_memory_is_told_from_what_came_there_later(void) {
  begin();
  lifespan_process.refcounts = lifespan_process.keeps_dead = lifespan_process.blocks = 1;
  const void *metadata = new_metadata();
  struct object object = {metadata, 3, {0, 0}};
  lifespan_record_birth(&object, metadata, 32, at(1));
  lifespan_record_death(&object, at(1));
  records((uint8_t[8]){0}, 8);
  object = (struct object){NULL, 0x1234567890abcdeeull, {0, 0}}; // as an allocator leaves it
  lifespan_record_refcount(LIFESPAN_R_RELEASE, &object, 1, 0, true, at(1));
  EXPECT_RECORDS(LIFESPAN_R_MISUSE);
  CHECK_EQUAL(cells[1].a >> 32, LIFESPAN_MISUSE_RELEASE);
  object = (struct object){NULL, SWIFT_REFCOUNT_SLOW | 0x7ull << 40, {0, 0}}; // the same, and what it points to is not there
  lifespan_record_refcount(LIFESPAN_R_RELEASE, &object, 1, 0, true, at(1));
  EXPECT_RECORDS(LIFESPAN_R_MISUSE);
  object = (struct object){metadata, 3, {0, 0}}; // one that lives there, which nobody has seen
  lifespan_record_refcount(LIFESPAN_R_RELEASE, &object, 1, 0, true, at(1));
  EXPECT_RECORDS();
  lifespan_quiet = LIFESPAN_QUIET_OURS; // a block that is nobody's event
  lifespan_record_block(&object, 32, at(1));
  lifespan_quiet = LIFESPAN_QUIET_NO;
  object = (struct object){NULL, 0x1234567890abcdeeull, {0, 0}};
  lifespan_record_refcount(LIFESPAN_R_RELEASE, &object, 1, 0, true, at(1));
  EXPECT_RECORDS();
  lifespan_process.refcounts = lifespan_process.keeps_dead = lifespan_process.blocks = 0;
  end();
}

const struct test refcount_tests[] = {
  {"references of immortal, null and tagged values are no events", references_of_immortal_null_and_tagged_values_are_no_events},
  {"a reference event says amount, flavour and count before", a_reference_event_says_amount_flavour_and_count_before},
  {"a bare reference event is the same record", a_bare_reference_event_is_the_same_record},
  {"only what was recorded passes the filter", only_what_was_recorded_passes_the_filter},
  {"a reference event in a deinit says so", a_reference_event_in_a_deinit_says_so},
  {"what is done to an object that is over is told", what_is_done_to_an_object_that_is_over_is_told},
  {"freed memory is told from what came there later", freed_memory_is_told_from_what_came_there_later},
  {NULL, NULL},
};
