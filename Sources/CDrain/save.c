// The state as a whole trace: every living object with its birth, the whole life of the dead ones whose birth the
// history still holds, totals for the rest. A reader that counts it gets what the tables say. Called by the linked
// door, and by ask.c for a program under `lifespan record`.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "picture.h"

struct save {
  struct lifespan_drain *d;
  struct drain_encoder *encoder;
  struct drain_picture picture;
};

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
}

static void save_dropped(struct save *s) {
  char digits[DRAIN_DIGITS];
  save_info(s, "history.dropped", drain_digits(s->picture.dropped, digits));
}

static void save_facts(struct save *s) {
  struct lifespan_drain *d = s->d;
  struct drain_encoder *e = s->encoder;
  static const uint8_t kept[] = {LIFESPAN_CHUNK_INFO,           LIFESPAN_CHUNK_IMAGES, LIFESPAN_CHUNK_THREADS,
                                 LIFESPAN_CHUNK_THREAD_ORIGINS, LIFESPAN_CHUNK_TASKS,  LIFESPAN_CHUNK_GAPS,
                                 LIFESPAN_CHUNK_RECORDING,      LIFESPAN_CHUNK_SAMPLES};
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

static int save_write(struct save *s) {
  struct lifespan_drain *d = s->d;
  struct drain_encoder *e = s->encoder;
  drain_write_gaps(d);
  if (!drain_picture_begin(d, &s->picture, e, true)) return ENOMEM;
  drain_begin_trace(d, e);
  save_facts(s);
  drain_picture_step(d, &s->picture, DRAIN_PICTURE_ALL);
  drain_encoder_close_events(e);
  save_dropped(s);
  drain_picture_totals(d, &s->picture);
  drain_end_rows(d, e, true, 0);
  drain_encoder_write_facts(e);
  drain_encoder_write_rest(e);
  drain_picture_free(&s->picture);
  return e->error;
}

int lifespan_drain_save(struct lifespan_drain *d, lifespan_sink sink, void *context) {
  if (!d->begun) return EAGAIN;
  struct save *save = drain_pages(sizeof(*save)); // a hook's thread may have little stack
  if (!save) return ENOMEM;
  save->d = d;
  save->encoder = drain_encoder_create(sink, context, d->options.ticks_per_unit);
  int error = save->encoder ? save_write(save) : ENOMEM;
  drain_encoder_destroy(save->encoder);
  drain_pages_free(save, sizeof(*save));
  return error;
}

#endif
