// The writer of a trace: events become columns, rows become chunks, chunks go to a sink, as TraceFormat.md says. Used
// by the drain for the running trace and by save.c for a second one. Knows nothing of rings or tables.
//
// On the thread that holds the drain; memory by mmap alone. A failure of memory or of the sink is kept in `error`, and
// nothing is written after it.
#ifndef DRAIN_ENCODE_H
#define DRAIN_ENCODE_H

#include "lifespan_drain.h"
#include "memory.h"

#define DRAIN_CHUNK_EVENTS 65536u
#define DRAIN_ROWS_ENOUGH (1u << 20) // a chunk of rows is written when it holds as many bytes

// An event as the state has understood it. Lies in the history as it is.
struct drain_event {
  uint64_t stamp, address, serial, task;
  uint64_t size;        // of the object, after the event
  uint64_t old_address; // MOVED
  int64_t count_before; // strong count, -1 not known
  uint32_t site, stack, thread, amount;
  uint32_t class;      // of the site's size: see drain_class
  uint32_t old_site;   // MOVED
  uint32_t generation; // of the object
  uint32_t ordinal;    // how many events of this object came before
  uint8_t kind, flavour;
  bool unpictured;     // the next file does not know the object
  uint64_t died;       // of an object that was dead already: events of the recording by its death; else 0
};

// What both sides remember of a size to predict addresses, within one chunk.
struct drain_class {
  uint64_t last; // address of the last birth
  uint32_t chunk, top, depth, reserved;
};
struct drain_freed {
  uint64_t address;
  uint32_t below, reserved;
};

enum drain_column {
  DRAIN_KINDS,
  DRAIN_THREADS,
  DRAIN_TIMES,
  DRAIN_SITES,
  DRAIN_OBJECTS,
  DRAIN_ADDRESSES,
  DRAIN_STACKS,
  DRAIN_AMOUNTS,
  DRAIN_TASKS,
  DRAIN_GENERATIONS,
  DRAIN_SERIALS,
  DRAIN_MOVES,
  DRAIN_COLUMNS
};

struct drain_encoder {
  lifespan_sink sink;
  void *sink_context;
  lifespan_compressor compressor;
  void *compressor_context;
  int error; // of the sink or ENOMEM; nothing is written after it
  uint64_t bytes_written;
  uint64_t start;
  uint32_t ticks_per_unit;
  int unit_shift; // log2 of ticks_per_unit, -1: no power of two
  bool with_serials;
  bool begun; // the header has been given
  // Rows of types, stacks and sites are told when an event needs them, and sites numbered anew: tell.c
  bool lazy;
  uint64_t since; // what was dead after so many events of the recording is not in it
  struct drain_bytes told_sites; // uint32_t by the drain's number: the number in this trace + 1
  struct drain_bytes told_nodes, told_types; // bits by id
  uint32_t site_count, chunk_events;

  uint64_t events, last_serial; // written or buffered
  uint64_t events_written;
  uint32_t marks;               // rows so far: the generation that an event has by its position
  // the chunk of events that is being filled
  uint32_t count, chunk;
  uint64_t first_event, serial_before;
  int64_t base_time, last_time;
  uint32_t run_thread, run_threads, run_tasks, last_stack, last_generation, freed_used;
  uint64_t run_task;
  bool has_tasks;
  uint8_t *columns[DRAIN_COLUMNS], *ends[DRAIN_COLUMNS];
  struct drain_freed *freed;
  struct drain_bytes classes; // struct drain_class by number
  // rows of the other chunks
  struct drain_bytes rows[LIFESPAN_CHUNK_KINDS];
  uint64_t row_counts[LIFESPAN_CHUNK_KINDS];
  uint32_t last_node;
  uint64_t last_pc;
  struct drain_bytes out, packed;
  uint32_t crc[8][256];
};

struct drain_encoder *drain_encoder_create(lifespan_sink sink, void *context, uint32_t ticks_per_unit);
void drain_encoder_destroy(struct drain_encoder *encoder);

// events.c. The event's site row must have been given before.
void drain_encode(struct drain_encoder *encoder, const struct drain_event *event);
// Writes the buffered events as a chunk, and before them the rows that they need.
void drain_encoder_close_events(struct drain_encoder *encoder);

// Bytes that are held back, before compression.
uint64_t drain_encoder_pending(const struct drain_encoder *encoder);

// encode.c: rows, chunks, the header
void drain_row_varint(struct drain_encoder *encoder, unsigned chunk, uint64_t value);
void drain_row_zigzag(struct drain_encoder *encoder, unsigned chunk, int64_t value);
void drain_row_string(struct drain_encoder *encoder, unsigned chunk, const void *bytes, size_t length);
void drain_row_done(struct drain_encoder *encoder, unsigned chunk);
void drain_encoder_add_rows(struct drain_encoder *encoder, unsigned chunk, const struct drain_bytes *rows,
                            uint64_t count);
// Rows that events need (images to sites), then the others (marks to the end).
void drain_encoder_write_facts(struct drain_encoder *encoder);
void drain_encoder_write_rest(struct drain_encoder *encoder);
// Writes `out` (its first 24 bytes are left for the header) as a chunk.
void drain_encoder_write_chunk(struct drain_encoder *encoder, unsigned kind);
void drain_encoder_raw(struct drain_encoder *encoder, const void *bytes, size_t length);

// crc32c.c
void drain_crc_table(uint32_t table[8][256]);
uint32_t drain_crc(const uint32_t table[8][256], const void *bytes, size_t length);

static inline uint64_t drain_zigzag(int64_t value) { return (uint64_t)value << 1 ^ (uint64_t)(value >> 63); }
static inline uint8_t *drain_varint(uint8_t *at, uint64_t value) {
  while (value >= 0x80) {
    *at++ = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  *at++ = (uint8_t)value;
  return at;
}

// Appends to a row that is being made.
bool drain_put_varint(struct drain_bytes *bytes, uint64_t value);
bool drain_put_string(struct drain_bytes *bytes, const void *data, size_t length);

#endif
