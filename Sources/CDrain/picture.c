// A picture of what lives, told to an encoder (picture.h): births in the order of their serials, then what the history
// holds of their events, then what came since the picture was taken.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "picture.h"

// Nanoseconds, about; measured with a million living objects on a slow machine.
#define COST_COLLECT 40u
#define COST_SORT 20u
#define COST_FIND 400u
#define COST_TELL 200u
#define PIECE 4096u
#define AHEAD 8u

static struct drain_event *picture_events(const struct drain_picture *p) { return (struct drain_event *)p->events.data; }

static uint64_t picture_first_serial(const struct drain_picture *p, uint64_t births) {
  const struct drain_event *events = picture_events(p);
  for (uint64_t i = 0; i < p->held; i++) {
    if (events[i].kind == LIFESPAN_EVENT_BIRTH) return events[i].serial;
  }
  return births + 1;
}

static bool picture_copy_history(const struct drain_history *h, struct drain_picture *p) {
  if (!h->room) return true;
  uint64_t first = drain_history_first(h);
  p->held = h->total - first;
  if (!drain_reserve(&p->events, p->held * sizeof(struct drain_event))) return false;
  size_t at = first % h->room, tail = h->room - at < p->held ? h->room - at : p->held;
  drain_append(&p->events, h->events + at, tail * sizeof(struct drain_event));
  return drain_append(&p->events, h->events, (p->held - tail) * sizeof(struct drain_event));
}

void drain_picture_collect(struct lifespan_drain *d, struct drain_picture *p, struct drain_object *object) {
  if (!p->keeps_dead) object->pictured = d->picture_bit;
  p->left--;
  if (p->keeps_dead && object->serial >= p->first_serial) return;
  drain_picture_count(p, object->serial);
  p->order[p->count] = (struct drain_order){object->serial, p->count};
  p->objects[p->count++] = (struct drain_pictured){.serial = object->serial,
                                                   .stamp = object->stamp,
                                                   .task = object->task,
                                                   .address = drain_address(object->key),
                                                   .site = object->site,
                                                   .generation = object->generation,
                                                   .thread = object->thread,
                                                   .events = object->events,
                                                   .kept = object->state & DRAIN_STATE_KEPT};
}

// A piece of the living table. It changes between the pieces: what is moved behind us by a deletion is found in another walk.
static uint64_t picture_walk(struct lifespan_drain *d, struct drain_picture *p, uint64_t most) {
  struct drain_living *living = &d->living;
  if (!p->left) return 0;
  if (p->mask != living->mask || p->at > living->mask) p->at = 0;
  p->mask = living->mask;
  uint64_t from = p->at, end = living->mask + 1 - from < most ? living->mask + 1 : from + most;
  for (; p->at < end; p->at++) {
    struct drain_object *object = &living->slots[p->at];
    if (!object->key || (!p->keeps_dead && object->pictured == d->picture_bit)) continue;
    drain_picture_collect(d, p, object);
  }
  return end - from;
}

bool drain_picture_begin(struct lifespan_drain *d, struct drain_picture *p, struct drain_encoder *encoder,
                         bool keeps_dead) {
  memset(p, 0, sizeof(*p));
  p->encoder = encoder;
  p->keeps_dead = keeps_dead;
  p->left = d->living.used;
  p->room = d->living.used + 1;
  p->row_count = d->row_index.count;
  p->newest_serial = d->counts.births;
  p->objects = drain_pages(p->room * sizeof(*p->objects));
  p->order = drain_pages(p->room * sizeof(*p->order));
  p->spare = drain_pages(p->room * sizeof(*p->spare));
  p->rest = drain_pages((p->row_count + 1) * sizeof(*p->rest));
  if (!p->objects || !p->order || !p->spare || !p->rest || !picture_copy_history(&d->history, p)) {
    drain_picture_free(p);
    return false;
  }
  p->first_event = d->counts.events - p->held;
  p->first_serial = picture_first_serial(p, d->counts.births);
  for (size_t i = 0; i < p->row_count; i++) {
    p->rest[i] = (struct drain_rest){drain_rows(d)[i].births, drain_rows(d)[i].bytes};
  }
  encoder->with_serials = true;
  return true;
}

void drain_picture_free(struct drain_picture *p) {
  drain_pages_free(p->objects, p->room * sizeof(*p->objects));
  drain_pages_free(p->order, p->room * sizeof(*p->order));
  drain_pages_free(p->spare, p->room * sizeof(*p->spare));
  drain_pages_free(p->rest, (p->row_count + 1) * sizeof(*p->rest));
  drain_bytes_free(&p->events);
  p->objects = NULL;
  p->order = p->spare = NULL;
  p->rest = NULL;
}

void drain_picture_add(struct drain_picture *p, const struct drain_event *event) {
  if (!drain_append(&p->events, event, sizeof(*event))) p->failed = true;
}

// What the history holds of the older objects: where they were before.
static void picture_look_back(struct drain_picture *p, const struct drain_event *event) {
  if (event->serial >= p->first_serial) return;
  struct drain_pictured *object = drain_picture_find(p, event->serial);
  if (!object) return;
  object->held++;
  if (event->kind == LIFESPAN_EVENT_DEINIT) object->deinit = true;
  if (event->kind != LIFESPAN_EVENT_MOVED || object->moved) return;
  object->moved = true;
  object->address = event->old_address;
  object->site = event->old_site;
}

static struct drain_rest *picture_rest(struct lifespan_drain *d, struct drain_picture *p, uint32_t site,
                                       uint32_t generation) {
  const struct drain_row *row = drain_row_of(d, drain_sites(d)[site].type, generation);
  return row ? &p->rest[row - drain_rows(d)] : NULL;
}

// The file tells of the object in the old site's row and then in the new one's; the rest has it in the new one's alone.
static void picture_moved(struct lifespan_drain *d, struct drain_picture *p, const struct drain_event *event) {
  struct drain_rest *before = picture_rest(d, p, event->old_site, event->generation);
  struct drain_rest *now = picture_rest(d, p, event->site, event->generation);
  if (!now || !before) return;
  now->births--;
  now->bytes -= event->size;
  before->births++;
  before->bytes += drain_sites(d)[event->old_site].size;
}

// Takes an event that goes into the file out of the rest.
static void picture_tell_older(struct lifespan_drain *d, struct drain_picture *p, struct drain_event *event) {
  struct drain_rest *rest = picture_rest(d, p, event->site, event->generation);
  if (rest && event->kind == LIFESPAN_EVENT_BIRTH) {
    rest->births--;
    rest->bytes -= event->size;
  } else if (event->kind == LIFESPAN_EVENT_MOVED) {
    picture_moved(d, p, event);
  }
  drain_put(d, p->encoder, event);
}

static void picture_marks(struct lifespan_drain *d, struct drain_picture *p, bool by_serial, uint64_t reached) {
  for (; p->marks < d->mark_count; p->marks++) {
    const struct drain_mark *mark = &drain_marks(d)[p->marks];
    if (by_serial ? mark->serial_before >= reached : mark->events_before > reached) return;
    drain_mark_row(d, p->encoder, p->marks);
  }
}

static void picture_object(struct lifespan_drain *d, struct drain_picture *p, const struct drain_pictured *object) {
  const struct drain_site *site = &drain_sites(d)[object->site];
  struct drain_event event = {.stamp = object->stamp,
                              .address = object->address,
                              .serial = object->serial,
                              .task = object->task,
                              .size = site->size,
                              .count_before = -1,
                              .site = object->site,
                              .class = site->class,
                              .thread = object->thread,
                              .generation = object->generation,
                              .kind = LIFESPAN_EVENT_BIRTH};
  uint64_t told = 1ull + object->held;
  picture_marks(d, p, true, object->serial);
  picture_tell_older(d, p, &event);
  // What happened to it before the history begins has no time of its own any more: it is born as it was then.
  if (object->kept && !object->deinit) {
    event.kind = LIFESPAN_EVENT_DEINIT;
    picture_tell_older(d, p, &event);
    told++;
  }
  if (object->events > told) p->dropped += object->events - told;
}

static void picture_event(struct lifespan_drain *d, struct drain_picture *p, uint64_t number) {
  struct drain_event *event = &picture_events(p)[number];
  if (number == p->held && !p->keeps_dead) {
    // From here on serials have no holes any more.
    drain_encoder_close_events(p->encoder);
    p->encoder->with_serials = false;
    p->encoder->last_serial = p->newest_serial;
  }
  if (number < p->held) {
    bool whole = p->keeps_dead && event->serial >= p->first_serial;
    if (!whole && !drain_picture_find(p, event->serial)) return;
    picture_marks(d, p, false, p->first_event + number);
    return picture_tell_older(d, p, event);
  }
  picture_marks(d, p, false, p->first_event + number);
  drain_put(d, p->encoder, event);
}

static void picture_next_phase(struct drain_picture *p) {
  if (p->phase == DRAIN_PICTURE_SORT) {
    drain_pages_free(p->spare, p->room * sizeof(*p->spare));
    p->spare = NULL;
  }
  p->phase++;
  p->at = 0;
}

static uint64_t picture_most(uint64_t budget, uint64_t cost) {
  uint64_t most = budget / cost + 1;
  return most < PIECE ? most : PIECE;
}

// One piece of the phase, for at most about that much; returns what it cost, 0: the phase is over.
static uint64_t picture_piece(struct lifespan_drain *d, struct drain_picture *p, uint64_t budget) {
  uint64_t from = p->at, end, all;
  switch (p->phase) {
  case DRAIN_PICTURE_COLLECT: return picture_walk(d, p, picture_most(budget, COST_COLLECT)) * COST_COLLECT;
  case DRAIN_PICTURE_SORT: return drain_picture_sort(p, picture_most(budget, COST_SORT)) * COST_SORT;
  case DRAIN_PICTURE_LOOK_BACK:
    end = from + picture_most(budget, COST_FIND);
    for (; p->at < p->held && p->at < end; p->at++) picture_look_back(p, &picture_events(p)[p->at]);
    return (p->at - from) * COST_FIND;
  case DRAIN_PICTURE_OBJECTS:
    end = from + picture_most(budget, COST_TELL);
    for (; p->at < p->count && p->at < end && p->order[p->at].serial < p->first_serial; p->at++) {
      // The order of serials is none of the memory.
      if (p->at + AHEAD < p->count) __builtin_prefetch(&p->objects[p->order[p->at + AHEAD].object]);
      picture_object(d, p, &p->objects[p->order[p->at].object]);
    }
    return (p->at - from) * COST_TELL;
  case DRAIN_PICTURE_EVENTS:
    end = from + picture_most(budget, COST_FIND);
    all = p->events.used / sizeof(struct drain_event);
    for (; p->at < all && p->at < end; p->at++) picture_event(d, p, p->at);
    return (p->at - from) * COST_FIND;
  default: return 0;
  }
}

bool drain_picture_step(struct lifespan_drain *d, struct drain_picture *p, uint64_t budget) {
  while (p->phase != DRAIN_PICTURE_DONE) {
    uint64_t cost = picture_piece(d, p, budget);
    if (!cost) {
      picture_next_phase(p);
      continue;
    }
    // Who waits for us sees that we are at work.
    atomic_fetch_add_explicit(&d->map->consumer_beat, 1, memory_order_relaxed);
    if (budget != DRAIN_PICTURE_ALL && cost >= budget) return false;
    if (budget != DRAIN_PICTURE_ALL) budget -= cost;
  }
  picture_marks(d, p, false, UINT64_MAX);
  if (!p->keeps_dead && p->encoder->with_serials) {
    drain_encoder_close_events(p->encoder);
    p->encoder->with_serials = false;
    p->encoder->last_serial = p->newest_serial;
  }
  return true;
}

void drain_picture_totals(struct lifespan_drain *d, struct drain_picture *p) {
  struct drain_encoder *e = p->encoder;
  for (size_t i = 0; i < p->row_count; i++) {
    if (!p->rest[i].births) continue;
    drain_tell_type(d, e, drain_rows(d)[i].type);
    drain_row_varint(e, LIFESPAN_CHUNK_TOTALS, drain_rows(d)[i].type);
    drain_row_varint(e, LIFESPAN_CHUNK_TOTALS, drain_rows(d)[i].generation);
    drain_row_varint(e, LIFESPAN_CHUNK_TOTALS, p->rest[i].births);
    drain_row_varint(e, LIFESPAN_CHUNK_TOTALS, p->rest[i].bytes);
    drain_row_done(e, LIFESPAN_CHUNK_TOTALS);
  }
}

#endif
