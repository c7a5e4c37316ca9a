// Which source line an address of code comes from, and through which inlined functions, by the DWARF of an ELF file (versions 2 to 5, libdw). Used by
// LifespanSymbols. Not for several threads at once.
#ifndef LIFESPAN_LINES_H
#define LIFESPAN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lifespan_lines;
// The debugging information of the file that is open as `descriptor`, which must stay open until the close. NULL: it holds none. Reads which functions'
// addresses each compilation unit holds, and no more: the rest is read where it is asked for.
struct lifespan_lines *lifespan_lines_open(int descriptor);
void lifespan_lines_close(struct lifespan_lines *lines);

struct lifespan_lines_frame {
  const char *function; // mangled where it is; NULL: not known. Texts live until the close.
  const char *file;     // a whole path where the compiler wrote one; NULL: not known
  uint32_t line;        // from 1; 0: not known, or code of no line
};
// What the instruction at `address` (as the file's own tables count) belongs to: functions that were inlined there from the innermost outwards, last the one
// that they are in. Fills in at most `room` frames of those and returns how many; 0: nothing is known of that place.
size_t lifespan_lines_at(struct lifespan_lines *lines, uint64_t address, struct lifespan_lines_frame *frames, size_t room);

#endif
