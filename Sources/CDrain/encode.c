// Rows, chunks and the way to the sink (encode.h). Used by the drain and by save; the columns of events are in
// events.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define VARINT_ROOM 10u
#define COLUMN_ROOM (DRAIN_CHUNK_EVENTS * 32u) // an event adds at most three varints to a column

static void put16(uint8_t *at, uint32_t v) { at[0] = (uint8_t)v, at[1] = (uint8_t)(v >> 8); }
static void put32(uint8_t *at, uint32_t v) { put16(at, v), put16(at + 2, v >> 16); }

struct drain_encoder *drain_encoder_create(lifespan_sink sink, void *context, uint32_t ticks_per_unit) {
  struct drain_encoder *e = drain_pages(sizeof(*e));
  if (!e) return NULL;
  e->sink = sink;
  e->sink_context = context;
  e->ticks_per_unit = ticks_per_unit ? ticks_per_unit : 1;
  e->chunk_events = DRAIN_CHUNK_EVENTS;
  e->unit_shift = -1;
  for (int i = 0; i < 32; i++) {
    if (e->ticks_per_unit == 1u << i) e->unit_shift = i;
  }
  drain_crc_table(e->crc);
  e->freed = drain_pages(DRAIN_CHUNK_EVENTS * sizeof(*e->freed));
  bool whole = e->freed;
  for (int i = 0; i < DRAIN_COLUMNS; i++) {
    e->columns[i] = e->ends[i] = drain_pages(COLUMN_ROOM);
    whole = whole && e->columns[i];
  }
  if (whole) return e;
  drain_encoder_destroy(e);
  return NULL;
}

void drain_encoder_destroy(struct drain_encoder *e) {
  if (!e) return;
  for (int i = 0; i < DRAIN_COLUMNS; i++) drain_pages_free(e->columns[i], COLUMN_ROOM);
  drain_pages_free(e->freed, DRAIN_CHUNK_EVENTS * sizeof(*e->freed));
  struct drain_bytes *bytes[] = {&e->classes, &e->told_sites, &e->told_nodes, &e->told_types};
  for (int i = 0; i < 4; i++) drain_bytes_free(bytes[i]);
  for (int i = 0; i < (int)LIFESPAN_CHUNK_KINDS; i++) drain_bytes_free(&e->rows[i]);
  drain_bytes_free(&e->out);
  drain_bytes_free(&e->packed);
  drain_pages_free(e, sizeof(*e));
}

bool drain_put_varint(struct drain_bytes *bytes, uint64_t value) {
  if (!drain_reserve(bytes, VARINT_ROOM)) return false;
  bytes->used = (size_t)(drain_varint(bytes->data + bytes->used, value) - bytes->data);
  return true;
}

bool drain_put_string(struct drain_bytes *bytes, const void *data, size_t length) {
  return drain_put_varint(bytes, length) && drain_append(bytes, data, length);
}

void drain_row_varint(struct drain_encoder *e, unsigned chunk, uint64_t value) {
  if (!drain_put_varint(&e->rows[chunk], value) && !e->error) e->error = ENOMEM;
}

void drain_row_zigzag(struct drain_encoder *e, unsigned chunk, int64_t value) {
  drain_row_varint(e, chunk, drain_zigzag(value));
}

void drain_row_string(struct drain_encoder *e, unsigned chunk, const void *bytes, size_t length) {
  if (!drain_put_string(&e->rows[chunk], bytes, length) && !e->error) e->error = ENOMEM;
}

void drain_row_done(struct drain_encoder *e, unsigned chunk) {
  e->row_counts[chunk]++;
  // Before the header nothing can be written.
  if (e->rows[chunk].used < DRAIN_ROWS_ENOUGH || !e->begun) return;
  // Facts may stand anywhere before the events that use them; the others wait for the events that stand before them.
  bool fact = chunk <= LIFESPAN_CHUNK_SITES || chunk == LIFESPAN_CHUNK_TASKS || chunk == LIFESPAN_CHUNK_THREAD_ORIGINS;
  if (fact) return drain_encoder_write_facts(e);
  drain_encoder_close_events(e);
  drain_encoder_write_rest(e);
}

void drain_encoder_add_rows(struct drain_encoder *e, unsigned chunk, const struct drain_bytes *rows, uint64_t count) {
  if (!count) return;
  if (!drain_append(&e->rows[chunk], rows->data, rows->used) && !e->error) e->error = ENOMEM;
  e->row_counts[chunk] += count;
}

static void encoder_write_rows(struct drain_encoder *e, unsigned kind) {
  if (!e->row_counts[kind]) return;
  struct drain_bytes *rows = &e->rows[kind], *out = &e->out;
  uint8_t count[VARINT_ROOM];
  size_t count_length = (size_t)(drain_varint(count, e->row_counts[kind]) - count);
  out->used = 0;
  bool made = drain_reserve(out, LIFESPAN_CHUNK_HEADER_BYTES + 1);
  if (made) {
    out->used = LIFESPAN_CHUNK_HEADER_BYTES;
    out->data[out->used++] = LIFESPAN_COLUMN_ROWS;
    made = drain_put_varint(out, count_length + rows->used) && drain_append(out, count, count_length) &&
           drain_append(out, rows->data, rows->used);
  }
  if (!made && !e->error) e->error = ENOMEM;
  rows->used = 0;
  e->row_counts[kind] = 0;
  e->last_node = 0;
  e->last_pc = 0;
  drain_encoder_write_chunk(e, kind);
}

void drain_encoder_write_facts(struct drain_encoder *e) {
  static const uint8_t order[] = {LIFESPAN_CHUNK_INFO,  LIFESPAN_CHUNK_IMAGES,  LIFESPAN_CHUNK_STACKS,
                                  LIFESPAN_CHUNK_TYPES, LIFESPAN_CHUNK_THREADS, LIFESPAN_CHUNK_THREAD_ORIGINS,
                                  LIFESPAN_CHUNK_TASKS, LIFESPAN_CHUNK_SITES};
  for (size_t i = 0; i < sizeof(order); i++) encoder_write_rows(e, order[i]);
}

void drain_encoder_write_rest(struct drain_encoder *e) {
  static const uint8_t order[] = {LIFESPAN_CHUNK_MARKS,   LIFESPAN_CHUNK_RECORDING, LIFESPAN_CHUNK_GAPS,
                                  LIFESPAN_CHUNK_SAMPLES, LIFESPAN_CHUNK_TOTALS,    LIFESPAN_CHUNK_END};
  for (size_t i = 0; i < sizeof(order); i++) encoder_write_rows(e, order[i]);
}

uint64_t drain_encoder_pending(const struct drain_encoder *e) {
  uint64_t bytes = 0;
  for (int i = 0; e->count && i < DRAIN_COLUMNS; i++) bytes += (uint64_t)(e->ends[i] - e->columns[i]);
  for (unsigned i = 0; i < LIFESPAN_CHUNK_KINDS; i++) bytes += e->rows[i].used;
  return bytes;
}

void drain_encoder_raw(struct drain_encoder *e, const void *bytes, size_t length) {
  if (e->error) return;
  e->error = e->sink(e->sink_context, bytes, length);
  if (!e->error) e->bytes_written += length;
}

// Compresses the payload of `out` into `packed` when that makes it smaller. Returns the buffer to write.
static struct drain_bytes *encoder_pack(struct drain_encoder *e, size_t raw) {
  struct drain_bytes *packed = &e->packed;
  packed->used = 0;
  if (!e->compressor || raw < 64 || !drain_reserve(packed, LIFESPAN_CHUNK_HEADER_BYTES + raw)) return &e->out;
  size_t length = e->compressor(e->compressor_context, packed->data + LIFESPAN_CHUNK_HEADER_BYTES, raw,
                                e->out.data + LIFESPAN_CHUNK_HEADER_BYTES, raw);
  if (!length || length >= raw) return &e->out;
  packed->used = LIFESPAN_CHUNK_HEADER_BYTES + length;
  return packed;
}

void drain_encoder_write_chunk(struct drain_encoder *e, unsigned kind) {
  if (e->error) return;
  size_t raw = e->out.used - LIFESPAN_CHUNK_HEADER_BYTES;
  if (raw > LIFESPAN_CHUNK_LIMIT) {
    e->error = EFBIG;
    return;
  }
  struct drain_bytes *bytes = encoder_pack(e, raw);
  size_t stored = bytes->used - LIFESPAN_CHUNK_HEADER_BYTES;
  uint8_t *head = bytes->data;
  put32(head, LIFESPAN_CHUNK_MAGIC);
  head[4] = (uint8_t)kind;
  head[5] = 1;
  head[6] = bytes == &e->out ? LIFESPAN_CODEC_NONE : LIFESPAN_CODEC_ZSTD;
  head[7] = 0;
  put32(head + 8, (uint32_t)raw);
  put32(head + 12, (uint32_t)stored);
  put32(head + 16, drain_crc((const uint32_t (*)[256])e->crc, head + LIFESPAN_CHUNK_HEADER_BYTES, stored));
  put32(head + 20, drain_crc((const uint32_t (*)[256])e->crc, head, 20));
  drain_encoder_raw(e, head, bytes->used);
}

#endif
