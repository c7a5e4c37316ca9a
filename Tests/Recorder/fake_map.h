// A mapping in plain memory with a consumer that the test plays itself.
#ifndef LIFESPAN_FAKE_MAP_H
#define LIFESPAN_FAKE_MAP_H

#include <stdint.h>

#include "internal.h"

// A fresh mapping of which `data_bytes` are allocated for rings; the recorder's process state points to it.
struct lifespan_map *fake_map(uint64_t data_bytes, uint32_t when_full);
// A thread's state bound to ring slot `slot` of it.
struct lifespan_thread *fake_thread(uint32_t slot);
// Consumes up to `most` cells of a ring into `out` (or NULL), with the switch protocol of lifespan_map.h. Returns how many.
uint64_t fake_consume(struct lifespan_ring *ring, struct lifespan_cell *out, uint64_t most);

#endif
