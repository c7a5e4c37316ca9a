// Common and frame description entries of `.eh_frame`: bounds and heads. Called by rows_cfi.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>

#include "rows.h"

// Length field of a CIE or FDE: gives its content, bounded by its segment.
bool rows_open_entry(const struct rows_source *source, uintptr_t address, const uint8_t **at, const uint8_t **end) {
  uint32_t length = 0;
  if (address % 4 || !rows_readable(source, address, 4)) return false;
  memcpy(&length, (const void *)address, 4);
  if (length < 4 || length == 0xffffffff || !rows_readable(source, address + 4, length)) return false;
  *at = (const uint8_t *)address + 4;
  *end = *at + length;
  return true;
}

bool rows_parse_cie(const struct rows_source *source, uintptr_t address, struct rows_cie *cie) {
  const uint8_t *at, *end;
  if (!rows_open_entry(source, address, &at, &end) || end - at < 8) return false;
  uint32_t id = 0;
  memcpy(&id, at, 4);
  unsigned version = at[4];
  const char *augmentation = (const char *)at + 5;
  size_t length = strnlen(augmentation, (size_t)(end - at) - 5);
  if (id != 0 || (version != 1 && version != 3) || length >= (size_t)(end - at) - 5) return false;
  at += 5 + length + 1;
  *cie = (struct rows_cie){.address = address, .program_end = end, .augmented = augmentation[0] == 'z'};
  cie->code_align = rows_uleb(&at, end);
  cie->data_align = rows_sleb(&at, end);
  uint64_t return_register = version == 1 && at < end ? *at++ : rows_uleb(&at, end);
  if (return_register != 16 || (length && !cie->augmented)) return false;
  if (cie->augmented) {
    uint64_t bytes = rows_uleb(&at, end);
    if (bytes > (uint64_t)(end - at)) return false;
    const uint8_t *data = at, *data_end = at + bytes;
    uintptr_t ignored;
    for (const char *letter = augmentation + 1; *letter; letter++) {
      if (*letter == 'R' && data < data_end) cie->encoding = *data++;
      else if (*letter == 'L' && data < data_end) data++;
      else if (*letter == 'P' && data < data_end) {
        unsigned encoding = *data++ & 0x7f;
        if (!rows_pointer(&data, data_end, encoding, 0, &ignored)) return false;
      } else if (*letter == 'S') cie->signal = true;
      else if (*letter != 'B') return false;
    }
    at = data_end;
  }
  cie->program = at;
  return true;
}

#endif
