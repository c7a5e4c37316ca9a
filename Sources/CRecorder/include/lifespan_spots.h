// Which addresses hold a recorded object: one byte for every 16 bytes of address space, in leaves of 1 GiB that are mapped when the first
// object is born there and touched only where objects lie (1/16 of the heap at most). So an end is an event exactly when its birth was one, whoever ends the
// object and whatever its memory says by then (CoreFoundation changes an object's class after its birth). A plain store for each birth and each end: the
// program itself orders an object's life across its threads. In hooks.
#ifndef LIFESPAN_SPOTS_H
#define LIFESPAN_SPOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum lifespan_spot {
  LIFESPAN_SPOT_NONE = 0,
  LIFESPAN_SPOT_BLOCK = 1, // a block of malloc that is no Swift object, as far as is known
  // From here on references to it are of interest.
  LIFESPAN_SPOT_LIVING = 2,
  LIFESPAN_SPOT_KEPT = 3, // its deinit has ended, unowned references keep the memory
  LIFESPAN_SPOT_DEAD = 4, // a counted object died here, and nothing was allocated here since (lifespan_process.keeps_dead)
};

#define LIFESPAN_SPOT_LEAVES (1u << 17) // 128 TiB of address space
#define LIFESPAN_SPOT_LEAF_LOG2 30u
extern _Atomic(uint8_t *) lifespan_spot_leaves[LIFESPAN_SPOT_LEAVES];
// A leaf could not be mapped: what lies there is not known, and every end is an event.
extern _Atomic bool lifespan_spots_unknown;

// Maps the leaf of an address. NULL: no memory for it, or no address of a program. Any thread, in hooks.
uint8_t *lifespan_spot_make(const void *address);

static inline uint8_t *lifespan_spot_at(const void *address) {
  uintptr_t leaf = (uintptr_t)address >> LIFESPAN_SPOT_LEAF_LOG2;
  if (leaf >= LIFESPAN_SPOT_LEAVES) return NULL;
  uint8_t *bytes = atomic_load_explicit(&lifespan_spot_leaves[leaf], memory_order_acquire);
  return bytes ? &bytes[((uintptr_t)address & ((1ull << LIFESPAN_SPOT_LEAF_LOG2) - 1)) >> 4] : NULL;
}

// What stands there (NULL: no leaf).
static inline enum lifespan_spot lifespan_spot_in(const uint8_t *spot) {
  if (spot) return (enum lifespan_spot)__atomic_load_n(spot, __ATOMIC_RELAXED);
  return atomic_load_explicit(&lifespan_spots_unknown, memory_order_relaxed) ? LIFESPAN_SPOT_LIVING : LIFESPAN_SPOT_NONE;
}

static inline enum lifespan_spot lifespan_spot(const void *address) { return lifespan_spot_in(lifespan_spot_at(address)); }

// Of what a retain or release is, spare bits of its address and all: the filter that every one of a program's passes.
static inline __attribute__((always_inline)) enum lifespan_spot lifespan_spot_of_reference(const void *object) {
  if ((intptr_t)object <= 0) return LIFESPAN_SPOT_NONE; // as the runtime itself decides
  uintptr_t at = (uintptr_t)object & (((uintptr_t)LIFESPAN_SPOT_LEAVES << LIFESPAN_SPOT_LEAF_LOG2) - 1);
  const uint8_t *bytes = atomic_load_explicit(&lifespan_spot_leaves[at >> LIFESPAN_SPOT_LEAF_LOG2], memory_order_acquire);
  if (__builtin_expect(!bytes, 0))
    return atomic_load_explicit(&lifespan_spots_unknown, memory_order_relaxed) ? LIFESPAN_SPOT_LIVING : LIFESPAN_SPOT_NONE;
  return (enum lifespan_spot)__atomic_load_n(&bytes[(at & ((1ull << LIFESPAN_SPOT_LEAF_LOG2) - 1)) >> 4], __ATOMIC_RELAXED);
}

// `spot`: lifespan_spot_at(address).
static inline void lifespan_spot_put(uint8_t *spot, const void *address, enum lifespan_spot value) {
  if (!spot && value != LIFESPAN_SPOT_NONE) spot = lifespan_spot_make(address);
  if (spot) __atomic_store_n(spot, (uint8_t)value, __ATOMIC_RELAXED);
}

static inline void lifespan_spot_set(const void *address, enum lifespan_spot value) { lifespan_spot_put(lifespan_spot_at(address), address, value); }

#pragma GCC visibility pop
#endif
