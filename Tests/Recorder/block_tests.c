// Blocks of malloc: buckets, births and ends, realloc, and what keeps an object's own block from being told twice.

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "block_types.h"
#include "check.h"
#include "fake_map.h"
#include "record.h"
#include "runtime_layout.h"
#include "lifespan_spots.h"

static struct lifespan_switch test_switch = {1};
static struct lifespan_thread *thread;
static struct lifespan_cell cells[8192];
static uint64_t cell_count;

static void begin(void) {
  fake_map(4 << 20, LIFESPAN_FULL_DROP);
  lifespan_types_start();
  lifespan_stacks_start();
  lifespan_switch_page = &test_switch;
  for (unsigned i = 0; i < LIFESPAN_SPOT_LEAVES; i++)
    if (lifespan_spot_leaves[i]) madvise(lifespan_spot_leaves[i], 64u << 20, MADV_DONTNEED);
  thread = fake_thread(0);
  lifespan_local.thread = thread;
  lifespan_local.inside = 0;
  lifespan_quiet = LIFESPAN_QUIET_NO;
  lifespan_process.blocks = 1;
}
static void end(void) {
  lifespan_process.blocks = 0;
  lifespan_local.thread = NULL;
  free(thread);
}

static struct lifespan_frame at(uintptr_t pc) { return (struct lifespan_frame){pc, 0, 0}; }

// So far below this function's frame: 200 is the runtime's own call, a handler's is beyond a signal's frame.
#define BELOW(bytes) ((struct lifespan_frame){1, (uintptr_t)__builtin_frame_address(0) - (bytes), 0})

// The kinds of the events since the last call (types and nodes left out), as letters.
static const char *events(void) {
  static char text[64];
  static const char letters[] = "?BDdFRr(mM!";
  unsigned count = 0;
  cell_count = fake_consume(thread->ring, cells, 8192);
  for (uint64_t i = 0; i < cell_count; i += lifespan_cell_count(cells[i].b)) {
    unsigned kind = lifespan_cell_kind(cells[i].b);
    if (kind < sizeof letters - 1 && count < sizeof text - 1) text[count++] = letters[kind];
  }
  text[count] = 0;
  return text;
}
static const struct lifespan_cell *last_event(unsigned wanted) {
  const struct lifespan_cell *found = NULL;
  for (uint64_t i = 0; i < cell_count; i += lifespan_cell_count(cells[i].b))
    if (lifespan_cell_kind(cells[i].b) == wanted) found = &cells[i];
  return found;
}
#define EXPECT_EVENTS(wanted) CHECK(!strcmp(events(), wanted))

static _Alignas(32) uint64_t block[64], other[64];

static void buckets_hold_their_sizes_and_waste_a_quarter_at_most(void) {
  CHECK_EQUAL(lifespan_block_bucket_end(lifespan_block_bucket(0)), 16);
  for (uint64_t size = 1; size < 1ull << 46; size += 1 + size / 7) {
    unsigned bucket = lifespan_block_bucket(size);
    CHECK(bucket < LIFESPAN_BLOCK_BUCKETS);
    CHECK(size <= lifespan_block_bucket_end(bucket));
    if (bucket) CHECK(size > lifespan_block_bucket_end(bucket - 1));
    if (size > 1024) CHECK(lifespan_block_bucket_end(bucket) - size <= size / 4);
  }
  for (unsigned bucket = 0; bucket < 212; bucket++) CHECK_EQUAL(lifespan_block_bucket(lifespan_block_bucket_end(bucket)), bucket);
}

static void buckets_are_named_by_their_largest_size(void) {
  begin();
  static const struct {
    uint64_t size;
    const char *name;
  } wanted[] = {{0, "malloc 16 B"}, {50, "malloc 64 B"}, {1009, "malloc 1 KiB"}, {1025, "malloc 1.25 KiB"}, {700 << 10, "malloc 768 KiB"}, {3ull << 30, "malloc 3 GiB"}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    lifespan_record_block(block, wanted[i].size, at(1));
    lifespan_record_free(block);
    events();
    const struct lifespan_cell *type = last_event(LIFESPAN_R_TYPE);
    CHECK(type != NULL);
    if (type) CHECK(!memcmp(type + 3, wanted[i].name, strlen(wanted[i].name) + 1));
  }
  end();
}

static void a_block_is_born_and_freed_once(void) {
  begin();
  lifespan_record_block(block, 40, at(1));
  EXPECT_EVENTS("B");
  lifespan_record_free(block);
  lifespan_record_free(block); // not the program's doing: its address is nobody's now
  lifespan_record_free(other);
  EXPECT_EVENTS("F");
  lifespan_record_block(NULL, 40, at(1)); // a call that failed
  EXPECT_EVENTS("");
  lifespan_process.blocks = 0; // --swift-only
  lifespan_record_block(block, 40, at(1));
  EXPECT_EVENTS("");
  end();
}

static void an_objects_own_block_is_not_told_twice(void) {
  begin();
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_OBJECT);
  lifespan_record_block(block, 32, BELOW(200));
  EXPECT_EVENTS("");
  lifespan_record_block(other, 32, at(1)); // a signal handler's, in the middle of it
  EXPECT_EVENTS("B");
  lifespan_quiet_end(was);
  CHECK_EQUAL(lifespan_quiet, LIFESPAN_QUIET_NO);
  end();
}

static void a_handlers_block_is_not_the_objects(void) {
  begin();
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_OBJECT);
  lifespan_record_block(other, 32, BELOW(1100)); // between the hook and the runtime's call
  EXPECT_EVENTS("B");
  static uint64_t own_stack[64];
  lifespan_record_block(other + 8, 32, (struct lifespan_frame){1, (uintptr_t)&own_stack[60], 0});
  EXPECT_EVENTS("B");
  lifespan_record_block(block, 32, BELOW(200));
  EXPECT_EVENTS("");
  lifespan_quiet_end(was);
  was = lifespan_quiet_begin(LIFESPAN_QUIET_TASK);
  lifespan_record_block(other, 32, BELOW(1100));
  EXPECT_EVENTS("B");
  lifespan_record_block(block, 32, BELOW(200));
  lifespan_quiet_end(was);
  lifespan_record_held_back(block);
  EXPECT_EVENTS("");
  // Where a library stands between the runtime and us the self-test has seen how deep its calls come.
  for (unsigned deep = 2000; deep; deep = deep == 2000 ? 200 : 0) {
    was = lifespan_quiet_begin(LIFESPAN_QUIET_OBJECT);
    lifespan_local.inside = LIFESPAN_TESTING;
    lifespan_record_block(block, 32, BELOW(deep));
    lifespan_local.inside = 0;
    lifespan_record_block(block, 32, BELOW(2000));
    EXPECT_EVENTS(deep == 2000 ? "" : "B");
    lifespan_quiet_end(was);
  }
  end();
}

static void an_object_in_a_block_that_was_told_takes_it_over(void) {
  begin();
  static uint64_t metadata[4] = {SWIFT_KIND_HEAP_LOCAL};
  lifespan_record_block(block, 32, at(1));
  block[0] = (uint64_t)metadata;
  block[1] = 3;
  lifespan_record_birth(block, metadata, 32, at(2));
  EXPECT_EVENTS("BM");
  CHECK_EQUAL(last_event(LIFESPAN_R_MOVED)[1].a, (uint64_t)block);
  CHECK(last_event(LIFESPAN_R_MOVED)[2].a >> 32 != 0);
  lifespan_record_death(block, at(3));
  lifespan_record_free(block);
  EXPECT_EVENTS("D");
  end();
}

static void what_nobody_announced_is_known_by_its_metadata_at_its_end(void) {
  begin();
  static uint64_t metadata[4] = {SWIFT_KIND_HEAP_LOCAL};
  lifespan_record_block(block, 32, at(1));
  block[0] = (uint64_t)metadata;
  block[1] = 3;
  lifespan_record_death(block, at(2)); // the runtime ends it
  EXPECT_EVENTS("BMD");
  lifespan_record_block(block, 32, at(1));
  block[0] = (uint64_t)other; // no type that was seen
  lifespan_record_free(block);
  EXPECT_EVENTS("BF");
  end();
}

static void a_block_that_grows_changes_its_bucket_and_stack(void) {
  begin();
  lifespan_record_block(block, 40, at(1));
  events();
  uint32_t recorded = lifespan_record_moving(block);
  CHECK_EQUAL(recorded, LIFESPAN_SPOT_BLOCK);
  lifespan_record_moved(recorded, block, other, 4000, at(2));
  EXPECT_EVENTS("mM");
  const struct lifespan_cell *moved = last_event(LIFESPAN_R_MOVED), *type = last_event(LIFESPAN_R_TYPE);
  CHECK_EQUAL(moved[2].a >> 32, lifespan_cell_value(type->b));
  lifespan_record_free(block);
  EXPECT_EVENTS("");
  recorded = lifespan_record_moving(other);
  lifespan_record_moved(recorded, other, NULL, 1ull << 46, at(3)); // failed: it lives on
  EXPECT_EVENTS("m!");
  lifespan_record_free(other);
  EXPECT_EVENTS("F");
  CHECK_EQUAL(lifespan_record_moving(other), LIFESPAN_SPOT_NONE);
  end();
}

static void a_tasks_block_is_held_back_until_it_is_known(void) {
  begin();
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_TASK);
  lifespan_record_block(block, 40, BELOW(200));
  lifespan_quiet_end(was);
  lifespan_record_held_back(block);
  EXPECT_EVENTS("");
  was = lifespan_quiet_begin(LIFESPAN_QUIET_TASK);
  lifespan_record_block(block, 40, BELOW(200));
  lifespan_quiet_end(was);
  lifespan_record_held_back(other);
  EXPECT_EVENTS("B");
  lifespan_record_held_back(other);
  EXPECT_EVENTS("");
  end();
}

static void the_allocators_own_calls_are_counted_not_told(void) {
  begin();
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);
  lifespan_record_block(block, 40, at(1));
  lifespan_quiet_end(was);
  was = lifespan_quiet_begin(LIFESPAN_QUIET_OURS);
  lifespan_record_block(block, 40, at(1));
  lifespan_quiet_end(was);
  EXPECT_EVENTS("");
  CHECK_EQUAL(thread->ring->suppressed, 1);
  end();
}

static void the_programs_block_that_goes_while_a_type_is_named_ends(void) {
  begin();
  lifespan_record_block(block, 40, at(1));
  EXPECT_EVENTS("B");
  struct lifespan_thread *inside = lifespan_enter();
  lifespan_local.inside = LIFESPAN_NAMING;
  lifespan_record_block(other, 80, at(1)); // the runtime's cache of names grows on our behalf
  lifespan_record_free(block);
  CHECK_EQUAL(lifespan_local.inside, LIFESPAN_NAMING);
  lifespan_leave(inside);
  EXPECT_EVENTS("F");
  CHECK_EQUAL(thread->ring->suppressed, 0);
  end();
}

static void blocks_from_before_the_start_are_born_with_it(void) {
  begin();
  test_switch.on = 0;
  lifespan_record_block(block, 40, at(1));
  lifespan_record_block(other, 400, at(1));
  lifespan_record_block(cells, 4, at(1));
  lifespan_record_free(cells);
  lifespan_record_moved(lifespan_record_moving(other), other, other + 1, 500, at(1));
  test_switch.on = 1;
  EXPECT_EVENTS("");
  lifespan_record_early_blocks();
  EXPECT_EVENTS("BB");
  test_switch.on = 0;
  lifespan_record_block(cells, 4, at(1));
  test_switch.on = 1;
  lifespan_record_early_blocks(); // closed: what comes while a recording is off is not its
  lifespan_record_free(block);
  lifespan_record_free(other + 1);
  EXPECT_EVENTS("BBFF");
  end();
}

const struct test block_tests[] = {
  {"buckets hold their sizes and waste a quarter at most", buckets_hold_their_sizes_and_waste_a_quarter_at_most},
  {"buckets are named by their largest size", buckets_are_named_by_their_largest_size},
  {"a block is born and freed once", a_block_is_born_and_freed_once},
  {"an object's own block is not told twice", an_objects_own_block_is_not_told_twice},
  {"a signal handler's block is not the object's in whose making it comes", a_handlers_block_is_not_the_objects},
  {"an object in a block that was told takes it over", an_object_in_a_block_that_was_told_takes_it_over},
  {"what nobody announced is known by its metadata at its end", what_nobody_announced_is_known_by_its_metadata_at_its_end},
  {"a block that grows changes its bucket and stack", a_block_that_grows_changes_its_bucket_and_stack},
  {"a task's block is held back until it is known", a_tasks_block_is_held_back_until_it_is_known},
  {"the allocator's own calls are counted, not told", the_allocators_own_calls_are_counted_not_told},
  {"the program's block that goes while a type is named ends", the_programs_block_that_goes_while_a_type_is_named_ends},
  {"blocks from before the start are born with it", blocks_from_before_the_start_are_born_with_it},
  {NULL, NULL},
};
