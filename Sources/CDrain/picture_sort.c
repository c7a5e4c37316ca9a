// The objects of a picture in the order of their serials: a radix sort of 16 bytes an object, in pieces. Used by
// picture.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "picture.h"

#define DIGITS (1u << DRAIN_PICTURE_DIGIT)

static unsigned sort_digit(uint64_t serial, unsigned pass) {
  return (unsigned)(serial >> (pass * DRAIN_PICTURE_DIGIT)) & (DIGITS - 1);
}

void drain_picture_count(struct drain_picture *p, uint64_t serial) {
  if (!p->passes) {
    while (p->passes < DRAIN_PICTURE_PASSES && p->newest_serial >> (p->passes * DRAIN_PICTURE_DIGIT)) p->passes++;
  }
  for (unsigned pass = 0; pass < p->passes; pass++) p->starts[pass][sort_digit(serial, pass)]++;
}

// From how many there are of each digit to where they begin in the other array.
static void sort_begin_pass(size_t *starts) {
  size_t start = 0;
  for (unsigned digit = 0; digit < DIGITS; digit++) {
    size_t count = starts[digit];
    starts[digit] = start;
    start += count;
  }
}

size_t drain_picture_sort(struct drain_picture *p, size_t most) {
  if (p->pass >= p->passes || !p->count) return 0;
  size_t *starts = p->starts[p->pass], from = (size_t)p->at, end = p->count - from < most ? p->count : from + most;
  if (!from) sort_begin_pass(starts);
  for (size_t i = from; i < end; i++) p->spare[starts[sort_digit(p->order[i].serial, p->pass)]++] = p->order[i];
  p->at = end;
  if (end == p->count) {
    struct drain_order *sorted = p->spare;
    p->spare = p->order;
    p->order = sorted;
    p->pass++;
    p->at = 0;
  }
  return end - from;
}

struct drain_pictured *drain_picture_find(const struct drain_picture *p, uint64_t serial) {
  size_t low = 0, high = p->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (p->order[middle].serial < serial) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < p->count && p->order[low].serial == serial ? &p->objects[p->order[low].object] : NULL;
}

#endif
