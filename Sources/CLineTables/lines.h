// What the files of CLineTables share.
#ifndef LINES_H
#define LINES_H

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "lifespan_lines.h"

#define LINES_NESTED_MOST 64u

struct lines_range {
  uint64_t start, end;
  uint64_t what; // which unit; of a function where it is described
};
struct lines_unit {
  Dwarf_Die die;
  bool is_read; // its functions
  struct lines_range *functions; // by start
  size_t function_count, function_room;
};
struct lines_path {
  const char *written; // in the tables; relative
  char *whole;
};
struct lifespan_lines {
  Dwarf *dwarf;
  struct lines_unit *units;
  size_t unit_count, unit_room;
  struct lines_range *ranges; // by start
  size_t range_count, range_room;
  struct lines_path *paths;
  size_t path_count, path_room;
};

bool lines_more(void **list, size_t *room, size_t used, size_t size); // room for one more; false: no memory
int lines_by_start(const void *a, const void *b); // of struct lines_range, for qsort
// The one that holds the address; of those in each other the innermost. NULL: none.
const struct lines_range *lines_range_at(const struct lines_range *list, size_t count, uint64_t address);
// A file's path as tables have it, which may be one from the folder in which the unit was compiled. NULL stays NULL.
const char *lines_whole_path(struct lifespan_lines *lines, struct lines_unit *unit, const char *written);
// functions.c: frames of the functions there, `here` being where the innermost one is. 0: no function is known.
size_t lines_functions_at(struct lifespan_lines *lines, struct lines_unit *unit, uint64_t address, const struct lifespan_lines_frame *here,
                          struct lifespan_lines_frame *frames, size_t room);

#endif
