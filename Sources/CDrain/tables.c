// Types, totals by (type, generation), sites, marks. Used by apply.c and side.c to write, by ask.c and save.c to read.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

// The type's place, made when it is new. NULL: no memory.
struct drain_type *drain_type_at(struct lifespan_drain *d, uint32_t id) {
  size_t need = ((size_t)id + 1) * sizeof(struct drain_type);
  if (d->types.used < need) {
    if (!drain_reserve(&d->types, need - d->types.used)) {
      if (!d->error) d->error = ENOMEM;
      return NULL;
    }
    d->types.used = need;
    d->type_count = id + 1;
  }
  return &drain_types(d)[id];
}

// Offset in the arena; 0 when there is no room (offset 0 holds nothing).
uint32_t drain_name(struct lifespan_drain *d, const void *bytes, size_t length) {
  if (!d->names.used && !drain_append(&d->names, "", 1)) return 0;
  size_t at = d->names.used;
  if (length > DRAIN_NAMES_LIMIT - at || !drain_append(&d->names, bytes, length)) return 0;
  return (uint32_t)at;
}

static bool lies_elsewhere(const struct lifespan_drain *d, uint32_t type) {
  uint32_t kind = type < d->type_count ? drain_types(d)[type].kind : 0;
  return kind == LIFESPAN_KIND_THREAD || kind == LIFESPAN_KIND_TOKEN || kind == LIFESPAN_KIND_VM;
}

uint32_t drain_site_made(struct lifespan_drain *d, uint32_t type, uint32_t stack, uint64_t size) {
  struct drain_site fresh = {.type = type, .stack = stack, .elsewhere = lies_elsewhere(d, type), .size = size};
  if (!drain_reserve(&d->sites, sizeof(fresh))) return UINT32_MAX; // before a number is given away
  uint32_t known = d->site_index.count;
  uint32_t site = drain_index_add(&d->site_index, (uint64_t)type << 32 | stack, size, DRAIN_SITE_LIMIT);
  if (site != known || site == UINT32_MAX) return site;
  fresh.class = drain_index_add(&d->class_index, size, 0, DRAIN_SITE_LIMIT);
  drain_append(&d->sites, &fresh, sizeof(fresh));
  if (d->encoder && !d->encoder->lazy) drain_site_row(d->encoder, &fresh);
  // Sizes that share a class would give wrong addresses: rather no more trace.
  if (fresh.class == UINT32_MAX) {
    drain_sites(d)[site].class = 0;
    d->error = ENOMEM;
    if (d->encoder) d->encoder->error = ENOMEM;
  }
  return site;
}

struct drain_row *drain_row_made(struct lifespan_drain *d, uint32_t type_id, uint32_t generation) {
  struct drain_type *type = drain_type_at(d, type_id);
  if (!type) return NULL;
  struct drain_row fresh = {.type = type_id, .generation = generation, .next = type->rows};
  if (!drain_reserve(&d->rows, sizeof(fresh))) return NULL;
  uint32_t known = d->row_index.count;
  uint32_t number = drain_index_add(&d->row_index, (uint64_t)type_id << 32 | generation, 0, DRAIN_ROW_LIMIT);
  if (number == UINT32_MAX) return NULL;
  if (number == known) {
    drain_append(&d->rows, &fresh, sizeof(fresh));
    type->rows = number + 1;
    if (!type->newest_row || drain_rows(d)[type->newest_row - 1].generation < generation) type->newest_row = number + 1;
  }
  return &drain_rows(d)[number];
}

// An object belongs to the generation that the first mark not earlier than its birth closed.
uint32_t drain_generation_at(const struct lifespan_drain *d, uint64_t stamp) {
  const struct drain_mark *marks = drain_marks(d);
  uint32_t low = 0, high = d->mark_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (stamp > marks[middle].stamp) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Puts a mark at its place: before all events with a later stamp. One that turns up late is moved to the newest event's
// stamp: its call has not returned before that, so it may as well have happened then, and no object changes its
// generation afterwards. Returns the generation that it closed, < 0: -errno.
int64_t drain_place_mark(struct lifespan_drain *d, uint64_t stamp, const void *name, size_t length) {
  if (d->mark_count == DRAIN_MARK_LIMIT) return -ENOSPC;
  uint64_t least = d->newest;
  if (d->mark_count && drain_marks(d)[d->mark_count - 1].stamp > least) least = drain_marks(d)[d->mark_count - 1].stamp;
  struct drain_mark mark = {
      .stamp = stamp < least ? least : stamp, .serial_before = d->counts.births, .events_before = d->counts.events};
  if (length) mark.name = drain_name(d, name, length);
  if (mark.name) mark.name_length = (uint32_t)length;
  if (!drain_append(&d->marks, &mark, sizeof(mark))) {
    d->error = ENOMEM;
    return -ENOMEM;
  }
  uint32_t generation = d->mark_count++;
  d->counts.marks = d->mark_count;
  drain_sample_mark(d);
  if (d->encoder) drain_mark_row(d, d->encoder, generation);
  if (drain_next_marks(d)) drain_mark_row(d, drain_next_marks(d), generation);
  return generation;
}

#endif
