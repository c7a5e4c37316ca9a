// Rows of the chunks beside events, as TraceFormat.md gives them, and the begin and end of a trace. Used by the running
// trace and by save.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

// An empty row to put a row's fields into; one at a time.
struct drain_bytes *drain_row_begin(struct lifespan_drain *d) {
  d->row.used = 0;
  return &d->row;
}

// A row without deltas: to the running trace, and kept as it is for save.
void drain_keep(struct lifespan_drain *d, unsigned chunk, const struct drain_bytes *row) {
  // The parents of tasks are looked through when the picture is done.
  bool later = chunk == LIFESPAN_CHUNK_TASKS && drain_next_busy(d);
  struct drain_encoder *encoders[] = {d->encoder, later ? NULL : drain_next_rows(d)};
  for (int i = 0; i < 2; i++) {
    if (!encoders[i]) continue;
    if (!drain_append(&encoders[i]->rows[chunk], row->data, row->used)) encoders[i]->error = ENOMEM;
    drain_row_done(encoders[i], chunk);
  }
  // Beyond the limit only a program that floods us is cut short, and only in what save writes.
  if (d->kept[chunk].used + row->used > DRAIN_KEPT_LIMIT || !drain_append(&d->kept[chunk], row->data, row->used))
    return;
  d->kept_rows[chunk]++;
}

void drain_info_row(struct lifespan_drain *d, const char *key, const char *value, size_t length) {
  struct drain_bytes *row = drain_row_begin(d);
  if (drain_put_string(row, key, strlen(key)) && drain_put_string(row, value, length))
    drain_keep(d, LIFESPAN_CHUNK_INFO, row);
}

void drain_info_number(struct lifespan_drain *d, const char *key, uint64_t value) {
  char digits[24], *digit = &digits[sizeof(digits) - 1];
  *digit = 0;
  do *--digit = (char)('0' + value % 10);
  while (value /= 10);
  drain_info_row(d, key, digit, strlen(digit));
}

void drain_thread_row(struct lifespan_drain *d, uint32_t thread, uint32_t tid, unsigned op, uint64_t stamp,
                      const void *name, size_t length) {
  struct drain_bytes *row = drain_row_begin(d);
  bool made = drain_put_varint(row, thread) && drain_put_varint(row, tid) && drain_put_varint(row, op) &&
              drain_put_varint(row, drain_zigzag(drain_since_start(d, stamp))) && drain_put_string(row, name, length);
  if (made) drain_keep(d, LIFESPAN_CHUNK_THREADS, row);
}

void drain_type_row(struct drain_encoder *e, uint32_t id, const struct drain_type *type, const uint8_t *names) {
  drain_row_varint(e, LIFESPAN_CHUNK_TYPES, id);
  drain_row_varint(e, LIFESPAN_CHUNK_TYPES, type->kind);
  drain_row_varint(e, LIFESPAN_CHUNK_TYPES, type->superclass);
  drain_row_varint(e, LIFESPAN_CHUNK_TYPES, type->metadata);
  drain_row_varint(e, LIFESPAN_CHUNK_TYPES, type->instance_size);
  drain_row_varint(e, LIFESPAN_CHUNK_TYPES, type->caller);
  drain_row_varint(e, LIFESPAN_CHUNK_TYPES, type->flags);
  drain_row_string(e, LIFESPAN_CHUNK_TYPES, names ? names + type->name : NULL, type->name_length);
  drain_row_done(e, LIFESPAN_CHUNK_TYPES);
}

void drain_node_row(struct drain_encoder *e, uint32_t id, const struct drain_node *node) {
  drain_row_zigzag(e, LIFESPAN_CHUNK_STACKS, (int64_t)id - (int64_t)e->last_node);
  drain_row_zigzag(e, LIFESPAN_CHUNK_STACKS, (int64_t)id - (int64_t)node->parent);
  drain_row_zigzag(e, LIFESPAN_CHUNK_STACKS, (int64_t)(node->pc - e->last_pc));
  drain_row_varint(e, LIFESPAN_CHUNK_STACKS, node->epoch);
  drain_row_varint(e, LIFESPAN_CHUNK_STACKS, node->label);
  e->last_node = id;
  e->last_pc = node->pc;
  drain_row_done(e, LIFESPAN_CHUNK_STACKS);
}

void drain_site_row(struct drain_encoder *e, const struct drain_site *site) {
  drain_row_varint(e, LIFESPAN_CHUNK_SITES, site->type);
  drain_row_varint(e, LIFESPAN_CHUNK_SITES, site->stack);
  drain_row_varint(e, LIFESPAN_CHUNK_SITES, site->size);
  drain_row_done(e, LIFESPAN_CHUNK_SITES);
}

// Closes the chunk of events, so that a mark stands between chunks, and writes the mark.
void drain_mark_row(struct lifespan_drain *d, struct drain_encoder *e, uint32_t generation) {
  const struct drain_mark *mark = &drain_marks(d)[generation];
  drain_encoder_close_events(e);
  drain_row_varint(e, LIFESPAN_CHUNK_MARKS, generation);
  drain_row_zigzag(e, LIFESPAN_CHUNK_MARKS, drain_since_start(d, mark->stamp));
  drain_row_varint(e, LIFESPAN_CHUNK_MARKS, e->events);
  drain_row_string(e, LIFESPAN_CHUNK_MARKS, d->names.data ? d->names.data + mark->name : NULL, mark->name_length);
  e->row_counts[LIFESPAN_CHUNK_MARKS]++;
  e->marks++;
  drain_encoder_write_rest(e);
}

static void rows_end(struct drain_encoder *e, const char *key, uint64_t value) {
  drain_row_string(e, LIFESPAN_CHUNK_END, key, strlen(key));
  drain_row_varint(e, LIFESPAN_CHUNK_END, value);
  e->row_counts[LIFESPAN_CHUNK_END]++;
}

// The footer. `exit_status` as wait reports it.
void drain_end_rows(struct lifespan_drain *d, struct drain_encoder *e, bool clean, int exit_status) {
  const struct lifespan_drain_counts *c = &d->counts;
  const struct lifespan_map *map = d->map;
  rows_end(e, "events", c->events);
  rows_end(e, "births", c->births);
  rows_end(e, "deaths", c->deaths);
  rows_end(e, "lost", c->lost);
  rows_end(e, "suppressed", c->suppressed);
  rows_end(e, "waited_ns", c->waited_ns);
  rows_end(e, "waits", c->waits);
  rows_end(e, "stacks_full", atomic_load_explicit(&map->stacks_full, memory_order_relaxed));
  rows_end(e, "stacks_checked", atomic_load_explicit(&map->stacks_checked, memory_order_relaxed));
  rows_end(e, "stacks_equal", atomic_load_explicit(&map->stacks_equal, memory_order_relaxed));
  rows_end(e, "stacks_guessed", atomic_load_explicit(&map->stacks_guessed, memory_order_relaxed));
  rows_end(e, "late", c->late);
  rows_end(e, "ends_not_seen", c->ends_not_seen);
  rows_end(e, "swapped", c->swapped);
  rows_end(e, "retyped", c->retyped);
  rows_end(e, "unattached", c->unattached);
  rows_end(e, "misuses", c->misuses);
  rows_end(e, "damaged", c->damaged);
  rows_end(e, "clean", clean);
  rows_end(e, "end", (d->resumes ? d->newest : drain_now(d->clock)) - d->start);
  rows_end(e, "exit_status", (uint32_t)exit_status);
}

static void put_le(uint8_t *at, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

// The header of a trace, from what the mapping said when the recording began.
void drain_begin_trace(struct lifespan_drain *d, struct drain_encoder *e) {
  uint8_t head[LIFESPAN_TRACE_HEADER_BYTES] = {0};
  memcpy(head, LIFESPAN_TRACE_MAGIC, 8);
  put_le(head + 8, LIFESPAN_TRACE_MAJOR, 2);
  put_le(head + 10, LIFESPAN_TRACE_MINOR, 2);
  put_le(head + 12, LIFESPAN_TRACE_HEADER_BYTES, 4);
  head[16] = (uint8_t)d->clock;
#if defined(__aarch64__)
  head[17] = 2;
#else
  head[17] = 1;
#endif
  head[18] = (uint8_t)d->capture;
  head[19] = (uint8_t)d->map->door;
  put_le(head + 20, d->map->page_size, 4);
  put_le(head + 24, d->ticks_per_second, 8);
  put_le(head + 32, d->start, 8);
  put_le(head + 40, d->start_realtime_ns, 8);
  put_le(head + 48, d->map->pid, 4);
  put_le(head + 52, d->map->parent_pid, 4);
  put_le(head + 56, e->ticks_per_unit, 4);
  put_le(head + 60, drain_crc((const uint32_t (*)[256])e->crc, head, 60), 4);
  e->start = d->start;
  e->begun = true;
  drain_encoder_raw(e, head, sizeof(head));
}

#endif
