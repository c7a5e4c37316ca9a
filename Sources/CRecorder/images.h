// The load map: which image lies where, its rows and where its unwind information is. Written by images.c under its own
// lock, outside hooks; read without locks in hooks through images_table.c.
#ifndef LIFESPAN_IMAGES_H
#define LIFESPAN_IMAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rows.h"

#pragma GCC visibility push(hidden)

#define IMAGES_MAX 8192u
#define IMAGES_LOWEST 4096u              // no code below
#define IMAGES_HIGHEST (1ull << 47)      // nor from here on

// ---- Table: what hooks read ---------------------------------------------------------------------------------------
struct images_entry {
  uintptr_t start, end;          // of all its segments
  const struct rows_row *rows;   // never unmapped: the memory may be given to another image, which readers notice
  uint32_t row_count;
  uint32_t id;
  struct rows_source source;
};

// Row for a code address (of the call, not behind it) by the table alone, ROWS_ASK where it does not say. In hooks.
// False: in no known image.
bool images_row(uintptr_t pc, struct rows_row *row);
// Copy of the entry whose image holds `address`. In hooks. False: none, or the table changed four times meanwhile.
bool images_entry_at(uintptr_t address, struct images_entry *entry);

// One word per slot, so that readers and writers need no lock: 35 bits of the address above the slot's 12, 4 bits of
// generation, 25 bits of row. A generation ends when an image is unloaded.
#define IMAGES_CACHE 4096u
extern _Atomic uint64_t images_cache[IMAGES_CACHE];
extern _Atomic uint32_t images_generation;

// Behind it a larger one, for rows that were found in the image itself. The word's tag and row as above, with all 16 bits of cfa.
bool images_recall(uintptr_t pc, uint32_t generation, struct rows_row *row);
void images_remember(uintptr_t pc, uint32_t generation, struct rows_row row);

// Looks up by the table or in the image, and fills the caches. In hooks.
bool images_row_slow(uintptr_t pc, uint32_t generation, struct rows_row *row);

ROWS_INLINE bool images_row_cached(uintptr_t pc, struct rows_row *row) {
  uint32_t generation = atomic_load_explicit(&images_generation, memory_order_acquire);
  uint64_t word = atomic_load_explicit(&images_cache[pc % IMAGES_CACHE], memory_order_relaxed);
  if (word >> 25 != ((pc >> 12) << 4 | (generation & 15))) {
    struct rows_row found = {0}; // of its own, so that the caller's row stays in registers
    bool known = images_row_slow(pc, generation, &found);
    *row = found;
    return known;
  }
  row->pc = 0;
  row->kind = (uint8_t)(word >> 21 & 15);
  row->fp = (int8_t)(word >> 13 & 0xff);
  row->cfa = (int16_t)((int16_t)(uint16_t)(word << 3) >> 3);
  return true;
}

// False when no image had rows at start: walks go by frame pointers. Written once, before hooks.
extern bool images_have_rows;

// Rows found in the images themselves; images_find.c. False: not here (glibc before 2.35), rows are compiled at once then.
bool images_find_start(void);
bool images_find_there(void);
// Asks the dynamic linker for the image of an address, in hooks too: whether it has it, and where its .eh_frame_hdr is.
bool images_loaded(uintptr_t pc, uintptr_t *header);
// In hooks. The row is ROWS_NONE, and not to be remembered, while the image is on its way out or the scratch is all in use.
bool images_find(uintptr_t pc, uint32_t generation, struct rows_row *row);
void images_find_forked(void); // what other threads had taken is free again
// How many looks into images this thread is in: a signal handler may interrupt one. And: those beyond so many will not go on, as a
// handler has left them by siglongjmp.
unsigned images_find_depth(void);
void images_find_left(unsigned depth);

// Writers, under the lock of images.c: fill the entries of the hidden table in ascending order, then publish. Readers
// of the shown one go on undisturbed. False: no memory.
bool images_table_start(void);
struct images_entry *images_table_hidden(void);
void images_table_publish(uint32_t count, uint32_t epoch, bool unloaded);

// ---- ELF: what images.c asks of a loaded file ---------------------------------------------------------------------
#define IMAGES_BUILD_ID 64u
struct images_elf {
  uintptr_t bias, start, end;
  struct rows_source source;
  uint8_t build_id[IMAGES_BUILD_ID];
  size_t build_id_length;
  uint64_t fingerprint; // of program headers and build id: tells images at the same address apart
};
// Reads the program headers (ElfW(Phdr)[]) of a mapped image. False: nothing executable in it.
bool images_read_elf(uintptr_t bias, const void *headers, size_t count, struct images_elf *out);
// Narrows the executable ranges to the sections that hold code, from the file. False: as they were.
bool images_read_sections(const char *path, struct images_elf *elf);
// Program headers by the ELF header at the start of a mapping that may not be readable: no fault. NULL: not there.
const void *images_probe_headers(uintptr_t bias, size_t *count);
// Path to write into the trace: absolute; the executable as lifespan_recorder_executable says. `room` at least PATH_MAX.
void images_path(const char *name, bool executable, uintptr_t start, char *path, size_t room);

// ---- Found images: what one look at the loader's lists gives ------------------------------------------------------
struct images_found {
  uintptr_t bias;
  const void *headers;
  size_t header_count;
  const char *name;
  bool executable;
  bool elsewhere; // in another namespace (dlmopen), which dl_iterate_phdr does not show
};
struct images_look {
  struct images_found *found; // room for IMAGES_MAX
  uint32_t count;
  bool everywhere; // shows all namespaces
};

// ---- Rows of an image -------------------------------------------------------------------------------------------
// Compiles them, or takes those of the same image that was there before. Under the lock of images.c.
struct rows_builder images_take_rows(const struct images_elf *elf);
// The image is gone from the shown table. Under the lock.
void images_retire_rows(const struct images_elf *elf, struct rows_builder rows);

// ---- Notification -------------------------------------------------------------------------------------------------
// Detours the dynamic linker's r_brk to `handler`. One thread, outside hooks. False: not there or not recognised.
bool images_notify_install(void (*handler)(void));
// Fills `look` from the linker's own lists; `known` gives the headers of an image seen before. In the notification
// only.
typedef bool (*images_known)(uintptr_t bias, uintptr_t dynamic, struct images_found *found);
void images_notify_look(struct images_look *look, images_known known);
// True when the lists are consistent, that is, the notification says something worth a look.
bool images_notify_consistent(void);

// A code address in no known image was met in a hook: the next refresh looks again.
void images_missed(uintptr_t pc);

#pragma GCC visibility pop
#endif
