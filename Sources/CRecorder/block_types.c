// See block_types.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "block_types.h"

#define STEP 16u
#define LINEAR 64u // buckets of 16 bytes: up to 1,024

static _Atomic uint32_t types[LIFESPAN_BLOCK_BUCKETS]; // 0: not announced yet

unsigned lifespan_block_bucket(uint64_t size) {
  if (size <= LINEAR * STEP) return size ? (unsigned)((size - 1) / STEP) : 0;
  unsigned power = 63 - (unsigned)__builtin_clzll(size - 1); // 2^power < size <= 2^(power + 1)
  unsigned quarter = (unsigned)((size - 1) >> (power - 2)) & 3;
  unsigned bucket = LINEAR + (power - 10) * 4 + quarter;
  return bucket < LIFESPAN_BLOCK_BUCKETS ? bucket : LIFESPAN_BLOCK_BUCKETS - 1;
}

uint64_t lifespan_block_bucket_end(unsigned bucket) {
  if (bucket < LINEAR) return (bucket + 1ull) * STEP;
  unsigned power = (bucket - LINEAR) / 4 + 10, quarter = (bucket - LINEAR) % 4;
  return (5ull + quarter) << (power - 2);
}

static size_t put_number(char *text, uint64_t number) {
  char digits[20];
  size_t count = 0, length = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count) text[length++] = digits[--count];
  return length;
}

// `malloc 64 B`, `malloc 1.25 KiB`: the bucket's end is a multiple of a quarter of its unit.
static size_t put_name(char *text, uint64_t end) {
  static const char units[] = "BKMGTP";
  __builtin_memcpy(text, "malloc ", 7);
  size_t length = 7;
  unsigned unit = 0;
  uint64_t quarters = end * 4;
  for (; quarters >= 4 * 1024; quarters /= 1024) unit++;
  length += put_number(text + length, quarters / 4);
  static const char *const fractions[] = {"", ".25", ".5", ".75"};
  for (const char *digit = fractions[quarters % 4]; *digit; digit++) text[length++] = *digit;
  text[length++] = ' ';
  text[length++] = units[unit];
  if (unit) {
    text[length++] = 'i';
    text[length++] = 'B';
  }
  return length;
}

static uint32_t announce(struct lifespan_thread *thread, unsigned bucket) {
  char name[48];
  size_t length = put_name(name, lifespan_block_bucket_end(bucket));
  const void *key = (const void *)((1ull << 63) | (bucket << 1) | 1); // no metadata
  uint32_t type = lifespan_type_named(thread, key, LIFESPAN_KIND_MALLOC, name, length);
  if (type) atomic_store_explicit(&types[bucket], type, memory_order_release);
  return type;
}

uint32_t lifespan_block_type(struct lifespan_thread *thread, uint64_t size) {
  unsigned bucket = lifespan_block_bucket(size);
  uint32_t type = atomic_load_explicit(&types[bucket], memory_order_acquire);
  if (UNLIKELY(!type)) return announce(thread, bucket);
  return type;
}

#endif
