// What the tests of records share: objects that are plain memory, a metadata that is no runtime's, and the records that were written.
// Included once by each file of them.
#ifndef RECORD_SUPPORT_H
#define RECORD_SUPPORT_H

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "fake_map.h"
#include "record.h"
#include "runtime_layout.h"
#include "lifespan_spots.h"

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

#endif
