// Variable-length numbers and encoded pointers of `.eh_frame`, bounded. Called by rows_cfi.c and rows_compile.c at
// start.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include <string.h>

#include "rows.h"

uint64_t rows_uleb(const uint8_t **at, const uint8_t *end) {
  uint64_t value = 0;
  unsigned shift = 0;
  while (*at < end) {
    uint8_t byte = *(*at)++;
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    shift += 7;
    if (!(byte & 0x80)) return value;
  }
  return value;
}

int64_t rows_sleb(const uint8_t **at, const uint8_t *end) {
  uint64_t value = 0;
  unsigned shift = 0;
  uint8_t byte = 0;
  while (*at < end) {
    byte = *(*at)++;
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    shift += 7;
    if (!(byte & 0x80)) break;
  }
  if (shift < 64 && (byte & 0x40)) value |= ~0ull << shift;
  return (int64_t)value;
}

static bool take(const uint8_t **at, const uint8_t *end, void *into, size_t bytes) {
  if ((size_t)(end - *at) < bytes) {
    *at = end;
    return false;
  }
  memcpy(into, *at, bytes);
  *at += bytes;
  return true;
}

bool rows_pointer(const uint8_t **at, const uint8_t *end, unsigned encoding, uintptr_t data, uintptr_t *value) {
  uintptr_t here = (uintptr_t)*at;
  int16_t s2 = 0;
  uint16_t u2 = 0;
  int32_t s4 = 0;
  uint32_t u4 = 0;
  uint64_t u8 = 0;
  bool good = true;
  if (encoding == 0xff) return false;
  switch (encoding & 0x0f) {
    case 0x00: case 0x04: case 0x0c: good = take(at, end, &u8, 8); break;
    case 0x01: u8 = rows_uleb(at, end); break;
    case 0x02: good = take(at, end, &u2, 2); u8 = u2; break;
    case 0x03: good = take(at, end, &u4, 4); u8 = u4; break;
    case 0x09: u8 = (uint64_t)rows_sleb(at, end); break;
    case 0x0a: good = take(at, end, &s2, 2); u8 = (uint64_t)(int64_t)s2; break;
    case 0x0b: good = take(at, end, &s4, 4); u8 = (uint64_t)(int64_t)s4; break;
    default: return false;
  }
  switch (encoding & 0x70) {
    case 0x00: break;
    case 0x10: u8 += here; break;
    case 0x30: u8 += data; break;
    default: return false; // text and function relative, aligned: not used on this architecture
  }
  *value = (uintptr_t)u8;
  return good && !(encoding & 0x80); // an indirect pointer is a personality's, never a code range
}

uintptr_t rows_readable(const struct rows_source *source, uintptr_t address, size_t bytes) {
  for (unsigned i = 0; i < source->read_count; i++) {
    const struct rows_span *span = &source->reads[i];
    if (address >= span->start && address < span->end && bytes <= span->end - address) return span->end;
  }
  return 0;
}

#endif
