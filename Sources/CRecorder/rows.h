// Compact unwind rows: what `.eh_frame` says of a return address, in 8 bytes. Found when a walk first meets the address
// (rows_find.c), or compiled for a whole image or its large gaps when it is loaded (rows_compile.c); both by rows_cfi.c and
// rows_gap.c. Kept by images.c, read by the walk through images_table.c.
#ifndef LIFESPAN_ROWS_H
#define LIFESPAN_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

// For what runs at each frame of a walk: an address taken by a call would put its state into memory.
#define ROWS_INLINE static inline __attribute__((always_inline))

// How to find the canonical frame address (CFA: the stack pointer before the call that made the frame). The return
// address lies at CFA - 8 except in a signal frame.
enum rows_kind {
  ROWS_NONE = 0,   // not known: the walk stops
  ROWS_SP = 1,     // CFA = rsp + 8 * cfa
  ROWS_FP = 2,     // CFA = rbp + 8 * cfa
  ROWS_DRAP = 3,   // CFA = *(rbp + 8 * cfa), caller's rbp at [rbp]: functions that realign the stack
  ROWS_PLT = 4,    // CFA = rsp + 8, and 8 more from byte `cfa` of each 16 on
  ROWS_SIGNAL = 5, // rsp points at a ucontext: CFA = *(rsp + 8 * cfa), registers from it
  ROWS_END = 6,    // outermost function
  ROWS_ASK = 7,    // in an image's table only: rows_find knows
};

struct rows_row {
  uint32_t pc;  // offset from the image's start; the row holds up to the next one
  int16_t cfa;
  int8_t fp;    // caller's rbp lies at CFA + 8 * fp; 0: rbp is still the caller's
  uint8_t kind; // enum rows_kind
};
_Static_assert(sizeof(struct rows_row) == 8, "row");

#define ROWS_TEXTS 4u
#define ROWS_READS 6u
struct rows_span {
  uintptr_t start, end; // absolute
  bool writable;
};

// Where an image's unwind information lies in this process.
struct rows_source {
  uintptr_t base;                      // what row offsets count from
  uintptr_t header;                    // .eh_frame_hdr, 0 none
  uintptr_t header_end;
  struct rows_span texts[ROWS_TEXTS];  // where code lies, ascending
  unsigned text_count;
  bool exact;                          // texts are sections of code; else segments, with constants among the code
  struct rows_span reads[ROWS_READS];  // readable segments: all that may be read
  unsigned read_count;
};

// Takes a call's row on the way through a gap; `pc` is the call's last byte, which is what a walk looks up.
typedef void (*rows_call)(void *context, uintptr_t pc, struct rows_row row);

struct rows_builder {
  struct rows_row *rows;
  size_t count, room;
  bool failed; // no memory: the result is not to be used
  // One address instead of a table: `found` is the row that holds at offset `wanted`.
  bool one;
  uint32_t wanted;
  struct rows_row found;
  rows_call call; // NULL: nobody
  void *context;
};

// Adds a row, merged with an equal one before it.
void rows_put(struct rows_builder *builder, uint32_t pc, struct rows_row row);

// One frame description: appends its rows. Gives its range. False: malformed, skip it.
struct rows_fde {
  uintptr_t begin, end;
};
struct rows_cie;
bool rows_cfi(const struct rows_source *source, uintptr_t fde, struct rows_cie *cache, struct rows_builder *builder,
              struct rows_fde *out);

// Code without frame descriptions: appends rows for [from, to) by following the height of the stack. `scratch` holds
// ROWS_SCRATCH bytes for each byte of the range.
#define ROWS_SCRATCH 16u
#define ROWS_SHORTEST_GAP 16u // a shorter gap than a function's alignment holds padding only: no return address lies there
void rows_gap(uintptr_t base, uintptr_t from, uintptr_t to, void *scratch, struct rows_builder *builder);

// The sorted table of an image's frame descriptions (.eh_frame_hdr). False: none, or not of the usual form.
struct rows_table {
  uintptr_t header;       // the base of datarel
  const uint8_t *entries; // pairs of offsets: code, description
  size_t count;
};
bool rows_open_table(const struct rows_source *source, struct rows_table *table);
ROWS_INLINE uintptr_t rows_table_word(const struct rows_table *table, size_t index, unsigned word) {
  int32_t offset;
  __builtin_memcpy(&offset, table->entries + index * 8 + word * 4, 4);
  return table->header + (uintptr_t)(intptr_t)offset;
}

// Compiles all rows of an image. Outside hooks, one thread at a time; memory by mmap. False: no frame descriptions, or
// no memory. The builder's rows are a mapping of rows_bytes(room) that the caller owns.
bool rows_compile(const struct rows_source *source, struct rows_builder *builder);
// The same for the gaps alone that are too large for rows_find; ROWS_ASK elsewhere.
bool rows_compile_large(const struct rows_source *source, struct rows_builder *builder);

// The row that holds at `pc`: found in the image itself, in hooks too. Nothing is written but the builder and the
// scratch of ROWS_LARGE * ROWS_SCRATCH bytes. The calls met on the way through a gap go to `call`. The image must stay mapped
// meanwhile.
#define ROWS_LARGE (64u << 10) // bytes of a gap beyond which its rows are compiled at once
struct rows_row rows_find(const struct rows_source *source, uintptr_t pc, void *scratch, rows_call call, void *context);
size_t rows_bytes(size_t room);
// Gives back what rows_compile keeps from one image to the next; after the last of a batch.
void rows_release(void);

// End of the readable segment that holds [address, address + bytes), 0 if none does.
uintptr_t rows_readable(const struct rows_source *source, uintptr_t address, size_t bytes);

// Little pieces of DWARF, bounded by `end`. `*at` moves on; on a truncated value it becomes `end`.
uint64_t rows_uleb(const uint8_t **at, const uint8_t *end);
int64_t rows_sleb(const uint8_t **at, const uint8_t *end);
// An encoded pointer (DW_EH_PE_*); `data` is the base of datarel. False: encoding not known or truncated.
bool rows_pointer(const uint8_t **at, const uint8_t *end, unsigned encoding, uintptr_t data, uintptr_t *value);

// Content of a CIE or FDE, bounded by its segment. False: malformed.
bool rows_open_entry(const struct rows_source *source, uintptr_t address, const uint8_t **at, const uint8_t **end);
bool rows_parse_cie(const struct rows_source *source, uintptr_t address, struct rows_cie *cie);

// State kept from one FDE to the next: most share their CIE.
struct rows_cie {
  uintptr_t address; // 0 none
  const uint8_t *program, *program_end;
  uint64_t code_align;
  int64_t data_align;
  uint8_t encoding;
  bool augmented, signal;
};

#pragma GCC visibility pop
#endif
