// Records whose place is not decided when they come. Used by apply.c.
//
// Stamps of two cores may stand the wrong way round by some nanoseconds (measured: up to 80 of a million events with
// plain rdtsc). So a birth on an address whose object still lives waits for that object's end, for one microsecond of
// stamps and at most until the end of the next round; with it wait the later events of the birth's own thread at that
// address. A retain or release that lies in no lifetime waits as long for a birth, and goes to the nearest lifetime.
// Few ever wait, so plain arrays do.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

static struct drain_recent *repair_recent(struct lifespan_drain *d, uint64_t address) {
  return &d->recent[(address * 0x9e3779b97f4a7c15ull) >> 52];
}
_Static_assert(DRAIN_RECENT == 4096, "twelve bits of hash");

void drain_remember(struct lifespan_drain *d, const struct drain_object *object, uint64_t end) {
  uint64_t address = object->key & LIFESPAN_VALUE_MASK;
  *repair_recent(d, address) = (struct drain_recent){.address = address,
                                                     .serial = object->serial,
                                                     .birth = object->stamp,
                                                     .end = end,
                                                     .died = drain_next_death(d, object),
                                                     .site = object->site,
                                                     .events = object->events};
}

struct drain_recent *drain_recall(struct lifespan_drain *d, uint64_t address) {
  struct drain_recent *recent = repair_recent(d, address);
  return recent->serial && recent->address == address ? recent : NULL;
}

static uint64_t repair_distance(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

// The refcount event belongs to an object that is dead.
static void repair_attach_dead(struct lifespan_drain *d, const struct drain_record *record,
                               const struct drain_recent *dead) {
  struct drain_recent *still = drain_recall(d, record->value);
  struct drain_event event = {.stamp = record->stamp,
                              .address = dead->address,
                              .serial = dead->serial,
                              .task = record->task,
                              .size = drain_sites(d)[dead->site].size,
                              .site = dead->site,
                              .class = drain_sites(d)[dead->site].class,
                              .thread = record->thread,
                              .generation = drain_generation_of(d, dead->birth),
                              .ordinal = dead->events,
                              .died = dead->died};
  if (still && still->serial == dead->serial) event.ordinal = still->events++;
  drain_refcount(d, record, &event);
}

// A reference to an object whose deinit has ended: it belongs to what lived at the address last, as far as that is still known.
void drain_misuse(struct lifespan_drain *d, const struct drain_record *record) {
  d->counts.misuses++;
  d->counts_references = true;
  const struct drain_recent *dead = drain_recall(d, record->value);
  struct drain_event event = {.stamp = record->stamp, .address = record->value, .task = record->task, .thread = record->thread};
  struct drain_object *object = drain_living_find(&d->living, record->value);
  if (object && record->stamp >= object->stamp) {
    if (object->pictured != d->picture_bit) drain_next_picture(d, object);
    event.serial = object->serial;
    event.site = object->site;
    event.size = object->size;
    event.generation = object->generation;
    event.ordinal = object->events++;
  } else if (dead) {
    event.serial = dead->serial;
    event.site = dead->site;
    event.size = drain_sites(d)[dead->site].size;
    event.generation = drain_generation_of(d, dead->birth);
    event.ordinal = drain_recall(d, record->value)->events++;
    event.died = dead->died;
  } else {
    return;
  }
  event.class = drain_sites(d)[event.site].class;
  event.kind = LIFESPAN_EVENT_MISUSE;
  event.flavour = (uint8_t)(record->xa >> 32);
  event.stack = (uint32_t)record->xa;
  event.amount = 0;
  event.count_before = (int64_t)(record->xb & UINT32_MAX);
  drain_emit(d, &event);
}

static void repair_attach_living(struct lifespan_drain *d, const struct drain_record *record, uint64_t key) {
  struct drain_object *object = drain_living_find(&d->living, key);
  if (!object) return;
  if (object->pictured != d->picture_bit) drain_next_picture(d, object);
  struct drain_event event = {.stamp = record->stamp,
                              .address = key,
                              .serial = object->serial,
                              .task = record->task,
                              .size = object->size,
                              .site = object->site,
                              .class = drain_sites(d)[object->site].class,
                              .thread = record->thread,
                              .generation = object->generation,
                              .ordinal = object->events++};
  drain_count(object, record);
  drain_refcount(d, record, &event);
}

static struct drain_waiting *repair_append(struct lifespan_drain *d, const struct drain_record *record) {
  if (d->waiting_count == DRAIN_WAITING) drain_waiting_expire(d, UINT64_MAX);
  struct drain_waiting *waiting = &d->waiting[d->waiting_count++];
  *waiting = (struct drain_waiting){.record = *record, .round = d->round, .distance = UINT64_MAX};
  return waiting;
}

static void repair_take_out(struct lifespan_drain *d, uint32_t at) {
  memmove(&d->waiting[at], &d->waiting[at + 1], (--d->waiting_count - at) * sizeof(*d->waiting));
}

// A birth on an address that is taken.
void drain_wait(struct lifespan_drain *d, const struct drain_record *record) { repair_append(d, record); }

// A retain or release that no object's lifetime holds: at once to a near one, or it waits for a birth.
void drain_orphan(struct lifespan_drain *d, const struct drain_record *record) {
  struct drain_object *object = drain_living_find(&d->living, record->value);
  const struct drain_recent *dead = drain_recall(d, record->value);
  uint64_t to_dead = UINT64_MAX, to_birth = UINT64_MAX;
  if (dead && record->stamp + d->microsecond >= dead->birth) to_dead = repair_distance(dead->end, record->stamp);
  if (object) {
    to_birth = repair_distance(record->stamp, object->stamp);
    if (to_birth <= d->microsecond && to_birth < to_dead) return repair_attach_living(d, record, record->value);
  }
  if (to_dead == 0 || (object && to_dead <= d->microsecond)) return repair_attach_dead(d, record, dead);
  if (object) {
    d->counts.unattached++;
    return;
  }
  struct drain_recent copy = dead ? *dead : (struct drain_recent){0}; // making room may overwrite it
  struct drain_waiting *waiting = repair_append(d, record);
  waiting->orphan = true;
  waiting->distance = to_dead;
  waiting->dead = copy;
}

static void repair_settle_orphan(struct lifespan_drain *d, const struct drain_waiting *orphan) {
  if (orphan->distance <= d->microsecond) return repair_attach_dead(d, &orphan->record, &orphan->dead);
  d->counts.unattached++;
}

// An object was born: the orphans of its address that it is nearer to than the dead one are its own.
void drain_waiting_born(struct lifespan_drain *d, const struct drain_object *object) {
  uint64_t key = object->key, stamp = object->stamp;
  for (uint32_t i = 0; i < d->waiting_count;) {
    if (!d->waiting[i].orphan || d->waiting[i].record.value != key) {
      i++;
      continue;
    }
    struct drain_waiting orphan = d->waiting[i];
    repair_take_out(d, i);
    uint64_t distance = repair_distance(orphan.record.stamp, stamp);
    if (distance <= d->microsecond && distance <= orphan.distance) {
      repair_attach_living(d, &orphan.record, key);
    } else {
      repair_settle_orphan(d, &orphan);
    }
  }
}

static uint32_t repair_birth_at(const struct lifespan_drain *d, uint64_t address) {
  for (uint32_t i = 0; i < d->waiting_count; i++) {
    if (!d->waiting[i].orphan && d->waiting[i].record.value == address && d->waiting[i].record.kind == LIFESPAN_R_BIRTH)
      return i;
  }
  return UINT32_MAX;
}

static uint32_t repair_first_at(const struct lifespan_drain *d, uint64_t address) {
  for (uint32_t i = 0; i < d->waiting_count; i++) {
    if (!d->waiting[i].orphan && d->waiting[i].record.value == address) return i;
  }
  return UINT32_MAX;
}

// Applies the waiting birth of the address and what waits behind it. The address is free by now, or freed here. One
// record at a time: a hook's thread may have little stack.
static void repair_release(struct lifespan_drain *d, uint64_t address) {
  for (uint32_t at = repair_first_at(d, address); at != UINT32_MAX; at = repair_first_at(d, address)) {
    struct drain_record record = d->waiting[at].record;
    repair_take_out(d, at);
    if (record.kind != LIFESPAN_R_BIRTH) {
      drain_dispatch(d, &record);
      continue;
    }
    struct drain_object *old = drain_living_find(&d->living, address);
    if (old) {
      bool kept = old->state & DRAIN_STATE_KEPT; // its deinit was seen: only the memory went unseen
      drain_end(d, old, &record, kept ? LIFESPAN_EVENT_FREE : LIFESPAN_EVENT_END_NOT_SEEN);
    }
    drain_born(d, &record); // never waits a second time
  }
}

// True: the record has been placed among those that wait, or has resolved one.
bool drain_waiting_takes(struct lifespan_drain *d, const struct drain_record *record) {
  if (record->kind > LIFESPAN_R_DEINIT_START) return false;
  uint32_t at = repair_birth_at(d, record->value);
  if (at == UINT32_MAX) return false;
  switch (record->kind) {
  case LIFESPAN_R_BIRTH: repair_release(d, record->value); return false;
  case LIFESPAN_R_DEATH:
  case LIFESPAN_R_FREE:
    drain_dispatch(d, record);
    if (!drain_living_find(&d->living, record->value)) d->counts.swapped++;
    repair_release(d, record->value);
    return true;
  default:
    if (record->thread != d->waiting[at].record.thread) return false;
    // repair_append may make room by applying the birth: then the record has nothing to wait for.
    if (d->waiting_count == DRAIN_WAITING) {
      drain_waiting_expire(d, UINT64_MAX);
      return false;
    }
    repair_append(d, record);
    return true;
  }
}

// Places what has waited for longer than a microsecond before `stamp`.
void drain_waiting_expire(struct lifespan_drain *d, uint64_t stamp) {
  for (uint32_t i = 0; i < d->waiting_count;) {
    struct drain_waiting *waiting = &d->waiting[i];
    if (stamp != UINT64_MAX && waiting->record.stamp + d->microsecond >= stamp) {
      i++;
      continue;
    }
    if (waiting->orphan) {
      struct drain_waiting orphan = *waiting;
      repair_take_out(d, i);
      repair_settle_orphan(d, &orphan);
    } else {
      repair_release(d, waiting->record.value);
      i = 0; // a release may have settled others
    }
  }
}

// What began to wait in an earlier round waits no longer.
void drain_waiting_end_round(struct lifespan_drain *d) {
  for (uint32_t i = 0; i < d->waiting_count;) {
    if (d->waiting[i].round == d->round) {
      i++;
    } else if (d->waiting[i].orphan) {
      struct drain_waiting orphan = d->waiting[i];
      repair_take_out(d, i);
      repair_settle_orphan(d, &orphan);
    } else {
      repair_release(d, d->waiting[i].record.value);
      i = 0;
    }
  }
}

#endif
