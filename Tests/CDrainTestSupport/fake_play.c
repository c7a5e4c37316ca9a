// Programs that are played into a fake mapping: random bytes, a load, two threads. See fake_map.h.
#define _GNU_SOURCE
#include <unistd.h>

#include "fake_internal.h"

static uint64_t random_next(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

// A record that could be one, over few addresses, types and nodes. Returns its cells.
static size_t plausible_record(const struct fake_map *fake, uint64_t *state, struct lifespan_cell cells[8]) {
  static const uint8_t kinds[] = {1, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 9, 9, 10, 11, 12, 13, 16, 16, 16, 17, 64, 65, 66, 67, 68};
  static const uint8_t lengths[] = {0, 2, 1, 1, 1, 2, 2, 1, 1, 3, 1, 2, 2, 1, 0, 0, 2, 2};
  uint64_t r = random_next(state), kind = kinds[r % sizeof(kinds)];
  size_t count = kind < 64 ? lengths[kind] : kind == 64 ? 2 : kind == 65 ? 4 : kind == 66 ? 4 : 3; // threads and their origins
  for (size_t i = 0; i < count; i++) cells[i] = (struct lifespan_cell){0, 0};
  cells[0].a = kind < 64 ? fake->map->start_stamp + (r >> 8) % 60000 : r >> 40;
  cells[0].b = lifespan_head_word((unsigned)kind, (unsigned)count,
                                  kind == 12   ? 3
                                  : kind == 13 ? 1
                                               : 2 + (r >> 24) % 48);
  if (kind == 1) cells[1] = (struct lifespan_cell){(1 + (r >> 32) % 6) << 32 | (r >> 36) % 8, (r >> 40) % 200};
  if (kind == 5 || kind == 6) cells[1] = (struct lifespan_cell){1ull << 32, (r >> 40) % 8};
  if (kind == 9) cells[1] = (struct lifespan_cell){2 + (r >> 30) % 48, (r >> 40) % 200};
  if (kind == 11) cells[1].a = (r >> 40) % 9;
  if (kind == 16 || kind == 17) { // a few pages among few
    cells[0].b = lifespan_head_word((unsigned)kind, (unsigned)count, 4096 * (1 + (r >> 24) % 40));
    cells[1] = (struct lifespan_cell){kind == 16 ? ((r >> 32) % 6) << 32 : 0, 4096 * ((r >> 36) % 9)};
  }
  if (kind == 64) cells[1].a = (r >> 32) % 50;
  if (kind == 65) cells[1] = (struct lifespan_cell){1 + (r >> 32) % 11, 16ull << 32 | (r >> 50) % 17};
  if (kind == 66) cells[2] = (struct lifespan_cell){1ull << 32 | 8ull << 16 | 8, 1};
  if (kind == 67) cells[1] = (struct lifespan_cell){7ull << 32 | 12, 1 + (r >> 40) % 3};
  return count;
}

static void scramble_words(uint64_t *words, size_t count, uint64_t *state) {
  for (size_t i = 0; i < count; i++) words[i] = random_next(state) >> (random_next(state) & 63);
}

static void scramble_ring(struct fake_map *fake, uint32_t ring, uint64_t *state, bool plausible) {
  struct lifespan_ring *shared = shared_ring(fake, ring);
  struct fake_ring *r = &fake->rings[ring];
  if (!plausible) {
    for (uint64_t i = 0; i <= r->mask; i++)
      r->cells[i] = (struct lifespan_cell){random_next(state), random_next(state)};
    scramble_words((uint64_t *)(void *)shared, sizeof(*shared) / 8, state);
    atomic_store(&shared->state, random_next(state) % 3);
    return;
  }
  struct lifespan_cell cells[8];
  uint64_t first = r->head, most = random_next(state) % (r->mask + 2);
  while (r->head - first < most && fake_cells(fake, ring, cells, plausible_record(fake, state, cells))) continue;
  // One record in some hundred has a wrong word; now and then a word of the ring itself is wrong for this round.
  if (random_next(state) % 2) r->cells[random_next(state) & r->mask].b = random_next(state);
  if (random_next(state) % 2) r->cells[random_next(state) & r->mask].a = random_next(state);
  if (random_next(state) % 16 == 0) {
    _Atomic uint64_t *words[] = {&shared->head, &shared->data, &shared->next, &shared->switch_at};
    atomic_store(words[random_next(state) % 4], random_next(state) >> (random_next(state) & 63));
  }
}

void fake_scramble(struct fake_map *fake, uint64_t seed, bool plausible) {
  uint64_t state = seed;
  atomic_store(&fake->map->rings_refused, random_next(&state) >> 40);
  atomic_store(&fake->map->next_free, random_next(&state) >> (random_next(&state) & 31));
  for (uint32_t ring = 0; ring < fake->ring_count; ring++) scramble_ring(fake, ring, &state, plausible);
}

uint64_t fake_load(struct fake_map *fake, uint32_t rings, uint64_t pairs, uint64_t first_stamp) {
  uint64_t stamp = first_stamp;
  for (uint64_t i = 0; i < pairs; i += 32) {
    for (uint32_t ring = 0; ring < rings; ring++) {
      uint64_t base = 0x10000 + ring * 0x1000000ull + (i * 0x51) % 4096 * 4096;
      for (uint64_t k = 0; k < 32; k++)
        fake_birth(fake, ring, (int64_t)stamp++, base + k * 64, 1 + k % 7, 2 + k % 11, 64);
      for (uint64_t k = 32; k-- > 0;) fake_event(fake, ring, LIFESPAN_R_DEATH, (int64_t)stamp++, base + k * 64);
    }
  }
  return stamp;
}

static bool producer_has_room(struct fake_map *fake, uint32_t ring, uint32_t *larger) {
  struct fake_ring *r = &fake->rings[ring];
  for (;;) {
    uint64_t tail = atomic_load(&shared_ring(fake, ring)->tail), from = tail > r->limit_base ? tail : r->limit_base;
    if (r->head + 2 <= from + r->mask + 1) return true;
    if (*larger) {
      fake_switch(fake, ring, *larger);
      *larger = 0;
    }
    atomic_fetch_add(&fake->map->consumer_wake, 1);
    usleep(20);
  }
}

static void producer_end(struct fake_map *fake, uint32_t ring, uint64_t address, uint32_t *larger) {
  if (address && producer_has_room(fake, ring, larger)) {
    fake_event(fake, ring, LIFESPAN_R_DEATH, (int64_t)fake_now(fake), address);
  }
}

void fake_produce(struct fake_map *fake, uint32_t ring, uint64_t pairs, uint32_t larger) {
  for (uint64_t i = 0; i < pairs; i++) {
    uint64_t address = (1 + ring) * 0x1000000ull + i * 16;
    producer_has_room(fake, ring, &larger);
    fake_birth(fake, ring, (int64_t)fake_now(fake), address, 1 + ring, 0, 16);
    // The other one ends it, and what it had left there before is ours to end.
    if (i % 4 == 0) address = atomic_exchange(&fake->handed[1 - ring], address);
    producer_end(fake, ring, address, &larger);
    producer_end(fake, ring, atomic_exchange(&fake->handed[ring], 0), &larger);
  }
}
