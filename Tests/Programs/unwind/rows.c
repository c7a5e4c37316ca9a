// A preload library: in every image of the program, each row that is compiled at once is held against the one that is found
// for an address of it. At the end one line: images, rows, how many differ, and how many calls were told on the way.
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "images.h"
#include "lifespan_map.h"
#include "unwind.h"

static unsigned images, different, calls, wrong_calls, large;
static size_t rows;
static const struct rows_builder *compiled;
static uintptr_t base;

static struct rows_row in_table(const struct rows_builder *table, uintptr_t pc) {
  size_t low = 0, high = table->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (table->rows[middle].pc <= pc - base) low = middle + 1;
    else high = middle;
  }
  return low ? table->rows[low - 1] : (struct rows_row){0};
}

static int equal(struct rows_row a, struct rows_row b) { return a.kind == b.kind && a.cfa == b.cfa && a.fp == b.fp; }

static void on_call(void *context, uintptr_t pc, struct rows_row row) {
  (void)context;
  calls++;
  if (!equal(row, in_table(compiled, pc))) wrong_calls++;
}

// Only where code lies can a return address lead.
static int in_code(const struct rows_source *source, uintptr_t pc) {
  for (unsigned i = 0; i < source->text_count; i++)
    if (pc >= source->texts[i].start && pc < source->texts[i].end) return 1;
  return 0;
}

static void compare(const struct images_elf *elf, void *scratch) {
  struct rows_builder all, some;
  if (!rows_compile(&elf->source, &all)) return;
  if (!rows_compile_large(&elf->source, &some)) abort();
  images++;
  compiled = &all;
  base = elf->source.base;
  for (size_t i = 0; i < all.count; i += 7) { // all of them take a gap's scan each, and ten seconds
    uintptr_t last = i + 1 < all.count ? base + all.rows[i + 1].pc - 1 : base + all.rows[i].pc;
    uintptr_t places[] = {base + all.rows[i].pc, last, base + all.rows[i].pc + (last - base - all.rows[i].pc) / 2};
    for (unsigned k = 0; k < 3; k++) {
      if (!in_code(&elf->source, places[k])) continue;
      struct rows_row row = in_table(&some, places[k]);
      if (row.kind == ROWS_ASK) row = rows_find(&elf->source, places[k], scratch, k ? NULL : on_call, NULL);
      else large++;
      rows++;
      if (equal(row, all.rows[i])) continue;
      if (different++ < 5 && getenv("ROWS_SHOW"))
        fprintf(stderr, "at %lx (row %zu, place %u): %u %d %d, found %u %d %d\n", places[k] - base, i, k, all.rows[i].kind,
                all.rows[i].cfa, all.rows[i].fp, row.kind, row.cfa, row.fp);
    }
  }
  munmap(all.rows, rows_bytes(all.room));
  munmap(some.rows, rows_bytes(some.room));
}

static int look(struct dl_phdr_info *info, size_t size, void *scratch) {
  struct images_elf elf;
  (void)size;
  for (int narrowed = 0; narrowed < 2; narrowed++) {
    if (!images_read_elf(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &elf)) return 0;
    if (narrowed && !images_read_sections(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", &elf)) return 0;
    compare(&elf, scratch);
  }
  return 0;
}

__attribute__((destructor)) static void report(void) {
  void *scratch = malloc(ROWS_LARGE * ROWS_SCRATCH);
  dl_iterate_phdr(look, scratch);
  free(scratch);
  fprintf(stderr, "unwind: walks 0 images %u rows %zu different %u calls %u calls_different %u large %u\n", images, rows,
          different, calls, wrong_calls, large);
}
