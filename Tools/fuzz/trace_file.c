// See trace_file.h.
#include "trace_file.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LARGEST_RAW (1u << 20) // a chunk that unpacks to more than this stays packed

static uint32_t crc32c(const uint8_t *bytes, size_t length) {
  static uint32_t table[256];
  if (!table[1]) {
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; bit++) value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
      table[i] = value;
    }
  }
  uint32_t sum = 0xffffffffu;
  for (size_t i = 0; i < length; i++) sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 0xff];
  return sum ^ 0xffffffffu;
}

static uint32_t get32(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return value;
}

static void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, 4); }

// Content of a chunk that can't be unpacked is kept as it is.
static void unpack(struct trace_chunk *chunk, const uint8_t *stored, size_t length, uint32_t raw) {
  chunk->bytes = NULL;
  chunk->length = 0;
  if (chunk->codec == 1 && raw <= LARGEST_RAW) {
    chunk->bytes = malloc(raw + 1u);
    size_t got = ZSTD_decompress(chunk->bytes, raw, stored, length);
    if (!ZSTD_isError(got) && got == raw) {
      chunk->length = raw;
      chunk->codec = 0;
      return;
    }
    free(chunk->bytes);
  }
  chunk->bytes = malloc(length + 1);
  memcpy(chunk->bytes, stored, length);
  chunk->length = length;
}

bool trace_parse(const uint8_t *bytes, size_t length, struct trace_file *file) {
  *file = (struct trace_file){0};
  if (length < TRACE_HEADER || memcmp(bytes, "LIFESPAN", 8)) return false;
  memcpy(file->header, bytes, TRACE_HEADER);
  size_t at = TRACE_HEADER;
  while (length - at >= TRACE_CHUNK_HEADER && file->count < TRACE_CHUNKS && !memcmp(bytes + at, "LSCK", 4)) {
    const uint8_t *head = bytes + at;
    at += TRACE_CHUNK_HEADER;
    size_t stored = get32(head + 12);
    if (stored > length - at) stored = length - at;
    struct trace_chunk *chunk = &file->chunks[file->count++];
    *chunk = (struct trace_chunk){.kind = head[4], .version = head[5], .codec = head[6], .flags = head[7]};
    unpack(chunk, bytes + at, stored, get32(head + 8));
    at += stored;
  }
  return true;
}

void trace_free(struct trace_file *file) {
  for (unsigned i = 0; i < file->count; i++) free(file->chunks[i].bytes);
  file->count = 0;
}

static size_t write_chunk(const struct trace_chunk *chunk, uint8_t *at, size_t room) {
  size_t stored = chunk->length;
  if (room < TRACE_CHUNK_HEADER) return 0;
  uint8_t *content = at + TRACE_CHUNK_HEADER;
  if (chunk->codec == 1) {
    stored = ZSTD_compress(content, room - TRACE_CHUNK_HEADER, chunk->bytes, chunk->length, 1);
    if (ZSTD_isError(stored)) return 0;
  } else {
    if (stored > room - TRACE_CHUNK_HEADER) return 0;
    memcpy(content, chunk->bytes, stored);
  }
  memcpy(at, "LSCK", 4);
  at[4] = chunk->kind;
  at[5] = chunk->version;
  at[6] = chunk->codec;
  at[7] = chunk->flags;
  put32(at + 8, (uint32_t)chunk->length);
  put32(at + 12, (uint32_t)stored);
  put32(at + 16, crc32c(content, stored));
  put32(at + 20, crc32c(at, 20));
  return TRACE_CHUNK_HEADER + stored;
}

size_t trace_write(const struct trace_file *file, uint8_t *bytes, size_t room) {
  if (room < TRACE_HEADER) return 0;
  memcpy(bytes, file->header, TRACE_HEADER);
  put32(bytes + 60, crc32c(bytes, 60));
  size_t at = TRACE_HEADER;
  for (unsigned i = 0; i < file->count; i++) at += write_chunk(&file->chunks[i], bytes + at, room - at);
  return at;
}

unsigned trace_read_varint(const uint8_t *at, size_t length, uint64_t *value) {
  *value = 0;
  for (unsigned i = 0; i < length && i < 10; i++) {
    *value |= (uint64_t)(at[i] & 0x7f) << 7 * i;
    if (at[i] < 0x80) return i + 1;
  }
  return 0;
}

unsigned trace_write_varint(uint8_t *at, uint64_t value) {
  unsigned length = 0;
  for (; value >= 0x80; value >>= 7) at[length++] = (uint8_t)(value | 0x80);
  at[length++] = (uint8_t)value;
  return length;
}

unsigned trace_columns(const struct trace_chunk *chunk, struct trace_column columns[TRACE_COLUMNS]) {
  unsigned count = 0;
  for (size_t at = 0; at + 1 < chunk->length && count < TRACE_COLUMNS;) {
    uint64_t length;
    unsigned prefix = trace_read_varint(chunk->bytes + at + 1, chunk->length - at - 1, &length);
    size_t content = at + 1 + prefix;
    if (!prefix || length > chunk->length - content) break;
    columns[count++] = (struct trace_column){chunk->bytes[at], content, (size_t)length};
    at = content + (size_t)length;
  }
  return count;
}

void trace_splice(struct trace_chunk *chunk, size_t at, size_t gone, const void *bytes, size_t length) {
  uint8_t *made = malloc(chunk->length - gone + length + 1);
  memcpy(made, chunk->bytes, at);
  if (length) memcpy(made + at, bytes, length);
  memcpy(made + at + length, chunk->bytes + at + gone, chunk->length - at - gone);
  free(chunk->bytes);
  chunk->bytes = made;
  chunk->length += length - gone;
}

void trace_replace(struct trace_chunk *chunk, const struct trace_column *column, const void *content, size_t length) {
  uint8_t prefix[10], old[10];
  size_t before = trace_write_varint(old, column->length);
  trace_splice(chunk, column->at, column->length, content, length);
  trace_splice(chunk, column->at - before, before, prefix, trace_write_varint(prefix, length));
}
