// The state as a whole trace: every living object with its birth, the whole life of the dead ones whose birth the
// history still holds, totals for the rest. A reader that counts it gets what the tables say. Called by the linked
// door, and by ask.c for a program under `lifespan record`.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

struct save_object { // a living object whose birth is older than the history
  uint64_t serial;
  const struct drain_object *object;
  uint64_t address;       // before the first move that the history holds
  uint32_t site;          // the same
  uint32_t held;          // events of it in the history
  bool moved, deinit;     // such an event is in the history
};
struct save_rest { // of a row: what the file has no events for
  uint64_t births, bytes;
};

struct save {
  struct lifespan_drain *d;
  struct drain_encoder *encoder;
  struct save_object *objects;
  struct save_rest *rest;
  size_t count, row_count;
  uint64_t first_serial; // births from here on are in the history
  uint32_t marks;
};

static void save_sift(struct save_object *objects, size_t count, size_t at) {
  struct save_object moving = objects[at];
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && objects[child + 1].serial > objects[child].serial) child++;
    if (objects[child].serial <= moving.serial) break;
    objects[at] = objects[child];
    at = child;
  }
  objects[at] = moving;
}

// Heap sort: libc's qsort may call malloc. Who waits for us sees that we are at work.
static void save_sort(struct lifespan_map *map, struct save_object *objects, size_t count) {
  for (size_t i = count / 2; i-- > 0;) save_sift(objects, count, i);
  for (size_t end = count; end-- > 1;) {
    struct save_object last = objects[end];
    objects[end] = objects[0];
    objects[0] = last;
    save_sift(objects, end, 0);
    if (!(end & 0xffff)) atomic_fetch_add_explicit(&map->consumer_beat, 1, memory_order_relaxed);
  }
}

static struct save_object *save_find(const struct save *s, uint64_t serial) {
  size_t low = 0, high = s->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->objects[middle].serial < serial) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < s->count && s->objects[low].serial == serial ? &s->objects[low] : NULL;
}

static uint64_t save_first_serial(const struct lifespan_drain *d) {
  const struct drain_history *h = &d->history;
  for (uint64_t i = drain_history_first(h); h->room && i < h->total; i++) {
    if (drain_history_at(h, i)->kind == LIFESPAN_EVENT_BIRTH) return drain_history_at(h, i)->serial;
  }
  return d->counts.births + 1;
}

static void save_collect(struct save *s) {
  const struct drain_living *living = &s->d->living;
  for (uint64_t i = 0; i <= living->mask; i++) {
    const struct drain_object *object = &living->slots[i];
    if (!object->key || object->serial >= s->first_serial) continue;
    s->objects[s->count++] = (struct save_object){
        .serial = object->serial, .object = object, .address = object->key & LIFESPAN_VALUE_MASK, .site = object->site};
  }
  save_sort(s->d->map, s->objects, s->count);
}

// What the history holds of the older objects: where they were before.
static void save_look_back(struct save *s) {
  const struct drain_history *h = &s->d->history;
  for (uint64_t i = drain_history_first(h); h->room && i < h->total; i++) {
    const struct drain_event *event = drain_history_at(h, i);
    if (event->serial >= s->first_serial) continue;
    struct save_object *object = save_find(s, event->serial);
    if (!object) continue;
    object->held++;
    if (event->kind == LIFESPAN_EVENT_DEINIT) object->deinit = true;
    if (event->kind != LIFESPAN_EVENT_MOVED || object->moved) continue;
    object->moved = true;
    object->address = event->old_address;
    object->site = event->old_site;
  }
}

static struct save_rest *save_rest_of(struct save *s, uint32_t site, uint32_t generation) {
  const struct drain_row *row = drain_row_of(s->d, drain_sites(s->d)[site].type, generation);
  return row ? &s->rest[row - drain_rows(s->d)] : NULL;
}

// The file tells of the object in the old site's row and then in the new one's; the rest has it in the new one's alone.
static void save_moved(struct save *s, const struct drain_event *event, struct save_rest *now) {
  struct save_rest *before = save_rest_of(s, event->old_site, event->generation);
  if (!now || !before) return;
  now->births--;
  now->bytes -= event->size;
  before->births++;
  before->bytes += drain_sites(s->d)[event->old_site].size;
}

// Takes an event that goes into the file out of the rest.
static void save_emit(struct save *s, const struct drain_event *event) {
  struct save_rest *rest = save_rest_of(s, event->site, event->generation);
  if (rest && event->kind == LIFESPAN_EVENT_BIRTH) {
    rest->births--;
    rest->bytes -= event->size;
  } else if (event->kind == LIFESPAN_EVENT_MOVED) {
    save_moved(s, event, rest);
  }
  drain_encode(s->encoder, event);
}

static void save_old_object(struct save *s, const struct save_object *old) {
  const struct drain_object *object = old->object;
  const struct drain_site *site = &drain_sites(s->d)[old->site];
  struct drain_event event = {.stamp = object->stamp,
                              .address = old->address,
                              .serial = object->serial,
                              .size = site->size,
                              .count_before = -1,
                              .site = old->site,
                              .class = site->class,
                              .thread = object->thread,
                              .generation = object->generation,
                              .kind = LIFESPAN_EVENT_BIRTH};
  save_emit(s, &event);
  // What happened to it before the history begins has no time of its own any more: it is born as it was then.
  if (object->state & DRAIN_STATE_KEPT && !old->deinit) {
    event.kind = LIFESPAN_EVENT_DEINIT;
    save_emit(s, &event);
  }
}

static void save_marks(struct save *s, bool by_serial, uint64_t reached) {
  for (; s->marks < s->d->mark_count; s->marks++) {
    const struct drain_mark *mark = &drain_marks(s->d)[s->marks];
    if (by_serial ? mark->serial_before >= reached : mark->events_before > reached) return;
    drain_mark_row(s->d, s->encoder, s->marks);
  }
}

static void save_events(struct save *s) {
  for (size_t i = 0; i < s->count; i++) {
    save_marks(s, true, s->objects[i].serial);
    save_old_object(s, &s->objects[i]);
  }
  const struct drain_history *h = &s->d->history;
  for (uint64_t i = drain_history_first(h); h->room && i < h->total; i++) {
    const struct drain_event *event = drain_history_at(h, i);
    if (event->serial < s->first_serial && !save_find(s, event->serial)) continue;
    save_marks(s, false, i);
    save_emit(s, event);
  }
  save_marks(s, false, UINT64_MAX);
}

// Events of the objects in the file that are in it no more: not in the history, and not told again by save_old_object.
static uint64_t save_dropped(const struct save *s) {
  uint64_t dropped = 0;
  for (size_t i = 0; i < s->count; i++) {
    const struct save_object *old = &s->objects[i];
    bool ended = old->object->state & DRAIN_STATE_KEPT && !old->deinit;
    uint64_t told = 1ull + old->held + ended;
    if (old->object->events > told) dropped += old->object->events - told;
  }
  return dropped;
}

static void save_info(struct save *s, const char *key, const char *value) {
  drain_row_string(s->encoder, LIFESPAN_CHUNK_INFO, key, strlen(key));
  drain_row_string(s->encoder, LIFESPAN_CHUNK_INFO, value, strlen(value));
  drain_row_done(s->encoder, LIFESPAN_CHUNK_INFO);
}

// What the first round could not know: later values of a key replace earlier ones.
static void save_late_info(struct save *s) {
  static const char *const captures[] = {"none", "complete", "partial", "counts-only"};
  const struct lifespan_map *map = s->d->map;
  uint32_t capture = atomic_load_explicit(&map->capture, memory_order_acquire);
  save_info(s, "capture", captures[capture <= LIFESPAN_CAPTURE_COUNTS ? capture : LIFESPAN_CAPTURE_NONE]);
  char reason[sizeof(map->capture_reason) + 1] = {0};
  memcpy(reason, map->capture_reason, sizeof(map->capture_reason));
  if (*reason) save_info(s, "capture.reason", reason);
  char digits[24], *digit = &digits[sizeof(digits) - 1];
  *digit = 0;
  uint64_t dropped = save_dropped(s);
  do {
    *--digit = (char)('0' + dropped % 10);
  } while (dropped /= 10);
  save_info(s, "history.dropped", digit);
}

static void save_facts(struct save *s) {
  struct lifespan_drain *d = s->d;
  struct drain_encoder *e = s->encoder;
  static const uint8_t kept[] = {LIFESPAN_CHUNK_INFO,           LIFESPAN_CHUNK_IMAGES, LIFESPAN_CHUNK_THREADS,
                                 LIFESPAN_CHUNK_THREAD_ORIGINS, LIFESPAN_CHUNK_TASKS,  LIFESPAN_CHUNK_GAPS,
                                 LIFESPAN_CHUNK_RECORDING};
  for (size_t i = 0; i < sizeof(kept); i++)
    drain_encoder_add_rows(e, kept[i], &d->kept[kept[i]], d->kept_rows[kept[i]]);
  save_late_info(s);
  for (uint32_t id = 0; id < d->type_count; id++) {
    if (drain_types(d)[id].kind) drain_type_row(e, id, &drain_types(d)[id], d->names.data);
  }
  for (uint32_t id = 0; id < d->node_count; id++) {
    if (drain_nodes(d)[id].known) drain_node_row(e, id, &drain_nodes(d)[id]);
  }
  for (uint32_t i = 0; i < d->site_index.count; i++) drain_site_row(e, &drain_sites(d)[i]);
  drain_encoder_write_facts(e);
}

static void save_totals(struct save *s) {
  struct drain_encoder *e = s->encoder;
  for (size_t i = 0; i < s->row_count; i++) {
    if (!s->rest[i].births) continue;
    drain_row_varint(e, LIFESPAN_CHUNK_TOTALS, drain_rows(s->d)[i].type);
    drain_row_varint(e, LIFESPAN_CHUNK_TOTALS, drain_rows(s->d)[i].generation);
    drain_row_varint(e, LIFESPAN_CHUNK_TOTALS, s->rest[i].births);
    drain_row_varint(e, LIFESPAN_CHUNK_TOTALS, s->rest[i].bytes);
    drain_row_done(e, LIFESPAN_CHUNK_TOTALS);
  }
}

static int save_write(struct save *s) {
  struct lifespan_drain *d = s->d;
  struct drain_encoder *e = s->encoder;
  e->with_serials = true;
  drain_write_gaps(d);
  for (size_t i = 0; i < s->row_count; i++) {
    s->rest[i] = (struct save_rest){drain_rows(d)[i].births, drain_rows(d)[i].bytes};
  }
  s->first_serial = save_first_serial(d);
  save_collect(s);
  save_look_back(s);
  drain_begin_trace(d, e);
  save_facts(s);
  save_events(s);
  drain_encoder_close_events(e);
  save_totals(s);
  drain_end_rows(d, e, true, 0);
  drain_encoder_write_rest(e);
  return e->error;
}

int lifespan_drain_save(struct lifespan_drain *d, lifespan_sink sink, void *context) {
  if (!d->begun) return EAGAIN;
  struct save save = {.d = d, .row_count = d->row_index.count};
  size_t objects = (d->living.used + 1) * sizeof(*save.objects), rest = (save.row_count + 1) * sizeof(*save.rest);
  save.encoder = drain_encoder_create(sink, context, d->options.ticks_per_unit);
  save.objects = drain_pages(objects);
  save.rest = drain_pages(rest);
  int error = save.encoder && save.objects && save.rest ? save_write(&save) : ENOMEM;
  drain_pages_free(save.objects, objects);
  drain_pages_free(save.rest, rest);
  drain_encoder_destroy(save.encoder);
  return error;
}

#endif
