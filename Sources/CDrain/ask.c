// Answers to questions (enum lifespan_question_op): rows of statistics, types, marks, counts, stacks. Called in process
// by the linked door, and by run.c for a program under `lifespan record`. `start` of a question counts the answers that
// the asker has already.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

// A type's totals over the generations from `least` on.
static struct lifespan_row ask_sum(const struct lifespan_drain *d, uint32_t id, uint32_t least) {
  struct lifespan_row sum = {.type = id};
  for (uint32_t at = drain_types(d)[id].rows; at; at = drain_rows(d)[at - 1].next) {
    const struct drain_row *row = &drain_rows(d)[at - 1];
    if (row->generation < least) continue;
    sum.living_count += row->births - row->deaths;
    sum.living_bytes += row->bytes - row->freed;
    sum.total_count += row->births;
    sum.total_bytes += row->bytes;
  }
  return sum;
}

static int64_t ask_rows(const struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room,
                        bool *more) {
  struct lifespan_row *rows = (struct lifespan_row *)answer;
  size_t fit = room / sizeof(*rows), count = 0, seen = 0;
  for (uint32_t id = 1; id < d->type_count; id++) {
    struct lifespan_row row = ask_sum(d, id, q->generation);
    if (!row.total_count || seen++ < q->start) continue;
    if (count == fit) {
      *more = true;
      break;
    }
    rows[count++] = row;
  }
  return *more && !count ? -EMSGSIZE : (int64_t)(count * sizeof(*rows));
}

static size_t ask_padded(size_t length) { return (length + 7) & ~(size_t)7; }

// Appends a head and a name, padded to 8 bytes. False: it doesn't fit.
static bool ask_named(uint8_t *answer, size_t room, size_t *used, const void *head, size_t size, const uint8_t *name,
                      size_t length) {
  size_t need = size + ask_padded(length);
  if (need > room - *used) return false;
  memset(answer + *used, 0, need);
  memcpy(answer + *used, head, size);
  if (length) memcpy(answer + *used + size, name, length);
  *used += need;
  return true;
}

static int64_t ask_types(const struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer,
                         size_t room, bool *more) {
  size_t used = 0, seen = 0;
  for (uint32_t id = 1; id < d->type_count; id++) {
    const struct drain_type *type = &drain_types(d)[id];
    if ((!type->kind && !type->rows) || seen++ < q->start) continue;
    struct lifespan_type_row row = {.type = id,
                                    .kind = type->kind,
                                    .superclass = type->superclass,
                                    .flags = type->flags,
                                    .metadata = type->metadata,
                                    .instance_size = type->instance_size,
                                    .name_length = type->name_length};
    if (!ask_named(answer, room, &used, &row, sizeof(row), d->names.data + type->name, type->name_length)) {
      *more = true;
      break;
    }
  }
  return *more && !used ? -EMSGSIZE : (int64_t)used;
}

static int64_t ask_marks(const struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer,
                         size_t room, bool *more) {
  size_t used = 0;
  for (uint32_t g = q->start; g < d->mark_count; g++) {
    const struct drain_mark *mark = &drain_marks(d)[g];
    struct lifespan_mark_row row = {.generation = g, .name_length = mark->name_length, .ticks = mark->stamp - d->start};
    if (!ask_named(answer, room, &used, &row, sizeof(row), d->names.data + mark->name, mark->name_length)) {
      *more = true;
      break;
    }
  }
  return *more && !used ? -EMSGSIZE : (int64_t)used;
}

// Innermost first. A chain that is longer than the table has been tampered with.
static int64_t ask_stack(const struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer,
                         size_t room, bool *more) {
  if (q->address < LIFESPAN_STACK_FIRST || q->address >= d->node_count || !drain_nodes(d)[q->address].known)
    return -ENOENT;
  uint64_t *frames = (uint64_t *)answer;
  size_t fit = room / sizeof(*frames), count = 0, seen = 0;
  uint32_t id = (uint32_t)q->address;
  while (id >= LIFESPAN_STACK_FIRST && id < d->node_count && drain_nodes(d)[id].known && seen < d->node_count) {
    if (seen++ >= q->start) {
      if (count == fit) {
        *more = true;
        break;
      }
      frames[count++] = drain_nodes(d)[id].pc;
    }
    id = drain_nodes(d)[id].parent;
  }
  return *more && !count ? -EMSGSIZE : (int64_t)(count * sizeof(*frames));
}

void lifespan_drain_counts(const struct lifespan_drain *d, struct lifespan_drain_counts *counts) {
  *counts = d->counts;
  counts->living = counts->births - counts->deaths;
  const struct drain_encoder *encoder = d->encoder ? d->encoder : d->space.parked;
  counts->bytes_written = encoder ? encoder->bytes_written : 0;
  counts->unwritten = encoder && encoder->error ? counts->events - encoder->events_written : 0;
  counts->elapsed_ticks = d->begun ? drain_now(d->clock) - d->start : 0;
  counts->ticks_per_second = d->ticks_per_second;
  counts->mark_ticks = d->mark_count ? drain_marks(d)[d->mark_count - 1].stamp - d->start : 0;
}

static int64_t ask_counts(const struct lifespan_drain *d, uint8_t *answer, size_t room) {
  struct lifespan_drain_counts counts;
  if (room < sizeof(counts)) return -EMSGSIZE;
  lifespan_drain_counts(d, &counts);
  memcpy(answer, &counts, sizeof(counts));
  return sizeof(counts);
}

static int64_t ask_mark(struct lifespan_drain *d, const struct lifespan_question *q, const void *name, size_t length,
                        uint8_t *answer, size_t room) {
  if (q->address > length) return -EINVAL;
  if (room < sizeof(uint64_t)) return -EMSGSIZE;
  int64_t generation = lifespan_drain_mark(d, name, q->address);
  if (generation < 0) return generation;
  memcpy(answer, &generation, sizeof(generation));
  return sizeof(generation);
}

static int ask_append(void *context, const void *bytes, size_t length) {
  struct lifespan_drain *d = context;
  // The program's threads wait for a full ring, and the asker for its answer, as long as this moves.
  atomic_fetch_add_explicit(&d->map->consumer_beat, 1, memory_order_relaxed);
  return drain_append(&d->saved, bytes, length) ? 0 : ENOMEM;
}

// The first question makes the trace, the following ones take it in pieces, the last one throws it away.
static int64_t ask_save(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room,
                        bool *more) {
  if (room < LIFESPAN_SAVE_UNIT) return -EMSGSIZE;
  int error = 0;
  if (!q->start) {
    drain_bytes_free(&d->saved);
    error = lifespan_drain_save(d, ask_append, d);
  }
  uint64_t at = (uint64_t)q->start * LIFESPAN_SAVE_UNIT;
  if (!error && at >= d->saved.used) error = EINVAL;
  size_t length = error ? 0 : d->saved.used - at;
  *more = length > room;
  if (*more) length = room - room % LIFESPAN_SAVE_UNIT;
  if (length) memcpy(answer, d->saved.data + at, length);
  if (!*more) drain_bytes_free(&d->saved);
  return error ? -error : (int64_t)length;
}

int64_t lifespan_drain_ask(struct lifespan_drain *d, uint32_t op, const void *question, size_t length, void *answer,
                           size_t room, bool *more) {
  *more = false;
  struct lifespan_question q = {0};
  if (length < sizeof(q)) return -EINVAL;
  memcpy(&q, question, sizeof(q));
  switch (op) {
  case LIFESPAN_ASK_ROWS: return ask_rows(d, &q, answer, room, more);
  case LIFESPAN_ASK_TYPES: return ask_types(d, &q, answer, room, more);
  case LIFESPAN_ASK_MARK:
    return ask_mark(d, &q, (const uint8_t *)question + sizeof(q), length - sizeof(q), answer, room);
  case LIFESPAN_ASK_HISTORY: return drain_ask_history(d, &q, answer, room, more);
  case LIFESPAN_ASK_COUNTS: return ask_counts(d, answer, room);
  case LIFESPAN_ASK_MARKS: return ask_marks(d, &q, answer, room, more);
  case LIFESPAN_ASK_STACK: return ask_stack(d, &q, answer, room, more);
  case LIFESPAN_ASK_SAVE: return ask_save(d, &q, answer, room, more);
  case LIFESPAN_ASK_SCOPE_BEGIN: return drain_scope_begin(d, &q, answer, room);
  case LIFESPAN_ASK_SCOPE_END: return drain_scope_end(d, &q, answer, room);
  case LIFESPAN_ASK_SCOPE_ROWS: return drain_scope_rows(d, &q, answer, room, more);
  case LIFESPAN_ASK_SCOPE_LIVING: return drain_scope_living(d, &q, answer, room, more);
  case LIFESPAN_ASK_SCOPE_FORGET: return drain_scope_forget(d, &q);
  case LIFESPAN_ASK_OBJECT: return drain_ask_object(d, &q, answer, room);
  default: return -EINVAL;
  }
}

#endif
