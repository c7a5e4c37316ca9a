// Units by address, and lines. See lifespan_lines.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define LINKED_AWAY 4096u // where the linker has put functions that it left out

bool lines_more(void **list, size_t *room, size_t used, size_t size) {
  if (used < *room) return true;
  size_t larger = *room ? *room * 2 : 64;
  void *grown = realloc(*list, larger * size);
  if (!grown) return false;
  *list = grown;
  *room = larger;
  return true;
}

static void add_range(struct lifespan_lines *lines, uint64_t start, uint64_t end, uint32_t unit) {
  if (start < LINKED_AWAY || start >= end) return;
  if (!lines_more((void **)&lines->ranges, &lines->range_room, lines->range_count, sizeof *lines->ranges)) return;
  lines->ranges[lines->range_count++] = (struct lines_range){start, end, unit};
}

// A unit that does not say where its code lies has it where its lines do.
static void add_lines_of(struct lifespan_lines *lines, Dwarf_Die *die, uint32_t unit) {
  Dwarf_Lines *table;
  size_t count;
  if (dwarf_getsrclines(die, &table, &count) != 0) return;
  Dwarf_Addr first = 0, address;
  bool is_open = false, ends;
  for (size_t i = 0; i < count; i++) {
    Dwarf_Line *line = dwarf_onesrcline(table, i);
    if (!line || dwarf_lineaddr(line, &address) != 0 || dwarf_lineendsequence(line, &ends) != 0) continue;
    if (!is_open) first = address;
    is_open = !ends;
    if (ends) add_range(lines, first, address, unit);
  }
}

static void add_unit(struct lifespan_lines *lines, Dwarf_Die *die) {
  if (!lines_more((void **)&lines->units, &lines->unit_room, lines->unit_count, sizeof *lines->units)) return;
  uint32_t unit = (uint32_t)lines->unit_count++;
  lines->units[unit] = (struct lines_unit){.die = *die};
  Dwarf_Addr base, start, end;
  size_t before = lines->range_count;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) add_range(lines, start, end, unit);
  if (lines->range_count == before) add_lines_of(lines, die, unit);
}

int lines_by_start(const void *a, const void *b) {
  const struct lines_range *left = a, *right = b;
  return left->start != right->start ? (left->start < right->start ? -1 : 1) : left->end < right->end ? -1 : left->end > right->end;
}

struct lifespan_lines *lifespan_lines_open(int descriptor) {
  struct lifespan_lines *lines = calloc(1, sizeof *lines);
  if (!lines) return NULL;
  lines->dwarf = dwarf_begin(descriptor, DWARF_C_READ);
  Dwarf_CU *unit = NULL;
  Dwarf_Half version;
  uint8_t kind;
  Dwarf_Die die;
  while (lines->dwarf && dwarf_get_units(lines->dwarf, unit, &unit, &version, &kind, &die, NULL) == 0)
    if (dwarf_tag(&die) == DW_TAG_compile_unit) add_unit(lines, &die);
  if (!lines->range_count) {
    lifespan_lines_close(lines);
    return NULL;
  }
  qsort(lines->ranges, lines->range_count, sizeof *lines->ranges, lines_by_start);
  return lines;
}

void lifespan_lines_close(struct lifespan_lines *lines) {
  if (!lines) return;
  for (size_t i = 0; i < lines->unit_count; i++) free(lines->units[i].functions);
  free(lines->units);
  for (size_t i = 0; i < lines->path_count; i++) free(lines->paths[i].whole);
  free(lines->paths);
  free(lines->ranges);
  if (lines->dwarf) dwarf_end(lines->dwarf);
  free(lines);
}

const struct lines_range *lines_range_at(const struct lines_range *list, size_t count, uint64_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (list[middle].start <= address) low = middle + 1;
    else high = middle;
  }
  // The innermost of those that lie in each other begins last.
  for (size_t i = low; i-- > 0 && low - i <= LINES_NESTED_MOST;)
    if (address < list[i].end) return &list[i];
  return NULL;
}

const char *lines_whole_path(struct lifespan_lines *lines, struct lines_unit *unit, const char *written) {
  Dwarf_Attribute attribute;
  const char *last = written ? strrchr(written, '/') : NULL;
  if (!written || *(last ? last + 1 : written) == '<') return NULL; // <compiler-generated>, <built-in>
  if (*written == '/' || !dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute)) return written;
  for (size_t i = 0; i < lines->path_count; i++)
    if (lines->paths[i].written == written) return lines->paths[i].whole;
  const char *folder = dwarf_formstring(&attribute);
  if (!folder || !lines_more((void **)&lines->paths, &lines->path_room, lines->path_count, sizeof *lines->paths)) return written;
  size_t room = strlen(folder) + strlen(written) + 2;
  char *whole = malloc(room);
  if (!whole) return written;
  snprintf(whole, room, "%s/%s", folder, written);
  lines->paths[lines->path_count++] = (struct lines_path){written, whole};
  return whole;
}

size_t lifespan_lines_at(struct lifespan_lines *lines, uint64_t address, struct lifespan_lines_frame *frames, size_t room) {
  const struct lines_range *range = lines_range_at(lines->ranges, lines->range_count, address);
  if (!range || !room) return 0;
  struct lines_unit *unit = &lines->units[range->what];
  struct lifespan_lines_frame here = {0};
  Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
  int number = 0;
  if (line && dwarf_lineno(line, &number) == 0 && number > 0) {
    here.file = lines_whole_path(lines, unit, dwarf_linesrc(line, NULL, NULL));
    here.line = here.file ? (uint32_t)number : 0;
  }
  size_t count = lines_functions_at(lines, unit, address, &here, frames, room);
  if (!count && here.line) frames[count++] = here;
  return count;
}
