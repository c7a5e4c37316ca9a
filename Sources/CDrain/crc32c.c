// CRC-32C (Castagnoli), eight bytes a step by tables that the encoder owns. Used by encode.c for every chunk.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define CRC_POLYNOMIAL 0x82f63b78u // reflected

void drain_crc_table(uint32_t table[8][256]) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
    table[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; i++) {
    for (int k = 1; k < 8; k++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
  }
}

uint32_t drain_crc(const uint32_t table[8][256], const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  uint32_t crc = 0xffffffffu;
  for (; length >= 8; length -= 8, at += 8) {
    uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
    crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^
          table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
  }
  for (; length; length--) crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
  return ~crc;
}

#endif
