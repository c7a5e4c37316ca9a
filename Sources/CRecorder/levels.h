// A lock-free hash table that only grows: levels, each four times the size of the one before and mapped when that is half full. Shared by the type table
// and the stack table. Look-ups take no lock; inserts go to the first level with room by compare-and-swap of one word.
// Included by CRecorder's own files only.
#ifndef LIFESPAN_LEVELS_H
#define LIFESPAN_LEVELS_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "raw.h"
#include "sandbox.h"

#define LIFESPAN_LEVELS 12

struct lifespan_levels {
  _Atomic(void *) memory[LIFESPAN_LEVELS];
  _Atomic uint32_t used[LIFESPAN_LEVELS];
  unsigned first_log2;
  unsigned slot_bytes;
};

static inline unsigned lifespan_level_log2(const struct lifespan_levels *levels, unsigned level) { return levels->first_log2 + 2 * level; }

static inline uint64_t lifespan_mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 29;
  return x;
}

// Memory of a level; made when `create`. NULL: not there. A mapping that loses the race is given back.
static inline void *lifespan_level(struct lifespan_levels *levels, unsigned level, int create) {
  if (level >= LIFESPAN_LEVELS) return NULL;
  void *memory = atomic_load_explicit(&levels->memory[level], memory_order_acquire);
  if (memory || !create) return memory;
  if (!lifespan_may(LIFESPAN_CALL_MMAP)) return NULL;
  size_t bytes = (size_t)levels->slot_bytes << lifespan_level_log2(levels, level);
  void *fresh = lifespan_raw_pages(bytes);
  if (!fresh) return NULL;
  if (atomic_compare_exchange_strong(&levels->memory[level], &memory, fresh)) return fresh;
  munmap(fresh, bytes);
  return memory;
}

// The first level with room, made when needed. Counts one slot as used. NULL: full for good.
static inline void *lifespan_level_for_insert(struct lifespan_levels *levels, unsigned *which) {
  for (unsigned level = 0; level < LIFESPAN_LEVELS; level++) {
    uint32_t half = 1u << (lifespan_level_log2(levels, level) - 1);
    if (atomic_load_explicit(&levels->used[level], memory_order_relaxed) >= half) continue;
    void *memory = lifespan_level(levels, level, 1);
    if (!memory) return NULL;
    atomic_fetch_add_explicit(&levels->used[level], 1, memory_order_relaxed);
    *which = level;
    return memory;
  }
  return NULL;
}

#endif
