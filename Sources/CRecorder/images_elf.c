// What a loaded image says of itself: program headers, segments, build id, path. Called by images.c and
// images_notify.c, outside hooks; no malloc, since one of the callers runs under the dynamic linker's lock.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "images.h"
#include "lifespan_recorder.h"

static void hash(uint64_t *state, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) *state = (*state ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3ull;
}

static void add_span(struct rows_span *spans, unsigned *count, unsigned room, struct rows_span span) {
  unsigned at = *count;
  if (at && spans[at - 1].end >= span.start && spans[at - 1].writable == span.writable) {
    if (span.end > spans[at - 1].end) spans[at - 1].end = span.end;
  } else if (at < room) {
    spans[at] = span;
    *count = at + 1;
  }
}

static void read_notes(uintptr_t at, uintptr_t end, struct images_elf *out) {
  while (end > at && end - at >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
    uint64_t name = (note->n_namesz + 3ull) & ~3ull, data = (note->n_descsz + 3ull) & ~3ull;
    at += sizeof *note;
    if (name > end - at || data > end - at - name) return;
    bool gnu = note->n_namesz == 4 && !memcmp((const void *)at, "GNU", 4);
    if (gnu && note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= IMAGES_BUILD_ID) {
      memcpy(out->build_id, (const void *)(at + name), note->n_descsz);
      out->build_id_length = note->n_descsz;
      return;
    }
    at += name + data;
  }
}

static void read_segment(uintptr_t bias, const ElfW(Phdr) *header, struct images_elf *out) {
  uintptr_t start = bias + header->p_vaddr, end = start + header->p_memsz, page = (uintptr_t)getpagesize();
  if (start < out->start) out->start = start & ~(page - 1);
  if (end > out->end) out->end = end;
  struct rows_span span = {start, end, header->p_flags & PF_W};
  if (header->p_flags & PF_X) add_span(out->source.texts, &out->source.text_count, ROWS_TEXTS, span);
  if (header->p_flags & PF_R) add_span(out->source.reads, &out->source.read_count, ROWS_READS, span);
}

bool images_read_elf(uintptr_t bias, const void *headers, size_t count, struct images_elf *out) {
  const ElfW(Phdr) *header = headers;
  *out = (struct images_elf){.bias = bias, .start = UINTPTR_MAX, .fingerprint = 0xcbf29ce484222325ull};
  for (size_t i = 0; i < count; i++)
    if (header[i].p_type == PT_LOAD) read_segment(bias, &header[i], out);
  if (!out->source.text_count || out->end - out->start > UINT32_MAX) return false;
  for (size_t i = 0; i < count; i++) {
    uintptr_t start = bias + header[i].p_vaddr;
    bool readable = rows_readable(&out->source, start, header[i].p_memsz) != 0;
    if (header[i].p_type == PT_NOTE && readable && !out->build_id_length)
      read_notes(start, start + header[i].p_memsz, out);
    if (header[i].p_type == PT_GNU_EH_FRAME && readable) {
      out->source.header = start;
      out->source.header_end = start + header[i].p_memsz;
    }
  }
  out->source.base = out->start;
  hash(&out->fingerprint, headers, count * sizeof *header);
  hash(&out->fingerprint, out->build_id, out->build_id_length);
  return true;
}

// Linkers put constants and unwind tables into the executable segment too. The section headers, which are not in
// memory, tell code from them. False: the file can't be read, or is another one than what is mapped.
bool images_read_sections(const char *path, struct images_elf *elf) {
  ElfW(Ehdr) header;
  ElfW(Shdr) sections[64];
  struct rows_span texts[ROWS_TEXTS];
  unsigned count = 0;
  int file = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return false;
  bool good = pread(file, &header, sizeof header, 0) == sizeof header && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
              header.e_shentsize == sizeof sections[0] && header.e_shnum && header.e_shnum <= 64;
  size_t bytes = good ? header.e_shnum * sizeof sections[0] : 0;
  good = good && pread(file, sections, bytes, (off_t)header.e_shoff) == (ssize_t)bytes;
  close(file);
  for (unsigned i = 0; good && i < header.e_shnum; i++) {
    if (!(sections[i].sh_flags & SHF_EXECINSTR) || sections[i].sh_type != SHT_PROGBITS) continue;
    uintptr_t start = elf->bias + sections[i].sh_addr, end = start + sections[i].sh_size;
    bool inside = false;
    for (unsigned k = 0; k < elf->source.text_count; k++)
      inside |= start >= elf->source.texts[k].start && end <= elf->source.texts[k].end;
    if (!inside) return false;
    if (count && start - texts[count - 1].end < 256 && start >= texts[count - 1].end) texts[count - 1].end = end;
    else if (count < ROWS_TEXTS) texts[count++] = (struct rows_span){start, end, false};
  }
  if (!count) return false;
  memcpy(elf->source.texts, texts, sizeof texts);
  elf->source.text_count = count;
  return elf->source.exact = true;
}

// Reads memory that may not be there. process_vm_readv can be forbidden (seccomp): then msync tells a mapped page.
static bool read_safely(uintptr_t address, void *into, size_t bytes) {
  struct iovec here = {into, bytes}, there = {(void *)address, bytes};
  ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  if (got >= 0 || errno == EFAULT) return got == (ssize_t)bytes;
  uintptr_t page = (uintptr_t)getpagesize(), first = address & ~(page - 1);
  if (msync((void *)first, address + bytes - first, MS_ASYNC)) return false;
  memcpy(into, (const void *)address, bytes);
  return true;
}

const void *images_probe_headers(uintptr_t bias, size_t *count) {
  ElfW(Ehdr) elf;
  ElfW(Phdr) last;
  if (!read_safely(bias, &elf, sizeof elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG)) return NULL;
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(ElfW(Phdr)) || !elf.e_phnum) return NULL;
  uintptr_t headers = bias + elf.e_phoff;
  if (!read_safely(headers + (elf.e_phnum - 1u) * sizeof last, &last, sizeof last)) return NULL;
  *count = elf.e_phnum;
  return (const void *)headers;
}

void images_path(const char *name, bool executable, uintptr_t start, char *path, size_t room) {
  path[0] = 0;
  if (start == getauxval(AT_SYSINFO_EHDR)) {
    snprintf(path, room, "[vdso]");
    return;
  }
  if (executable) {
    lifespan_recorder_executable(path, room);
    return;
  }
  if (!name || !name[0]) return;
  size_t used = 0;
  if (name[0] != '/' && getcwd(path, room)) {
    used = strlen(path);
    if (used + 1 < room) path[used++] = '/';
  }
  snprintf(path + used, room - used, "%s", name);
}

#endif
