// Events as columns (TraceFormat.md, "7 EVENTS"). Used by the drain for every event and by save.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define FREED_LIMIT 1024u

// Each chunk begins anew: deltas, runs and predictions.
static void events_begin(struct drain_encoder *e, const struct drain_event *event, int64_t time) {
  for (int i = 0; i < DRAIN_COLUMNS; i++) e->ends[i] = e->columns[i];
  e->chunk++;
  e->first_event = e->events;
  e->serial_before = e->last_serial;
  e->base_time = e->last_time = time;
  e->run_thread = event->thread;
  e->run_task = event->task;
  e->run_threads = e->run_tasks = 0;
  e->has_tasks = false;
  e->last_stack = e->last_generation = e->freed_used = 0;
}

static int64_t events_time(const struct drain_encoder *e, uint64_t stamp) {
  int64_t ticks = (int64_t)(stamp - e->start);
  if (e->unit_shift >= 0) return ticks >> e->unit_shift;
  int64_t unit = e->ticks_per_unit, quotient = ticks / unit;
  return quotient - (ticks % unit < 0);
}

static inline void events_put(struct drain_encoder *e, enum drain_column column, uint64_t value) {
  e->ends[column] = drain_varint(e->ends[column], value);
}

static void events_runs(struct drain_encoder *e, const struct drain_event *event) {
  if (event->thread != e->run_thread) {
    events_put(e, DRAIN_THREADS, e->run_threads);
    events_put(e, DRAIN_THREADS, e->run_thread);
    e->run_thread = event->thread;
    e->run_threads = 0;
  }
  e->run_threads++;
  if (event->task != e->run_task) {
    events_put(e, DRAIN_TASKS, e->run_tasks);
    events_put(e, DRAIN_TASKS, e->run_task);
    e->run_task = event->task;
    e->run_tasks = 0;
  }
  e->run_tasks++;
  e->has_tasks = e->has_tasks || event->task;
}

// The state of a size in this chunk; NULL: no memory.
static struct drain_class *events_class(struct drain_encoder *e, uint32_t number) {
  size_t need = ((size_t)number + 1) * sizeof(struct drain_class);
  if (e->classes.used < need) {
    if (!drain_reserve(&e->classes, need - e->classes.used)) {
      if (!e->error) e->error = ENOMEM;
      return NULL;
    }
    e->classes.used = need;
  }
  struct drain_class *class = (struct drain_class *)e->classes.data + number;
  if (class->chunk != e->chunk) *class = (struct drain_class){.chunk = e->chunk};
  return class;
}

// A stack of freed addresses is a chain with a depth: what lies deeper than the limit has fallen out, as it is never
// reached.
static void events_pop(struct drain_encoder *e, struct drain_class *class) {
  class->top = e->freed[class->top].below;
  class->depth--;
}

static void events_birth_address(struct drain_encoder *e, const struct drain_event *event) {
  struct drain_class *class = events_class(e, event->class);
  if (!class) return;
  if (class->depth && e->freed[class->top].address == event->address) {
    events_put(e, DRAIN_ADDRESSES, 0);
    events_pop(e, class);
  } else {
    events_put(e, DRAIN_ADDRESSES, 1 + drain_zigzag((int64_t)(event->address - class->last)));
    if (class->depth) events_pop(e, class);
  }
  class->last = event->address;
}

static void events_freed_address(struct drain_encoder *e, const struct drain_event *event) {
  struct drain_class *class = events_class(e, event->class);
  if (!class) return;
  e->freed[e->freed_used] = (struct drain_freed){event->address, class->top, 0};
  class->top = e->freed_used++;
  if (class->depth < FREED_LIMIT) class->depth++;
}

static void events_birth(struct drain_encoder *e, const struct drain_event *event) {
  events_put(e, DRAIN_SITES, event->site);
  events_birth_address(e, event);
  if (e->with_serials) events_put(e, DRAIN_SERIALS, event->serial - e->last_serial - 1);
  e->last_serial = event->serial;
  if (event->generation == e->marks) return;
  events_put(e, DRAIN_GENERATIONS, e->count - e->last_generation);
  events_put(e, DRAIN_GENERATIONS, event->generation);
  e->last_generation = e->count;
}

static unsigned events_other(struct drain_encoder *e, const struct drain_event *event) {
  unsigned bits = 0;
  events_put(e, DRAIN_OBJECTS, 1 + e->last_serial - event->serial);
  if (event->stack) {
    bits |= LIFESPAN_EVENT_HAS_STACK;
    events_put(e, DRAIN_STACKS, drain_zigzag((int64_t)event->stack - (int64_t)e->last_stack));
    e->last_stack = event->stack;
  }
  if (event->kind == LIFESPAN_EVENT_RETAIN || event->kind == LIFESPAN_EVENT_RELEASE || event->kind == LIFESPAN_EVENT_MISUSE) {
    if (event->flavour || event->amount != 1 || event->count_before >= 0) {
      bits |= LIFESPAN_EVENT_HAS_AMOUNT;
      events_put(e, DRAIN_AMOUNTS, event->flavour);
      events_put(e, DRAIN_AMOUNTS, event->amount);
      events_put(e, DRAIN_AMOUNTS, (uint64_t)(event->count_before + 1));
    }
  } else if (event->kind == LIFESPAN_EVENT_MOVED) {
    events_put(e, DRAIN_MOVES, drain_zigzag((int64_t)(event->address - event->old_address)));
    events_put(e, DRAIN_MOVES, event->site);
  } else if (event->kind == LIFESPAN_EVENT_DEATH || event->kind == LIFESPAN_EVENT_FREE ||
             event->kind == LIFESPAN_EVENT_PLAIN_FREE) {
    events_freed_address(e, event);
  }
  return bits;
}

void drain_encode(struct drain_encoder *e, const struct drain_event *event) {
  if (e->error) return;
  int64_t time = events_time(e, event->stamp);
  if (!e->count) events_begin(e, event, time);
  events_runs(e, event);
  events_put(e, DRAIN_TIMES, drain_zigzag((int64_t)((uint64_t)time - (uint64_t)e->last_time)));
  e->last_time = time;
  unsigned bits = 0;
  if (event->kind == LIFESPAN_EVENT_BIRTH) {
    events_birth(e, event);
  } else {
    bits = events_other(e, event);
  }
  *e->ends[DRAIN_KINDS]++ = (uint8_t)(event->kind | bits);
  e->events++;
  if (++e->count == e->chunk_events) drain_encoder_close_events(e);
}

static bool events_column(struct drain_bytes *out, unsigned tag, const uint8_t *data, size_t length) {
  if (!drain_reserve(out, 1)) return false;
  out->data[out->used++] = (uint8_t)tag;
  return drain_put_string(out, data, length);
}

static bool events_assemble(struct drain_encoder *e) {
  static const struct {
    uint8_t tag, column;
    bool always;
  } order[] = {
      {LIFESPAN_COLUMN_KINDS, DRAIN_KINDS, true},      {LIFESPAN_COLUMN_THREADS, DRAIN_THREADS, true},
      {LIFESPAN_COLUMN_TIMES, DRAIN_TIMES, true},      {LIFESPAN_COLUMN_SITES, DRAIN_SITES, true},
      {LIFESPAN_COLUMN_OBJECTS, DRAIN_OBJECTS, true},  {LIFESPAN_COLUMN_ADDRESSES, DRAIN_ADDRESSES, true},
      {LIFESPAN_COLUMN_STACKS, DRAIN_STACKS, false},   {LIFESPAN_COLUMN_AMOUNTS, DRAIN_AMOUNTS, false},
      {LIFESPAN_COLUMN_TASKS, DRAIN_TASKS, false},     {LIFESPAN_COLUMN_GENERATIONS, DRAIN_GENERATIONS, false},
      {LIFESPAN_COLUMN_SERIALS, DRAIN_SERIALS, false}, {LIFESPAN_COLUMN_MOVES, DRAIN_MOVES, false},
  };
  uint8_t head[40], *end = head;
  end = drain_varint(end, e->first_event);
  end = drain_varint(end, e->count);
  end = drain_varint(end, e->serial_before);
  end = drain_varint(end, drain_zigzag(e->base_time));
  struct drain_bytes *out = &e->out;
  out->used = 0;
  if (!drain_reserve(out, LIFESPAN_CHUNK_HEADER_BYTES)) return false;
  out->used = LIFESPAN_CHUNK_HEADER_BYTES;
  if (!events_column(out, LIFESPAN_COLUMN_HEAD, head, (size_t)(end - head))) return false;
  for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
    unsigned c = order[i].column;
    size_t length = (size_t)(e->ends[c] - e->columns[c]);
    if ((length || order[i].always) && !events_column(out, order[i].tag, e->columns[c], length)) return false;
  }
  return true;
}

void drain_encoder_close_events(struct drain_encoder *e) {
  drain_encoder_write_facts(e);
  if (!e->count) return;
  events_put(e, DRAIN_THREADS, e->run_threads);
  events_put(e, DRAIN_THREADS, e->run_thread);
  if (e->has_tasks) {
    events_put(e, DRAIN_TASKS, e->run_tasks);
    events_put(e, DRAIN_TASKS, e->run_task);
  } else {
    e->ends[DRAIN_TASKS] = e->columns[DRAIN_TASKS];
  }
  if (!events_assemble(e) && !e->error) e->error = ENOMEM;
  e->count = 0;
  drain_encoder_write_chunk(e, LIFESPAN_CHUNK_EVENTS);
  if (!e->error) e->events_written = e->events;
}

#endif
