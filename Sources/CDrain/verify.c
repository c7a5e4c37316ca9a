// The self-check of reference counts: what was recorded against what the runtime itself holds in each object's header. Called by the recording command
// while the program's threads are stopped.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define BATCH 256u

// The count word of Swift 5 to 6.3, 64 bits: bit 63 a side table holds it, else 33…62 strong references beside the first, bit 32 its deinit has begun;
// low half all ones: not counted. A side table has the same word behind its object's address.
#define WORD_SLOW (1ull << 63)
#define WORD_DEINITING (1ull << 32)
#define SIDE_TABLE_WORD 16u

struct verify_batch {
  uint64_t addresses[BATCH], words[2 * BATCH];
  const struct drain_object *objects[BATCH];
  uint32_t count;
};

struct verify {
  struct lifespan_drain *drain;
  lifespan_word_reader read;
  void *read_context;
  void (*differ)(void *, const struct lifespan_count_difference *);
  void *differ_context;
  struct lifespan_count_check *check;
  struct verify_batch headers, tables; // objects; those of them whose side table is looked at next
};

static int64_t verify_strong(uint64_t word) {
  return (int64_t)(word >> 33 & 0x3fffffff) + (word & WORD_DEINITING ? 0 : 1);
}

static void verify_object(struct verify *v, const struct drain_object *object, int64_t actual) {
  v->check->checked++;
  if (actual == object->count) {
    v->check->exact++;
    return;
  }
  const struct drain_site *site = &drain_sites(v->drain)[object->site];
  struct lifespan_count_difference difference = {.serial = object->serial,
                                                 .address = object->key,
                                                 .recorded = object->count,
                                                 .actual = actual,
                                                 .type = site->type,
                                                 .stack = site->stack,
                                                 .events = object->events};
  v->differ(v->differ_context, &difference);
}

// Reads a batch; what can't be read is a difference of its own.
static size_t verify_read(struct verify *v, struct verify_batch *batch, size_t from) {
  size_t got = v->read(v->read_context, batch->addresses + from, batch->count - from, batch->words + 2 * from);
  if (from + got < batch->count) verify_object(v, batch->objects[from + got], -1);
  return from + got;
}

static void verify_tables(struct verify *v) {
  struct verify_batch *tables = &v->tables;
  for (size_t at = 0; at < tables->count;) {
    size_t end = verify_read(v, tables, at);
    for (; at < end; at++) verify_object(v, tables->objects[at], verify_strong(tables->words[2 * at]));
    at = end + 1;
  }
  tables->count = 0;
}

static void verify_header(struct verify *v, const struct drain_object *object, uint64_t word) {
  if ((uint32_t)word == UINT32_MAX) {
    v->check->uncounted++;
  } else if (word & WORD_SLOW) {
    v->tables.addresses[v->tables.count] = (word << 3) + SIDE_TABLE_WORD;
    v->tables.objects[v->tables.count++] = object;
    if (v->tables.count == BATCH) verify_tables(v);
  } else {
    verify_object(v, object, verify_strong(word));
  }
}

static void verify_headers(struct verify *v) {
  struct verify_batch *headers = &v->headers;
  for (size_t at = 0; at < headers->count;) {
    size_t end = verify_read(v, headers, at);
    for (; at < end; at++) verify_header(v, headers->objects[at], headers->words[2 * at + 1]);
    at = end + 1;
  }
  headers->count = 0;
}

static bool verify_is_counted(const struct lifespan_drain *d, const struct drain_object *object) {
  if (!object->key || object->key >= LIFESPAN_TOKEN_ADDRESS || object->state) return false;
  uint32_t id = drain_sites(d)[object->site].type;
  if (id >= d->type_count) return false;
  const struct drain_type *type = &drain_types(d)[id];
  return type->flags & LIFESPAN_TYPE_COUNTED && type->kind && type->kind <= LIFESPAN_KIND_TASK;
}

int lifespan_drain_verify(struct lifespan_drain *d, lifespan_word_reader read, void *read_context,
                          void (*differ)(void *, const struct lifespan_count_difference *), void *differ_context,
                          struct lifespan_count_check *check) {
  *check = (struct lifespan_count_check){0};
  if (!d->begun) return -EAGAIN;
  struct verify *v = drain_pages(sizeof(*v));
  if (!v) return -ENOMEM;
  *v = (struct verify){.drain = d, .read = read, .read_context = read_context, .differ = differ, .differ_context = differ_context, .check = check};
  for (uint64_t at = 0; at <= d->living.mask; at++) {
    const struct drain_object *object = &d->living.slots[at];
    if (!verify_is_counted(d, object)) continue;
    if (object->count == DRAIN_COUNT_UNKNOWN) {
      check->uncounted++;
      continue;
    }
    v->headers.addresses[v->headers.count] = object->key;
    v->headers.objects[v->headers.count++] = object;
    if (v->headers.count == BATCH) verify_headers(v);
  }
  verify_headers(v);
  verify_tables(v);
  drain_pages_free(v, sizeof(*v));
  return 0;
}

bool lifespan_drain_verify_wanted(const struct lifespan_drain *d) {
  return d->map->options.verify && drain_sample_asked(d) != d->verified;
}

void lifespan_drain_verify_done(struct lifespan_drain *d) { d->verified = drain_sample_asked(d); }

#endif
