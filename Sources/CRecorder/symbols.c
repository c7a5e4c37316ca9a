// Where the Swift runtime's functions lie in this process: dynamic symbols first, then the executable's full symbol table (a static
// runtime keeps its names only there). Called at the start, outside hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook_table.h"
#include "internal.h"

// Weak references: the dynamic linker, or the static one in the linked door, fills them where there is a runtime.
#pragma GCC visibility push(default)
#define DECLARE(name) extern char name[] __attribute__((weak));
#define DECLARE_HOOK(name, symbol, group, needed) DECLARE(symbol)
LIFESPAN_HOOKS(DECLARE_HOOK)
LIFESPAN_RUNTIME_SYMBOLS(DECLARE)
#pragma GCC visibility pop

struct entry {
  const char *name;
  void *linked; // by a weak reference
  void *found;  // in the executable's symbol table
};
#define ENTRY(name) {#name, name, NULL},
#define ENTRY_HOOK(name, symbol, group, needed) ENTRY(symbol)
static struct entry entries[] = {LIFESPAN_HOOKS(ENTRY_HOOK) LIFESPAN_RUNTIME_SYMBOLS(ENTRY)};
#define COUNT (sizeof entries / sizeof *entries)

// ---- The executable's file ------------------------------------------------------------------------------------------

struct file {
  const uint8_t *bytes;
  size_t size;
};

static bool map_file(const char *path, struct file *file) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat status;
  void *memory = MAP_FAILED;
  if (!fstat(descriptor, &status) && status.st_size > (off_t)sizeof(ElfW(Ehdr)))
    memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) return false;
  file->bytes = memory;
  file->size = (size_t)status.st_size;
  return true;
}

// Section headers of an ELF file, NULL when they aren't whole inside it.
static const ElfW(Shdr) *sections_of(const struct file *file, size_t *count, const char **names, size_t *names_size) {
  const ElfW(Ehdr) *header = (const void *)file->bytes;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_shentsize != sizeof(ElfW(Shdr))) return NULL;
  size_t end = header->e_shoff + (size_t)header->e_shnum * sizeof(ElfW(Shdr));
  if (!header->e_shoff || end > file->size || header->e_shstrndx >= header->e_shnum) return NULL;
  const ElfW(Shdr) *sections = (const void *)(file->bytes + header->e_shoff);
  const ElfW(Shdr) *strings = &sections[header->e_shstrndx];
  if (strings->sh_offset + strings->sh_size > file->size || !strings->sh_size) return NULL;
  *count = header->e_shnum;
  *names = (const char *)file->bytes + strings->sh_offset;
  *names_size = strings->sh_size;
  return sections;
}

// An allocator inside a static executable: its names are hidden there, so that shared libraries go on with the C library's.
#define OWN(name) {#name, NULL},
static struct {
  const char *name;
  void *address;
} own[] = {LIFESPAN_ALLOCATOR_FUNCTIONS(OWN)};
#define OWN_COUNT (sizeof own / sizeof *own)

static void note_allocator(const char *name, void *address, unsigned type) {
  if (type != STT_FUNC || !strchr("mfcrpav_", *name)) return;
  for (size_t i = 0; i < OWN_COUNT; i++)
    if (!strcmp(name, own[i].name)) own[i].address = address;
}

void *lifespan_executable_function(const char *name) {
  for (size_t i = 0; i < OWN_COUNT; i++)
    if (!strcmp(name, own[i].name)) return own[i].address;
  return NULL;
}

static void scan_symbols(const struct file *file, const ElfW(Shdr) *table, const ElfW(Shdr) *strings, uintptr_t bias, bool allocator) {
  if (table->sh_offset + table->sh_size > file->size || strings->sh_offset + strings->sh_size > file->size) return;
  const ElfW(Sym) *symbols = (const void *)(file->bytes + table->sh_offset);
  const char *text = (const char *)file->bytes + strings->sh_offset;
  for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
    if (!symbols[i].st_value || symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_name >= strings->sh_size) continue;
    const char *name = text + symbols[i].st_name;
    if (allocator) note_allocator(name, (void *)(bias + symbols[i].st_value), ELF64_ST_TYPE(symbols[i].st_info));
    if (strncmp(name, "swift_", 6) && strncmp(name, "_swift_", 7)) continue;
    for (size_t k = 0; k < COUNT; k++)
      if (!entries[k].found && !strcmp(entries[k].name, name)) entries[k].found = (void *)(bias + symbols[i].st_value);
  }
}

void lifespan_symbols_of(const char *path, uintptr_t bias) {
  struct file file;
  size_t count = 0, names_size = 0;
  const char *names = NULL;
  if (!map_file(path, &file)) return;
  const ElfW(Shdr) *sections = sections_of(&file, &count, &names, &names_size);
  for (size_t i = 0; sections && i < count; i++)
    if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < count) scan_symbols(&file, &sections[i], &sections[sections[i].sh_link], bias, false);
  munmap((void *)(uintptr_t)file.bytes, file.size);
}

// What a look into the executable's file found out.
enum finding { FOUND_NOTHING, FOUND_SYMBOLS, FOUND_STRIPPED_SWIFT, FOUND_EMBEDDED_SWIFT };

static int first_image(struct dl_phdr_info *info, size_t size, void *bias) {
  (void)size;
  *(uintptr_t *)bias = info->dlpi_addr;
  return 1;
}

static enum finding look_into_executable(void) {
  struct file file;
  char path[4096];
  // Its link works for a deleted file too; by its path where no /proc is mounted.
  if (!map_file("/proc/self/exe", &file) && !(lifespan_recorder_executable(path, sizeof path) && map_file(path, &file))) return FOUND_NOTHING;
  size_t count = 0, names_size = 0;
  const char *names = NULL;
  const ElfW(Shdr) *sections = sections_of(&file, &count, &names, &names_size);
  uintptr_t bias = 0;
  dl_iterate_phdr(first_image, &bias);
  bool swift = false;
  for (size_t i = 0; sections && i < count; i++) {
    const ElfW(Shdr) *section = &sections[i];
    if (section->sh_name < names_size && !strncmp(names + section->sh_name, "swift5_", 7)) swift = true;
    if (section->sh_type == SHT_SYMTAB && section->sh_link < count) scan_symbols(&file, section, &sections[section->sh_link], bias, true);
  }
  munmap((void *)(uintptr_t)file.bytes, file.size);
  bool alloc = false, retain = false;
  for (size_t k = 0; k < COUNT; k++) {
    if (entries[k].found && !strcmp(entries[k].name, "swift_allocObject")) alloc = true;
    if (entries[k].found && !strcmp(entries[k].name, "swift_retain")) retain = true;
  }
  bool named = false;
  for (size_t k = 0; k < COUNT; k++) named |= entries[k].found && !strcmp(entries[k].name, "swift_getTypeName");
  if (alloc && named) return FOUND_SYMBOLS;
  if ((alloc || retain) && !named) return FOUND_EMBEDDED_SWIFT;
  return swift ? FOUND_STRIPPED_SWIFT : FOUND_NOTHING;
}

static enum finding finding; // of the first look
static bool looked;

void *lifespan_symbol(const char *name) {
  for (size_t k = 0; k < COUNT; k++) {
    if (strcmp(entries[k].name, name)) continue;
    return entries[k].linked ? entries[k].linked : entries[k].found;
  }
  return NULL;
}

int lifespan_recorder_runtime(char *reason, size_t room) {
  if (room) reason[0] = 0;
  if (!looked) { // also for an allocator of the executable's
    looked = true;
    finding = look_into_executable();
  }
  if (lifespan_symbol("swift_allocObject")) return 1;
  switch (finding) {
  case FOUND_SYMBOLS: return 1;
  case FOUND_STRIPPED_SWIFT:
    snprintf(reason, room, "its Swift runtime is linked statically and stripped of symbols: build it without -Xlinker -s and strip, "
                           "or without -static-stdlib, or link Lifespan into it");
    return 2;
  case FOUND_EMBEDDED_SWIFT:
    snprintf(reason, room, "it is Embedded Swift, whose runtime keeps no types");
    return 2;
  case FOUND_NOTHING: break;
  }
  return 0;
}

#endif
