// The trace file: constants shared by the C writer (CDrain) and the Swift reader and writer (LifespanTrace).
// The specification in prose: Sources/LifespanTrace/LifespanTrace.docc/TraceFormat.md.
#ifndef LIFESPAN_TRACE_H
#define LIFESPAN_TRACE_H

#include <stdint.h>

#define LIFESPAN_TRACE_MAGIC "LIFESPAN"
#define LIFESPAN_TRACE_MAJOR 1u
#define LIFESPAN_TRACE_MINOR 0u
#define LIFESPAN_TRACE_HEADER_BYTES 64u
#define LIFESPAN_CHUNK_MAGIC 0x4b43534cu // "LSCK"
#define LIFESPAN_CHUNK_HEADER_BYTES 24u
#define LIFESPAN_CHUNK_LIMIT (64u << 20) // raw bytes, at most
#define LIFESPAN_COLUMN_MUST_UNDERSTAND 0x80u

enum lifespan_chunk_kind {
  LIFESPAN_CHUNK_INFO = 1,
  LIFESPAN_CHUNK_IMAGES = 2,
  LIFESPAN_CHUNK_STACKS = 3,
  LIFESPAN_CHUNK_TYPES = 4,
  LIFESPAN_CHUNK_THREADS = 5,
  LIFESPAN_CHUNK_SITES = 6,
  LIFESPAN_CHUNK_EVENTS = 7,
  LIFESPAN_CHUNK_MARKS = 8,
  LIFESPAN_CHUNK_GAPS = 9,
  LIFESPAN_CHUNK_TASKS = 10,
  LIFESPAN_CHUNK_TOTALS = 11,
  LIFESPAN_CHUNK_RECORDING = 12,
  LIFESPAN_CHUNK_END = 13,
  LIFESPAN_CHUNK_SAMPLES = 14,
  LIFESPAN_CHUNK_THREAD_ORIGINS = 15,
  LIFESPAN_CHUNK_HEAP = 16,
  LIFESPAN_CHUNK_HEAP_NODES = 17,
  LIFESPAN_CHUNK_HEAP_EDGES = 18,
  LIFESPAN_CHUNK_HEAP_ROOTS = 19,
  LIFESPAN_CHUNK_HEAP_NAMES = 20,
};
// Flags of a SAMPLES row.
#define LIFESPAN_SAMPLE_MARK 1u // taken at a mark
#define LIFESPAN_SAMPLE_END 2u  // taken when the program ended by itself
#define LIFESPAN_SAMPLE_HEAP 4u // the heap's pages were counted
#define LIFESPAN_CHUNK_KINDS 16u // the highest that CDrain writes + 1: the picture of the heap is the command's
enum lifespan_codec { LIFESPAN_CODEC_NONE = 0, LIFESPAN_CODEC_ZSTD = 1 };
#define LIFESPAN_CHUNK_MUST_UNDERSTAND 1u // flag

// Columns of the HEAP chunks: their head, and from 1 more than this number on their values (of HEAP its notes).
#define LIFESPAN_HEAP_HEAD 0x81u
#define LIFESPAN_HEAP_COLUMN 0x90u
// Why a picture of the heap was taken.
#define LIFESPAN_HEAP_AT_EXIT 0u
#define LIFESPAN_HEAP_AT_MARK 1u
#define LIFESPAN_HEAP_ON_REQUEST 2u

// Event kinds in an EVENTS chunk: low 6 bits of the kind byte.
enum lifespan_event_kind {
  LIFESPAN_EVENT_BIRTH = 1,
  LIFESPAN_EVENT_DEATH = 2,
  LIFESPAN_EVENT_DEINIT = 3,
  LIFESPAN_EVENT_FREE = 4,
  LIFESPAN_EVENT_PLAIN_FREE = 5,
  LIFESPAN_EVENT_RETAIN = 6,
  LIFESPAN_EVENT_RELEASE = 7,
  LIFESPAN_EVENT_DEINIT_START = 8,
  LIFESPAN_EVENT_MOVED = 9,
  LIFESPAN_EVENT_END_NOT_SEEN = 10,
  LIFESPAN_EVENT_MISUSE = 11,
};
#define LIFESPAN_EVENT_KIND_MASK 0x3fu
#define LIFESPAN_EVENT_HAS_STACK 0x40u
#define LIFESPAN_EVENT_HAS_AMOUNT 0x80u

// Columns of an EVENTS chunk.
enum lifespan_event_column {
  LIFESPAN_COLUMN_HEAD = 0x81,
  LIFESPAN_COLUMN_KINDS = 0x82,
  LIFESPAN_COLUMN_THREADS = 0x03,
  LIFESPAN_COLUMN_TIMES = 0x04,
  LIFESPAN_COLUMN_SITES = 0x85,
  LIFESPAN_COLUMN_OBJECTS = 0x86,
  LIFESPAN_COLUMN_ADDRESSES = 0x07,
  LIFESPAN_COLUMN_UNKNOWN = 0x08,
  LIFESPAN_COLUMN_STACKS = 0x09,
  LIFESPAN_COLUMN_AMOUNTS = 0x0a,
  LIFESPAN_COLUMN_TASKS = 0x0b,
  LIFESPAN_COLUMN_GENERATIONS = 0x0c,
  LIFESPAN_COLUMN_SERIALS = 0x8d,
  LIFESPAN_COLUMN_MOVES = 0x8f,
};
// The rows of every other chunk stand in one column.
#define LIFESPAN_COLUMN_ROWS 0x81u

#endif
