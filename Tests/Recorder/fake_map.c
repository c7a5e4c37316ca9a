// See fake_map.h.

#define _GNU_SOURCE
#include "fake_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct lifespan_map *fake_map(uint64_t data_bytes, uint32_t when_full) {
  static void *memory;
  size_t size = LIFESPAN_DATA_OFFSET + (64u << 20);
  if (memory) munmap(memory, size);
  memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  struct lifespan_map *map = memory;
  map->magic = LIFESPAN_MAP_MAGIC;
  map->abi = LIFESPAN_ABI;
  map->clock = LIFESPAN_CLOCK_MONOTONIC;
  map->page_size = 4096;
  map->recording = 1;
  map->consumer_alive = 1;
  uint64_t first = (LIFESPAN_DATA_OFFSET + 65535) & ~65535ull;
  map->next_free = first;
  map->allocated = first + data_bytes;
  map->options.when_full = when_full;
  memset(&lifespan_process, 0, sizeof lifespan_process);
  lifespan_process.map = map;
  lifespan_process.unwind = LIFESPAN_UNWIND_NONE;
  lifespan_process.depth = 256;
  return map;
}

struct lifespan_thread *fake_thread(uint32_t slot) {
  struct lifespan_thread *thread = aligned_alloc(_Alignof(struct lifespan_thread), sizeof *thread);
  memset(thread, 0, sizeof *thread);
  thread->ring = (struct lifespan_ring *)((char *)lifespan_process.map + LIFESPAN_RINGS_OFFSET) + slot;
  thread->number = slot + 1;
  atomic_store(&thread->ring->state, LIFESPAN_RING_CLAIMED);
  lifespan_ring_bind(thread);
  return thread;
}

uint64_t fake_consume(struct lifespan_ring *ring, struct lifespan_cell *out, uint64_t most) {
  uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail), taken = 0;
  for (; tail < head && taken < most; tail++, taken++) {
    uint64_t next = atomic_load(&ring->next);
    uint64_t buffer = next && tail >= atomic_load(&ring->switch_at) ? next : atomic_load(&ring->data);
    const struct lifespan_cell *cells = (const void *)((const char *)lifespan_process.map + lifespan_buffer_offset(buffer));
    if (out) out[taken] = cells[tail & ((1ull << lifespan_buffer_log2(buffer)) - 1)];
  }
  if (atomic_load(&ring->next) && tail >= atomic_load(&ring->switch_at)) {
    atomic_store(&ring->data, atomic_load(&ring->next));
    atomic_store(&ring->next, 0);
  }
  atomic_store(&ring->tail, tail);
  atomic_fetch_add(&lifespan_process.map->consumer_beat, 1);
  return taken;
}
