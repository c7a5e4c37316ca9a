// Detours for x86-64. Called by hooks.c at the start of a recording.
//
//   one thread      E9 rel32 over the first five bytes, in one eight-byte store
//   threads run     E9 over the first byte alone; the four bytes behind it stay and *are* the jump's distance, so an island is mapped where they
//                   point. A thread stopped inside the entry finds its bytes unchanged. Refused where that place is taken.
//
// A copy of the covered instructions, with RIP-relative operands and branches adjusted, jumps back behind them.

#include "detour.h"

#if defined(__x86_64__)

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

static unsigned modrm_length(const uint8_t *p, bool *rip) {
  uint8_t mod = p[0] >> 6, rm = p[0] & 7;
  *rip = mod == 0 && rm == 5;
  unsigned length = 1;
  if (mod != 3 && rm == 4) length += 1 + (mod == 0 && (p[1] & 7) == 5 ? 4 : 0);
  if (mod == 1) length += 1;
  if (mod == 2 || *rip) length += 4;
  return length;
}

// One instruction of the shapes that function entries have; length 0: refused.
static struct instruction decode(const uint8_t *p) {
  struct instruction out = {0};
  if (!memcmp(p, "\xf3\x0f\x1e\xfa", 4)) return out.length = 4, out; // endbr64
  unsigned at = 0;
  bool operand16 = p[at] == 0x66;
  at += operand16;
  if (p[at] == 0x64) at++; // fs:
  bool rex = (p[at] & 0xf0) == 0x40, wide = rex && p[at] & 8;
  at += rex;
  uint8_t opcode = p[at++];
  unsigned immediate = 0;
  bool has_modrm = false;
  if (opcode == 0x0f) {
    uint8_t second = p[at++];
    if (second >= 0x80 && second <= 0x8f) return out.branch_at = at, out.length = at + 4, out;
    bool known = second == 0x1f || second == 0xb6 || second == 0xb7 || second == 0xbe || second == 0xbf || second == 0x10 || second == 0x11 ||
                 second == 0x28 || second == 0x29 || second == 0x57 || second == 0xaf || (second >= 0x40 && second <= 0x4f);
    if (!known) return out;
    has_modrm = true;
  } else if (opcode >= 0x50 && opcode <= 0x5f) {
    return out.length = at, out;
  } else if (opcode >= 0xb8 && opcode <= 0xbf) {
    return out.length = at + (wide ? 8 : operand16 ? 2 : 4), out;
  } else if (opcode >= 0x70 && opcode <= 0x7f) {
    return out.short_jcc = (opcode & 15u) + 1, out.length = at + 1, out;
  } else if (opcode == 0xe8 || opcode == 0xe9) {
    return out.branch_at = at, out.length = at + 4, out;
  } else if (opcode < 0x40 && (opcode & 7) < 4) { // add or adc sbb and sub xor cmp
    has_modrm = true;
  } else if (opcode == 0x63 || (opcode >= 0x84 && opcode <= 0x8b) || opcode == 0x8d) {
    has_modrm = true;
  } else if (opcode == 0x80 || opcode == 0x83 || opcode == 0xc6 || opcode == 0xc1) {
    has_modrm = true;
    immediate = 1;
  } else if (opcode == 0x81 || opcode == 0xc7) {
    has_modrm = true;
    immediate = operand16 ? 2 : 4;
  } else if (opcode == 0xf6 && (p[at] >> 3 & 7) == 0) {
    has_modrm = true;
    immediate = 1;
  }
  if (!has_modrm) return out;
  bool rip = false;
  unsigned length = modrm_length(p + at, &rip);
  if (rip) out.rip_at = at + 1;
  out.length = at + length + immediate;
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

static unsigned put_jump(uint8_t *p, const void *target) { // jmp [rip+0]; address
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
