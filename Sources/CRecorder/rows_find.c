// The row of one address, found in the image when it is asked for: the frame description that covers it, by a search of
// .eh_frame_hdr's sorted table, or the gap that it lies in. What comes out is what rows_compile.c has in its table there.
// Called by images_find.c, in hooks: reads the image and nothing else, and calls nobody but `call`.
//
// A program walks through few of the addresses that its images describe: compiling them all took 433 of the 448 million
// instructions of a small program that uses Foundation, this way it is 3 of 18.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "rows.h"

// How many descriptions begin at or before `pc`.
static size_t descriptions_up_to(const struct rows_table *table, uintptr_t pc) {
  size_t low = 0, high = table->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (rows_table_word(table, middle, 0) <= pc) low = middle + 1;
    else high = middle;
  }
  return low;
}

static struct rows_row in_gap(const struct rows_source *source, uintptr_t from, uintptr_t to, uintptr_t pc, void *scratch,
                              struct rows_builder *builder) {
  const struct rows_row none = {.kind = ROWS_NONE};
  for (unsigned i = 0; i < source->text_count; i++) {
    uintptr_t low = from > source->texts[i].start ? from : source->texts[i].start;
    uintptr_t high = to < source->texts[i].end ? to : source->texts[i].end;
    if (pc < low || pc >= high) continue;
    // A large one has its rows in the table: what is asked for is the padding before the first of them.
    if (high - low < ROWS_SHORTEST_GAP || high - low > ROWS_LARGE) return builder->found;
    if (!rows_readable(source, low, high - low)) return none; // code may be mapped to be executed and not to be read
    rows_gap(source->base, low, high, scratch, builder);
    return builder->found;
  }
  return none;
}

struct rows_row rows_find(const struct rows_source *source, uintptr_t pc, void *scratch, rows_call call, void *context) {
  const struct rows_row none = {.kind = ROWS_NONE};
  struct rows_table table;
  if (!rows_open_table(source, &table) || pc < source->base) return none;
  struct rows_builder builder = {.one = true, .wanted = (uint32_t)(pc - source->base), .call = call, .context = context};
  size_t count = descriptions_up_to(&table, pc);
  uintptr_t end = source->text_count ? source->texts[source->text_count - 1].end : source->base;
  uintptr_t next = count < table.count ? rows_table_word(&table, count, 0) : end, from = source->base;
  bool outside = !count || count == table.count; // before the first and behind the last description lie constants as well
  if (count) {
    struct rows_cie cie = {0};
    struct rows_fde fde = {0};
    bool good = rows_cfi(source, rows_table_word(&table, count - 1, 1), &cie, &builder, &fde);
    if (!good || fde.begin != rows_table_word(&table, count - 1, 0)) return none;
    if (pc < fde.end) return builder.found;
    from = fde.end;
  }
  if (outside && !source->exact) return none;
  return in_gap(source, from, next, pc, scratch, &builder);
}

#endif
