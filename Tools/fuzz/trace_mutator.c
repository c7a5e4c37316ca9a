// libFuzzer's mutator for traces: changes columns, rows, chunks and the header, and makes the checksums fit, as a
// hostile writer would. Linked with Reader.swift by Tools/fuzz/run.
#include "trace_file.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t length, size_t room);

#define EVENTS 7u
#define HEAD 0x81u
#define KINDS 0x82u
#define GROWTH 64u
#define PID 48 // in the header: what Reader.swift asks the trace

struct dice {
  uint64_t state;
};

static uint32_t roll(struct dice *dice, uint32_t sides) {
  dice->state = dice->state * 6364136223846793005ull + 1442695040888963407ull;
  return sides ? (uint32_t)(dice->state >> 33) % sides : 0;
}

// Numbers at whose edges readers break.
static uint64_t edge(struct dice *dice) {
  static const uint8_t bits[] = {0, 1, 6, 7, 8, 14, 16, 20, 26, 30, 31, 32, 47, 48, 61, 62, 63};
  uint64_t value = 1ull << bits[roll(dice, sizeof bits)];
  switch (roll(dice, 4)) {
  case 0: return value - 1;
  case 1: return value + 1;
  case 2: return ~value;
  default: return value;
  }
}

static struct trace_chunk *any_chunk(struct trace_file *file, struct dice *dice) {
  return file->count ? &file->chunks[roll(dice, file->count)] : NULL;
}

// The head says how many events there are: mostly it is kept true, so that the columns behind it are looked at.
static void count_events(struct trace_chunk *chunk) {
  struct trace_column columns[TRACE_COLUMNS];
  unsigned count = trace_columns(chunk, columns);
  size_t events = 0;
  for (unsigned i = 0; i < count; i++)
    if (columns[i].tag == KINDS) events = columns[i].length;
  for (unsigned i = 0; i < count; i++) {
    if (columns[i].tag != HEAD) continue;
    uint64_t first, old;
    const uint8_t *head = chunk->bytes + columns[i].at;
    unsigned a = trace_read_varint(head, columns[i].length, &first);
    unsigned b = a ? trace_read_varint(head + a, columns[i].length - a, &old) : 0;
    if (!b || old == events) return;
    uint8_t changed[10 + 64];
    if (columns[i].length - a - b > sizeof changed - 20) return;
    memcpy(changed, head, a);
    unsigned length = a + trace_write_varint(changed + a, events);
    memcpy(changed + length, head + a + b, columns[i].length - a - b);
    trace_replace(chunk, &columns[i], changed, length + columns[i].length - a - b);
    return;
  }
}

static void change_column(struct trace_chunk *chunk, struct dice *dice) {
  struct trace_column columns[TRACE_COLUMNS];
  unsigned count = trace_columns(chunk, columns);
  if (!count) return;
  const struct trace_column *column = &columns[roll(dice, count)];
  uint8_t *content = malloc(column->length + GROWTH);
  memcpy(content, chunk->bytes + column->at, column->length);
  size_t length = LLVMFuzzerMutate(content, column->length, column->length + GROWTH);
  trace_replace(chunk, column, content, length);
  free(content);
}

// One number of a column becomes another one. Where it begins is a guess: any byte whose predecessor ends a number.
static void change_number(struct trace_chunk *chunk, struct dice *dice) {
  struct trace_column columns[TRACE_COLUMNS];
  unsigned count = trace_columns(chunk, columns);
  if (!count) return;
  const struct trace_column *column = &columns[roll(dice, count)];
  if (!column->length) return;
  size_t at = roll(dice, (uint32_t)column->length);
  while (at && chunk->bytes[column->at + at - 1] >= 0x80) at--;
  uint64_t value;
  unsigned old = trace_read_varint(chunk->bytes + column->at + at, column->length - at, &value);
  if (!old) return;
  if (roll(dice, 2)) value = edge(dice);
  else value += roll(dice, 2) ? 1 : UINT64_MAX;
  uint8_t *content = malloc(column->length + 10);
  memcpy(content, chunk->bytes + column->at, at);
  unsigned fresh = trace_write_varint(content + at, value);
  memcpy(content + at + fresh, chunk->bytes + column->at + at + old, column->length - at - old);
  trace_replace(chunk, column, content, column->length - old + fresh);
  free(content);
}

static void change_columns(struct trace_chunk *chunk, struct dice *dice) {
  struct trace_column columns[TRACE_COLUMNS];
  unsigned count = trace_columns(chunk, columns);
  if (!count) return;
  const struct trace_column *column = &columns[roll(dice, count)];
  uint8_t prefix[10];
  size_t start = column->at - trace_write_varint(prefix, column->length) - 1, whole = column->at + column->length - start;
  if (roll(dice, 2)) {
    chunk->bytes[start] = (uint8_t)roll(dice, 256);
  } else {
    trace_splice(chunk, start, whole, NULL, 0);
  }
}

static void change_payload(struct trace_chunk *chunk, struct dice *dice) {
  (void)dice;
  uint8_t *content = malloc(chunk->length + GROWTH);
  memcpy(content, chunk->bytes, chunk->length);
  size_t length = LLVMFuzzerMutate(content, chunk->length, chunk->length + GROWTH);
  trace_splice(chunk, 0, chunk->length, content, length);
  free(content);
}

static void change_chunk_header(struct trace_chunk *chunk, struct dice *dice) {
  switch (roll(dice, 6)) {
  case 0: chunk->kind = (uint8_t)roll(dice, 256); break;
  case 1: chunk->kind = (uint8_t)roll(dice, 24); break;
  case 2: chunk->version = (uint8_t)roll(dice, 3); break;
  case 3: chunk->flags = (uint8_t)roll(dice, 4); break;
  default: chunk->codec = (uint8_t)roll(dice, 2); break;
  }
}

static void copy_chunk(struct trace_file *into, unsigned place, const struct trace_chunk *from) {
  if (into->count == TRACE_CHUNKS) return;
  memmove(&into->chunks[place + 1], &into->chunks[place], (into->count - place) * sizeof *into->chunks);
  into->count++;
  into->chunks[place] = *from;
  into->chunks[place].bytes = malloc(from->length + 1);
  memcpy(into->chunks[place].bytes, from->bytes, from->length);
}

static void change_order(struct trace_file *file, struct dice *dice) {
  unsigned one = roll(dice, file->count), other = roll(dice, file->count);
  struct trace_chunk chunk = file->chunks[one];
  switch (roll(dice, 3)) {
  case 0:
    file->chunks[one] = file->chunks[other];
    file->chunks[other] = chunk;
    break;
  case 1: copy_chunk(file, other, &chunk); break;
  default:
    free(chunk.bytes);
    memmove(&file->chunks[one], &file->chunks[one + 1], (file->count - one - 1) * sizeof *file->chunks);
    file->count--;
  }
}

static void change(struct trace_file *file, struct dice *dice) {
  uint32_t what = roll(dice, 32);
  struct trace_chunk *chunk = any_chunk(file, dice);
  if (!roll(dice, 8)) file->header[PID] = (uint8_t)roll(dice, 12);
  if (what == 0 || !chunk) {
    LLVMFuzzerMutate(file->header + 8, TRACE_HEADER - 12, TRACE_HEADER - 12);
  } else if (what < 3) {
    change_order(file, dice);
    return;
  } else if (what == 3) {
    change_chunk_header(chunk, dice);
  } else if (what == 4) {
    change_columns(chunk, dice);
  } else if (what == 5) {
    change_payload(chunk, dice);
  } else if (what < 18) {
    change_number(chunk, dice);
  } else {
    change_column(chunk, dice);
  }
  if (chunk && chunk->kind == EVENTS && roll(dice, 8)) count_events(chunk);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned seed) {
  struct dice dice = {seed};
  struct trace_file file;
  if (!trace_parse(bytes, length, &file)) return LLVMFuzzerMutate(bytes, length, room);
  for (uint32_t times = 1 + roll(&dice, 4); times; times--) change(&file, &dice);
  length = trace_write(&file, bytes, room);
  trace_free(&file);
  // Now and then something that a checksum must find, or an end anywhere.
  if (!roll(&dice, 64)) return LLVMFuzzerMutate(bytes, length, room);
  return roll(&dice, 64) || !length ? length : 1 + roll(&dice, (uint32_t)length);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_length, const uint8_t *other, size_t other_length,
                                 uint8_t *bytes, size_t room, unsigned seed) {
  struct dice dice = {seed};
  struct trace_file a, b;
  bool good = trace_parse(one, one_length, &a);
  good = trace_parse(other, other_length, &b) && good;
  for (uint32_t times = good ? 1 + roll(&dice, 3) : 0; times && b.count; times--) {
    unsigned place = roll(&dice, a.count + 1);
    const struct trace_chunk *from = any_chunk(&b, &dice);
    if (place < a.count && roll(&dice, 2)) {
      free(a.chunks[place].bytes);
      memmove(&a.chunks[place], &a.chunks[place + 1], (a.count - place - 1) * sizeof *a.chunks);
      a.count--;
    }
    copy_chunk(&a, place, from);
  }
  size_t length = good ? trace_write(&a, bytes, room) : 0;
  trace_free(&a);
  trace_free(&b);
  return length;
}
