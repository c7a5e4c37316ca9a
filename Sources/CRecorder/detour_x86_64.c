// Detours for x86-64. Called by hooks.c at the start of a recording.
//
//   one thread      E9 rel32 over the first five bytes, in one eight-byte store where the entry is aligned
//   threads run     E9 over the first byte alone; the four bytes behind it stay and *are* the jump's distance, so an island is mapped where they
//                   point. A thread stopped inside the entry finds its bytes unchanged. Refused where that place is taken.
//
// A copy of the covered instructions, with RIP-relative operands and branches adjusted, jumps back behind them.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "detour.h"

#include "unwind_instruction.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK 65536u
#define REACH 0x7f000000ll
#define SLOT 64u // bytes of a copy or an island

// ---- Instructions -----------------------------------------------------------------------------------------------------

struct instruction {
  unsigned length;
  unsigned rip_at;    // offset of a RIP-relative disp32, 0 none
  unsigned branch_at; // offset of a rel32, 0 none
  unsigned short_jcc; // condition + 1 of a two-byte jcc, to be made long
};

// Instructions that must not be moved: returns and traps (the function ends or another tool was here), loops, short and far jumps.
static bool must_stay(const struct unwind_instruction *one) {
  if (one->vector || one->map > UNWIND_MAP_0F) return true;
  if (one->map == UNWIND_MAP_0F) return one->opcode == 0x05 || one->opcode == 0x0b || one->opcode == 0x34;
  switch (one->opcode) {
  case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcc: case 0xcd: case 0xcf:
  case 0xe0: case 0xe1: case 0xe2: case 0xe3: case 0xea: case 0xeb: case 0xf1: case 0xf4: return true;
  case 0xff: return (one->modrm >> 3 & 7) >= 2 && (one->modrm >> 3 & 7) <= 5; // indirect calls and jumps
  default: return false;
  }
}

// One instruction of a function's entry; length 0: refused.
static struct instruction decode(const uint8_t *p) {
  struct unwind_instruction one;
  struct instruction out = {0};
  if (!unwind_decode(p, 16, &one) || must_stay(&one)) return out;
  out.length = one.length;
  if (one.modrm_at && (one.modrm & 0xc7) == 0x05) out.rip_at = one.modrm_at + 1u;
  if (one.map == UNWIND_MAP_ONE && (one.opcode == 0xe8 || one.opcode == 0xe9)) out.branch_at = one.length - 4u;
  if (one.map == UNWIND_MAP_0F && one.opcode >= 0x80 && one.opcode <= 0x8f) out.branch_at = one.length - 4u;
  if (one.map == UNWIND_MAP_ONE && one.opcode >= 0x70 && one.opcode <= 0x7f) out.short_jcc = (one.opcode & 15u) + 1;
  return out;
}

static void put32(uint8_t *p, int64_t value, bool *fits) {
  int32_t narrow = (int32_t)value;
  if (narrow != value) *fits = false;
  memcpy(p, &narrow, 4);
}
static int64_t get32(const uint8_t *p) {
  int32_t value;
  memcpy(&value, p, 4);
  return value;
}

static unsigned put_jump(uint8_t *p, const void *target) { // jmp rel32 where it reaches, else jmp [rip+0]; address
  bool near = true;
  put32(p + 1, (const uint8_t *)target - (p + 5), &near);
  p[0] = 0xe9;
  if (near) return 5;
  static const uint8_t jump[6] = {0xff, 0x25, 0, 0, 0, 0};
  memcpy(p, jump, 6);
  memcpy(p + 6, &target, 8);
  return 14;
}

// Copies instructions until `least` bytes are covered. Returns the bytes covered, 0 when refused. Nothing is written beyond SLOT.
static unsigned copy_entry(const uint8_t *entry, unsigned least, uint8_t *copy) {
  unsigned from = 0, to = 0;
  bool fits = true;
  while (from < least) {
    const uint8_t *source = entry + from;
    struct instruction one = decode(source);
    if (!one.length || to + one.length + 6 + 14 > SLOT) return 0;
    if (one.short_jcc) {
      const uint8_t *target = source + one.length + (int8_t)source[one.length - 1];
      if (target < entry + least && target > entry) return 0;
      copy[to] = 0x0f;
      copy[to + 1] = (uint8_t)(0x80 + one.short_jcc - 1);
      put32(copy + to + 2, target - (copy + to + 6), &fits);
      to += 6;
    } else {
      memcpy(copy + to, source, one.length);
      unsigned field = one.rip_at ? one.rip_at : one.branch_at;
      if (field) put32(copy + to + field, get32(source + field) + (source - (copy + to)), &fits);
      to += one.length;
    }
    from += one.length;
  }
  if (!fits) return 0;
  put_jump(copy + to, entry + from);
  return from;
}

// ---- Memory near an entry ------------------------------------------------------------------------------------------

struct block {
  uint8_t *start;
  unsigned used;
};
static struct block blocks[16];
static unsigned block_count;

static bool near(const uint8_t *a, const uint8_t *b) {
  int64_t distance = a - b;
  return distance > -REACH && distance < REACH;
}

static struct block *block_near(const uint8_t *entry) {
  for (unsigned i = 0; i < block_count; i++)
    if (near(blocks[i].start, entry) && blocks[i].used + 2 * SLOT <= BLOCK) return &blocks[i];
  if (block_count == sizeof blocks / sizeof *blocks) return NULL;
  uintptr_t base = (uintptr_t)entry & ~(uintptr_t)(BLOCK - 1);
  for (int64_t step = 1; step < REACH >> 20; step++) {
    for (int side = 0; side < 2; side++) {
      uintptr_t place = side ? base + ((uintptr_t)step << 20) : base - ((uintptr_t)step << 20);
      void *memory = mmap((void *)place, BLOCK, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (memory == (void *)place) {
        blocks[block_count] = (struct block){memory, 0};
        return &blocks[block_count++];
      }
      if (memory != MAP_FAILED) munmap(memory, BLOCK);
    }
  }
  return NULL;
}

static uint8_t *take_slot(struct block *block) {
  uint8_t *slot = block->start + block->used;
  block->used += SLOT;
  return slot;
}

// An island exactly at `place` (up to two pages are mapped for it, or a page that we mapped before is used).
static bool island_at(uintptr_t place, const void *hook) {
  static uintptr_t pages[128];
  static unsigned page_count;
  uintptr_t first = place & ~4095ull, last = (place + 13) & ~4095ull;
  if (place < 65536 || place + 14 > 0x7ffffffff000) return false;
  for (uintptr_t page = first; page <= last; page += 4096) {
    bool ours = false;
    for (unsigned i = 0; i < page_count; i++) ours |= pages[i] == page;
    if (ours) {
      if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) return false;
      continue;
    }
    if (page_count == sizeof pages / sizeof *pages) return false;
    void *memory = mmap((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != (void *)page) {
      if (memory != MAP_FAILED) munmap(memory, 4096);
      return false;
    }
    pages[page_count++] = page;
  }
  for (unsigned i = 0; i < 14; i++)
    if (((uint8_t *)place)[i]) return false; // another island lies there
  put_jump((uint8_t *)place, hook);
  for (uintptr_t page = first; page <= last; page += 4096) mprotect((void *)page, 4096, PROT_READ | PROT_EXEC);
  return true;
}

// ---- Patching -----------------------------------------------------------------------------------------------------------

static bool make_writable(uint8_t *entry, bool writable) {
  uintptr_t first = (uintptr_t)entry & ~4095ull, last = ((uintptr_t)entry + 7) & ~4095ull;
  return !mprotect((void *)first, last - first + 4096, writable ? PROT_READ | PROT_WRITE | PROT_EXEC : PROT_READ | PROT_EXEC);
}

static const char *prepare(struct lifespan_detour *detour, bool one_thread, const uint8_t **island) {
  uint8_t *entry = detour->entry;
  struct block *block = block_near(entry);
  if (!block) return "no memory near it";
  uint8_t *copy = take_slot(block);
  if (!copy_entry(entry, one_thread ? 5 : 1, copy)) return "its first instructions are unknown";
  *detour->original = copy;
  if (one_thread && near(detour->hook, entry)) { // without an island: each jump more costs every retain of the program
    *island = detour->hook;
    return NULL;
  }
  if (one_thread) {
    uint8_t *place = take_slot(block);
    put_jump(place, detour->hook);
    *island = place;
    return NULL;
  }
  uintptr_t place = (uintptr_t)(entry + 5 + get32(entry + 1));
  if (!island_at(place, detour->hook)) return "the place its bytes point to is taken";
  *island = (const uint8_t *)place;
  return NULL;
}

static const char *patch(struct lifespan_detour *detour, bool one_thread, const uint8_t *island) {
  uint8_t *entry = detour->entry;
  if (!make_writable(entry, true)) return "its page can't be made writable";
  if (!one_thread) {
    __atomic_store_n(entry, 0xe9, __ATOMIC_SEQ_CST);
  } else {
    uint8_t bytes[8];
    memcpy(bytes, entry, 8);
    bool fits = true;
    bytes[0] = 0xe9;
    put32(bytes + 1, island - (entry + 5), &fits);
    if (!fits) return make_writable(entry, false), "its island is too far";
    if (((uintptr_t)entry & 7) == 0) {
      uint64_t word;
      memcpy(&word, bytes, 8);
      __atomic_store_n((uint64_t *)entry, word, __ATOMIC_SEQ_CST);
    } else {
      memcpy(entry, bytes, 5);
    }
  }
  make_writable(entry, false);
  return NULL;
}

unsigned lifespan_detours_install(struct lifespan_detour *list, unsigned count, bool one_thread) {
  const uint8_t *islands[64] = {0};
  unsigned installed = 0;
  for (unsigned i = 0; i < block_count; i++) mprotect(blocks[i].start, BLOCK, PROT_READ | PROT_WRITE | PROT_EXEC);
  for (unsigned i = 0; i < count && i < 64; i++) {
    list[i].installed = false;
    list[i].refused = NULL;
    for (unsigned k = 0; k < i; k++) // an identical function folded into another's address: one detour serves both
      if (list[i].entry && list[k].entry == list[i].entry) list[i].entry = NULL;
    if (list[i].entry) list[i].refused = prepare(&list[i], one_thread, &islands[i]);
  }
  for (unsigned i = 0; i < count && i < 64; i++) {
    if (!list[i].entry || list[i].refused) continue;
    list[i].refused = patch(&list[i], one_thread, islands[i]);
    list[i].installed = !list[i].refused;
    installed += list[i].installed;
  }
  for (unsigned i = 0; i < block_count; i++) mprotect(blocks[i].start, BLOCK, PROT_READ | PROT_EXEC);
  return installed;
}

#endif
