// The types of malloc blocks: one for each bucket of sizes, as Instruments has rows "Malloc 64 Bytes". Called by record_block.c, in hooks.
#ifndef LIFESPAN_BLOCK_TYPES_H
#define LIFESPAN_BLOCK_TYPES_H

#include "internal.h"

#pragma GCC visibility push(hidden)

// Buckets end at 16, 32, … 1,024 bytes, then at the quarters between powers of two: at most a quarter of a block's row is rounding.
#define LIFESPAN_BLOCK_BUCKETS 256u
unsigned lifespan_block_bucket(uint64_t size);
uint64_t lifespan_block_bucket_end(unsigned bucket); // its largest size in bytes

// The type of a block of `size` bytes, announced in the ring before. 0: left out by the recording's rules, or lost.
uint32_t lifespan_block_type(struct lifespan_thread *thread, uint64_t size);

#pragma GCC visibility pop
#endif
