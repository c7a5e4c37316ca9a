// A trace taken apart into chunks and columns, and put together again with right lengths and checksums: what a fuzzer's
// mutator needs, since a flipped byte behind a checksum tests the checksum and nothing else. Used by trace_mutator.c
// alone. Follows TraceFormat.md; shares no code with the reader that is tested.
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_CHUNKS 64u
#define TRACE_COLUMNS 24u
#define TRACE_HEADER 64u
#define TRACE_CHUNK_HEADER 24u

struct trace_chunk {
  uint8_t kind, version, codec, flags;
  uint8_t *bytes; // the payload, decompressed where that was possible
  size_t length;
};

struct trace_file {
  uint8_t header[TRACE_HEADER];
  struct trace_chunk chunks[TRACE_CHUNKS];
  unsigned count;
};

struct trace_column {
  uint8_t tag;
  size_t at, length; // of its content in the payload
};

// False: these bytes are no trace, not even a damaged one. Takes what can be read of it. trace_free in any case.
bool trace_parse(const uint8_t *bytes, size_t length, struct trace_file *file);
void trace_free(struct trace_file *file);
// Bytes written; chunks that don't fit are left out. Checksums are right, those of the header included.
size_t trace_write(const struct trace_file *file, uint8_t *bytes, size_t room);

// The columns of a payload, as far as it can be followed.
unsigned trace_columns(const struct trace_chunk *chunk, struct trace_column columns[TRACE_COLUMNS]);
// Replaces a column's content, and the length before it.
void trace_replace(struct trace_chunk *chunk, const struct trace_column *column, const void *content, size_t length);
// Replaces bytes of a payload by others.
void trace_splice(struct trace_chunk *chunk, size_t at, size_t gone, const void *bytes, size_t length);

// Little-endian base 128. Bytes read, 0 where there is none; bytes written, at most 10.
unsigned trace_read_varint(const uint8_t *at, size_t length, uint64_t *value);
unsigned trace_write_varint(uint8_t *at, uint64_t value);

#endif
