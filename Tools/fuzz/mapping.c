// libFuzzer's target for the drain: a mapping that says anything. The input is a list of steps that write records, rings,
// header fields and requests as a hostile program might, and drain between them. What comes out must be a trace that
// reads from its first byte to its last: Trace.swift checks it. Compiled by Tools/fuzz/run.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lifespan_drain.h"

// Of Trace.swift: ends the fuzzer when the bytes are no whole trace.
void fuzz_check_trace(const uint8_t *bytes, size_t length, bool ended);

#define RINGS 4u
#define RING_LOG2 8u
#define BYTES (LIFESPAN_DATA_OFFSET + (RINGS * 2 << 16))
#define ROOM (8u << 20)
#define STEPS 512u

struct input {
  const uint8_t *at, *end;
};
struct output {
  uint8_t *bytes;
  size_t used;
  int error_at; // writes until the disk is full; < 0 never
};
struct play {
  struct input in;
  struct lifespan_map *map;
  struct lifespan_drain *drain;
  struct output out;
  uint64_t heads[RINGS];
  uint64_t start;
};

static uint8_t byte(struct input *in) { return in->at < in->end ? *in->at++ : 0; }

static uint64_t word(struct input *in) {
  uint64_t value = 0;
  size_t left = (size_t)(in->end - in->at), take = left < 8 ? left : 8;
  memcpy(&value, in->at, take);
  in->at += take;
  return value;
}

// Mostly small, so that addresses, ids and stamps meet each other.
static uint64_t number(struct input *in) {
  uint8_t first = byte(in);
  if (first < 0xc0) return first & 0x3f;
  if (first < 0xf0) return (uint64_t)(first & 0x0f) << 8 | byte(in);
  return word(in);
}

static struct lifespan_ring *ring(const struct play *p, unsigned index) {
  return (struct lifespan_ring *)((uint8_t *)p->map + LIFESPAN_RINGS_OFFSET) + index;
}

static struct lifespan_cell *cell(const struct play *p, unsigned index, uint64_t at) {
  uint64_t buffer = LIFESPAN_DATA_OFFSET + ((uint64_t)index << 17);
  return (struct lifespan_cell *)((uint8_t *)p->map + buffer) + (at & ((1u << RING_LOG2) - 1));
}

static struct lifespan_request *request(const struct play *p) {
  return (struct lifespan_request *)((uint8_t *)p->map + LIFESPAN_REQUEST_OFFSET);
}

static int take(void *context, const void *bytes, size_t length) {
  struct output *out = context;
  if (out->error_at >= 0 && out->error_at-- == 0) return 28;
  if (length > ROOM - out->used) return 27;
  memcpy(out->bytes + out->used, bytes, length);
  out->used += length;
  return 0;
}

static int drop(void *context, const void *bytes, size_t length) {
  struct play *p = context;
  if (length > ROOM) return 27;
  (void)bytes;
  (void)p;
  return 0;
}

// Behind the address at most 47 bits, as a program's are; ids and stamps near each other.
static void record(struct play *p) {
  unsigned index = byte(&p->in) % RINGS, kind = byte(&p->in), cells = 1 + byte(&p->in) % 8;
  static const uint8_t kinds[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 64, 65, 66, 67};
  if (kind < 0xe0) kind = kinds[kind % sizeof kinds];
  if (kind == LIFESPAN_R_BIRTH || (kind >= 5 && kind <= 6) || kind == 9 || kind == 11 || kind == 64) cells = 2;
  if (kind == 4 || kind == 8 || kind == 10 || kind == 13) cells = 1;
  bool pages = kind == LIFESPAN_R_MAPPED || kind == LIFESPAN_R_UNMAPPED;
  if (pages) cells = kind == LIFESPAN_R_MAPPED && cells % 2 ? 4 : 2;
  uint64_t stamp = number(&p->in) * 64, value = number(&p->in), at = p->heads[index];
  if (kind < LIFESPAN_RECORD_SIDE || kind == 67) stamp += p->start;
  if (pages) value &= ~4095ull;
  *cell(p, index, at) = (struct lifespan_cell){stamp, lifespan_head_word(kind, cells, value)};
  for (unsigned i = 1; i < cells; i++) {
    uint64_t high = number(&p->in), low = number(&p->in), b = number(&p->in);
    if (pages) b &= ~4095ull, low &= i == 2 ? ~4095ull : ~0ull;
    *cell(p, index, at + i) = (struct lifespan_cell){high << 32 | (low & 0xffffffff), b};
  }
  p->heads[index] = at + cells;
  atomic_store(&ring(p, index)->head, p->heads[index]);
}

static void poke(struct play *p, uint8_t *base, size_t bytes) {
  size_t at = (size_t)number(&p->in) * 8 % bytes;
  uint64_t value = number(&p->in);
  memcpy(base + at, &value, 8);
}

static void post(struct play *p) {
  struct lifespan_request *slot = request(p);
  struct lifespan_question question = {.address = number(&p->in), .generation = (uint32_t)number(&p->in)};
  slot->op = 16 + byte(&p->in) % 9;
  question.start = (uint32_t)number(&p->in);
  memcpy(slot->data, &question, sizeof question);
  slot->length = (uint32_t)number(&p->in);
  if (slot->length < 64) slot->length = sizeof question + slot->length % 16;
  atomic_store(&slot->state, LIFESPAN_REQUEST_POSTED);
}

static void grow_ring(struct play *p) {
  unsigned index = byte(&p->in) % RINGS;
  struct lifespan_ring *shared = ring(p, index);
  atomic_store(&shared->switch_at, p->heads[index] + number(&p->in) - 1);
  atomic_store(&shared->next, (LIFESPAN_DATA_OFFSET + ((uint64_t)index << 17)) | RING_LOG2);
}

static void ask(struct play *p) {
  static uint64_t answer[8192];
  struct lifespan_question question = {
      .address = number(&p->in), .generation = (uint32_t)number(&p->in), .start = (uint32_t)number(&p->in)};
  uint32_t op = 16 + byte(&p->in) % 8;
  bool more = false;
  int64_t got = lifespan_drain_ask(p->drain, op, &question, sizeof question, answer, sizeof answer, &more);
  if (got > (int64_t)sizeof answer) abort();
}

static void outside(struct play *p) {
  struct lifespan_drain_counts counts;
  switch (byte(&p->in) % 5) {
  case 0: lifespan_drain_mark(p->drain, "mark", byte(&p->in) % 5); break;
  case 1: lifespan_drain_flush(p->drain); break;
  case 2: lifespan_drain_set_recording(p->drain, byte(&p->in) & 1); break;
  case 3: lifespan_drain_counts(p->drain, &counts); break;
  default: lifespan_drain_save(p->drain, drop, p); break;
  }
}

static void step(struct play *p) {
  uint8_t op = byte(&p->in) % 32;
  if (op < 20) record(p);
  else if (op < 23) lifespan_drain_round(p->drain);
  else if (op == 23) poke(p, (uint8_t *)p->map, 8192);
  else if (op == 24) poke(p, (uint8_t *)ring(p, 0), RINGS * sizeof(struct lifespan_ring));
  else if (op == 25) poke(p, (uint8_t *)request(p), 64);
  else if (op == 26) poke(p, (uint8_t *)cell(p, byte(&p->in) % RINGS, 0), 16u << RING_LOG2);
  else if (op == 27) post(p);
  else if (op == 28) grow_ring(p);
  else if (op == 29) ask(p);
  else outside(p);
}

static void fill(struct play *p) {
  struct lifespan_map *map = p->map;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  map->magic = LIFESPAN_MAP_MAGIC;
  map->abi = LIFESPAN_ABI;
  map->clock = LIFESPAN_CLOCK_MONOTONIC;
  map->start_stamp = p->start = (uint64_t)(now.tv_sec - 10) * 1000000000u;
  map->start_realtime_ns = 1709164800000000000ull;
  atomic_store(&map->capture, LIFESPAN_CAPTURE_COMPLETE);
  atomic_store(&map->allocated, BYTES);
  atomic_store(&map->next_free, BYTES);
  atomic_store(&map->state, LIFESPAN_PROGRAM_RUNNING);
  for (unsigned i = 0; i < RINGS; i++) {
    ring(p, i)->thread_number = i + 1;
    atomic_store(&ring(p, i)->data, (LIFESPAN_DATA_OFFSET + ((uint64_t)i << 17)) | RING_LOG2);
    atomic_store(&ring(p, i)->state, LIFESPAN_RING_CLAIMED);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  static struct play p;
  static uint8_t *room;
  if (!room) room = malloc(ROOM);
  // What lies behind the part that is allocated must not be touched.
  uint8_t *at = mmap(NULL, BYTES + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED || mprotect(at, BYTES, PROT_READ | PROT_WRITE)) abort();
  p = (struct play){.in = {bytes, bytes + length}, .map = (struct lifespan_map *)at, .out = {.bytes = room}};
  fill(&p);
  uint8_t options = byte(&p.in);
  p.out.error_at = options & 1 ? options >> 4 : -1;
  struct lifespan_drain_options how = {.map = p.map,
                                       .file = -1,
                                       .sink = options & 2 ? NULL : take,
                                       .sink_context = &p.out,
                                       .ticks_per_unit = options & 4 ? 1000 : 1024,
                                       .ticks_per_second = 1000000000,
                                       .history_events = options & 8 ? 16 : 0};
  p.drain = lifespan_drain_create(&how);
  if (!p.drain) abort();
  for (unsigned i = 0; i < STEPS && p.in.at < p.in.end; i++) step(&p);
  lifespan_drain_finish(p.drain, true, 0);
  lifespan_drain_destroy(p.drain);
  if (how.sink) fuzz_check_trace(p.out.bytes, p.out.used, !(options & 1) && p.out.used < ROOM / 2);
  munmap(at, BYTES + 65536);
  return 0;
}
