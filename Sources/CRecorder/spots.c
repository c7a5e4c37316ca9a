// The leaves of lifespan_spots.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "lifespan_spots.h"

#include "raw.h"
#include "sandbox.h"

#include <sys/mman.h>

_Atomic(uint8_t *) lifespan_spot_leaves[LIFESPAN_SPOT_LEAVES];
_Atomic bool lifespan_spots_unknown;

uint8_t *lifespan_spot_make(const void *address) {
  uintptr_t leaf = (uintptr_t)address >> LIFESPAN_SPOT_LEAF_LOG2;
  if (leaf >= LIFESPAN_SPOT_LEAVES) return NULL;
  size_t bytes = (1ull << LIFESPAN_SPOT_LEAF_LOG2) >> 4;
  uint8_t *fresh = lifespan_may(LIFESPAN_CALL_MMAP) ? lifespan_raw_pages(bytes) : NULL;
  if (!fresh) {
    atomic_store(&lifespan_spots_unknown, true);
    return NULL;
  }
  uint8_t *none = NULL;
  if (!atomic_compare_exchange_strong(&lifespan_spot_leaves[leaf], &none, fresh))
    lifespan_raw4(SYS_munmap, (long)fresh, (long)bytes, 0, 0); // another thread was quicker
  return lifespan_spot_at(address);
}

#endif
