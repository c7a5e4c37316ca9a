// A trace that was cut goes on: whoever opens it tells what it says (types, stacks, sites, marks, what lives), and a drain that is made of that
// takes what is left in the rings file and writes the rest of the trace, as the recording command would have. Called by the reading commands.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

struct lifespan_drain *lifespan_drain_seed_create(uint64_t start, uint64_t ticks_per_second) {
  struct lifespan_drain *seed = drain_pages(sizeof(*seed));
  if (!seed) return NULL;
  seed->resumes = true;
  seed->start = start;
  seed->ticks_per_second = ticks_per_second;
  if (drain_living_create(&seed->living) && drain_index_create(&seed->site_index) && drain_index_create(&seed->row_index) &&
      drain_index_create(&seed->class_index))
    return seed;
  lifespan_drain_destroy(seed);
  return NULL;
}

bool lifespan_drain_seed_type(struct lifespan_drain *d, const struct lifespan_type_row *row, uint64_t caller, const char *name) {
  struct drain_type *type = row->type && row->type < DRAIN_TYPE_LIMIT ? drain_type_at(d, row->type) : NULL;
  if (!type) return false;
  *type = (struct drain_type){.metadata = row->metadata,
                              .caller = caller,
                              .kind = row->kind,
                              .superclass = row->superclass,
                              .flags = row->flags,
                              .instance_size = row->instance_size};
  type->name = drain_name(d, name, row->name_length);
  type->name_length = type->name ? row->name_length : 0;
  return true;
}

bool lifespan_drain_seed_site(struct lifespan_drain *d, uint32_t type, uint32_t stack, uint64_t size) {
  uint32_t expected = d->site_index.count;
  return drain_site_of(d, type, stack, size) == expected;
}

bool lifespan_drain_seed_mark(struct lifespan_drain *d, int64_t ticks, const char *name, size_t length) {
  return drain_place_mark(d, d->start + (uint64_t)ticks, name, length) >= 0;
}

bool lifespan_drain_seed_object(struct lifespan_drain *d, const struct lifespan_seed_object *given) {
  uint64_t address = given->address & LIFESPAN_VALUE_MASK;
  if (given->site < d->site_index.count && drain_type_is(d, drain_sites(d)[given->site].type, LIFESPAN_KIND_VM)) address |= 1;
  if (!address || given->site >= d->site_index.count || drain_living_find(&d->living, address)) return false;
  struct drain_object *object = drain_living_insert(&d->living, address);
  if (!object) return false;
  object->serial = given->serial;
  object->stamp = d->start + (uint64_t)given->ticks;
  object->size = given->size;
  object->site = given->site;
  object->generation = given->generation;
  object->thread = given->thread & 0x3fffffff;
  object->events = given->events;
  object->state = given->kept ? DRAIN_STATE_KEPT : 0;
  return true;
}

void lifespan_drain_seed_counts(struct lifespan_drain *d, const struct lifespan_drain_counts *counts, int64_t newest) {
  d->counts = *counts;
  d->newest = d->start + (uint64_t)newest;
}

// The rest of drain_fork_inherit, for a drain that goes on with a trace instead of beginning one.
void drain_resume(struct lifespan_drain *d, const struct lifespan_drain *seed) {
  d->resumes = d->begun = true;
  d->inherits = false;
  d->start = seed->start;
  d->ticks_per_second = seed->ticks_per_second;
  d->microsecond = d->ticks_per_second / 1000000 ? d->ticks_per_second / 1000000 : 1;
  d->start_realtime_ns = d->map->start_realtime_ns;
  d->capture = atomic_load_explicit(&d->map->capture, memory_order_acquire);
  d->counts = seed->counts;
  d->counts.marks = d->mark_count;
  struct drain_encoder *e = d->encoder;
  if (!e) return;
  e->start = d->start;
  e->begun = true;
  e->events = e->events_written = seed->counts.events;
  e->last_serial = seed->counts.births;
  e->marks = d->mark_count;
}

// Where the trace's own part ends and the rings' begins. False: no commit.
bool lifespan_drain_committed(struct lifespan_map *map, uint64_t *bytes) {
  const struct lifespan_commit *commits = (const struct lifespan_commit *)((uint8_t *)map + LIFESPAN_COMMIT_OFFSET);
  uint64_t current = atomic_load_explicit(&commits->current, memory_order_acquire);
  *bytes = current ? commits->sides[current % 2].bytes : 0;
  return current;
}

// Sets the rings of a copy of the mapping back to the last commit.
static void rewind_ring(struct lifespan_ring *ring, uint64_t tail) {
  if (tail == UINT64_MAX) return; // the consumer had not seen it: nothing of it was drained
  uint64_t next = atomic_load_explicit(&ring->next, memory_order_relaxed);
  uint64_t at = atomic_load_explicit(&ring->switch_at, memory_order_relaxed);
  if (next && (int64_t)(tail - at) >= 0) {
    atomic_store_explicit(&ring->data, next, memory_order_relaxed);
    atomic_store_explicit(&ring->next, 0, memory_order_relaxed);
  }
  atomic_store_explicit(&ring->tail, tail, memory_order_relaxed);
}

void lifespan_drain_rewind(struct lifespan_drain *d) {
  const struct lifespan_commit *commits = (const struct lifespan_commit *)((uint8_t *)d->map + LIFESPAN_COMMIT_OFFSET);
  uint64_t current = atomic_load_explicit(&commits->current, memory_order_acquire);
  if (!current) return;
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    struct lifespan_ring *ring = (struct lifespan_ring *)((uint8_t *)d->map + LIFESPAN_RINGS_OFFSET) + slot;
    rewind_ring(ring, commits->sides[current % 2].tails[slot]);
    d->rings[slot].resumed_task = commits->sides[current % 2].tasks[slot];
  }
}

#endif
