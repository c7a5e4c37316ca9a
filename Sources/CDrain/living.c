// The living table: objects by address, open addressing with backward-shift deletion (no tombstones: births and deaths
// alternate for hours). Used by apply.c for every event, by save.c to walk over what lives.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define LIVING_FIRST_LOG2 12u

bool drain_living_create(struct drain_living *living) {
  living->used = 0;
  living->mask = (1ull << LIVING_FIRST_LOG2) - 1;
  living->shift = 64 - LIVING_FIRST_LOG2;
  living->slots = drain_pages((living->mask + 1) * sizeof(*living->slots));
  return living->slots;
}

void drain_living_destroy(struct drain_living *living) {
  if (living->slots) drain_pages_free(living->slots, (living->mask + 1) * sizeof(*living->slots));
  living->slots = NULL;
}

bool drain_living_double(struct drain_living *living) {
  struct drain_living larger = {
      .mask = living->mask * 2 + 1, .shift = living->shift - 1, .used = living->used, .beat = living->beat};
  larger.slots = drain_pages((larger.mask + 1) * sizeof(*larger.slots));
  if (!larger.slots) return false;
  for (uint64_t i = 0; i <= living->mask; i++) {
    // With millions of objects this takes most of a second: who waits for us sees that we are at work.
    if (!(i & 0xffff) && living->beat) atomic_fetch_add_explicit(living->beat, 1, memory_order_relaxed);
    if (!living->slots[i].key) continue;
    uint64_t at = drain_living_home(&larger, living->slots[i].key);
    while (larger.slots[at].key) at = (at + 1) & larger.mask;
    larger.slots[at] = living->slots[i];
  }
  drain_living_destroy(living);
  *living = larger;
  return true;
}

#endif
