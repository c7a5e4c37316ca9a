// The table of images as hooks see it, and the rows that were met. The table: two copies, one shown, changed by filling the hidden one and turning a sequence
// number; readers check the number after reading, so nothing is ever freed under them and nobody waits. Callers: the
// walk (unwind_walk.c), the reference (unwind_reference.c), images.c as the writer.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "images.h"

#include <sys/mman.h>

#include "unwind.h"

struct table {
  uint32_t count;
  struct images_entry entries[IMAGES_MAX];
};

static struct table *tables[2];
static _Atomic uint64_t sequence; // table shown = sequence % 2
_Atomic uint32_t lifespan_images_shown;

_Atomic uint64_t images_cache[IMAGES_CACHE];
// Four words for each value of an address's low bits; touched as it fills.
#define KNOWN_BITS 15u
#define KNOWN_WAYS 4u
#define KNOWN_BYTES ((sizeof(uint64_t) * KNOWN_WAYS) << KNOWN_BITS)
static _Atomic uint64_t *known;
_Atomic uint32_t images_generation;
bool images_have_rows;

bool images_table_start(void) {
  if (tables[0]) return true;
  void *memory = mmap(NULL, 2 * sizeof(struct table), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  void *more = mmap(NULL, KNOWN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (more == MAP_FAILED) {
    munmap(memory, 2 * sizeof(struct table));
    return false;
  }
  known = more;
  tables[1] = (struct table *)memory + 1;
  tables[0] = memory;
  return true;
}

struct images_entry *images_table_hidden(void) {
  return tables[(atomic_load_explicit(&sequence, memory_order_relaxed) + 1) % 2]->entries;
}

void images_table_publish(uint32_t count, uint32_t epoch, bool unloaded) {
  uint64_t now = atomic_load_explicit(&sequence, memory_order_relaxed);
  tables[(now + 1) % 2]->count = count;
  atomic_store_explicit(&sequence, now + 1, memory_order_seq_cst);
  if (unloaded) {
    // Words of the old generation no longer match; clearing them keeps a generation's number from meeting its namesake.
    atomic_fetch_add_explicit(&images_generation, 1, memory_order_seq_cst);
    for (unsigned i = 0; i < IMAGES_CACHE; i++) atomic_store_explicit(&images_cache[i], 0, memory_order_relaxed);
    madvise(known, KNOWN_BYTES, MADV_DONTNEED); // reads as zero from now on
  }
  atomic_store_explicit(&lifespan_images_shown, epoch, memory_order_release);
}

static const struct images_entry *search(const struct table *table, uintptr_t address) {
  uint32_t low = 0, high = table->count;
  if (high > IMAGES_MAX) return NULL;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (table->entries[middle].end <= address) low = middle + 1;
    else high = middle;
  }
  const struct images_entry *entry = &table->entries[low];
  return low < table->count && address >= entry->start && address < entry->end ? entry : NULL;
}

static bool unchanged(uint64_t before) {
  atomic_thread_fence(memory_order_acquire);
  return atomic_load_explicit(&sequence, memory_order_relaxed) == before;
}

bool images_entry_at(uintptr_t address, struct images_entry *out) {
  for (unsigned tries = 0; tries < 4 && tables[0]; tries++) {
    uint64_t before = atomic_load_explicit(&sequence, memory_order_acquire);
    const struct images_entry *entry = search(tables[before % 2], address);
    if (entry) *out = *entry;
    if (unchanged(before)) return entry != NULL;
  }
  return false;
}

static struct rows_row row_in(const struct rows_row *rows, uint32_t count, uint32_t pc) {
  uint32_t low = 0, high = count; // last row with row.pc <= pc
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (rows[middle].pc <= pc) low = middle + 1;
    else high = middle;
  }
  return low ? rows[low - 1] : (struct rows_row){.kind = ROWS_NONE};
}

bool images_row(uintptr_t pc, struct rows_row *row) {
  for (unsigned tries = 0; tries < 4 && tables[0]; tries++) {
    uint64_t before = atomic_load_explicit(&sequence, memory_order_acquire);
    const struct images_entry *entry = search(tables[before % 2], pc);
    if (!entry) {
      if (unchanged(before)) return false;
      continue;
    }
    const struct rows_row *rows = entry->rows;
    uint32_t count = entry->row_count;
    uintptr_t start = entry->start;
    // Checked before the rows are read (a pointer of the past could be paired with another image's count), and after.
    if (!unchanged(before)) continue;
    *row = rows ? row_in(rows, count, (uint32_t)(pc - start)) : (struct rows_row){.kind = ROWS_NONE};
    if (unchanged(before)) return true;
  }
  return false;
}

static uint64_t known_tag(uintptr_t pc, uint32_t generation) { return (uint64_t)(pc >> KNOWN_BITS) << 4 | (generation & 15); }

static _Atomic uint64_t *known_ways(uintptr_t pc) { return &known[(pc & ((1u << KNOWN_BITS) - 1)) * KNOWN_WAYS]; }

bool images_recall(uintptr_t pc, uint32_t generation, struct rows_row *row) {
  _Atomic uint64_t *ways = known_ways(pc);
  for (unsigned i = 0; i < KNOWN_WAYS; i++) {
    uint64_t word = atomic_load_explicit(&ways[i], memory_order_relaxed);
    if (word >> 28 != known_tag(pc, generation)) continue;
    *row = (struct rows_row){.kind = (uint8_t)(word >> 24 & 15), .fp = (int8_t)(word >> 16), .cfa = (int16_t)word};
    return true;
  }
  return false;
}

void images_remember(uintptr_t pc, uint32_t generation, struct rows_row row) {
  _Atomic uint64_t *ways = known_ways(pc), *way = &ways[(pc >> KNOWN_BITS) % KNOWN_WAYS]; // that one when all are taken
  for (unsigned i = 0; i < KNOWN_WAYS; i++) {
    uint64_t tag = atomic_load_explicit(&ways[i], memory_order_relaxed) >> 28;
    if (tag && tag != known_tag(pc, generation)) continue;
    way = &ways[i];
    break;
  }
  uint64_t desc = (uint64_t)row.kind << 24 | (uint64_t)(uint8_t)row.fp << 16 | (uint16_t)row.cfa;
  atomic_store_explicit(way, known_tag(pc, generation) << 28 | desc, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  // An unload in between: the word may come after the clearing.
  if (atomic_load_explicit(&images_generation, memory_order_relaxed) != generation)
    atomic_store_explicit(way, 0, memory_order_relaxed);
}

bool images_row_slow(uintptr_t pc, uint32_t generation, struct rows_row *row) {
  if (pc < IMAGES_LOWEST || pc >= IMAGES_HIGHEST) return false;
  if (!images_recall(pc, generation, row)) {
    if (!images_row(pc, row)) return false;
    if (row->kind == ROWS_ASK && !images_find(pc, generation, row)) return true;
  }
  int16_t cfa = row->cfa;
  if (cfa < -4096 || cfa > 4095) return true; // frames over 32 KB are looked up each time
  uint64_t tag = (uint64_t)(pc >> 12) << 4 | (generation & 15);
  uint64_t desc = (uint64_t)row->kind << 21 | (uint64_t)(uint8_t)row->fp << 13 | ((uint64_t)(uint16_t)cfa & 0x1fff);
  _Atomic uint64_t *slot = &images_cache[pc % IMAGES_CACHE];
  atomic_store_explicit(slot, tag << 25 | desc, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  // An unload in between: the word may come after the clearing.
  if (atomic_load_explicit(&images_generation, memory_order_relaxed) != generation)
    atomic_store_explicit(slot, 0, memory_order_relaxed);
  return true;
}

#endif
