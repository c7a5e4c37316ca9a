// See fake_map.h. The producer's side of a ring as lifespan_map.h describes it.
#define _GNU_SOURCE
#include "fake_internal.h"

#include "lifespan_drain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static struct lifespan_request *request_slot(const struct fake_map *fake) {
  return (struct lifespan_request *)((char *)fake->map + LIFESPAN_REQUEST_OFFSET);
}

static uint64_t monotonic(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t take_buffer(struct fake_map *fake, uint32_t log2) {
  uint64_t bytes = (16ull << log2) < 65536 ? 65536 : 16ull << log2;
  return atomic_fetch_add(&fake->map->next_free, bytes) | log2;
}

static void use_buffer(struct fake_map *fake, struct fake_ring *r, uint64_t buffer) {
  r->cells = (struct lifespan_cell *)((char *)fake->map + lifespan_buffer_offset(buffer));
  r->mask = (1ull << lifespan_buffer_log2(buffer)) - 1;
}

static void fill_header(struct fake_map *fake) {
  struct lifespan_map *map = fake->map;
  map->magic = LIFESPAN_MAP_MAGIC;
  map->abi = LIFESPAN_ABI;
  map->door = LIFESPAN_DOOR_PRELOAD;
  map->pid = (uint32_t)getpid();
  map->parent_pid = 1;
  map->clock = LIFESPAN_CLOCK_MONOTONIC;
  map->page_size = 4096;
  map->start_stamp = map->start_monotonic_ns = monotonic() - 10000000000ull;
  map->start_realtime_ns = 1709164800000000000ull; // 2024-02-29, a leap day
  atomic_store(&map->capture, LIFESPAN_CAPTURE_COMPLETE);
  strcpy(map->program, "/bin/fake");
  atomic_store(&map->allocated, fake->bytes);
  atomic_store(&map->next_free, LIFESPAN_DATA_OFFSET);
  atomic_store(&map->state, LIFESPAN_PROGRAM_RUNNING);
}

struct fake_map *fake_create(uint32_t rings, uint32_t log2, bool file) {
  struct fake_map *fake = calloc(1, sizeof(*fake));
  if (!fake) return NULL;
  fake->ring_count = rings;
  uint64_t buffer = (16ull << log2) < 65536 ? 65536 : 16ull << log2;
  fake->bytes = LIFESPAN_DATA_OFFSET + rings * buffer * 2 + (4u << 20);
  fake->mapped = file ? fake->bytes + (64u << 20) : fake->bytes;
  fake->file = file ? memfd_create("fake", MFD_CLOEXEC) : -1;
  if (file && ftruncate(fake->file, (off_t)fake->bytes)) abort();
  fake->map =
      mmap(NULL, fake->mapped, PROT_READ | PROT_WRITE, file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fake->file, 0);
  if (fake->map == MAP_FAILED) abort();
  fill_header(fake);
  for (uint32_t i = 0; i < rings; i++) {
    struct lifespan_ring *ring = shared_ring(fake, i);
    uint64_t packed = take_buffer(fake, log2);
    ring->thread_number = i + 1;
    ring->tid = (uint32_t)gettid();
    atomic_store(&ring->data, packed);
    atomic_store(&ring->state, LIFESPAN_RING_CLAIMED);
    use_buffer(fake, &fake->rings[i], packed);
  }
  return fake;
}

void fake_destroy(struct fake_map *fake) {
  munmap(fake->map, fake->mapped);
  if (fake->file >= 0) close(fake->file);
  free(fake);
}

struct lifespan_map *fake_mapping(struct fake_map *fake) { return fake->map; }
int fake_file(const struct fake_map *fake) { return fake->file; }
uint64_t fake_start(const struct fake_map *fake) { return fake->map->start_stamp; }
uint64_t fake_now(const struct fake_map *fake) { return monotonic() - fake->map->start_stamp; }

bool fake_cells(struct fake_map *fake, uint32_t ring, const struct lifespan_cell *cells, size_t count) {
  struct fake_ring *r = &fake->rings[ring];
  struct lifespan_ring *shared = shared_ring(fake, ring);
  uint64_t tail = atomic_load_explicit(&shared->tail, memory_order_acquire);
  uint64_t from = tail > r->limit_base ? tail : r->limit_base;
  if (r->head + count > from + r->mask + 1) return false;
  for (size_t i = 0; i < count; i++) r->cells[(r->head + i) & r->mask] = cells[i];
  r->head += count;
  atomic_store_explicit(&shared->head, r->head, memory_order_release);
  return true;
}

void fake_cut(struct fake_map *fake, uint32_t ring, const struct lifespan_cell *cells, size_t count, size_t shown) {
  struct fake_ring *r = &fake->rings[ring];
  for (size_t i = 0; i < count; i++) r->cells[(r->head + i) & r->mask] = cells[i];
  r->head += shown;
  atomic_store_explicit(&shared_ring(fake, ring)->head, r->head, memory_order_release);
}

void fake_switch(struct fake_map *fake, uint32_t ring, uint32_t log2) {
  struct fake_ring *r = &fake->rings[ring];
  struct lifespan_ring *shared = shared_ring(fake, ring);
  uint64_t buffer = take_buffer(fake, log2);
  r->limit_base = r->head;
  atomic_store(&shared->switch_at, r->head);
  atomic_store(&shared->next, buffer);
  use_buffer(fake, r, buffer);
}

static uint64_t stamp_of(const struct fake_map *fake, int64_t stamp) {
  return fake->map->start_stamp + (uint64_t)stamp;
}

bool fake_birth(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t address, uint32_t type, uint32_t stack,
                uint64_t size) {
  struct lifespan_cell cells[] = {{stamp_of(fake, stamp), lifespan_head_word(LIFESPAN_R_BIRTH, 2, address)},
                                  {(uint64_t)type << 32 | stack, size}};
  return fake_cells(fake, ring, cells, 2);
}

bool fake_event(struct fake_map *fake, uint32_t ring, uint32_t kind, int64_t stamp, uint64_t value) {
  struct lifespan_cell cell = {stamp_of(fake, stamp), lifespan_head_word(kind, 1, value)};
  return fake_cells(fake, ring, &cell, 1);
}

bool fake_event_with_stack(struct fake_map *fake, uint32_t ring, uint32_t kind, int64_t stamp, uint64_t value,
                           uint32_t stack) {
  struct lifespan_cell cells[] = {{stamp_of(fake, stamp), lifespan_head_word(kind, 2, value)}, {stack, 0}};
  return fake_cells(fake, ring, cells, 2);
}

bool fake_refcount(struct fake_map *fake, uint32_t ring, uint32_t kind, int64_t stamp, uint64_t address,
                   uint32_t amount, uint32_t stack, uint8_t flavour, uint64_t before) {
  struct lifespan_cell cells[] = {{stamp_of(fake, stamp), lifespan_head_word(kind, 2, address)},
                                  {(uint64_t)amount << 32 | stack, (uint64_t)flavour << 56 | before}};
  return fake_cells(fake, ring, cells, 2);
}

bool fake_moved(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t from, uint64_t to, uint64_t size) {
  return fake_moved_as(fake, ring, stamp, from, to, size, 0, 0);
}

bool fake_moved_as(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t from, uint64_t to, uint64_t size,
                   uint32_t type, uint32_t stack) {
  struct lifespan_cell cells[] = {{stamp_of(fake, stamp), lifespan_head_word(LIFESPAN_R_MOVED, 3, to)},
                                  {from, size},
                                  {(uint64_t)type << 32 | stack, 0}};
  return fake_cells(fake, ring, cells, 3);
}

bool fake_mapped(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t start, uint64_t bytes, uint32_t type, uint32_t stack) {
  struct lifespan_cell cells[] = {{stamp_of(fake, stamp), lifespan_head_word(LIFESPAN_R_MAPPED, 2, start)}, {(uint64_t)type << 32 | stack, bytes}};
  return fake_cells(fake, ring, cells, 2);
}

bool fake_remapped(struct fake_map *fake, uint32_t ring, int64_t before, int64_t after, uint32_t op, uint64_t from, uint64_t from_bytes,
                   uint64_t to, uint64_t bytes, uint32_t type, uint32_t stack) {
  struct lifespan_cell cells[] = {{stamp_of(fake, before), lifespan_head_word(LIFESPAN_R_MAPPED, 4, to)},
                                  {(uint64_t)type << 32 | stack, (uint64_t)op << 48 | bytes},
                                  {from, from_bytes},
                                  {stamp_of(fake, after), 0}};
  if (op >= LIFESPAN_MAPPED_MOVING) cells[0].b = lifespan_head_word(LIFESPAN_R_MAPPED, 2, to);
  return fake_cells(fake, ring, cells, op < LIFESPAN_MAPPED_MOVING ? 4 : 2);
}

bool fake_unmapped(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t start, uint64_t bytes, uint32_t stack) {
  struct lifespan_cell cells[] = {{stamp_of(fake, stamp), lifespan_head_word(LIFESPAN_R_UNMAPPED, 2, start)}, {stack, bytes}};
  return fake_cells(fake, ring, cells, 2);
}

bool fake_task(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t task, uint64_t parent) {
  struct lifespan_cell cells[] = {{stamp_of(fake, stamp), lifespan_head_word(LIFESPAN_R_TASK, 2, task)}, {parent, 0}};
  return fake_cells(fake, ring, cells, 2);
}

static bool put_text(struct fake_map *fake, uint32_t ring, struct lifespan_cell *cells, size_t fixed,
                     const char *text) {
  size_t length = strlen(text), count = fixed + (length + 15) / 16;
  memcpy(cells + fixed, text, length);
  cells[0].b |= (uint64_t)count << 48;
  return fake_cells(fake, ring, cells, count);
}

bool fake_mark(struct fake_map *fake, uint32_t ring, int64_t stamp, const char *name) {
  struct lifespan_cell cells[256] = {{stamp_of(fake, stamp), lifespan_head_word(LIFESPAN_R_MARK, 0, strlen(name))}};
  return put_text(fake, ring, cells, 1, name);
}

bool fake_node(struct fake_map *fake, uint32_t ring, uint32_t id, uint32_t parent, uint64_t pc, uint32_t epoch,
               uint8_t label) {
  struct lifespan_cell cells[] = {{pc, lifespan_head_word(LIFESPAN_R_NODE, 2, id)},
                                  {parent, (uint64_t)epoch << 32 | label}};
  return fake_cells(fake, ring, cells, 2);
}

bool fake_type(struct fake_map *fake, uint32_t ring, uint32_t id, uint32_t kind, uint32_t superclass,
               const char *name) {
  struct lifespan_cell cells[256] = {{0x1000 + id, lifespan_head_word(LIFESPAN_R_TYPE, 0, id)},
                                     {(uint64_t)superclass << 32 | kind, 24ull << 32 | strlen(name)},
                                     {0, 1}};
  return put_text(fake, ring, cells, 3, name);
}

void fake_counts_missed(struct fake_map *fake, bool missed) { atomic_store(&fake_mapping(fake)->counts_missed, missed); }

void fake_wants_to_end(struct fake_map *fake, bool verify) {
  struct lifespan_map *map = fake_mapping(fake);
  map->options.verify = verify;
  atomic_fetch_add(&map->sample_wanted, 1);
}

bool fake_may_end(struct fake_map *fake) {
  struct lifespan_map *map = fake_mapping(fake);
  return atomic_load(&map->sample_done) == atomic_load(&map->sample_wanted);
}

bool fake_image(struct fake_map *fake, uint32_t ring, uint32_t id, uint64_t start, uint64_t end, const char *path) {
  struct lifespan_cell cells[256] = {
      {start, lifespan_head_word(LIFESPAN_R_IMAGE, 0, id)}, {start, end}, {7ull << 32 | strlen(path), 1}};
  return put_text(fake, ring, cells, 3, path);
}

bool fake_thread(struct fake_map *fake, uint32_t ring, uint32_t number, uint32_t tid, const char *name) {
  struct lifespan_cell cells[256] = {{stamp_of(fake, 5), lifespan_head_word(LIFESPAN_R_THREAD, 0, number)},
                                     {(uint64_t)tid << 32 | strlen(name), 1}};
  return put_text(fake, ring, cells, 2, name);
}

bool fake_thread_op(struct fake_map *fake, uint32_t ring, int64_t stamp, uint32_t number, uint32_t tid, uint32_t op,
                    const char *name) {
  struct lifespan_cell cells[256] = {{stamp_of(fake, stamp), lifespan_head_word(LIFESPAN_R_THREAD, 0, number)},
                                     {(uint64_t)tid << 32 | strlen(name), op}};
  return put_text(fake, ring, cells, 2, name);
}

bool fake_thread_origin(struct fake_map *fake, uint32_t ring, int64_t stamp, uint32_t number, uint32_t creator,
                        uint32_t stack, uint64_t start, uint64_t stack_bytes) {
  struct lifespan_cell cells[] = {{stamp_of(fake, stamp), lifespan_head_word(LIFESPAN_R_THREAD_ORIGIN, 3, number)},
                                  {(uint64_t)creator << 32 | stack, start},
                                  {stack_bytes, 0}};
  return fake_cells(fake, ring, cells, 3);
}

void fake_want_sample(struct fake_map *fake) { atomic_fetch_add(&fake->map->sample_wanted, 1); }
bool fake_sample_done(const struct fake_map *fake) {
  return atomic_load(&fake->map->sample_done) == atomic_load(&fake->map->sample_wanted);
}

uint64_t fake_beat(const struct fake_map *fake) { return atomic_load(&fake->map->consumer_beat); }

uint64_t fake_pages(size_t bytes, size_t touched) {
  // A granule of the drain is 64 KiB: the pages begin with one.
  uint8_t *pages = mmap(NULL, bytes + 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) abort();
  madvise(pages, bytes + 65536, MADV_NOHUGEPAGE);
  pages += -(uintptr_t)pages & 65535;
  for (size_t i = 0; i < touched; i += 4096) pages[i] = 1;
  return (uintptr_t)pages;
}

void fake_pages_free(uint64_t address, size_t bytes) { munmap((void *)(uintptr_t)address, bytes); }

void fake_lose(struct fake_map *fake, uint32_t ring, uint64_t births, uint64_t deaths, uint64_t others, int64_t from,
               int64_t to) {
  struct lifespan_ring *shared = shared_ring(fake, ring);
  if (!atomic_load(&shared->lost_from)) atomic_store(&shared->lost_from, stamp_of(fake, from));
  atomic_store(&shared->lost_to, stamp_of(fake, to));
  atomic_fetch_add(&shared->lost_births, births);
  atomic_fetch_add(&shared->lost_deaths, deaths);
  atomic_fetch_add(&shared->lost_other, others);
}

void fake_suppress(struct fake_map *fake, uint32_t ring, uint64_t count) {
  atomic_fetch_add(&shared_ring(fake, ring)->suppressed, count);
}
void fake_refuse(struct fake_map *fake, uint64_t count) { atomic_fetch_add(&fake->map->rings_refused, count); }

uint64_t fake_left(const struct fake_map *fake, uint32_t ring) {
  return atomic_load(&shared_ring(fake, ring)->head) - atomic_load(&shared_ring(fake, ring)->tail);
}

bool fake_switch_done(const struct fake_map *fake, uint32_t ring) {
  uint64_t data = atomic_load(&shared_ring(fake, ring)->data);
  return !atomic_load(&shared_ring(fake, ring)->next) &&
         (char *)fake->map + lifespan_buffer_offset(data) == (char *)fake->rings[ring].cells;
}

bool fake_claimed(const struct fake_map *fake, uint32_t ring) {
  return atomic_load(&shared_ring(fake, ring)->state) == LIFESPAN_RING_CLAIMED;
}

void fake_set_pid(struct fake_map *fake, uint32_t pid) { fake->map->pid = pid; }

void fake_owner(struct fake_map *fake, uint32_t ring, uint32_t tid) {
  atomic_store(&shared_ring(fake, ring)->state, LIFESPAN_RING_CLAIMED);
  shared_ring(fake, ring)->tid = tid;
}

uint64_t fake_allocated(const struct fake_map *fake) { return atomic_load(&fake->map->allocated); }
void fake_take(struct fake_map *fake, uint64_t bytes) { atomic_fetch_add(&fake->map->next_free, bytes); }
void fake_set_state(struct fake_map *fake, uint32_t state) { atomic_store(&fake->map->state, state); }

void fake_set_capture(struct fake_map *fake, uint32_t capture, const char *reason) {
  strncpy(fake->map->capture_reason, reason, sizeof(fake->map->capture_reason) - 1);
  atomic_store(&fake->map->capture, capture);
}

void fake_post(struct fake_map *fake, uint32_t op, const void *question, uint32_t length) {
  struct lifespan_request *slot = request_slot(fake);
  slot->op = op;
  slot->length = length;
  memcpy(slot->data, question, length <= sizeof(slot->data) ? length : 0);
  atomic_store(&slot->state, LIFESPAN_REQUEST_POSTED);
}

int64_t fake_answer(struct fake_map *fake, void *target, size_t room, uint32_t *status, bool *more) {
  struct lifespan_request *slot = request_slot(fake);
  if (atomic_load(&slot->state) != LIFESPAN_REQUEST_ANSWERED) return -1;
  *status = slot->status;
  *more = slot->more;
  size_t length = slot->length < room ? slot->length : room;
  memcpy(target, slot->data, length);
  atomic_store(&slot->state, LIFESPAN_REQUEST_IDLE);
  return (int64_t)length;
}

uint32_t fake_crc32c(const void *bytes, size_t length) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < length; i++) {
    crc ^= ((const uint8_t *)bytes)[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1)));
  }
  return ~crc;
}

int fake_run(struct lifespan_drain *drain, int *stop) {
  return lifespan_drain_run(drain, (const _Atomic int *)stop, NULL, NULL, NULL);
}

void fake_stop(int *stop) { atomic_store((_Atomic int *)stop, 1); }

bool fake_wait_empty(const struct fake_map *fake, uint32_t ring, uint32_t milliseconds) {
  for (uint32_t i = 0; i < milliseconds; i++) {
    if (fake_consumer_alive(fake) && !fake_left(fake, ring)) return true;
    usleep(1000);
  }
  return false;
}

bool fake_consumer_alive(const struct fake_map *fake) { return atomic_load(&fake->map->consumer_alive); }

void fake_use_counter(struct fake_map *fake) {
#if defined(__x86_64__)
  fake->map->clock = LIFESPAN_CLOCK_TSC;
  fake->map->start_stamp = __rdtsc();
#else
  (void)fake;
#endif
}

void fake_set_realtime(struct fake_map *fake, uint64_t ns) { fake->map->start_realtime_ns = ns; }
