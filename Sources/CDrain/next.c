// The file that takes a running trace's place: with `--keep living` one that holds what lives, as soon as the trace has
// doubled; with a limit on its size one that was begun when half of the room was used, so that it holds the newest half of
// the events. It begins with a picture, is written beside the trace, and takes its name when it is whole: whoever is
// killed at any moment leaves one of the two. Called between records and after rounds; on the thread that holds the drain.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "next.h"

#define KEEP_LEAST (1ull << 20)     // a smaller trace is not worth the work
#define ROUND_BUDGET 2000000u       // ns after a round: rings hold some ten times as much
#define EVENT_BUDGET 4000u          // ns for each event beyond
#define QUEUE_MOST 131072u          // events that wait for the picture
#define LOOK_MASK 63u               // records between two looks at the room

// What is left free for chunks that are held back and the end; small limits are for tests.
static uint64_t space_reserve(const struct lifespan_drain *d) {
  return d->options.max_size / 4 < 256u << 10 ? d->options.max_size / 4 : 256u << 10;
}
static uint64_t space_last_reserve(const struct lifespan_drain *d) { return space_reserve(d) / 4; }
static uint64_t space_size(const struct drain_encoder *e) { return e->bytes_written + drain_encoder_pending(e); }
// By how much a trace grows before it is worth another look: of a small limit a part of the room.
static uint64_t space_step(const struct lifespan_drain *d, uint64_t base) {
  uint64_t least = d->options.keep_least ? d->options.keep_least : KEEP_LEAST;
  if (d->options.max_size && !d->options.keep_living) {
    uint64_t part = d->options.max_size / 16;
    return part < least ? part : least;
  }
  return base > least ? base : least;
}

bool drain_next_busy(const struct lifespan_drain *d) { return d->next && !d->next->done; }

struct drain_encoder *drain_next_rows(const struct lifespan_drain *d) { return d->next ? d->next->encoder : NULL; }

// Until the picture is done it sets the marks itself, each at its place.
struct drain_encoder *drain_next_marks(const struct lifespan_drain *d) {
  return d->next && d->next->done ? d->next->encoder : NULL;
}

void drain_next_event(struct lifespan_drain *d, const struct drain_event *event) {
  struct drain_event copy = *event;
  if (!d->next->done) return drain_picture_add(&d->next->picture, event);
  drain_put(d, d->next->encoder, &copy);
}

void drain_next_picture(struct lifespan_drain *d, struct drain_object *object) {
  drain_picture_collect(d, &d->next->picture, object);
}

void drain_next_missed(struct lifespan_drain *d) { d->next->picture.left--; }

// What the next file does not know had died before it was begun, for it.
uint64_t drain_next_death(const struct lifespan_drain *d, const struct drain_object *object) {
  return object->pictured == d->picture_bit ? d->counts.events : d->next->encoder->since;
}

static void next_free(struct lifespan_drain *d) {
  // Given up in the middle: all are alike again.
  for (uint64_t i = 0; d->next->picture.left && i <= d->living.mask; i++) {
    d->living.slots[i].pictured = d->picture_bit;
  }
  drain_picture_free(&d->next->picture);
  drain_pages_free(d->next, sizeof(*d->next));
  d->next = NULL;
}

void drain_next_abandon(struct lifespan_drain *d) {
  if (!d->next) return;
  d->options.next.abandon(d->options.next.context);
  drain_encoder_destroy(d->next->encoder);
  next_free(d);
}

// The trace goes on as it is, and is looked at again when it has grown as much once more.
static void next_failed(struct lifespan_drain *d, int error) {
  uint64_t bytes = d->encoder ? d->encoder->bytes_written : 0;
  d->space.error = error;
  d->space.again = bytes + space_step(d, bytes);
  drain_next_abandon(d);
}

static struct drain_encoder *next_encoder(struct lifespan_drain *d) {
  const struct lifespan_next *next = &d->options.next;
  struct drain_encoder *e = drain_encoder_create(next->sink, next->context, d->options.ticks_per_unit);
  if (!e) return NULL;
  drain_space_prepare(d, e);
  e->since = d->counts.events;
  return e;
}

// What a file is made with that may be followed by another.
void drain_space_prepare(struct lifespan_drain *d, struct drain_encoder *e) {
  e->compressor = d->options.compressor;
  e->compressor_context = d->options.compressor_context;
  if (!d->options.next.begin) return;
  e->lazy = true;
  if (!d->options.max_size) return;
  // A chunk is at most a small part of the room.
  uint64_t events = d->options.max_size / 256;
  e->chunk_events = events > DRAIN_CHUNK_EVENTS ? DRAIN_CHUNK_EVENTS : events < 256 ? 256 : (uint32_t)events;
}

static bool next_begin(struct lifespan_drain *d, bool at_once) {
  int error = d->options.next.begin(d->options.next.context);
  if (error) {
    next_failed(d, error);
    return false;
  }
  d->next = drain_pages(sizeof(*d->next));
  struct drain_encoder *e = d->next ? next_encoder(d) : NULL;
  d->space.told = 0;
  drain_write_gaps(d);
  drain_prune_gaps(d);
  if (!e || !drain_picture_begin(d, &d->next->picture, e, false)) {
    drain_encoder_destroy(e);
    d->options.next.abandon(d->options.next.context);
    if (d->next) drain_pages_free(d->next, sizeof(*d->next));
    d->next = NULL;
    next_failed(d, ENOMEM);
    return false;
  }
  d->picture_bit ^= 1;
  d->next->encoder = e;
  d->next->at_once = at_once;
  drain_begin_trace(d, e);
  static const uint8_t kept[] = {LIFESPAN_CHUNK_INFO,           LIFESPAN_CHUNK_IMAGES,  LIFESPAN_CHUNK_THREADS,
                                 LIFESPAN_CHUNK_THREAD_ORIGINS, LIFESPAN_CHUNK_SAMPLES, LIFESPAN_CHUNK_GAPS,
                                 LIFESPAN_CHUNK_RECORDING};
  for (size_t i = 0; i < sizeof(kept); i++)
    drain_encoder_add_rows(e, kept[i], &d->kept[kept[i]], d->kept_rows[kept[i]]);
  return true;
}

static void next_info(struct drain_encoder *e, const char *key, const char *value) {
  drain_row_string(e, LIFESPAN_CHUNK_INFO, key, strlen(key));
  drain_row_string(e, LIFESPAN_CHUNK_INFO, value, strlen(value));
  drain_row_done(e, LIFESPAN_CHUNK_INFO);
}

// What was discarded, and until when; of the trace alone, not kept for another one.
static void next_tell_discarded(struct lifespan_drain *d) {
  struct drain_successor *n = d->next;
  char digits[DRAIN_DIGITS];
  next_info(n->encoder, "discarded.by", d->options.keep_living ? "keep living" : "max size");
  next_info(n->encoder, "discarded.before", drain_digits((uint64_t)drain_since_start(d, d->newest), digits));
  next_info(n->encoder, "discarded.events", drain_digits(d->counts.events - n->encoder->events, digits));
  if (n->picture.dropped) next_info(n->encoder, "history.dropped", drain_digits(n->picture.dropped, digits));
}

static bool next_take_place(struct lifespan_drain *d) {
  struct drain_successor *n = d->next;
  struct drain_encoder *e = n->encoder;
  drain_encoder_close_events(e);
  drain_encoder_write_rest(e);
  int error = e->error ? e->error : d->options.next.commit(d->options.next.context);
  if (error) {
    next_failed(d, error);
    return false;
  }
  e->sink = d->options.sink;
  e->sink_context = d->options.sink_context;
  drain_encoder_destroy(d->encoder);
  drain_encoder_destroy(d->space.parked);
  d->encoder = e;
  d->space = (struct drain_space){.base = n->base, .again = n->base + space_step(d, n->base), .gap = d->space.gap};
  next_free(d);
  d->renewed++;
  if (d->site_index.count > 4 * (uint64_t)e->site_count + DRAIN_SITES_LOOSE) drain_prune_sites(d);
  return true;
}

// Works on the picture; when it is done the file stands in for the trace, now or later.
static void next_work(struct lifespan_drain *d, uint64_t budget) {
  struct drain_successor *n = d->next;
  if (n->done) return;
  if (!drain_picture_step(d, &n->picture, budget)) return;
  if (n->picture.failed) return next_failed(d, ENOMEM);
  drain_picture_totals(d, &n->picture);
  drain_prune_tasks(d, &n->picture);
  drain_encoder_add_rows(n->encoder, LIFESPAN_CHUNK_TASKS, &d->kept[LIFESPAN_CHUNK_TASKS],
                         d->kept_rows[LIFESPAN_CHUNK_TASKS]);
  next_tell_discarded(d);
  drain_encoder_close_events(n->encoder);
  drain_encoder_write_rest(n->encoder);
  drain_frozen_tell(d, n->encoder);
  drain_picture_free(&n->picture);
  n->done = true;
  n->base = n->encoder->bytes_written;
  if (n->encoder->error) return next_failed(d, n->encoder->error);
  uint64_t limit = d->options.max_size;
  if (limit && n->base + space_reserve(d) > limit - limit / 8) {
    n->too_large = true;
  } else if (n->at_once) {
    next_take_place(d);
  }
}

// ---- A limit ----------------------------------------------------------------------------------------------------------
static void space_fill(struct lifespan_drain *d) {
  drain_next_abandon(d);
  d->space.full = true;
  d->space.living_when_full = d->living.used;
}

// Births are not recorded; deaths are, as long as there is room. When a quarter is gone it may fit again.
static void space_full(struct lifespan_drain *d) {
  if (d->next && d->next->done && d->next->too_large) space_fill(d);
  if (!d->next && d->living.used < d->space.living_when_full - d->space.living_when_full / 4) {
    d->space.living_when_full = d->living.used;
    next_begin(d, true);
  }
  if (!d->encoder || space_size(d->encoder) + space_last_reserve(d) < d->options.max_size) return;
  drain_encoder_close_events(d->encoder);
  drain_encoder_write_rest(d->encoder);
  d->space.parked = d->encoder;
  d->encoder = NULL;
}

// There is no room left. The file that has been begun takes the place, or, when too much has happened since then, one of what
// lives now. False: that does not fit either.
static bool space_renew(struct lifespan_drain *d) {
  uint64_t before = d->renewed;
  if (d->next) next_work(d, DRAIN_PICTURE_ALL);
  if (d->next && d->next->done && !d->next->too_large) next_take_place(d);
  if (d->renewed != before) return true;
  drain_next_abandon(d);
  if (next_begin(d, true)) next_work(d, DRAIN_PICTURE_ALL);
  return d->renewed != before;
}

static void space_limit(struct lifespan_drain *d) {
  if (d->space.full) return space_full(d);
  if (!d->encoder) return;
  uint64_t limit = d->options.max_size, base = d->space.base, size = space_size(d->encoder);
  struct drain_successor *n = d->next;
  if (!n) {
    uint64_t room = limit - space_reserve(d);
    bool half = size >= base + (room > base ? (room - base) / 2 : 0) && size >= d->space.again;
    if (half && !d->options.keep_living) next_begin(d, false);
    n = d->next;
  }
  if (n && n->done && !n->too_large && space_size(n->encoder) + space_reserve(d) >= limit - limit / 8) {
    next_take_place(d);
  } else if (size + space_reserve(d) >= limit && !space_renew(d)) {
    space_fill(d);
  }
}

uint64_t lifespan_drain_renewed(const struct lifespan_drain *d, int *error) {
  if (error) *error = d->space.error;
  return d->renewed;
}

void drain_space_look(struct lifespan_drain *d) {
  if (drain_next_busy(d) && drain_picture_waiting(&d->next->picture) > QUEUE_MOST) next_work(d, EVENT_BUDGET);
  if (d->options.max_size && !(++d->space.looks & LOOK_MASK)) space_limit(d);
}

void drain_space_round(struct lifespan_drain *d) {
  if (!d->options.next.begin || d->error) return;
  uint64_t budget = d->options.picture_budget ? d->options.picture_budget : ROUND_BUDGET;
  if (drain_next_busy(d)) next_work(d, budget);
  if (d->options.max_size) space_limit(d);
  if (!d->options.keep_living || d->next || !d->encoder || d->space.full) return;
  uint64_t due = d->space.again ? d->space.again : space_step(d, 0);
  if (d->encoder->bytes_written >= due) next_begin(d, true);
}

void drain_space_finish(struct lifespan_drain *d) {
  if (!d->options.next.begin) return;
  d->space.told = 0;
  drain_next_abandon(d);
  if ((d->options.keep_living || d->space.parked) && !d->error && next_begin(d, true)) {
    next_work(d, DRAIN_PICTURE_ALL);
    drain_next_abandon(d); // of a limit: it does not fit
  }
  if (!d->space.parked) return;
  d->encoder = d->space.parked;
  d->space.parked = NULL;
  d->space.gap.deaths += d->space.unwritten;
  d->space.gap.to = d->newest;
  if (!d->space.gap.from) d->space.gap.from = d->newest;
  d->counts.lost += d->space.unwritten;
}

#endif
