// Regions that the program maps (record --vm): from the interposed calls to records. Called by CMallocHooks/vm_hooks.c, in the program's threads.
//
// What an allocator maps while it serves malloc is its own affair: those blocks are recorded. What it puts over a region of the program's ends
// that one all the same.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "raw.h"
#include "sandbox.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define HUGE_PAGE_LOG2 21u
#define HUGE_SHIFT 26u
#define ADDRESSES (1ull << 47) // what a record can hold
#define NAME_ROOM 320u
#define NAMES 1024u // files with a row of their own: a program that maps new ones for ever must not fill the table of types

static bool wanted(void) { return lifespan_on() && lifespan_process.vm; }
static bool quiet(uintptr_t sp) {
  uintptr_t word = lifespan_quiet, quiet;
  if (UNLIKELY(word && sp > word && lifespan_left_behind(word, sp))) word = lifespan_quiet = LIFESPAN_QUIET_NO;
  quiet = word & LIFESPAN_FLAGS;
  return quiet == LIFESPAN_QUIET_ALLOCATOR || quiet == LIFESPAN_QUIET_OURS;
}

uint64_t lifespan_region_stamp(void) { return wanted() ? lifespan_stamp_ordered() : 0; }

// ---- Names --------------------------------------------------------------------------------------------------------------------

static uint64_t key_of(const char *name, size_t length) {
  uint64_t hash = 1469598103934665603ull;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)name[i]) * 1099511628211ull;
  return 3ull << 62 | (hash >> 3) << 1 | 1; // no metadata
}

// Whether that file has a row, or gets one now.
static bool has_a_row(uint64_t key) {
  static _Atomic uint64_t names[NAMES];
  for (uint32_t i = 0; i < 16; i++) {
    _Atomic uint64_t *place = &names[(key + i) % NAMES];
    uint64_t there = 0;
    if (atomic_compare_exchange_strong(place, &there, key) || there == key) return true;
  }
  return false;
}

// The text of "/proc/self/fd/N", terminated. 0: not to be had.
static size_t link_of(int descriptor, char *text, size_t room) {
  char path[32] = "/proc/self/fd/";
  size_t length = strlen(path), digits = 1;
  for (int rest = descriptor / 10; rest; rest /= 10) digits++;
  for (size_t i = digits; i-- > 0; descriptor /= 10) path[length + i] = (char)('0' + descriptor % 10);
  path[length + digits] = 0;
  long got = descriptor < 0 || !lifespan_may(LIFESPAN_CALL_READLINK) ? -1 : lifespan_raw4(SYS_readlinkat, -100 /* AT_FDCWD */, (long)path, (long)text, (long)room - 1);
  if (got <= 0) return 0;
  text[got] = 0;
  return (size_t)got;
}

static size_t put(char *name, size_t length, const char *text) {
  while (*text && length < NAME_ROOM - 1) name[length++] = *text++;
  name[length] = 0;
  return length;
}

// What the kernel says of the file, made a name: what it is, then its own name without folders. False: it stands for memory without a file.
static bool name_of_link(char *name, char *text) {
  static const struct {
    const char *begin, *kind;
  } kinds[] = {{"/memfd:", "VM: memfd "}, {"/dev/shm/", "VM: shared memory "}, {"/dev/zero", NULL}, {"/dev/", "VM: device "}, {"anon_inode:", "VM: "}};
  size_t length = strlen(text), gone = strlen(" (deleted)");
  if (length > gone && !strcmp(text + length - gone, " (deleted)")) text[length - gone] = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strncmp(text, kinds[i].begin, strlen(kinds[i].begin))) continue;
    if (!kinds[i].kind) return false;
    put(name, put(name, 0, kinds[i].kind), text + strlen(kinds[i].begin));
    return true;
  }
  const char *base = strrchr(text, '/');
  put(name, put(name, 0, "VM: mapped file "), base ? base + 1 : text);
  return true;
}

static const char *name_without_file(const struct lifespan_region *region) {
  if ((region->flags & MAP_TYPE) != MAP_PRIVATE) return "VM: shared anonymous";
  if (region->flags & (MAP_STACK | MAP_GROWSDOWN)) return "VM: stack";
  return region->protection == PROT_NONE ? "VM: reserved" : "VM: anonymous";
}

static uint32_t type_of(struct lifespan_thread *thread, const struct lifespan_region *region) {
  char *name = thread->scratch[0], *text = thread->scratch[1];
  const char *told = region->name;
  if (!told && region->flags & MAP_ANONYMOUS) told = name_without_file(region);
  if (!told && !link_of(region->descriptor, text, sizeof thread->scratch[1])) told = "VM: mapped file";
  if (!told && !name_of_link(name, text)) told = name_without_file(region);
  if (!told) told = has_a_row(key_of(name, strlen(name))) ? name : "VM: other files";
  size_t length = strlen(told);
  return lifespan_type_named(thread, (const void *)key_of(told, length), LIFESPAN_KIND_VM, told, length);
}

// ---- Records ------------------------------------------------------------------------------------------------------------------

static uint64_t whole(uint64_t bytes, uint64_t page) { return (bytes + page - 1) & ~(page - 1); }
static uint64_t page(void) { return lifespan_process.map->page_size; }
static bool fits(uint64_t start, uint64_t bytes) { return start && bytes && !(start % page()) && bytes < ADDRESSES && start < ADDRESSES - bytes; }

static uint64_t page_of(int flags) {
  if (!(flags & MAP_HUGETLB)) return page();
  unsigned log2 = (unsigned)flags >> HUGE_SHIFT & 63;
  return 1ull << (log2 ? log2 : HUGE_PAGE_LOG2);
}

static uint32_t stack_of(struct lifespan_thread *thread, struct lifespan_frame caller) {
  return lifespan_stack(thread, caller.pc, caller.sp, caller.fp);
}

void lifespan_record_mapped(const struct lifespan_region *region, struct lifespan_frame caller) {
  if (!wanted()) return;
  bool replaces = region->flags & MAP_FIXED, silent = quiet(caller.sp);
  uint64_t bytes = whole(region->bytes, page_of(region->flags)); // as the kernel rounds
  if ((silent && !replaces) || !fits(region->start, bytes)) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  uint32_t type = silent || !lifespan_births_on() ? 0 : type_of(thread, region);
  uint32_t stack = type ? stack_of(thread, caller) : LIFESPAN_STACK_NONE;
  lifespan_task_note(thread);
  if ((type || replaces) && lifespan_ring_reserve(thread, 2, type ? LIFESPAN_LOSS_BIRTH : LIFESPAN_LOSS_DEATH)) {
    lifespan_ring_put(thread, 0, lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_MAPPED, 2, region->start));
    lifespan_ring_put(thread, 1, (uint64_t)type << 32 | stack, (uint64_t)LIFESPAN_MAPPED_NEW << 48 | bytes);
    lifespan_ring_publish(thread, 2);
  }
  lifespan_leave(thread);
}

void lifespan_record_unmapped(uint64_t stamp, uintptr_t start, size_t bytes, struct lifespan_frame caller) {
  if (!wanted() || !stamp || !fits(start, bytes ? whole(bytes, page()) : page())) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  uint32_t stack = lifespan_process.death_stacks ? stack_of(thread, caller) : LIFESPAN_STACK_NONE;
  lifespan_task_note(thread);
  if (lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_DEATH)) {
    lifespan_ring_put(thread, 0, stamp, lifespan_head_word(LIFESPAN_R_UNMAPPED, 2, start));
    lifespan_ring_put(thread, 1, stack, bytes ? whole(bytes, page()) : 0);
    lifespan_ring_publish(thread, 2);
  }
  lifespan_leave(thread);
}

static uint64_t write_moving(uintptr_t from, size_t bytes, enum lifespan_mapped op) {
  bytes = whole(bytes, page());
  if (!fits(from, bytes)) return lifespan_stamp_ordered(); // it fails, or copies
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return 0;
  uint64_t stamp = lifespan_stamp_ordered();
  if (lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_OTHER)) {
    lifespan_ring_put(thread, 0, stamp, lifespan_head_word(LIFESPAN_R_MAPPED, 2, from));
    lifespan_ring_put(thread, 1, 0, (uint64_t)op << 48 | bytes);
    lifespan_ring_publish(thread, 2);
  }
  lifespan_leave(thread);
  return stamp;
}

uint64_t lifespan_record_region_moving(uintptr_t from, size_t bytes) { return wanted() ? write_moving(from, bytes, LIFESPAN_MAPPED_MOVING) : 0; }
void lifespan_record_region_stayed(uint64_t stamp, uintptr_t from, size_t bytes) {
  if (wanted() && stamp) write_moving(from, bytes, LIFESPAN_MAPPED_STAYED);
}

void lifespan_record_remapped(uint64_t stamp, uintptr_t from, size_t from_bytes, uintptr_t to, size_t to_bytes, bool stays,
                              struct lifespan_frame caller) {
  uint64_t before, bytes;
  if (!wanted() || !stamp) return;
  before = whole(from_bytes, page());
  bytes = whole(to_bytes, page());
  if (!fits(from, before ? before : page()) || !fits(to, bytes)) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  uint32_t type = 0;
  if (stays && !quiet(caller.sp) && lifespan_births_on())
    type = type_of(thread, &(struct lifespan_region){.flags = MAP_SHARED | MAP_ANONYMOUS, .protection = PROT_READ});
  uint32_t stack = stack_of(thread, caller);
  lifespan_task_note(thread);
  if (lifespan_ring_reserve(thread, 4, LIFESPAN_LOSS_OTHER)) {
    uint64_t op = stays ? LIFESPAN_MAPPED_COPY : LIFESPAN_MAPPED_MOVED;
    lifespan_ring_put(thread, 0, stamp, lifespan_head_word(LIFESPAN_R_MAPPED, 4, to));
    lifespan_ring_put(thread, 1, (uint64_t)type << 32 | stack, op << 48 | bytes);
    lifespan_ring_put(thread, 2, from, before);
    lifespan_ring_put(thread, 3, lifespan_stamp_ordered(), 0);
    lifespan_ring_publish(thread, 4);
  }
  lifespan_leave(thread);
}

#endif
