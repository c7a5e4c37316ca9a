// Writes a long trace: EVENTS births and deaths of which about LIVING objects live at any time, the rest die young. What a
// program does that has run for days, in seconds. The same trace for the same numbers. Built and run by Tools/long-trace.
//
// Of 16 objects 15 die within the next 16 births, the last one goes into the pool of the living in another's place: so
// what lives was born all over the recording. Every 1,000,000 events a mark is set.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "drain.h"

#define TYPES 40u
#define CLASSES 9u // sizes
#define STACKS 500u
#define YOUNG 16u
#define EVENTS_A_MARK 1000000u

struct object {
  uint64_t serial, address;
  uint32_t site, generation;
};

static struct drain_encoder *encoder;
static uint64_t random_state = 1, births, events, fresh = 0x600000000000;
static uint32_t generation;
static struct {
  uint64_t *blocks;
  size_t count, room;
} freed[CLASSES];

static uint32_t class_of(uint32_t site) { return (1 + site % TYPES) % CLASSES; }
static uint64_t size_of(uint32_t site) { return 16 + 16 * class_of(site); }

static uint64_t next_random(uint64_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (random_state >> 33) % below;
}

static int sink(void *context, const void *bytes, size_t length) {
  (void)context;
  const char *at = bytes;
  while (length) {
    ssize_t written = write(STDOUT_FILENO, at, length);
    if (written < 0) return errno;
    at += written;
    length -= (size_t)written;
  }
  return 0;
}

static size_t compress(void *context, void *target, size_t room, const void *bytes, size_t length) {
  size_t size = ZSTD_compressCCtx(context, target, room, bytes, length, 3);
  return ZSTD_isError(size) ? 0 : size;
}

static void write_tables(void) {
  for (uint32_t type = 1; type <= TYPES; type++) {
    char name[32];
    struct drain_type row = {.kind = LIFESPAN_KIND_CLASS, .metadata = type, .flags = 0};
    row.name_length = (uint32_t)snprintf(name, sizeof(name), "Server.Kind%02u", type);
    row.instance_size = (uint32_t)size_of(type - 1);
    drain_type_row(encoder, type, &row, (const uint8_t *)name);
  }
  for (uint32_t node = 2; node < STACKS + 2; node++) {
    struct drain_node row = {.pc = 0x400000 + node * 64, .parent = node < 12 ? 0 : node - 10, .known = 1};
    drain_node_row(encoder, node, &row);
  }
  for (uint32_t site = 0; site < STACKS; site++) {
    struct drain_site row = {.type = 1 + site % TYPES, .stack = 2 + site, .size = size_of(site)};
    drain_site_row(encoder, &row);
  }
}

static void mark(void) {
  drain_encoder_close_events(encoder);
  drain_row_varint(encoder, LIFESPAN_CHUNK_MARKS, generation++);
  drain_row_zigzag(encoder, LIFESPAN_CHUNK_MARKS, (int64_t)events * 500);
  drain_row_varint(encoder, LIFESPAN_CHUNK_MARKS, encoder->events);
  drain_row_string(encoder, LIFESPAN_CHUNK_MARKS, NULL, 0);
  encoder->row_counts[LIFESPAN_CHUNK_MARKS]++;
  encoder->marks++;
  drain_encoder_write_rest(encoder);
}

static void emit(const struct object *object, unsigned kind) {
  uint32_t class = class_of(object->site);
  struct drain_event event = {.stamp = ++events * 500, .address = object->address, .serial = object->serial,
                              .size = size_of(object->site), .site = object->site, .thread = 1, .class = class,
                              .generation = object->generation, .kind = (uint8_t)kind, .count_before = -1};
  drain_encode(encoder, &event);
  if (events % EVENTS_A_MARK == 0) mark();
}

static struct object birth(void) {
  struct object object = {.serial = ++births, .site = (uint32_t)next_random(STACKS), .generation = generation};
  uint32_t class = class_of(object.site);
  if (freed[class].count) {
    object.address = freed[class].blocks[--freed[class].count];
  } else {
    object.address = fresh;
    fresh += size_of(object.site);
  }
  emit(&object, LIFESPAN_EVENT_BIRTH);
  return object;
}

static void death(const struct object *object) {
  uint32_t class = class_of(object->site);
  if (freed[class].count == freed[class].room) {
    freed[class].room = freed[class].room ? freed[class].room * 2 : 64;
    freed[class].blocks = realloc(freed[class].blocks, freed[class].room * sizeof(uint64_t));
  }
  freed[class].blocks[freed[class].count++] = object->address;
  emit(object, LIFESPAN_EVENT_DEATH);
}

static void live(uint64_t wanted, uint64_t pool_size) {
  struct object young[YOUNG] = {0}, *pool = calloc(pool_size, sizeof(*pool));
  for (uint64_t i = 0; events < wanted; i++) {
    struct object *place = &young[i % YOUNG];
    if (place->serial) death(place);
    *place = birth();
    if (i % YOUNG) continue;
    struct object *old = &pool[i / YOUNG < pool_size ? i / YOUNG : next_random(pool_size)];
    if (old->serial) death(old);
    *old = *place;
    *place = (struct object){0};
  }
  free(pool);
}

static void footer(void) {
  const struct {
    const char *key;
    uint64_t value;
  } rows[] = {{"events", events}, {"births", births}, {"lost", 0}, {"clean", 1}, {"end", events * 500}};
  drain_encoder_close_events(encoder);
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    drain_row_string(encoder, LIFESPAN_CHUNK_END, rows[i].key, strlen(rows[i].key));
    drain_row_varint(encoder, LIFESPAN_CHUNK_END, rows[i].value);
    encoder->row_counts[LIFESPAN_CHUNK_END]++;
  }
  drain_encoder_write_rest(encoder);
}

int main(int count, char **words) {
  if (count != 3) return 64;
  encoder = drain_encoder_create(sink, NULL, 1024);
  encoder->compressor = compress;
  encoder->compressor_context = ZSTD_createCCtx();
  struct lifespan_map map = {.door = LIFESPAN_DOOR_PRELOAD, .page_size = 4096, .pid = 7};
  static struct lifespan_drain drain;
  drain.map = &map;
  drain.clock = LIFESPAN_CLOCK_MONOTONIC;
  drain.ticks_per_second = 1000000000;
  drain.capture = LIFESPAN_CAPTURE_COMPLETE;
  drain_begin_trace(&drain, encoder);
  drain_row_string(encoder, LIFESPAN_CHUNK_INFO, "program", 7);
  drain_row_string(encoder, LIFESPAN_CHUNK_INFO, "/srv/Server", 11);
  drain_row_done(encoder, LIFESPAN_CHUNK_INFO);
  write_tables();
  live(strtoull(words[1], NULL, 10), strtoull(words[2], NULL, 10));
  footer();
  if (encoder->error) fprintf(stderr, "long-trace: %s\n", strerror(encoder->error));
  return encoder->error ? 1 : 0;
}
