// Regions that the program maps (record --vm): what a call does to those that are there. Used by apply.c.
//
// A region is an object of the living table under its address + 1 (a block may begin at the same address). Unmapped in part it stays the
// object, with what is left of it, as a block does after realloc; a hole makes two of it, the upper one with the birth of both.
//
// An end is stamped before its call, a birth after it, and both are published after it. So a region that lies where another one is mapped is
// gone, whether its end has come yet or not, and an end that comes late takes nothing that was put there after it.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

static uint64_t key_of(uint64_t start) { return start | 1; }

static void region_born(struct lifespan_drain *d, struct drain_record birth, uint64_t start, uint64_t end, uint64_t since) {
  birth.kind = LIFESPAN_R_BIRTH;
  birth.cells = 2;
  birth.value = key_of(start);
  birth.xb = end - start;
  struct drain_object *there = drain_living_find(&d->living, birth.value);
  if (there) drain_end(d, there, &birth, LIFESPAN_EVENT_END_NOT_SEEN); // no recorder's doing
  drain_born(d, &birth);
  if (!drain_living_find(&d->living, birth.value)) return; // the trace has no room
  if (!drain_region_add(&d->regions, start, end, since) && !d->error) d->error = ENOMEM;
}

// One that was taken aside has no place among those that are there.
static bool region_is_aside(const struct lifespan_drain *d, const struct drain_region *region) {
  return drain_living_find(&d->living, key_of(region->start) | DRAIN_LIMBO);
}

// The object goes to [start, end), with another stack where there is one.
static void region_moves(struct lifespan_drain *d, const struct drain_record *record, struct drain_region region, uint64_t start,
                         uint64_t end, uint32_t stack, uint64_t since) {
  struct drain_record moved = *record;
  moved.kind = LIFESPAN_R_MOVED;
  moved.cells = 3;
  moved.xa = key_of(region.start);
  moved.value = key_of(start);
  moved.xb = end - start;
  moved.xc = stack;
  if (!region_is_aside(d, &region)) drain_region_remove(&d->regions, region.start);
  drain_dispatch(d, &moved);
  if (!drain_region_add(&d->regions, start, end, since) && !d->error) d->error = ENOMEM;
}

// [at, end) of a region becomes an object of its own, with the birth of the whole.
static void region_splits(struct lifespan_drain *d, const struct drain_record *record, struct drain_region region, uint64_t lower_end,
                          uint64_t upper_start) {
  const struct drain_object *object = drain_living_find(&d->living, key_of(region.start));
  const struct drain_site *site = &drain_sites(d)[object->site];
  struct drain_record birth = *record;
  birth.stamp = object->stamp;
  birth.task = object->task;
  birth.thread = object->thread;
  birth.xa = (uint64_t)site->type << 32 | site->stack;
  region_moves(d, record, region, region.start, lower_end, 0, region.since);
  region_born(d, birth, upper_start, region.end, region.since);
}

static void region_ends(struct lifespan_drain *d, const struct drain_record *record, struct drain_region region) {
  struct drain_record end = *record;
  if (end.kind == LIFESPAN_R_MAPPED) end.cells = 1; // its stack is that of the birth
  bool is_aside = region_is_aside(d, &region);
  if (!is_aside) drain_region_remove(&d->regions, region.start);
  struct drain_object *object = drain_living_find(&d->living, key_of(region.start) | (is_aside ? DRAIN_LIMBO : 0));
  if (object) drain_end(d, object, &end, LIFESPAN_EVENT_DEATH);
}

// The next region that reaches into [*from, to); *from goes behind it. One without an object was no recorder's doing.
static bool region_next(struct lifespan_drain *d, uint64_t *from, uint64_t to, struct drain_region *region) {
  for (;;) {
    const struct drain_region *found = drain_region_behind(&d->regions, *from);
    if (!found || found->start >= to) return false;
    *region = *found;
    *from = found->end;
    if (drain_living_find(&d->living, key_of(region->start))) return true;
    drain_region_remove(&d->regions, region->start);
  }
}

// Nothing of what was put there up to `until` is in [from, to) any more.
static void region_clear(struct lifespan_drain *d, const struct drain_record *record, uint64_t from, uint64_t to, uint64_t until) {
  struct drain_region region;
  for (uint64_t at = from; region_next(d, &at, to, &region);) {
    if (region.since > until) continue;
    bool below = region.start < from, above = region.end > to;
    if (below && above) region_splits(d, record, region, from, to);
    else if (below) region_moves(d, record, region, region.start, from, 0, region.since);
    else if (above) region_moves(d, record, region, to, region.end, 0, region.since);
    else region_ends(d, record, region);
  }
}

static void region_split_at(struct lifespan_drain *d, const struct drain_record *record, uint64_t address, uint64_t until) {
  struct drain_region region;
  uint64_t at = address;
  if (region_next(d, &at, address, &region) && region.since <= until) region_splits(d, record, region, address, address);
}

// ---- mremap -------------------------------------------------------------------------------------------------------------------
// Between its call and its record another thread may get the addresses and say so first. So it is announced: what is moving then goes aside,
// as a block does that realloc moves.

static void region_set_aside(struct lifespan_drain *d, const struct drain_moving *moving, const struct drain_region *region) {
  struct drain_object *object = drain_living_find(&d->living, key_of(region->start)), mover = *object;
  uint64_t key = mover.key | DRAIN_LIMBO;
  if (drain_living_find(&d->living, key)) return; // the older one of two is not told any more
  drain_living_remove(&d->living, object);
  object = drain_living_insert(&d->living, key);
  if (!object) {
    if (!d->error) d->error = ENOMEM;
    return;
  }
  mover.key = key;
  *object = mover;
  drain_region_remove(&d->regions, region->start);
  d->aside[d->next_aside++ % DRAIN_MOVING] = (struct drain_aside){*region, moving->thread};
}

// Another thread's region comes to [from, to).
static void region_make_way(struct lifespan_drain *d, const struct drain_record *record, uint64_t from, uint64_t to) {
  for (uint32_t i = 0; i < DRAIN_MOVING; i++) {
    const struct drain_moving *moving = &d->moving[i];
    if (moving->thread == record->thread || moving->end <= from || moving->from >= to) continue;
    region_split_at(d, record, moving->from, moving->stamp);
    region_split_at(d, record, moving->end, moving->stamp);
    struct drain_region region;
    for (uint64_t at = moving->from; region_next(d, &at, moving->end, &region);)
      if (region.since <= moving->stamp) region_set_aside(d, moving, &region);
  }
}

static void region_moving(struct lifespan_drain *d, const struct drain_record *record, bool begins) {
  for (uint32_t i = 0; i < DRAIN_MOVING; i++)
    if (d->moving[i].thread == record->thread) d->moving[i] = (struct drain_moving){0};
  if (!begins) return;
  d->moving[d->next_moving++ % DRAIN_MOVING] =
      (struct drain_moving){record->value, record->value + (record->xb & LIFESPAN_VALUE_MASK), record->stamp, record->thread};
}

// [from, from + xd) is at `value` now, with `bytes`.
static void region_comes(struct lifespan_drain *d, const struct drain_record *record, struct drain_region region) {
  uint64_t from = record->xc, end = from + record->xd, bytes = record->xb & LIFESPAN_VALUE_MASK, to = record->value;
  uint64_t new_end = region.end == end || region.end > from + bytes ? to + bytes : region.end - from + to;
  if (region.start >= from + bytes) return region_ends(d, record, region);
  if (to == from && new_end == region.end) return;
  region_moves(d, record, region, region.start - from + to, new_end, (uint32_t)record->xa, record->xe);
}

static void region_remapped(struct lifespan_drain *d, const struct drain_record *record) {
  uint64_t from = record->xc, end = from + record->xd, to = record->value, bytes = record->xb & LIFESPAN_VALUE_MASK;
  region_moving(d, record, false);
  region_make_way(d, record, to, to + bytes);
  if (bytes < record->xd) region_clear(d, record, from + bytes, end, record->stamp);
  if (to != from) region_clear(d, record, to, to + bytes, UINT64_MAX);
  else if (bytes > record->xd) region_clear(d, record, end, from + bytes, UINT64_MAX);
  region_split_at(d, record, from, record->stamp);
  region_split_at(d, record, end, record->stamp);
  struct drain_region region;
  for (uint64_t at = from; region_next(d, &at, end, &region);)
    if (region.since <= record->stamp) region_comes(d, record, region);
  for (uint32_t i = 0; i < DRAIN_MOVING; i++) {
    struct drain_aside aside = d->aside[i];
    if (aside.thread != record->thread) continue;
    d->aside[i] = (struct drain_aside){0};
    if (drain_living_find(&d->living, key_of(aside.region.start) | DRAIN_LIMBO)) region_comes(d, record, aside.region);
  }
}

static void region_copied(struct lifespan_drain *d, const struct drain_record *record) {
  uint64_t start = record->value, end = start + (record->xb & LIFESPAN_VALUE_MASK), at = record->xc;
  struct drain_record birth = *record;
  birth.stamp = record->xe;
  struct drain_region region;
  if (region_next(d, &at, record->xc + 1, &region)) {
    uint64_t type = drain_sites(d)[drain_living_find(&d->living, key_of(region.start))->site].type;
    birth.xa = type << 32 | (uint32_t)record->xa;
  }
  region_make_way(d, record, start, end);
  region_clear(d, record, start, end, UINT64_MAX);
  if (record->xa >> 32) region_born(d, birth, start, end, record->xe);
}

void drain_mapped(struct lifespan_drain *d, const struct drain_record *record) {
  uint64_t start = record->value, end = start + (record->xb & LIFESPAN_VALUE_MASK);
  switch (record->xb >> 48) {
  case LIFESPAN_MAPPED_MOVED: return region_remapped(d, record);
  case LIFESPAN_MAPPED_COPY: return region_copied(d, record);
  case LIFESPAN_MAPPED_MOVING: return region_moving(d, record, true);
  case LIFESPAN_MAPPED_STAYED: return region_moving(d, record, false);
  default:
    region_make_way(d, record, start, end);
    region_clear(d, record, start, end, UINT64_MAX);
    if (record->xa >> 32) region_born(d, *record, start, end, record->stamp);
  }
}

// All pieces of the mapping that begins there: those with its birth.
static void region_detached(struct lifespan_drain *d, const struct drain_record *record) {
  struct drain_region region;
  uint64_t at = record->value;
  if (!region_next(d, &at, record->value + 1, &region) || region.start != record->value || region.since > record->stamp) return;
  const struct drain_object first = *drain_living_find(&d->living, key_of(region.start));
  do {
    const struct drain_object *object = drain_living_find(&d->living, key_of(region.start));
    if (object->stamp == first.stamp && object->thread == first.thread) region_ends(d, record, region);
  } while (region_next(d, &at, UINT64_MAX, &region));
}

void drain_unmapped(struct lifespan_drain *d, const struct drain_record *record) {
  struct drain_record end = *record;
  if (!end.xa) end.cells = 1; // no stack
  if (record->xb) region_clear(d, &end, record->value, record->value + record->xb, record->stamp);
  else region_detached(d, &end);
}

void drain_regions_inherit(struct lifespan_drain *d) {
  for (uint64_t i = 0; i <= d->living.mask; i++) {
    const struct drain_object *object = &d->living.slots[i];
    if (!object->key || !drain_type_is(d, drain_sites(d)[object->site].type, LIFESPAN_KIND_VM)) continue;
    uint64_t start = drain_address(object->key);
    if (!drain_region_add(&d->regions, start, start + object->size, object->stamp) && !d->error) d->error = ENOMEM;
  }
}

#endif
