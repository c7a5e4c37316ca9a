// Rows of images that came back or are gone. Called by images.c under its lock, outside hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "images.h"

// Rows of images that are gone: the same image takes them again, and another image takes the memory when there are
// many.
struct retired {
  uint64_t fingerprint;
  struct rows_builder rows;
};
#define RETIRED_MAX 64u
#define RETIRED_KEPT 16u
static struct retired retired[RETIRED_MAX];
static uint32_t count;

void images_retire_rows(const struct images_elf *elf, struct rows_builder rows) {
  if (!rows.rows || count == RETIRED_MAX) return; // beyond that they stay mapped for nobody
  retired[count++] = (struct retired){elf->fingerprint, rows};
}

static void take_retired(uint32_t index) {
  memmove(&retired[index], &retired[index + 1], (count - index - 1) * sizeof retired[0]);
  count--;
}

struct rows_builder images_take_rows(const struct images_elf *elf) {
  struct rows_builder rows = {0};
  for (uint32_t i = 0; i < count && elf->build_id_length; i++) {
    if (retired[i].fingerprint != elf->fingerprint) continue;
    rows = retired[i].rows;
    take_retired(i);
    return rows;
  }
  // The dynamic linker does not know the kernel's image; it is small.
  bool asks = images_find_there() && elf->start != getauxval(AT_SYSINFO_EHDR);
  bool good = asks ? rows_compile_large(&elf->source, &rows) : rows_compile(&elf->source, &rows);
  if (!good) return (struct rows_builder){0};
  for (uint32_t i = 0; count > RETIRED_KEPT && i < count; i++) {
    struct rows_builder old = retired[i].rows;
    if (old.room < rows.count) continue;
    // Taken out of the table with an earlier sequence number: who still reads it will see that and read again.
    memcpy(old.rows, rows.rows, rows.count * sizeof *rows.rows);
    old.count = rows.count;
    munmap(rows.rows, rows_bytes(rows.room));
    take_retired(i);
    return old;
  }
  return rows;
}

#endif
