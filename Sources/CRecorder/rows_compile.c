// Compiles an image's rows: frame descriptions in the order of .eh_frame_hdr's sorted table, and the gaps between them; or
// its large gaps alone. Called by images_rows.c when an image is loaded, never in a hook. Memory by mmap only.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "rows.h"

size_t rows_bytes(size_t room) { return (room * sizeof(struct rows_row) + 4095) & ~(size_t)4095; }

static bool same(const struct rows_row *a, const struct rows_row *b) {
  return a->kind == b->kind && a->cfa == b->cfa && a->fp == b->fp;
}

static bool make_room(struct rows_builder *builder) {
  if (builder->count < builder->room) return true;
  size_t room = builder->room ? builder->room * 2 : 4096;
  void *rows = builder->rows ? mremap(builder->rows, rows_bytes(builder->room), rows_bytes(room), MREMAP_MAYMOVE)
                             : mmap(NULL, rows_bytes(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (rows == MAP_FAILED) {
    builder->failed = true;
    return false;
  }
  builder->rows = rows;
  builder->room = room;
  return true;
}

void rows_put(struct rows_builder *builder, uint32_t pc, struct rows_row row) {
  row.pc = pc;
  if (builder->one) {
    if (pc <= builder->wanted) builder->found = row;
    return;
  }
  while (builder->count && builder->rows[builder->count - 1].pc >= pc) builder->count--; // the newer word wins
  if (builder->count && same(&builder->rows[builder->count - 1], &row)) return;
  if (make_room(builder)) builder->rows[builder->count++] = row;
}

bool rows_open_table(const struct rows_source *source, struct rows_table *table) {
  uintptr_t limit = source->header ? rows_readable(source, source->header, 8) : 0;
  if (!limit) return false;
  if (source->header_end < limit) limit = source->header_end;
  const uint8_t *at = (const uint8_t *)source->header, *end = (const uint8_t *)limit;
  uintptr_t frames = 0, count = 0;
  // Sorted pairs of 4-byte offsets: what all linkers write.
  if (end - at < 8 || at[0] != 1 || at[3] != 0x3b) return false;
  unsigned frame_encoding = at[1], count_encoding = at[2];
  at += 4;
  if (!rows_pointer(&at, end, frame_encoding, source->header, &frames)) return false;
  if (!rows_pointer(&at, end, count_encoding, source->header, &count)) return false;
  if (count > (size_t)(end - at) / 8) return false;
  *table = (struct rows_table){source->header, at, count};
  return count > 0;
}

// Calls rows_gap for the parts of [from, to) that lie in executable segments.
static void gap(const struct rows_source *source, uintptr_t from, uintptr_t to, void *scratch, size_t room,
                struct rows_builder *builder) {
  const struct rows_row none = {.kind = ROWS_NONE};
  for (unsigned i = 0; i < source->text_count; i++) {
    uintptr_t low = from > source->texts[i].start ? from : source->texts[i].start;
    uintptr_t high = to < source->texts[i].end ? to : source->texts[i].end;
    if (high <= low || high - low < ROWS_SHORTEST_GAP) continue;
    // Code may be mapped to be executed and not to be read.
    if (high - low > room || !rows_readable(source, low, high - low)) rows_put(builder, (uint32_t)(low - source->base), none);
    else rows_gap(source->base, low, high, scratch, builder);
    if (high == source->texts[i].end) rows_put(builder, (uint32_t)(high - source->base), none);
  }
}

static void compile(const struct rows_source *source, const struct rows_table *table, void *scratch, size_t room,
                    struct rows_builder *builder) {
  struct rows_cie cie = {0};
  uintptr_t cursor = source->base, end = source->text_count ? source->texts[source->text_count - 1].end : cursor;
  rows_put(builder, 0, (struct rows_row){.kind = ROWS_NONE});
  for (size_t i = 0; i < table->count && !builder->failed; i++) {
    uintptr_t begin = rows_table_word(table, i, 0), next = i + 1 < table->count ? rows_table_word(table, i + 1, 0) : end;
    struct rows_fde fde = {0};
    if (begin < cursor || begin >= end) continue; // not sorted, or a description of nothing
    // Before the first and behind the last description of a segment lie constants as well.
    if (begin - cursor >= ROWS_SHORTEST_GAP && (source->exact || i)) gap(source, cursor, begin, scratch, room, builder);
    bool good = rows_cfi(source, rows_table_word(table, i, 1), &cie, builder, &fde);
    if (!good || fde.begin != begin) {
      rows_put(builder, (uint32_t)(begin - source->base), (struct rows_row){.kind = ROWS_NONE});
      cursor = next > begin ? next : begin + 1;
      continue;
    }
    cursor = fde.end < next || i + 1 == table->count ? fde.end : next;
  }
  if (cursor < end && source->exact) gap(source, cursor, end, scratch, room, builder);
  else if (cursor < end) rows_put(builder, (uint32_t)(cursor - source->base), (struct rows_row){.kind = ROWS_NONE});
}

// The gap scan's working memory: for gaps up to 4 MiB, touched only as far as the largest gap goes. Kept from image to
// image, since touching it anew costs as much as a scan.
#define SCRATCH_ROOM ((size_t)4 << 20)
static void *kept_scratch;

void rows_release(void) {
  if (kept_scratch) munmap(kept_scratch, SCRATCH_ROOM * ROWS_SCRATCH);
  kept_scratch = NULL;
}

static void *scratch(void) {
  if (!kept_scratch) {
    void *memory = mmap(NULL, SCRATCH_ROOM * ROWS_SCRATCH, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    kept_scratch = memory == MAP_FAILED ? NULL : memory;
  }
  return kept_scratch;
}

// The gap that begins behind description `i` (-1: before the first). False: none, or a short one.
static bool large_gap(const struct rows_source *source, const struct rows_table *table, ptrdiff_t i, uintptr_t end,
                      uintptr_t *from, uintptr_t *to) {
  size_t next = (size_t)(i + 1);
  *from = i < 0 ? source->base : rows_table_word(table, (size_t)i, 0);
  *to = next < table->count ? rows_table_word(table, next, 0) : end;
  if (*to <= *from || *to > end || *to - *from <= ROWS_LARGE) return false;
  if ((i < 0 || next == table->count) && !source->exact) return false;
  if (i < 0) return true;
  struct rows_cie cie = {0};
  struct rows_fde fde = {0};
  struct rows_builder nobody = {.one = true};
  if (!rows_cfi(source, rows_table_word(table, (size_t)i, 1), &cie, &nobody, &fde) || fde.begin != *from) return false;
  *from = fde.end;
  return *to > *from && *to - *from > ROWS_LARGE;
}

static void compile_large(const struct rows_source *source, const struct rows_table *table, struct rows_builder *builder) {
  const struct rows_row ask = {.kind = ROWS_ASK};
  uintptr_t end = source->text_count ? source->texts[source->text_count - 1].end : source->base, from, to, last = source->base;
  rows_put(builder, 0, ask);
  for (ptrdiff_t i = -1; i < (ptrdiff_t)table->count && !builder->failed; i++) {
    if (!large_gap(source, table, i, end, &from, &to) || from < last) continue;
    void *memory = scratch();
    gap(source, from, to, memory, memory ? SCRATCH_ROOM : 0, builder);
    rows_put(builder, (uint32_t)(to - source->base), ask);
    last = to;
  }
}

static bool finish(struct rows_builder *builder) {
  if (builder->failed || !builder->count) {
    if (builder->rows) munmap(builder->rows, rows_bytes(builder->room));
    *builder = (struct rows_builder){0};
    return false;
  }
  void *rows = mremap(builder->rows, rows_bytes(builder->room), rows_bytes(builder->count), 0);
  if (rows != MAP_FAILED) builder->room = builder->count;
  return true;
}

bool rows_compile(const struct rows_source *source, struct rows_builder *builder) {
  struct rows_table table;
  *builder = (struct rows_builder){0};
  if (!rows_open_table(source, &table)) return false;
  void *memory = scratch();
  compile(source, &table, memory, memory ? SCRATCH_ROOM : 0, builder);
  return finish(builder);
}

bool rows_compile_large(const struct rows_source *source, struct rows_builder *builder) {
  struct rows_table table;
  *builder = (struct rows_builder){0};
  if (!rows_open_table(source, &table)) return false;
  compile_large(source, &table, builder);
  return finish(builder);
}

#endif
