// Stacks: a parents-first tree of return addresses. A walk gives frames root first with how many are unchanged; only the changed ones are looked
// up: all at once among the stacks that this thread met lately, then one by one in a lock-free hash of (parent, return address). A new node's record is
// published in the ring before its id can be seen. In hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "levels.h"
#include "raw.h"

#define MOST_NODES (1u << 23)
#define ROOT_KEY 0xffffff00u // | label: the parent key of a root-most node
#define CHECK_ROOM 256u

struct node {
  uint64_t pc;
  uint32_t parent; // node id, or ROOT_KEY | label
  uint32_t epoch;
};

static struct node *nodes;
static _Atomic uint32_t next_node = LIFESPAN_STACK_FIRST;
// A slot: the hash's upper half, by which most of what does not match is told without a look at its node, and the id.
static struct lifespan_levels levels = {.first_log2 = 14, .slot_bytes = sizeof(_Atomic uint64_t)};
static _Atomic uint32_t top_level; // the newest, which holds most of the nodes

bool lifespan_stacks_start(void) {
  if (nodes) return true;
  nodes = lifespan_raw_pages(sizeof(struct node) * (size_t)MOST_NODES);
  if (!nodes) return false;
  return lifespan_level(&levels, 0, 1) != NULL;
}

static bool same(uint32_t id, uint32_t parent, uint64_t pc, uint32_t oldest) {
  const struct node *node = &nodes[id];
  return node->pc == pc && node->parent == parent && node->epoch >= oldest;
}

static uint32_t find(uint64_t hash, uint32_t parent, uint64_t pc, uint32_t oldest) {
  for (int level = (int)atomic_load_explicit(&top_level, memory_order_acquire); level >= 0; level--) {
    _Atomic uint64_t *slots = lifespan_level(&levels, (unsigned)level, 0);
    if (UNLIKELY(!slots)) continue;
    uint64_t mask = (1ull << lifespan_level_log2(&levels, (unsigned)level)) - 1;
    for (uint64_t i = hash & mask;; i = (i + 1) & mask) {
      uint64_t slot = atomic_load_explicit(&slots[i], memory_order_acquire);
      if (!slot) break;
      if (slot >> 32 == hash >> 32 && same((uint32_t)slot, parent, pc, oldest)) return (uint32_t)slot;
    }
  }
  return 0;
}

// Publishes a node's record, then its id. The id of another thread that was quicker wins; ours is then wasted, never wrong.
static uint32_t add(struct lifespan_thread *thread, uint64_t hash, uint32_t parent, uint64_t pc, uint32_t epoch, uint32_t oldest) {
  if (atomic_load_explicit(&next_node, memory_order_relaxed) >= MOST_NODES) return LIFESPAN_STACK_FULL;
  uint32_t id = atomic_fetch_add_explicit(&next_node, 1, memory_order_relaxed);
  if (id >= MOST_NODES || !lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_OTHER)) return LIFESPAN_STACK_FULL;
  nodes[id] = (struct node){pc, parent, epoch};
  bool root = parent >= ROOT_KEY;
  lifespan_ring_put(thread, 0, pc, lifespan_head_word(LIFESPAN_R_NODE, 2, id));
  lifespan_ring_put(thread, 1, root ? 0 : parent, (uint64_t)epoch << 32 | (root ? parent & 0xff : 0));
  lifespan_ring_publish(thread, 2);
  unsigned level = 0;
  _Atomic uint64_t *slots = lifespan_level_for_insert(&levels, &level);
  if (!slots) return id;
  if (level > atomic_load_explicit(&top_level, memory_order_relaxed)) atomic_store_explicit(&top_level, level, memory_order_release);
  uint64_t own = hash >> 32 << 32 | id;
  uint64_t mask = (1ull << lifespan_level_log2(&levels, level)) - 1;
  for (uint64_t i = hash & mask;; i = (i + 1) & mask) {
    uint64_t slot = 0;
    if (atomic_compare_exchange_strong_explicit(&slots[i], &slot, own, memory_order_release, memory_order_acquire)) return id;
    if (same((uint32_t)slot, parent, pc, oldest)) return (uint32_t)slot;
  }
}

static uint32_t intern(struct lifespan_thread *thread, uint32_t parent, uint64_t pc, uint32_t epoch, uint32_t oldest) {
  uint64_t hash = lifespan_mix(pc * 0x9e3779b97f4a7c15ull + parent);
  uint32_t id = find(hash, parent, pc, oldest);
  return id ? id : add(thread, hash, parent, pc, epoch, oldest);
}

static inline uint32_t parent_of(const struct lifespan_walk *walk) { return walk->kept ? walk->nodes[walk->kept - 1] : ROOT_KEY | walk->end; }

// Looks the new frames up as one, by a hash of all frames. Nodes that were met one after another lie side by side, so following them from the
// innermost outwards touches a cache line or two, where the tree's own hash takes one or more for each frame.
static inline struct lifespan_known_stack *known_place(struct lifespan_thread *thread, struct lifespan_walk *walk, uint32_t *hash) {
  uint64_t mixed = walk->kept ? walk->hashes[walk->kept - 1] : ROOT_KEY | walk->end;
  for (uint32_t i = walk->kept; i < walk->count; i++) {
    mixed = (mixed ^ walk->pcs[i]) * 0x9e3779b97f4a7c15ull;
    walk->hashes[i] = mixed ^= mixed >> 32;
  }
  *hash = (uint32_t)mixed | 1; // 0: an empty place
  return &thread->known_stacks[(mixed >> 40) % LIFESPAN_KNOWN_STACKS];
}

static inline bool take_known(struct lifespan_walk *walk, uint32_t id, uint32_t oldest) {
  for (uint32_t i = walk->count; i-- > walk->kept;) {
    const struct node *node = &nodes[id];
    if (node->pc != walk->pcs[i] || node->epoch < oldest) return false;
    walk->nodes[i] = id;
    id = node->parent;
    if (i > walk->kept && id >= ROOT_KEY) return false;
  }
  return id == parent_of(walk);
}

// Compares this stack with libunwind's and counts.
static void check(struct lifespan_thread *thread, uintptr_t pc, uintptr_t sp, uintptr_t fp) {
  const struct lifespan_walk *walk = &thread->walk;
  uint64_t reference[CHECK_ROOM];
  unsigned known, frames = lifespan_walk_reference(walk, pc, sp, fp, NULL, reference, CHECK_ROOM, &known), same = 0;
  if (!frames) return;
  struct lifespan_map *map = lifespan_process.map;
  atomic_fetch_add_explicit(&map->stacks_checked, 1, memory_order_relaxed);
  if (lifespan_walk_agrees(walk, reference, frames)) {
    atomic_fetch_add_explicit(&map->stacks_equal, 1, memory_order_relaxed);
    return;
  }
  while (same < frames && same < walk->count && reference[same] == walk->pcs[walk->count - 1 - same]) same++;
  if (same >= known) atomic_fetch_add_explicit(&map->stacks_guessed, 1, memory_order_relaxed);
}

// False: the tree is full.
static bool intern_frames(struct lifespan_thread *thread, struct lifespan_walk *walk, uint32_t oldest) {
  uint32_t parent = parent_of(walk);
  for (uint32_t i = walk->kept; i < walk->count; i++) {
    parent = walk->nodes[i] = intern(thread, parent, walk->pcs[i], walk->epoch, oldest);
    if (LIKELY(parent != LIFESPAN_STACK_FULL)) continue;
    walk->count = i; // nothing behind it may be reused
    atomic_fetch_add_explicit(&lifespan_process.map->stacks_full, 1, memory_order_relaxed);
    return false;
  }
  return true;
}

// The walk's new frames as nodes; and what is done with every n-th stack.
static __attribute__((noinline)) uint32_t number_of(struct lifespan_thread *thread, struct lifespan_walk *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp) {
  uint32_t count = walk->count, oldest = atomic_load_explicit(&lifespan_process.unload_epoch, memory_order_relaxed), hash = 0;
  if (UNLIKELY(!count)) return LIFESPAN_STACK_NONE;
  if (walk->kept < count) {
    struct lifespan_known_stack *known = known_place(thread, walk, &hash);
    if (UNLIKELY(known->hash != hash || !take_known(walk, known->id, oldest))) {
      if (!intern_frames(thread, walk, oldest)) return LIFESPAN_STACK_FULL;
      *known = (struct lifespan_known_stack){hash, walk->nodes[count - 1]};
    }
  }
  if (UNLIKELY(lifespan_process.check_every) && --thread->checks == 0) {
    thread->checks = lifespan_process.check_every;
    check(thread, pc, sp, fp);
  }
  return walk->nodes[count - 1];
}

uint32_t lifespan_stack(struct lifespan_thread *thread, uintptr_t pc, uintptr_t sp, uintptr_t fp) {
  if (lifespan_process.unwind == LIFESPAN_UNWIND_NONE) return LIFESPAN_STACK_NONE;
  struct lifespan_walk *walk = &thread->walk;
  unsigned count = lifespan_walk_stack(walk, pc, sp, fp, lifespan_process.unwind, lifespan_process.depth);
  if (walk->kept != count || !count || lifespan_process.check_every) return number_of(thread, walk, pc, sp, fp);
  return walk->nodes[count - 1];
}

#endif
