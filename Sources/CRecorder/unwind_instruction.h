// One x86-64 instruction taken apart: what the gap scan (rows_gap.c) and the detours need to know of it.
#ifndef LIFESPAN_UNWIND_INSTRUCTION_H
#define LIFESPAN_UNWIND_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

// Opcode maps, by the bytes that lead to them.
enum unwind_map { UNWIND_MAP_ONE = 0, UNWIND_MAP_0F = 1, UNWIND_MAP_0F38 = 2, UNWIND_MAP_0F3A = 3 };

struct unwind_instruction {
  uint8_t length;       // of all of it
  uint8_t map;          // enum unwind_map
  uint8_t opcode;       // last opcode byte
  uint8_t rex;          // REX prefix or 0 (VEX and EVEX: 0)
  uint8_t vector;       // 1: VEX, EVEX or XOP
  uint8_t modrm_at;     // offset of the ModRM byte, 0 none
  uint8_t modrm;
  uint8_t immediate;    // bytes of the immediate or branch offset, the last ones of the instruction; 0 none
};

// Takes the instruction at `p` apart; reads at most `room` bytes. Any thread, no allocation. False: no valid
// instruction.
bool unwind_decode(const uint8_t *p, size_t room, struct unwind_instruction *out);

#pragma GCC visibility pop
#endif
