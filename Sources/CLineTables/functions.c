// Functions of a unit by address, and what was inlined into them. A unit's list of functions is read when the first of its addresses is asked for, the tree
// of inlined ones only of the function that is asked for. Called by lines.c.
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define DEPTH_MOST 512u // docc has functions that were specialised and inlined into themselves 71 deep, each in a block
#define INLINED_MOST 256u

static bool holds_functions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_enumeration_type ||
         tag == DW_TAG_union_type || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

static void add_function(struct lines_unit *unit, Dwarf_Die *die) {
  Dwarf_Addr base, start, end;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
    if (start >= end || !lines_more((void **)&unit->functions, &unit->function_room, unit->function_count, sizeof *unit->functions)) continue;
    unit->functions[unit->function_count++] = (struct lines_range){start, end, dwarf_dieoffset(die)};
  }
}

static void add_functions(struct lines_unit *unit, Dwarf_Die *parent, unsigned depth) {
  Dwarf_Die die;
  if (depth > DEPTH_MOST || dwarf_child(parent, &die) != 0) return;
  do {
    int tag = dwarf_tag(&die);
    if (tag == DW_TAG_subprogram) add_function(unit, &die);
    if (holds_functions(tag) && dwarf_haschildren(&die)) add_functions(unit, &die, depth + 1);
  } while (dwarf_siblingof(&die, &die) == 0);
}

static const char *name_of(Dwarf_Die *die) {
  Dwarf_Attribute attribute;
  static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (dwarf_attr_integrate(die, names[i], &attribute)) return dwarf_formstring(&attribute);
  return NULL;
}

// Where the function was called from that was inlined.
static void call_of(struct lifespan_lines *lines, struct lines_unit *unit, Dwarf_Die *die, struct lifespan_lines_frame *frame) {
  Dwarf_Attribute attribute;
  Dwarf_Word number;
  Dwarf_Files *files;
  size_t count;
  frame->file = NULL;
  frame->line = 0;
  if (!dwarf_attr(die, DW_AT_call_line, &attribute) || dwarf_formudata(&attribute, &number) != 0 || !number || number > UINT32_MAX) return;
  uint32_t line = (uint32_t)number;
  if (!dwarf_attr(die, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &number) != 0) return;
  if (dwarf_getsrcfiles(&unit->die, &files, &count) != 0 || number >= count) return;
  frame->file = lines_whole_path(lines, unit, dwarf_filesrc(files, number, NULL, NULL));
  if (frame->file) frame->line = line;
}

// Those that hold the address, from the outermost inwards.
static size_t find_inlined(Dwarf_Die *parent, uint64_t address, Dwarf_Die *inlined, size_t count, unsigned depth) {
  Dwarf_Die die;
  if (depth > DEPTH_MOST || count == INLINED_MOST || dwarf_child(parent, &die) != 0) return count;
  do {
    int tag = dwarf_tag(&die);
    bool is_inlined = tag == DW_TAG_inlined_subroutine;
    if (!is_inlined && tag != DW_TAG_lexical_block) continue;
    // A block need not say where it lies.
    bool is_placed = is_inlined || dwarf_hasattr(&die, DW_AT_low_pc) || dwarf_hasattr(&die, DW_AT_ranges);
    if (is_placed && dwarf_haspc(&die, address) <= 0) continue;
    if (is_inlined) inlined[count++] = die;
    size_t found = find_inlined(&die, address, inlined, count, depth + 1);
    if (is_placed || found > count) return found;
  } while (dwarf_siblingof(&die, &die) == 0);
  return count;
}

size_t lines_functions_at(struct lifespan_lines *lines, struct lines_unit *unit, uint64_t address, const struct lifespan_lines_frame *here,
                          struct lifespan_lines_frame *frames, size_t room) {
  Dwarf_Die function, inlined[INLINED_MOST];
  if (!unit->is_read) {
    unit->is_read = true;
    add_functions(unit, &unit->die, 0);
    qsort(unit->functions, unit->function_count, sizeof *unit->functions, lines_by_start);
  }
  const struct lines_range *range = lines_range_at(unit->functions, unit->function_count, address);
  if (!range || !dwarf_offdie(lines->dwarf, range->what, &function)) return 0;
  size_t count = find_inlined(&function, address, inlined, 0, 0), used = 0;
  struct lifespan_lines_frame next = *here;
  while (count-- > 0 && used + 1 < room) {
    frames[used] = next;
    frames[used++].function = name_of(&inlined[count]);
    call_of(lines, unit, &inlined[count], &next);
  }
  frames[used] = next;
  frames[used++].function = name_of(&function);
  return used;
}
