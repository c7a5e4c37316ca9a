// libFuzzer's target for what the recorder reads of the images in its process: program headers, notes, unwind
// information, code, section headers. The input is an ELF file, laid out in memory as a loader would, whatever else it
// says; not a byte outside of its readable segments may be read. Compiled by Tools/fuzz/run.
#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "images.h"
#include "rows.h"

#define HEADERS 12u
#define LARGEST (256u << 10)
#define PAGE 4096u

// What a loader refuses is no program: segments lie in ascending order, and in the room that there is.
static size_t lay_out(const uint8_t *bytes, size_t length, Elf64_Phdr *headers, unsigned count, uint8_t *memory) {
  size_t used = 0;
  for (unsigned i = 0; i < count; i++) {
    Elf64_Phdr *h = &headers[i];
    if (h->p_type != PT_LOAD) continue;
    h->p_vaddr %= LARGEST;
    if (h->p_vaddr < used) h->p_vaddr = (used + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    if (h->p_vaddr >= LARGEST) {
      h->p_type = PT_NULL;
      continue;
    }
    if (h->p_memsz > LARGEST - h->p_vaddr) h->p_memsz = LARGEST - h->p_vaddr;
    if (h->p_filesz > h->p_memsz) h->p_filesz = h->p_memsz;
    if (h->p_offset > length) h->p_offset = length;
    if (h->p_filesz > length - h->p_offset) h->p_filesz = length - h->p_offset;
    memcpy(memory + h->p_vaddr, bytes + h->p_offset, h->p_filesz);
    used = h->p_vaddr + h->p_memsz;
  }
  return used;
}

static void protect(uint8_t *memory, const Elf64_Phdr *headers, unsigned count) {
  if (mprotect(memory, LARGEST, PROT_NONE)) abort();
  for (unsigned i = 0; i < count; i++) {
    const Elf64_Phdr *h = &headers[i];
    if (h->p_type != PT_LOAD || !h->p_memsz || !(h->p_flags & PF_R)) continue;
    size_t start = h->p_vaddr & ~(uint64_t)(PAGE - 1), end = (h->p_vaddr + h->p_memsz + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    if (mprotect(memory + start, end - start, PROT_READ)) abort();
  }
}

// Rows are looked up by a search: they must be in order, and within the image.
static void check_rows(const struct rows_builder *rows) {
  for (size_t i = 1; i < rows->count; i++) {
    if (rows->rows[i].pc <= rows->rows[i - 1].pc || rows->rows[i].kind > ROWS_END) abort();
  }
}

// Addresses all over the image, also where no code is.
static void find_rows(const struct rows_source *source, uintptr_t start, uintptr_t end) {
  static uint8_t scratch[ROWS_LARGE * ROWS_SCRATCH] __attribute__((aligned(16)));
  for (uintptr_t pc = start; pc < end; pc += 1 + (end - start) / 61)
    if (rows_find(source, pc, scratch, NULL, NULL).kind > ROWS_END) abort();
}

static void read_sections(const uint8_t *bytes, size_t length, struct images_elf *elf) {
  char path[32];
  int file = memfd_create("image", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes, length) != (ssize_t)length) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  images_read_sections(path, elf);
  close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  static uint8_t *memory;
  Elf64_Ehdr elf;
  Elf64_Phdr headers[HEADERS];
  if (length < sizeof elf) return 0;
  memcpy(&elf, bytes, sizeof elf);
  unsigned count = elf.e_phnum < HEADERS ? elf.e_phnum : HEADERS;
  if (elf.e_phoff > length || count * sizeof *headers > length - elf.e_phoff) return 0;
  memcpy(headers, bytes + elf.e_phoff, count * sizeof *headers);
  if (!memory) memory = mmap(NULL, LARGEST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mprotect(memory, LARGEST, PROT_READ | PROT_WRITE) || madvise(memory, LARGEST, MADV_DONTNEED)) abort();
  lay_out(bytes, length, headers, count, memory);
  protect(memory, headers, count);
  struct images_elf image;
  if (!images_read_elf((uintptr_t)memory, headers, count, &image)) return 0;
  for (int narrowed = 0; narrowed < 2; narrowed++) {
    struct rows_builder rows;
    if (narrowed) read_sections(bytes, length, &image);
    find_rows(&image.source, image.start, image.end);
    if (!rows_compile(&image.source, &rows)) continue;
    check_rows(&rows);
    munmap(rows.rows, rows_bytes(rows.room));
  }
  return 0;
}
