// What an event does: the living table, the totals, the trace and the history. Called by merge.c in merged order, and
// by repair.c for the records that had to wait. States of an object: living, deinited with its memory kept, gone.
// Counts follow the deinit, bytes the memory.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define COUNT_UNKNOWN 0x00ffffffffffffffull

static void apply_no_memory(struct lifespan_drain *d) {
  if (!d->error) d->error = ENOMEM;
}

static bool apply_frees(unsigned kind) {
  return kind == LIFESPAN_EVENT_DEATH || kind == LIFESPAN_EVENT_FREE || kind == LIFESPAN_EVENT_PLAIN_FREE ||
         kind == LIFESPAN_EVENT_END_NOT_SEEN;
}

// The next file is told of an object as it was when its picture was begun; of one that goes before that, never.
static bool apply_unpictured(struct lifespan_drain *d, struct drain_object *object, unsigned kind) {
  if (object->pictured == d->picture_bit) return false;
  if (apply_frees(kind)) return true;
  drain_next_picture(d, object);
  return false;
}

// Fills what an event takes from its object and its record, and moves the object's number of events on.
static struct drain_event apply_event(struct lifespan_drain *d, struct drain_object *object,
                                      const struct drain_record *record, unsigned kind) {
  bool unpictured = apply_unpictured(d, object, kind);
  return (struct drain_event){.stamp = record->stamp,
                              .address = drain_address(object->key),
                              .serial = object->serial,
                              .task = record->task,
                              .size = object->size,
                              .count_before = -1,
                              .site = object->site,
                              .class = drain_sites(d)[object->site].class,
                              .thread = record->thread,
                              .generation = object->generation,
                              .ordinal = object->events++,
                              .kind = (uint8_t)kind,
                              .unpictured = unpictured};
}

// To the trace, the history and the counts.
void drain_emit(struct lifespan_drain *d, struct drain_event *event) {
  d->counts.events++;
  if (event->stamp < d->floor) d->counts.late++;
  if (event->stamp > d->newest) d->newest = event->stamp;
  if (d->encoder) drain_put(d, d->encoder, event);
  if (d->next && !event->unpictured) drain_next_event(d, event);
  if (d->keeps_history) drain_history_add(&d->history, event);
}

// A birth for which the trace has no room.
static void apply_no_room(struct lifespan_drain *d, uint64_t stamp) {
  struct drain_gap *gap = &d->space.gap;
  if (!(gap->births | gap->deaths | gap->others)) gap->from = gap->to = stamp;
  if (stamp < gap->from) gap->from = stamp;
  if (stamp > gap->to) gap->to = stamp;
  gap->births++;
  d->counts.lost++;
}

void drain_born(struct lifespan_drain *d, const struct drain_record *record) {
  if (d->space.full) return apply_no_room(d, record->stamp);
  uint32_t type = (uint32_t)(record->xa >> 32), stack = (uint32_t)record->xa;
  uint64_t size = record->xb & LIFESPAN_VALUE_MASK;
  uint32_t generation = drain_generation_of(d, record->stamp);
  uint32_t site = drain_site_of(d, type, stack, size);
  struct drain_row *row = site == UINT32_MAX ? NULL : drain_row_of(d, type, generation);
  struct drain_object *object = row ? drain_living_insert(&d->living, record->value) : NULL;
  if (!object) return apply_no_memory(d);
  row->births++;
  row->bytes += size;
  object->serial = ++d->counts.births;
  object->stamp = record->stamp;
  object->size = size;
  object->task = record->task;
  object->site = site;
  object->generation = generation;
  object->thread = record->thread & 0x1fffffff;
  object->pictured = d->picture_bit;
  object->count = 1;
  drain_heap_born(d, object);
  if (d->scopes) drain_scope_tally(d, record, &(struct lifespan_scope_row){.type = type, .births = 1, .bytes = size});
  struct drain_event event = apply_event(d, object, record, LIFESPAN_EVENT_BIRTH);
  event.stack = stack;
  drain_emit(d, &event);
  if (d->waiting_count) drain_waiting_born(d, object);
}

// An object's end, or the one of two that `kind` (enum lifespan_event_kind) stands for.
void drain_end(struct lifespan_drain *d, struct drain_object *object, const struct drain_record *record,
               unsigned kind) {
  struct drain_event event = apply_event(d, object, record, kind);
  if (record->cells > 1 && record->kind != LIFESPAN_R_BIRTH && record->kind != LIFESPAN_R_MOVED) {
    event.stack = (uint32_t)record->xa;
  }
  struct drain_row *row = drain_row_of(d, drain_sites(d)[object->site].type, object->generation);
  if (!(object->state & DRAIN_STATE_KEPT)) {
    d->counts.deaths++;
    if (d->space.parked) d->space.unwritten++;
    if (row) row->deaths++;
  }
  if (row && apply_frees(kind)) row->freed += object->size;
  if (apply_frees(kind)) drain_heap_freed(d, object);
  if (kind == LIFESPAN_EVENT_END_NOT_SEEN) d->counts.ends_not_seen++;
  drain_emit(d, &event);
  if (apply_frees(kind)) {
    if (d->counts_references) drain_remember(d, object, record->stamp);
    if (event.unpictured) drain_next_missed(d);
    drain_living_remove(&d->living, object);
  } else {
    object->state |= DRAIN_STATE_KEPT;
  }
}

static void apply_birth(struct lifespan_drain *d, const struct drain_record *record) {
  struct drain_object *there = drain_living_find(&d->living, record->value);
  if (!there) return drain_born(d, record);
  if (!(there->state & DRAIN_STATE_MOVING)) return drain_wait(d, record);
  // realloc has given the old block back, and its "moved" record is not written yet: the mover goes aside.
  struct drain_object mover = *there, *aside = drain_living_find(&d->living, record->value | DRAIN_LIMBO);
  if (aside) drain_end(d, aside, record, LIFESPAN_EVENT_END_NOT_SEEN);
  drain_living_remove(&d->living, drain_living_find(&d->living, record->value));
  aside = drain_living_insert(&d->living, record->value | DRAIN_LIMBO);
  if (!aside) return apply_no_memory(d);
  mover.key = aside->key;
  *aside = mover;
  drain_born(d, record);
}

static void apply_death(struct lifespan_drain *d, const struct drain_record *record) {
  struct drain_object *object = drain_living_find(&d->living, record->value);
  if (!object) return;
  // A late death of one that has been ended already (its address was born again) must not take the new one.
  if (record->stamp + d->microsecond < object->stamp) return;
  bool kept = object->state & DRAIN_STATE_KEPT;
  switch (record->kind) {
  case LIFESPAN_R_DEATH: return drain_end(d, object, record, kept ? LIFESPAN_EVENT_FREE : LIFESPAN_EVENT_DEATH);
  case LIFESPAN_R_FREE: return drain_end(d, object, record, kept ? LIFESPAN_EVENT_FREE : LIFESPAN_EVENT_PLAIN_FREE);
  default:
    if (!kept) drain_end(d, object, record, LIFESPAN_EVENT_DEINIT);
  }
}

// The block that MOVING announced: set aside, or still at its address.
static struct drain_object *apply_mover(struct lifespan_drain *d, uint64_t address) {
  struct drain_object *aside = drain_living_find(&d->living, address | DRAIN_LIMBO);
  return aside ? aside : drain_living_find(&d->living, address);
}

bool drain_type_is(const struct lifespan_drain *d, uint32_t type, uint32_t kind) {
  return type < d->type_count && drain_types(d)[type].kind == kind;
}
static bool is_block(const struct lifespan_drain *d, uint32_t type) { return drain_type_is(d, type, LIFESPAN_KIND_MALLOC); }

// What was moved belongs to another site, and by its type or its bucket of sizes perhaps to another row: it leaves the old
// one as if it had never been there, so that total stays living + destroyed.
static void apply_new_site(struct lifespan_drain *d, struct drain_object *object, const struct drain_record *record,
                           const struct drain_object *before) {
  const struct drain_site *old = &drain_sites(d)[before->site];
  uint32_t old_type = old->type, type = (uint32_t)(record->xc >> 32);
  uint32_t stack = (uint32_t)record->xc ? (uint32_t)record->xc : old->stack;
  uint32_t site = drain_site_of(d, type ? type : old_type, stack, object->size);
  if (site == UINT32_MAX) return apply_no_memory(d);
  object->site = site;
  if (type && is_block(d, old_type) && !is_block(d, type)) d->counts.retyped++;
  struct drain_row *row = drain_row_of(d, old_type, object->generation);
  if (row) {
    row->births--;
    row->bytes -= before->size;
    if (object->state & DRAIN_STATE_KEPT) row->deaths--;
  }
  row = drain_row_of(d, drain_sites(d)[site].type, object->generation);
  if (!row) return;
  row->births++;
  row->bytes += object->size;
  if (object->state & DRAIN_STATE_KEPT) row->deaths++;
}

static void apply_moved(struct lifespan_drain *d, const struct drain_record *record) {
  uint64_t from = record->xa, to = record->value, size = record->xb & LIFESPAN_VALUE_MASK;
  bool retyped = size == LIFESPAN_VALUE_MASK;
  struct drain_object *object = apply_mover(d, from);
  if (!object) return;
  // Also where it "stays": its address may have been taken while it was aside, and two objects never share a key.
  struct drain_object *there = object->key == to ? NULL : drain_living_find(&d->living, to);
  if (there) {
    drain_end(d, there, record, there->state & DRAIN_STATE_KEPT ? LIFESPAN_EVENT_FREE : LIFESPAN_EVENT_END_NOT_SEEN);
    object = apply_mover(d, from);
  }
  if (object->pictured != d->picture_bit) drain_next_picture(d, object);
  struct drain_object moved = *object;
  if (object->key != to) {
    drain_living_remove(&d->living, object);
    object = drain_living_insert(&d->living, to);
    if (!object) return apply_no_memory(d);
    *object = moved;
  }
  drain_heap_freed(d, &moved);
  object->key = to;
  if (!retyped) object->size = size;
  object->state &= DRAIN_STATE_KEPT;
  // A block that turns out to be an object: at its birth, or at its end, when nobody has counted.
  if ((uint32_t)(record->xc >> 32)) object->count = retyped ? DRAIN_COUNT_UNKNOWN : 1;
  apply_new_site(d, object, record, &moved);
  drain_heap_born(d, object);
  struct drain_event event = apply_event(d, object, record, LIFESPAN_EVENT_MOVED);
  event.old_address = drain_address(from);
  event.old_site = moved.site;
  drain_emit(d, &event);
}

static void apply_moving(struct lifespan_drain *d, const struct drain_record *record) {
  bool begins = record->kind == LIFESPAN_R_MOVING;
  struct drain_object *object = begins ? drain_living_find(&d->living, record->value) : apply_mover(d, record->value);
  if (!object) return;
  if (begins) {
    object->state |= DRAIN_STATE_MOVING;
  } else if (!(object->key & DRAIN_LIMBO)) {
    object->state &= DRAIN_STATE_KEPT;
  }
}

void drain_count(struct drain_object *object, const struct drain_record *record) {
  int64_t amount = (int64_t)(uint32_t)(record->xa >> 32), count = object->count;
  if (count == DRAIN_COUNT_UNKNOWN) return;
  count += record->kind == LIFESPAN_R_RETAIN ? amount : -amount;
  object->count = count > INT32_MIN && count <= INT32_MAX ? (int32_t)count : DRAIN_COUNT_UNKNOWN;
}

// A retain or release of the object that `event` names.
void drain_refcount(struct lifespan_drain *d, const struct drain_record *record, struct drain_event *event) {
  uint64_t before = record->xb & COUNT_UNKNOWN;
  event->amount = (uint32_t)(record->xa >> 32);
  event->stack = (uint32_t)record->xa;
  event->flavour = (uint8_t)(record->xb >> 56);
  event->count_before = before == COUNT_UNKNOWN ? -1 : (int64_t)before;
  event->kind = record->kind == LIFESPAN_R_RETAIN ? LIFESPAN_EVENT_RETAIN : LIFESPAN_EVENT_RELEASE;
  drain_emit(d, event);
}

static void apply_tally(struct lifespan_drain *d, const struct drain_object *object, const struct drain_record *record) {
  struct lifespan_scope_row more = {.type = drain_sites(d)[object->site].type};
  if (record->kind == LIFESPAN_R_RETAIN) more.retains = (uint32_t)(record->xa >> 32);
  else more.releases = (uint32_t)(record->xa >> 32);
  drain_scope_tally(d, record, &more);
}

static void apply_refcount(struct lifespan_drain *d, const struct drain_record *record) {
  d->counts_references = true;
  struct drain_object *object = drain_living_find(&d->living, record->value);
  if (!object || record->stamp < object->stamp) return drain_orphan(d, record);
  struct drain_event event = apply_event(d, object, record, LIFESPAN_EVENT_RETAIN);
  drain_count(object, record);
  if (d->scopes) apply_tally(d, object, record);
  drain_refcount(d, record, &event);
}

static void apply_deinit_start(struct lifespan_drain *d, const struct drain_record *record) {
  struct drain_object *object = drain_living_find(&d->living, record->value);
  if (!object || object->state & DRAIN_STATE_KEPT || record->stamp + d->microsecond < object->stamp) return;
  struct drain_event event = apply_event(d, object, record, LIFESPAN_EVENT_DEINIT_START);
  if (record->cells > 1) event.stack = (uint32_t)record->xa;
  drain_emit(d, &event);
}

static inline void dispatch(struct lifespan_drain *d, const struct drain_record *record) {
  switch (record->kind) {
  case LIFESPAN_R_BIRTH: return apply_birth(d, record);
  case LIFESPAN_R_DEATH:
  case LIFESPAN_R_DEINIT:
  case LIFESPAN_R_FREE: return apply_death(d, record);
  case LIFESPAN_R_RETAIN:
  case LIFESPAN_R_RELEASE: return apply_refcount(d, record);
  case LIFESPAN_R_DEINIT_START: return apply_deinit_start(d, record);
  case LIFESPAN_R_MOVED: return apply_moved(d, record);
  case LIFESPAN_R_MOVING:
  case LIFESPAN_R_MOVE_FAILED: return apply_moving(d, record);
  case LIFESPAN_R_MAPPED: return drain_mapped(d, record);
  case LIFESPAN_R_UNMAPPED: return drain_unmapped(d, record);
  case LIFESPAN_R_MISUSE: return drain_misuse(d, record);
  case LIFESPAN_R_TASK: return drain_task(d, record);
  case LIFESPAN_R_FORK: return drain_fork_seen(d, record->value);
  case LIFESPAN_R_RECORDING: return drain_recording(d, record->stamp, record->value);
  case LIFESPAN_R_MARK:
    drain_ring_copy(d, &d->rings[record->slot], record->cells);
    drain_place_mark(d, record->stamp, d->scratch + 1, record->value);
  }
}

void drain_dispatch(struct lifespan_drain *d, const struct drain_record *record) { dispatch(d, record); }

void drain_apply(struct lifespan_drain *d, const struct drain_record *record) {
  if (d->options.next.begin) drain_space_look(d);
  if (d->waiting_count) {
    drain_waiting_expire(d, record->stamp);
    if (drain_waiting_takes(d, record)) return;
  }
  dispatch(d, record);
}

#endif
