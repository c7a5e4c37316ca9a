// The regions that the program has mapped (record --vm): regions.c's functions, and what mapped.c keeps of a move that has begun.
// Included by drain.h.
#ifndef DRAIN_REGIONS_H
#define DRAIN_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

// What is mapped, in the order of addresses; its object is in the living table. A treap: any order of calls costs the logarithm.
struct drain_region {
  uint64_t start, end;
  uint64_t since; // stamp of the call that put it there
  uint32_t left, right, weight, reserved;
};
struct drain_regions {
  struct drain_bytes nodes; // struct drain_region; the first is none
  uint32_t root, unused;
};
#define DRAIN_MOVING 32u
struct drain_moving { // an mremap that has begun
  uint64_t from, end, stamp;
  uint32_t thread;
};
struct drain_aside { // a region whose move is not told yet, and whose addresses another one has already
  struct drain_region region;
  uint32_t thread;
};
// The lowest region that ends behind the address, NULL: none. Valid until the next add.
struct drain_region *drain_region_behind(struct drain_regions *regions, uint64_t address);
// It must not overlap another. False: no memory.
bool drain_region_add(struct drain_regions *regions, uint64_t start, uint64_t end, uint64_t since);
void drain_region_remove(struct drain_regions *regions, uint64_t start);

#endif
