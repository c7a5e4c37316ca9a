// Regions: what a call of the program becomes in the ring, and what is no event.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "fake_map.h"
#include "record.h"

static struct lifespan_switch test_switch = {1};
static struct lifespan_thread *thread;
static struct lifespan_cell cells[8192];
static uint64_t cell_count;

static void begin(void) {
  fake_map(4 << 20, LIFESPAN_FULL_DROP);
  lifespan_types_start();
  lifespan_stacks_start();
  lifespan_switch_page = &test_switch;
  thread = fake_thread(0);
  lifespan_local.thread = thread;
  lifespan_local.inside = 0;
  lifespan_quiet = LIFESPAN_QUIET_NO;
  lifespan_process.vm = 1;
}
static void end(void) {
  lifespan_local.thread = NULL;
  free(thread);
}

static struct lifespan_frame at(uintptr_t pc) { return (struct lifespan_frame){pc, 0, 0}; }

// The first record of that kind since the last call, and the newest type's name.
static char name[128];
static const struct lifespan_cell *record(unsigned wanted) {
  const struct lifespan_cell *found = NULL;
  name[0] = 0;
  cell_count = fake_consume(thread->ring, cells, 8192);
  for (uint64_t i = 0; i < cell_count; i += lifespan_cell_count(cells[i].b)) {
    unsigned kind = lifespan_cell_kind(cells[i].b);
    if (kind == wanted && !found) found = &cells[i];
    if (kind != LIFESPAN_R_TYPE) continue;
    CHECK_EQUAL((uint32_t)cells[i + 1].a, LIFESPAN_KIND_VM);
    memcpy(name, &cells[i + 3], (uint32_t)cells[i + 1].b);
    name[(uint32_t)cells[i + 1].b] = 0;
  }
  return found;
}

static struct lifespan_region region(int protection, int flags, int descriptor) {
  return (struct lifespan_region){0x7000, 5000, protection, flags, descriptor, NULL};
}
static const struct lifespan_cell *mapped(struct lifespan_region what) {
  lifespan_record_mapped(&what, at(1));
  return record(LIFESPAN_R_MAPPED);
}

static void a_region_is_whole_pages_and_named_by_what_is_mapped(void) {
  begin();
  const struct lifespan_cell *cell = mapped(region(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1));
  CHECK(cell != NULL);
  if (cell) {
    CHECK_EQUAL(lifespan_cell_value(cell->b), 0x7000);
    CHECK_EQUAL(cell[1].b, 8192);
    CHECK(cell[1].a >> 32 != 0);
  }
  CHECK(!strcmp(name, "VM: anonymous"));
  static const struct {
    int protection, flags;
    const char *name;
  } kinds[] = {{PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, "VM: reserved"},
               {PROT_READ, MAP_SHARED | MAP_ANONYMOUS, "VM: shared anonymous"},
               {PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, "VM: stack"},
               {PROT_READ, MAP_PRIVATE, "VM: mapped file"}}; // no such descriptor
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    mapped(region(kinds[i].protection, kinds[i].flags, 12345));
    CHECK(!strcmp(name, kinds[i].name));
  }
  cell = mapped((struct lifespan_region){0x7000, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, NULL});
  CHECK_EQUAL(cell ? cell[1].b : 0, 2u << 20);
  end();
}

static void a_file_is_named_by_its_last_name(void) {
  begin();
  int zero = open("/dev/zero", O_RDWR), null = open("/dev/null", O_RDWR), memory = memfd_create("a (b) c", 0);
  char path[] = "/tmp/region-tests-XXXXXX";
  int file = mkstemp(path);
  unlink(path);
  char wanted[64] = "VM: mapped file ";
  mapped(region(PROT_READ, MAP_PRIVATE, file));
  CHECK(!strcmp(name, strcat(wanted, path + 5)));
  mapped(region(PROT_READ, MAP_SHARED, memory));
  CHECK(!strcmp(name, "VM: memfd a (b) c"));
  mapped(region(PROT_READ, MAP_PRIVATE, null));
  CHECK(!strcmp(name, "VM: device null"));
  const struct lifespan_cell *cell = mapped(region(PROT_READ, MAP_PRIVATE, zero));
  uint64_t type = cell ? cell[1].a >> 32 : 0;
  cell = mapped(region(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1));
  CHECK(cell && type && cell[1].a >> 32 == type); // memory without a file
  mapped(region(PROT_READ, MAP_PRIVATE, file));
  CHECK(!strcmp(name, "")); // told
  close(zero), close(null), close(memory), close(file);
  end();
}

static void files_beyond_a_thousand_share_a_row(void) {
  begin();
  uint64_t types = 0;
  for (int i = 0; i < 3000; i++) {
    char text[16];
    snprintf(text, sizeof text, "f%d", i);
    int memory = memfd_create(text, 0);
    mapped(region(PROT_READ, MAP_SHARED, memory));
    types += name[0] != 0;
    close(memory);
  }
  CHECK(types > 500 && types <= 1026);
  end();
}

static void what_an_allocator_maps_is_its_own_and_ends_what_it_replaces(void) {
  begin();
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);
  CHECK(mapped(region(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1)) == NULL);
  const struct lifespan_cell *cell = mapped(region(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1));
  CHECK_EQUAL(cell ? cell[1].a : 1, 0);
  lifespan_record_unmapped(lifespan_region_stamp(), 0x7000, 4096, at(2));
  CHECK(record(LIFESPAN_R_UNMAPPED) != NULL);
  lifespan_quiet_end(was);
  atomic_store(&lifespan_process.map->recording, LIFESPAN_RECORDING_PAUSED);
  CHECK(mapped(region(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1)) == NULL);
  cell = mapped(region(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1));
  CHECK_EQUAL(cell ? cell[1].a : 1, 0);
  end();
}

static void an_end_is_stamped_before_the_call_and_a_move_on_both_sides(void) {
  begin();
  uint64_t before = lifespan_region_stamp(), after = lifespan_region_stamp();
  lifespan_record_unmapped(before, 0x7000, 5000, at(1));
  const struct lifespan_cell *cell = record(LIFESPAN_R_UNMAPPED);
  CHECK(cell && cell->a == before && cell[1].b == 8192);
  lifespan_record_remapped(before, 0x7000, 4096, 0x9000, 9000, false, at(1));
  cell = record(LIFESPAN_R_MAPPED);
  CHECK(cell != NULL);
  if (cell) {
    CHECK_EQUAL(cell->a, before);
    CHECK_EQUAL(cell[1].b, (uint64_t)LIFESPAN_MAPPED_MOVED << 48 | 12288);
    CHECK_EQUAL(cell[2].a, 0x7000);
    CHECK_EQUAL(cell[2].b, 4096);
    CHECK(cell[3].a >= after);
  }
  lifespan_record_remapped(before, 0x7000, 0, 0x9000, 4096, true, at(1));
  cell = record(LIFESPAN_R_MAPPED);
  CHECK(cell && cell[1].b >> 48 == LIFESPAN_MAPPED_COPY && cell[1].a >> 32);
  lifespan_process.vm = 0;
  CHECK_EQUAL(lifespan_region_stamp(), 0);
  CHECK(mapped(region(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1)) == NULL);
  end();
}

const struct test region_tests[] = {
  {"a region is whole pages and named by what is mapped", a_region_is_whole_pages_and_named_by_what_is_mapped},
  {"a file is named by its last name", a_file_is_named_by_its_last_name},
  {"files beyond a thousand share a row", files_beyond_a_thousand_share_a_row},
  {"what an allocator maps is its own and ends what it replaces", what_an_allocator_maps_is_its_own_and_ends_what_it_replaces},
  {"an end is stamped before the call and a move on both sides", an_end_is_stamped_before_the_call_and_a_move_on_both_sides},
  {NULL, NULL},
};
