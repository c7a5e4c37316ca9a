// Symbols and sections of the files that are mapped: functions, variables, thread-local variables, by address. See heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
  uint64_t start, size;
  const char *name;
  uint8_t kind;
};
struct heap_symbol_table {
  const uint8_t *bytes;
  size_t length;
  struct entry *entries;
  size_t count;
};

static const void *inside(const struct heap_symbol_table *t, uint64_t offset, uint64_t size) {
  return offset <= t->length && size <= t->length - offset ? t->bytes + offset : NULL;
}

static const Elf64_Ehdr *head_of(const struct heap_symbol_table *t) {
  const Elf64_Ehdr *head = inside(t, 0, sizeof *head);
  bool good = head && !memcmp(head->e_ident, ELFMAG, SELFMAG) && head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_shentsize == sizeof(Elf64_Shdr);
  return good ? head : NULL;
}

static const Elf64_Shdr *sections_of(const struct heap_symbol_table *t, unsigned *count) {
  const Elf64_Ehdr *head = head_of(t);
  *count = head ? head->e_shnum : 0;
  return head ? inside(t, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr)) : NULL;
}

static const Elf64_Phdr *segments_of(const struct heap_symbol_table *t, unsigned *count) {
  const Elf64_Ehdr *head = head_of(t);
  *count = head ? head->e_phnum : 0;
  return head ? inside(t, head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr)) : NULL;
}

static int by_start(const void *a, const void *b) {
  const struct entry *left = a, *right = b;
  if (left->start != right->start) return left->start < right->start ? -1 : 1;
  return left->size < right->size ? -1 : left->size > right->size;
}

static void take_symbols(struct heap_symbol_table *t, const Elf64_Shdr *sections, unsigned count, const Elf64_Shdr *table) {
  const Elf64_Sym *symbols = inside(t, table->sh_offset, table->sh_size);
  if (!symbols || table->sh_link >= count || table->sh_entsize != sizeof(Elf64_Sym)) return;
  const Elf64_Shdr *names = &sections[table->sh_link];
  const char *text = inside(t, names->sh_offset, names->sh_size);
  size_t number = table->sh_size / sizeof(Elf64_Sym);
  if (!text || !names->sh_size || text[names->sh_size - 1]) return;
  struct entry *more = heap_own_larger(t->entries, (t->count + number) * sizeof *more);
  if (!more) return;
  t->entries = more;
  for (size_t i = 0; i < number; i++) {
    unsigned kind = ELF64_ST_TYPE(symbols[i].st_info);
    if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_name >= names->sh_size) continue;
    if (kind != STT_FUNC && kind != STT_OBJECT && kind != STT_TLS) continue;
    t->entries[t->count++] = (struct entry){symbols[i].st_value, symbols[i].st_size, text + symbols[i].st_name, (uint8_t)kind};
  }
}

// By its name in the program's own file system, where it may have another root.
struct heap_symbol_table *heap_symbols_open(pid_t pid, const char *path) {
  char theirs[4200];
  snprintf(theirs, sizeof theirs, "/proc/%d/root%s", (int)pid, path);
  int file = open(theirs, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (file < 0) return NULL;
  struct heap_symbol_table *t = heap_own_cleared(1, sizeof *t);
  if (t && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) t->bytes = bytes, t->length = (size_t)status.st_size;
  }
  close(file);
  if (!t || !t->bytes) {
    heap_own_free(t);
    return NULL;
  }
  unsigned count;
  const Elf64_Shdr *sections = sections_of(t, &count);
  bool whole = false;
  for (unsigned i = 0; sections && i < count; i++) whole |= sections[i].sh_type == SHT_SYMTAB;
  for (unsigned i = 0; sections && i < count; i++)
    if (sections[i].sh_type == (whole ? SHT_SYMTAB : SHT_DYNSYM)) take_symbols(t, sections, count, &sections[i]);
  if (t->count) qsort(t->entries, t->count, sizeof *t->entries, by_start);
  return t;
}

void heap_symbols_close(struct heap_symbol_table *t) {
  if (!t) return;
  munmap((void *)t->bytes, t->length);
  heap_own_free(t->entries);
  heap_own_free(t);
}

bool heap_symbols_find(const struct heap_symbol_table *t, unsigned kind, uint64_t address, struct heap_symbol *symbol) {
  size_t low = 0, high = t->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (t->entries[middle].start <= address) low = middle + 1;
    else high = middle;
  }
  // The nearest that holds it; larger ones may begin further below.
  for (size_t i = low, tried = 0; i-- > 0 && tried < 64; tried++) {
    const struct entry *entry = &t->entries[i];
    if (entry->kind != kind || (address - entry->start >= entry->size && address != entry->start)) continue;
    *symbol = (struct heap_symbol){entry->name, address - entry->start};
    return true;
  }
  return false;
}

bool heap_symbols_named(const struct heap_symbol_table *t, const char *name, uint64_t *address) {
  for (size_t i = 0; i < t->count; i++) {
    if (strcmp(t->entries[i].name, name)) continue;
    *address = t->entries[i].start;
    return true;
  }
  return false;
}

uint64_t heap_symbols_first(const struct heap_symbol_table *t) {
  unsigned count;
  const Elf64_Phdr *segments = segments_of(t, &count);
  for (unsigned i = 0; segments && i < count; i++)
    if (segments[i].p_type == PT_LOAD) return segments[i].p_vaddr & ~4095ull;
  return 0;
}

bool heap_symbols_section(const struct heap_symbol_table *t, const char *name, struct heap_section *section) {
  unsigned count;
  const Elf64_Shdr *sections = sections_of(t, &count);
  const Elf64_Ehdr *head = head_of(t);
  if (!sections || head->e_shstrndx >= count) return false;
  const Elf64_Shdr *names = &sections[head->e_shstrndx];
  const char *text = inside(t, names->sh_offset, names->sh_size);
  if (!text || !names->sh_size || text[names->sh_size - 1]) return false;
  for (unsigned i = 0; i < count; i++) {
    if (sections[i].sh_name >= names->sh_size || strcmp(text + sections[i].sh_name, name)) continue;
    *section = (struct heap_section){sections[i].sh_addr, sections[i].sh_size};
    return true;
  }
  return false;
}

bool heap_symbols_tls(const struct heap_symbol_table *t, uint64_t *size, uint64_t *alignment, uint64_t *first) {
  unsigned count;
  const Elf64_Phdr *segments = segments_of(t, &count);
  for (unsigned i = 0; segments && i < count; i++) {
    if (segments[i].p_type != PT_TLS) continue;
    *size = segments[i].p_memsz;
    *first = segments[i].p_vaddr;
    *alignment = segments[i].p_align ? segments[i].p_align : 1;
    return true;
  }
  return false;
}

#endif
