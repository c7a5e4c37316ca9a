// Hears of dlopen and dlclose: the dynamic linker calls an empty function (r_brk, `_dl_debug_state`) whenever its
// lists have changed, for debuggers. Its entry is replaced by a jump to our handler. Called by images.c.
//
// Installed by one aligned 8-byte store, and only over bytes that are known: a return (with or without endbr64) and
// padding behind it. With endbr64 a thread may stand between the two, so that the process must have one thread;
// without it the function is one instruction, and nobody can stand inside. A debugger's breakpoint there is not known,
// so nothing is patched.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "images.h"
#include "unwind_instruction.h"

// Since glibc 2.35 the lists of other namespaces (dlmopen) hang behind the first (r_version 2).
struct debug_extended {
  struct r_debug base;
  struct debug_extended *next;
};

static struct debug_extended *debug;

static struct debug_extended *find_debug(void) {
  const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
  size_t count = getauxval(AT_PHNUM);
  uintptr_t bias = 0, dynamic = 0;
  for (size_t i = 0; headers && i < count; i++) {
    if (headers[i].p_type == PT_PHDR) bias = (uintptr_t)headers - headers[i].p_vaddr;
    if (headers[i].p_type == PT_DYNAMIC) dynamic = headers[i].p_vaddr;
  }
  if (!dynamic) return NULL;
  for (const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(bias + dynamic); entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_DEBUG) return (struct debug_extended *)entry->d_un.d_ptr;
  return NULL;
}

static bool is_padding(const uint8_t *p, size_t bytes) {
  struct unwind_instruction i;
  for (size_t at = 0; at < bytes; at += i.length) {
    if (!unwind_decode(p + at, 15, &i) || i.vector) return false;
    bool nop = i.map == UNWIND_MAP_0F && i.opcode == 0x1f;
    if (i.map == UNWIND_MAP_ONE) nop = i.opcode == 0x90 || i.opcode == 0xcc;
    if (!nop) return false;
  }
  return true;
}

extern char __libc_single_threaded __attribute__((weak));

static bool recognised(const uint8_t *entry) {
  static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if ((uintptr_t)entry % 16) return false;
  size_t at = memcmp(entry, endbr, sizeof endbr) ? 0 : sizeof endbr;
  if (entry[at] != 0xc3) return false;
  if (at && !(&__libc_single_threaded && __libc_single_threaded)) return false;
  return is_padding(entry + at + 1, 16 - at - 1); // the next function is aligned like this one
}

// A jump to `handler` within 2 GiB of `entry`, in a page of its own where the handler is further away.
static uintptr_t near_target(uintptr_t entry, uintptr_t handler) {
  int64_t distance = (int64_t)(handler - (entry + 5));
  if (distance == (int32_t)distance) return handler;
  uintptr_t page = (uintptr_t)getpagesize();
  for (uintptr_t step = 1; step < 2048; step++) {
    uintptr_t place = (entry & ~(page - 1)) - step * (512u << 10);
    uint8_t *island = mmap((void *)place, page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (island == MAP_FAILED) continue;
    distance = (int64_t)((uintptr_t)island - (entry + 5));
    const uint8_t jump[6] = {0xff, 0x25}; // jmp *0(%rip)
    memcpy(island, jump, sizeof jump);
    memcpy(island + sizeof jump, &handler, sizeof handler);
    if (distance == (int32_t)distance && !mprotect(island, page, PROT_READ | PROT_EXEC)) return (uintptr_t)island;
    munmap(island, page);
  }
  return 0;
}

bool images_notify_install(void (*handler)(void)) {
  debug = find_debug();
  if (!debug || !debug->base.r_brk || !recognised((const uint8_t *)debug->base.r_brk)) return false;
  uintptr_t entry = debug->base.r_brk, target = near_target(entry, (uintptr_t)handler);
  if (!target) return false;
  uintptr_t page = (uintptr_t)getpagesize(), first = entry & ~(page - 1);
  uint64_t word;
  memcpy(&word, (const void *)entry, sizeof word);
  int32_t distance = (int32_t)(target - (entry + 5));
  uint8_t bytes[8];
  memcpy(bytes, &word, sizeof bytes);
  bytes[0] = 0xe9;
  memcpy(bytes + 1, &distance, sizeof distance);
  memcpy(&word, bytes, sizeof word);
  if (mprotect((void *)first, page, PROT_READ | PROT_WRITE | PROT_EXEC)) return false;
  __atomic_store_n((uint64_t *)entry, word, __ATOMIC_SEQ_CST);
  mprotect((void *)first, page, PROT_READ | PROT_EXEC);
  return true;
}

bool images_notify_consistent(void) {
  // One namespace's flag at a time moves; whichever called, a look while another is in flux is only early.
  for (struct debug_extended *space = debug; space; space = space->base.r_version >= 2 ? space->next : NULL)
    if (space->base.r_state != RT_CONSISTENT) return false;
  return debug != NULL;
}

void images_notify_look(struct images_look *look, images_known known) {
  for (struct debug_extended *space = debug; space; space = space->base.r_version >= 2 ? space->next : NULL) {
    for (struct link_map *m = space->base.r_map; m && look->count < IMAGES_MAX; m = m->l_next) {
      struct images_found found = {.bias = m->l_addr};
      if (!known(m->l_addr, (uintptr_t)m->l_ld, &found)) {
        found.headers = images_probe_headers(m->l_addr, &found.header_count);
        if (!found.headers) {
          images_missed(m->l_addr); // its first segment is not at its bias: dl_iterate_phdr knows its headers
          continue;
        }
      }
      found.name = m->l_name;
      found.elsewhere = space != debug;
      look->found[look->count++] = found;
    }
  }
}

#endif
