// Making and ending a drain, rounds, marks and flushes: the functions of lifespan_drain.h that the doors call. The
// pieces are in the files beside this one.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "next.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FINISH_ROUNDS 64

static bool drain_map_usable(const struct lifespan_drain_options *options) {
  const struct lifespan_map *map = options->map;
  if (map->magic != LIFESPAN_MAP_MAGIC || map->abi != LIFESPAN_ABI) return false;
  uint64_t allocated = atomic_load_explicit(&map->allocated, memory_order_relaxed);
  if (allocated < LIFESPAN_DATA_OFFSET || allocated > LIFESPAN_MAP_VIRTUAL) return false;
  struct stat status;
  return options->file < 0 || (fstat(options->file, &status) == 0 && (uint64_t)status.st_size >= allocated);
}

static bool drain_create_tables(struct lifespan_drain *d) {
  return drain_living_create(&d->living) && drain_index_create(&d->site_index) && drain_index_create(&d->row_index) &&
         drain_index_create(&d->class_index) && drain_history_create(&d->history, d->options.history_events) &&
         (!d->options.sample_pid || drain_heap_create(&d->memory));
}

static struct lifespan_drain *drain_refuse(const struct lifespan_drain_options *options, int error) {
  lifespan_drain_destroy(options->inherits);
  errno = error;
  return NULL;
}

struct lifespan_drain *lifespan_drain_create(const struct lifespan_drain_options *options) {
  if (!drain_map_usable(options)) return drain_refuse(options, EPROTO);
  struct lifespan_drain *d = drain_pages(sizeof(*d));
  if (!d) return drain_refuse(options, ENOMEM);
  d->options = *options;
  d->map = options->map;
  d->allocated = atomic_load_explicit(&d->map->allocated, memory_order_relaxed);
  d->clock = d->map->clock == LIFESPAN_CLOCK_TSC ? LIFESPAN_CLOCK_TSC : LIFESPAN_CLOCK_MONOTONIC;
  drain_pair(LIFESPAN_CLOCK_TSC, &d->pair_stamp, &d->pair_ns);
  bool made = drain_create_tables(d);
  d->living.beat = &d->map->consumer_beat;
  if (made && options->sink) {
    d->encoder = drain_encoder_create(options->sink, options->sink_context, options->ticks_per_unit);
    made = d->encoder;
  }
  if (made) {
    if (d->encoder) drain_space_prepare(d, d->encoder);
    d->commits = options->file >= 0 && d->map->options.rings_file && d->allocated >= LIFESPAN_COMMIT_OFFSET + LIFESPAN_COMMIT_BYTES;
    if (options->inherits) drain_fork_inherit(d, options->inherits);
    return d;
  }
  lifespan_drain_destroy(d);
  return drain_refuse(options, ENOMEM);
}

void lifespan_drain_destroy(struct lifespan_drain *d) {
  if (!d) return;
  while (d->forks) lifespan_drain_destroy(drain_fork_pop(d));
  drain_sample_drop(d);
  drain_next_abandon(d);
  drain_encoder_destroy(d->encoder);
  drain_encoder_destroy(d->space.parked);
  drain_scopes_destroy(d);
  drain_living_destroy(&d->living);
  drain_history_destroy(&d->history);
  drain_bytes_free(&d->look.bytes);
  drain_heap_destroy(&d->memory);
  struct drain_index *indexes[] = {&d->site_index, &d->row_index, &d->class_index};
  for (int i = 0; i < 3; i++) drain_index_destroy(indexes[i]);
  struct drain_bytes *bytes[] = {&d->types, &d->rows, &d->sites, &d->marks, &d->nodes, &d->names, &d->row, &d->saved, &d->regions.nodes, &d->frozen};
  for (int i = 0; i < 10; i++) drain_bytes_free(bytes[i]);
  for (int i = 0; i < (int)LIFESPAN_CHUNK_KINDS; i++) drain_bytes_free(&d->kept[i]);
  drain_pages_free(d, sizeof(*d));
}

static size_t drain_length(const char *text, size_t most) {
  size_t length = 0;
  while (length < most && text[length]) length++;
  return length;
}

static void drain_write_capture(struct lifespan_drain *d) {
  static const char *const names[] = {"none", "complete", "partial", "counts-only"};
  const char *name = names[d->capture <= LIFESPAN_CAPTURE_COUNTS ? d->capture : 0];
  drain_info_row(d, "capture", name, strlen(name));
  size_t reason = drain_length(d->map->capture_reason, sizeof(d->map->capture_reason));
  if (reason) drain_info_row(d, "capture.reason", d->map->capture_reason, reason);
}

// Blocks of malloc alone, to the end or until the runtime came.
static void drain_write_runtime(struct lifespan_drain *d) {
  uint32_t runtime = atomic_load_explicit(&d->map->runtime, memory_order_acquire);
  if (runtime == d->runtime) return;
  d->runtime = runtime;
  const char *word = runtime == LIFESPAN_RUNTIME_NONE ? "none" : "late";
  drain_info_row(d, "swift_runtime", word, strlen(word));
  uint64_t stamp = atomic_load_explicit(&d->map->runtime_stamp, memory_order_relaxed);
  if (runtime != LIFESPAN_RUNTIME_NONE && stamp > d->start)
    drain_info_number(d, "swift_runtime_at_ns", drain_to_ns(stamp - d->start, d->ticks_per_second));
}

// The first round in which the program runs: its facts are in the mapping now.
static void drain_begin(struct lifespan_drain *d) {
  d->begun = d->uncommitted = true;
  d->counts_references |= d->map->options.refcounts != 0;
  drain_history_look(d);
  d->clock = d->map->clock == LIFESPAN_CLOCK_TSC ? LIFESPAN_CLOCK_TSC : LIFESPAN_CLOCK_MONOTONIC;
  d->start = d->inherits ? d->inherited_start : d->map->start_stamp;
  d->start_realtime_ns = d->inherits ? d->inherited_realtime_ns : d->map->start_realtime_ns;
  d->capture = atomic_load_explicit(&d->map->capture, memory_order_acquire);
  uint64_t rate = d->options.ticks_per_second;
  d->ticks_per_second = rate ? rate : drain_rate(d->clock, d->pair_stamp, d->pair_ns);
  d->microsecond = d->ticks_per_second / 1000000 ? d->ticks_per_second / 1000000 : 1;
  if (d->encoder) drain_begin_trace(d, d->encoder);
  drain_info_row(d, "program", d->map->program, drain_length(d->map->program, sizeof(d->map->program)));
  drain_write_capture(d);
  if (d->map->options.malloc_blocks) drain_info_row(d, "malloc", "all", 3);
  if (d->map->options.vm && d->map->door == LIFESPAN_DOOR_PRELOAD) drain_info_row(d, "vm", "all", 3);
  drain_write_runtime(d);
  char date[DRAIN_DATE_ROOM];
  drain_info_row(d, "started_at", date, drain_date(d->start_realtime_ns / 1000000000u, date));
  // A recording that begins paused says so: births before the first "goes on" are not missing by accident.
  if (d->map->options.paused && !d->inherits) drain_recording(d, d->start, 0);
  if (d->inherits) drain_fork_begin(d, d->map->start_stamp);
  if (d->encoder) drain_encoder_write_facts(d->encoder);
  drain_commit_begin(d);
}

static bool drain_ready(struct lifespan_drain *d) {
  if (d->finished) return false;
  if (d->begun) return true;
  if (atomic_load_explicit(&d->map->state, memory_order_acquire) < LIFESPAN_PROGRAM_RUNNING) return false;
  drain_begin(d);
  return true;
}

int64_t lifespan_drain_round(struct lifespan_drain *d) {
  atomic_fetch_add_explicit(&d->map->consumer_beat, 1, memory_order_release);
  bool posted = drain_request_posted(d);
  if (!drain_ready(d)) {
    drain_grow(d);
    if (posted) drain_answer_request(d);
    return d->error ? -d->error : 0;
  }
  uint64_t now = drain_monotonic_ns();
  d->interval_ns = now - d->heads_ns;
  d->heads_ns = now;
  uint32_t sample = drain_sample_asked(d);
  int64_t consumed = drain_round_until(d, drain_now(d->clock));
  drain_commit_due(d);
  if (d->error && consumed >= 0) consumed = -d->error;
  drain_sample_answer(d, sample);
  drain_sample(d);
  if (posted) drain_answer_request(d);
  return consumed;
}

void lifespan_drain_info(struct lifespan_drain *d, const char *key, const char *value) {
  drain_info_row(d, key, value, strlen(value));
}

// Everything up to now is drained first, so that the mark's number and place are decided when this returns.
int64_t lifespan_drain_mark(struct lifespan_drain *d, const char *name, size_t length) {
  if (!drain_ready(d)) return d->finished ? -EPIPE : -EAGAIN;
  uint64_t stamp = drain_now(d->clock);
  int64_t consumed = drain_round_until(d, stamp);
  if (consumed < 0) return consumed;
  int64_t generation = drain_place_mark(d, stamp, name, length);
  if (generation >= 0) atomic_fetch_add_explicit(&d->map->marks, 1, memory_order_relaxed);
  return generation;
}

int lifespan_drain_set_recording(struct lifespan_drain *d, bool on) {
  if (!drain_ready(d)) return d->finished ? -EPIPE : -EAGAIN;
  if (atomic_exchange_explicit(&d->map->recording, on, memory_order_acq_rel) == (uint32_t)on) return 0;
  uint64_t stamp = drain_now(d->clock);
  int64_t consumed = drain_round_until(d, stamp);
  if (consumed < 0) return (int)consumed;
  drain_recording(d, stamp, on);
  return 1;
}

int lifespan_drain_flush(struct lifespan_drain *d) {
  if (!d->encoder || !d->begun) return d->error;
  d->space.told = 0;
  drain_write_gaps(d);
  drain_encoder_close_events(d->encoder);
  drain_encoder_write_rest(d->encoder);
  if (d->encoder->error && !d->error) d->error = d->encoder->error;
  return d->error;
}

int lifespan_drain_finish(struct lifespan_drain *d, bool clean, int exit_status) {
  if (d->finished) return d->error;
  if (!d->begun) drain_begin(d); // a program that never came to run leaves an empty trace
  do {
    drain_fork_last(d);
    for (int i = 0; i < FINISH_ROUNDS && lifespan_drain_round(d) > 0;) i++;
    // What is still held back was stamped a moment ahead of us.
    drain_round_until(d, UINT64_MAX);
  } while (d->fork);
  drain_waiting_expire(d, UINT64_MAX);
  uint32_t capture = atomic_load_explicit(&d->map->capture, memory_order_acquire);
  if (capture != d->capture) {
    d->capture = capture;
    drain_write_capture(d);
  }
  drain_write_runtime(d);
  drain_space_finish(d);
  if (d->encoder) {
    drain_write_gaps(d);
    drain_encoder_close_events(d->encoder);
    drain_end_rows(d, d->encoder, clean, exit_status);
    drain_encoder_write_rest(d->encoder);
    if (d->encoder->error && !d->error) d->error = d->encoder->error;
  }
  d->finished = true;
  return d->error;
}

#endif
