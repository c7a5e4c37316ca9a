// What the files of CDrainTestSupport share.
#ifndef FAKE_INTERNAL_H
#define FAKE_INTERNAL_H

#include "fake_map.h"

struct fake_ring {
  uint64_t head, mask, limit_base; // limit_base: where the present buffer begins
  struct lifespan_cell *cells;
};

struct fake_map {
  struct lifespan_map *map;
  size_t bytes, mapped;
  int file;
  struct fake_ring rings[64];
  uint32_t ring_count;
  _Atomic uint64_t handed[2]; // an address for the other thread to end
};

static inline struct lifespan_ring *shared_ring(const struct fake_map *fake, uint32_t ring) {
  return (struct lifespan_ring *)((char *)fake->map + LIFESPAN_RINGS_OFFSET) + ring;
}

#endif
