// The table of living objects by address: living.c's functions. Included by drain.h.
#ifndef DRAIN_LIVING_H
#define DRAIN_LIVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_map.h"

enum { DRAIN_STATE_KEPT = 1, DRAIN_STATE_MOVING = 2 };
#define DRAIN_COUNT_UNKNOWN INT32_MIN // of a block of malloc that turned out to be an object late
#define DRAIN_LIMBO (1ull << 48) // key of an object that is being moved and whose old address has been taken already

struct drain_object {
  uint64_t key; // address, DRAIN_LIMBO; 0 empty
  uint64_t serial;
  uint64_t stamp; // of its birth, exact
  uint64_t size;  // now
  uint64_t task;  // of its birth
  uint32_t site, generation;
  uint32_t events;                 // of this object so far
  uint32_t state : 2, pictured : 1, thread : 29; // thread: of its birth; pictured: see next.c
  int32_t count;                   // strong references by what was recorded; 0 once the last release has come
  uint32_t reserved;
};
_Static_assert(sizeof(struct drain_object) == 64, "a cache line");

struct drain_living {
  struct drain_object *slots;
  uint64_t mask, used;
  unsigned shift;
  _Atomic uint64_t *beat; // NULL, or moved while the table grows
};
bool drain_living_create(struct drain_living *living);
void drain_living_destroy(struct drain_living *living);
static inline uint64_t drain_living_home(const struct drain_living *living, uint64_t key) {
  return (key * 0x9e3779b97f4a7c15ull) >> living->shift;
}
static inline struct drain_object *drain_living_find(const struct drain_living *living, uint64_t key) {
  for (uint64_t at = drain_living_home(living, key);; at = (at + 1) & living->mask) {
    struct drain_object *object = &living->slots[at];
    if (object->key == key) return object;
    if (!object->key) return NULL;
  }
}
bool drain_living_double(struct drain_living *living);
// The key must not be there. NULL: no memory. Moves other objects: pointers from before are void.
static inline struct drain_object *drain_living_insert(struct drain_living *living, uint64_t key) {
  if (living->used * 8 >= (living->mask + 1) * 5 && !drain_living_double(living)) return NULL;
  uint64_t at = drain_living_home(living, key);
  while (living->slots[at].key) at = (at + 1) & living->mask;
  living->used++;
  living->slots[at] = (struct drain_object){.key = key};
  return &living->slots[at];
}
// Moves other objects.
static inline void drain_living_remove(struct drain_living *living, struct drain_object *object) {
  uint64_t hole = (uint64_t)(object - living->slots);
  for (uint64_t at = (hole + 1) & living->mask; living->slots[at].key; at = (at + 1) & living->mask) {
    // What stands at `at` may fill the hole when its home does not lie behind the hole.
    uint64_t home = drain_living_home(living, living->slots[at].key);
    if (((at - home) & living->mask) < ((at - hole) & living->mask)) continue;
    living->slots[hole] = living->slots[at];
    hole = at;
  }
  living->slots[hole].key = 0;
  living->used--;
}

// What an object's address is told as: a region's key has the lowest bit set, as a block may begin where it does.
static inline uint64_t drain_address(uint64_t key) {
  key &= LIFESPAN_VALUE_MASK;
  return key & LIFESPAN_TOKEN_ADDRESS ? key : key & ~1ull;
}

#endif
