// Regions by address: a treap in one array, so that a fork's copy and a hostile order of records cost no more than others. Used by mapped.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

static struct drain_region *region_at(const struct drain_regions *regions, uint32_t index) {
  return (struct drain_region *)regions->nodes.data + index;
}

struct drain_region *drain_region_behind(struct drain_regions *regions, uint64_t address) {
  struct drain_region *best = NULL;
  for (uint32_t at = regions->root; at;) {
    struct drain_region *region = region_at(regions, at);
    bool behind = region->end > address;
    if (behind) best = region;
    at = behind ? region->left : region->right;
  }
  return best;
}

// A place of its own, 0: no memory.
static uint32_t region_place(struct drain_regions *regions) {
  uint32_t place = regions->unused;
  if (place) {
    regions->unused = region_at(regions, place)->left;
    return place;
  }
  struct drain_region fresh[2] = {0};
  size_t count = regions->nodes.used ? 1 : 2; // the first is none
  if (regions->nodes.used / sizeof(*fresh) >= UINT32_MAX - 2) return 0;
  if (!drain_append(&regions->nodes, fresh, count * sizeof(*fresh))) return 0;
  return (uint32_t)(regions->nodes.used / sizeof(*fresh)) - 1;
}

bool drain_region_add(struct drain_regions *regions, uint64_t start, uint64_t end, uint64_t since) {
  uint32_t place = region_place(regions);
  if (!place) return false;
  uint32_t weight = (uint32_t)((start * 0x9e3779b97f4a7c15ull) >> 32);
  uint32_t *link = &regions->root;
  while (*link && region_at(regions, *link)->weight >= weight) {
    struct drain_region *region = region_at(regions, *link);
    link = start < region->start ? &region->left : &region->right;
  }
  // What hangs here is split: lower ones to the left of the new one, higher ones to its right.
  struct drain_region *fresh = region_at(regions, place);
  *fresh = (struct drain_region){.start = start, .end = end, .since = since, .weight = weight};
  uint32_t rest = *link, *lower = &fresh->left, *higher = &fresh->right;
  *link = place;
  while (rest) {
    struct drain_region *region = region_at(regions, rest);
    uint32_t **side = region->start < start ? &lower : &higher, *next = region->start < start ? &region->right : &region->left;
    **side = rest;
    *side = next;
    rest = *next;
  }
  *lower = *higher = 0;
  return true;
}

void drain_region_remove(struct drain_regions *regions, uint64_t start) {
  uint32_t *link = &regions->root;
  while (*link && region_at(regions, *link)->start != start) {
    struct drain_region *region = region_at(regions, *link);
    link = start < region->start ? &region->left : &region->right;
  }
  uint32_t gone = *link;
  if (!gone) return;
  uint32_t left = region_at(regions, gone)->left, right = region_at(regions, gone)->right;
  while (left && right) { // the heavier one comes up
    bool is_left = region_at(regions, left)->weight >= region_at(regions, right)->weight;
    *link = is_left ? left : right;
    link = is_left ? &region_at(regions, left)->right : &region_at(regions, right)->left;
    if (is_left) left = *link;
    else right = *link;
  }
  *link = left ? left : right;
  region_at(regions, gone)->left = regions->unused;
  regions->unused = gone;
}

#endif
