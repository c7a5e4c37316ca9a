// Compiles an image's rows: frame descriptions in the order of .eh_frame_hdr's sorted table, and the gaps between them.
// Called by images.c when an image is loaded, never in a hook. Memory by mmap only.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "rows.h"

// A gap shorter than a function's alignment holds padding only: no return address lies there.
#define SHORTEST_GAP 16u

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
  while (builder->count && builder->rows[builder->count - 1].pc >= pc) builder->count--; // the newer word wins
  if (builder->count && same(&builder->rows[builder->count - 1], &row)) return;
  if (make_room(builder)) builder->rows[builder->count++] = row;
}

struct table {
  uintptr_t header;     // the base of datarel
  const uint8_t *entries;
  size_t count;
};

static bool open_table(const struct rows_source *source, struct table *table) {
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
  *table = (struct table){source->header, at, count};
  return count > 0;
}

static uintptr_t entry(const struct table *table, size_t index, unsigned word) {
  int32_t offset;
  memcpy(&offset, table->entries + index * 8 + word * 4, 4);
  return table->header + (uintptr_t)(intptr_t)offset;
}

// Calls rows_gap for the parts of [from, to) that lie in executable segments.
static void gap(const struct rows_source *source, uintptr_t from, uintptr_t to, void *scratch, size_t room,
                struct rows_builder *builder) {
  const struct rows_row none = {.kind = ROWS_NONE};
  for (unsigned i = 0; i < source->text_count; i++) {
    uintptr_t low = from > source->texts[i].start ? from : source->texts[i].start;
    uintptr_t high = to < source->texts[i].end ? to : source->texts[i].end;
    if (high <= low || high - low < SHORTEST_GAP) continue;
    // Code may be mapped to be executed and not to be read.
    if (high - low > room || !rows_readable(source, low, high - low)) rows_put(builder, (uint32_t)(low - source->base), none);
    else rows_gap(source->base, low, high, scratch, builder);
    if (high == source->texts[i].end) rows_put(builder, (uint32_t)(high - source->base), none);
  }
}

static void compile(const struct rows_source *source, const struct table *table, void *scratch, size_t room,
                    struct rows_builder *builder) {
  struct rows_cie cie = {0};
  uintptr_t cursor = source->base, end = source->text_count ? source->texts[source->text_count - 1].end : cursor;
  rows_put(builder, 0, (struct rows_row){.kind = ROWS_NONE});
  for (size_t i = 0; i < table->count && !builder->failed; i++) {
    uintptr_t begin = entry(table, i, 0), next = i + 1 < table->count ? entry(table, i + 1, 0) : end;
    struct rows_fde fde = {0};
    if (begin < cursor || begin >= end) continue; // not sorted, or a description of nothing
    // Before the first and behind the last description of a segment lie constants as well.
    if (begin - cursor >= SHORTEST_GAP && (source->exact || i)) gap(source, cursor, begin, scratch, room, builder);
    bool good = rows_cfi(source, entry(table, i, 1), &cie, builder, &fde);
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

bool rows_compile(const struct rows_source *source, struct rows_builder *builder) {
  struct table table;
  *builder = (struct rows_builder){0};
  if (!open_table(source, &table)) return false;
  size_t room = SCRATCH_ROOM;
  if (!kept_scratch) {
    void *memory = mmap(NULL, room * ROWS_SCRATCH, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    kept_scratch = memory == MAP_FAILED ? NULL : memory;
  }
  if (!kept_scratch) room = 0;
  compile(source, &table, kept_scratch, room, builder);
  if (builder->failed || !builder->count) {
    if (builder->rows) munmap(builder->rows, rows_bytes(builder->room));
    *builder = (struct rows_builder){0};
    return false;
  }
  void *rows = mremap(builder->rows, rows_bytes(builder->room), rows_bytes(builder->count), 0);
  if (rows != MAP_FAILED) builder->room = builder->count;
  return true;
}

#endif
