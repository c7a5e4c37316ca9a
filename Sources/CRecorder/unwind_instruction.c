// Length and shape of x86-64 instructions in 64-bit mode: legacy, REX, VEX, EVEX and XOP encodings. Called by the gap
// scan (rows_gap.c) and by the detours (detour_x86_64.c), at the start. Tables, no state.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "unwind_instruction.h"

// What follows an opcode byte.
enum follow {
  N = 0,  // nothing
  M = 1,  // ModRM
  B = 2,  // 1 byte immediate
  Z = 4,  // 4 bytes (2 with 66)
  V = 8,  // 4 bytes (2 with 66, 8 with REX.W)
  W = 16, // 2 bytes
  J = 32, // 4 bytes, whatever the prefixes
  O = 64, // an address: 8 bytes (4 with 67)
  X = 128 // no instruction in 64-bit mode, or handled apart (prefixes, escapes)
};

static const uint8_t one_byte[256] = {
    M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,                                           // 0x
    M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,                                           // 1x
    M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,                                           // 2x
    M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,                                           // 3x
    X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,                                           // 4x
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,                                           // 5x
    X, X, X, M, X, X, X, X, Z, M | Z, B, M | B, N, N, N, N,                                   // 6x
    B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B,                                           // 7x
    M | B, M | Z, X, M | B, M, M, M, M, M, M, M, M, M, M, M, M,                               // 8x
    N, N, N, N, N, N, N, N, N, N, X, N, N, N, N, N,                                           // 9x
    O, O, O, O, N, N, N, N, B, Z, N, N, N, N, N, N,                                           // Ax
    B, B, B, B, B, B, B, B, V, V, V, V, V, V, V, V,                                           // Bx
    M | B, M | B, W, N, X, X, M | B, M | Z, W | B, N, W, N, N, B, X, N,                       // Cx
    M, M, M, M, X, X, X, N, M, M, M, M, M, M, M, M,                                           // Dx
    B, B, B, B, B, B, B, B, J, J, X, B, N, N, N, N,                                           // Ex
    X, N, X, X, N, N, M, M, N, N, N, N, N, N, M, M,                                           // Fx
};

static const uint8_t two_byte[256] = {
    M, M, M, M, X, N, N, N, N, N, X, N, X, M, N, M | B,                                       // 0x
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                                           // 1x
    M, M, M, M, X, X, X, X, M, M, M, M, M, M, M, M,                                           // 2x
    N, N, N, N, N, N, X, N, X, X, X, X, X, X, X, X,                                           // 3x
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                                           // 4x
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                                           // 5x
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                                           // 6x
    M | B, M | B, M | B, M | B, M, M, M, N, M, M, X, X, M, M, M, M,                           // 7x
    J, J, J, J, J, J, J, J, J, J, J, J, J, J, J, J,                                           // 8x
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                                           // 9x
    N, N, N, M, M | B, M, X, X, N, N, N, M, M | B, M, M, M,                                   // Ax
    M, M, M, M, M, M, M, M, M, M, M | B, M, M, M, M, M,                                       // Bx
    M, M, M | B, M, M | B, M | B, M | B, M, N, N, N, N, N, N, N, N,                           // Cx
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                                           // Dx
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                                           // Ex
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                                           // Fx
};

// Half the time of a compile was spent in calls of these.
#define ALWAYS static inline __attribute__((always_inline))

struct cursor {
  const uint8_t *p;
  size_t room, at;
  bool operand16, address32;
};

// Length of displacement and SIB byte behind the ModRM byte at `at`; false when it does not fit.
ALWAYS bool skip_operand(struct cursor *c, uint8_t modrm) {
  unsigned mod = modrm >> 6, rm = modrm & 7;
  if (mod == 3) return true;
  if (rm == 4) {
    if (c->at >= c->room) return false;
    uint8_t sib = c->p[c->at++];
    if (mod == 0 && (sib & 7) == 5) c->at += 4;
  } else if (mod == 0 && rm == 5) {
    c->at += 4;
  }
  if (mod == 1) c->at += 1;
  if (mod == 2) c->at += 4;
  return c->at <= c->room;
}

// VEX (C4, C5), EVEX (62) and XOP (8F with map >= 8): moves past the prefix and gives the map.
static bool skip_vector_prefix(struct cursor *c, uint8_t first, struct unwind_instruction *out) {
  unsigned payload = first == 0xc5 ? 1 : first == 0x62 ? 3 : 2;
  if (c->at + payload >= c->room) return false;
  unsigned map = first == 0xc5 ? 1u : c->p[c->at] & (first == 0x62 ? 7u : 31u);
  c->at += payload;
  out->vector = 1;
  if (first == 0x8f) {
    out->map = map == 8 ? UNWIND_MAP_0F3A : UNWIND_MAP_0F38; // XOP map 8 has a 1-byte immediate, 9 none
    return map == 8 || map == 9;
  }
  // EVEX maps 5 and 6 (FP16) have neither immediates nor surprises.
  out->map = (uint8_t)(map == 5 || map == 6 ? UNWIND_MAP_0F38 : map);
  return map >= 1 && map <= 6 && map != 4;
}

// What follows the opcode, by map.
ALWAYS uint8_t follow_of(const struct unwind_instruction *i) {
  if (i->map == UNWIND_MAP_0F38) return M;
  if (i->map == UNWIND_MAP_0F3A) return M | B;
  if (i->map == UNWIND_MAP_ONE) return one_byte[i->opcode];
  if (i->vector && i->opcode == 0x77) return N; // vzeroupper
  return i->vector ? (uint8_t)((two_byte[i->opcode] & B) | M) : two_byte[i->opcode];
}

ALWAYS bool read_opcode(struct cursor *c, struct unwind_instruction *out) {
  uint8_t byte = c->p[c->at++];
  bool xop = byte == 0x8f && c->at < c->room && (c->p[c->at] & 0x1f) >= 8 && !out->rex;
  if (byte == 0xc4 || byte == 0xc5 || byte == 0x62 || xop) {
    if (!skip_vector_prefix(c, byte, out)) return false;
    byte = c->p[c->at++];
  } else if (byte == 0x0f) {
    if (c->at >= c->room) return false;
    out->map = UNWIND_MAP_0F;
    byte = c->p[c->at++];
    if (byte == 0x38 || byte == 0x3a) {
      if (c->at >= c->room) return false;
      out->map = byte == 0x38 ? UNWIND_MAP_0F38 : UNWIND_MAP_0F3A;
      byte = c->p[c->at++];
    }
  }
  out->opcode = byte;
  return true;
}

ALWAYS unsigned immediate_bytes(const struct cursor *c, const struct unwind_instruction *i, uint8_t follow) {
  unsigned bytes = 0;
  if (follow & B) bytes += 1;
  if (follow & W) bytes += 2;
  if (follow & J) bytes += 4;
  if (follow & Z) bytes += c->operand16 ? 2 : 4;
  if (follow & V) bytes += i->rex & 8 ? 8 : c->operand16 ? 2 : 4;
  if (follow & O) bytes += c->address32 ? 4 : 8;
  if (i->map == UNWIND_MAP_ONE && !i->vector && (i->modrm & 0x38) <= 8) { // test is the only one of its group with one
    if (i->opcode == 0xf6) bytes = 1;
    if (i->opcode == 0xf7) bytes = c->operand16 && !(i->rex & 8) ? 2 : 4;
  }
  return bytes;
}

ALWAYS void skip_prefixes(struct cursor *c, struct unwind_instruction *out) {
  for (; c->at < c->room && c->at < 14; c->at++) {
    uint8_t byte = c->p[c->at];
    bool legacy = byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
                  byte == 0x26 || byte == 0x64 || byte == 0x65;
    if (byte == 0x66) c->operand16 = true;
    else if (byte == 0x67) c->address32 = true;
    else if ((byte & 0xf0) == 0x40) out->rex = byte;
    else if (!legacy) return;
    if ((byte & 0xf0) != 0x40) out->rex = 0; // a REX prefix counts only right before the opcode
  }
}

// Bytes of SIB and displacement behind a ModRM byte, given the byte behind it.
static inline unsigned operand_bytes(uint8_t modrm, uint8_t sib) {
  unsigned mod = modrm >> 6, rm = modrm & 7, bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
  if (mod == 3) return 0;
  if (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))) bytes = 4;
  return bytes + (rm == 4);
}

// Most instructions: at most a REX prefix, one opcode byte. False: take the long way.
static inline bool decode_short(const uint8_t *p, struct unwind_instruction *out) {
  unsigned at = 0;
  uint8_t rex = (p[0] & 0xf0) == 0x40 ? p[at++] : 0, opcode = p[at++], follow = one_byte[opcode];
  if (follow & (X | V | O) || opcode == 0xf6 || opcode == 0xf7) return false;
  *out = (struct unwind_instruction){.opcode = opcode, .rex = rex};
  if (follow & M) {
    out->modrm_at = (uint8_t)at;
    out->modrm = p[at++];
    at += operand_bytes(out->modrm, p[at]);
  }
  out->immediate = (uint8_t)((follow & B ? 1 : 0) + (follow & W ? 2 : 0) + (follow & (Z | J) ? 4 : 0));
  out->length = (uint8_t)(at + out->immediate);
  return true;
}

bool unwind_decode(const uint8_t *p, size_t room, struct unwind_instruction *out) {
  if (room >= 15 && p[0] != 0x8f && decode_short(p, out)) return true;
  struct cursor c = {.p = p, .room = room < 15 ? room : 15};
  *out = (struct unwind_instruction){0};
  skip_prefixes(&c, out);
  if (c.at >= c.room || !read_opcode(&c, out)) return false;
  uint8_t follow = follow_of(out);
  if (follow & X) return false;
  if (follow & M) {
    if (c.at >= c.room) return false;
    out->modrm_at = (uint8_t)c.at;
    out->modrm = p[c.at++];
    // mov to and from control registers has no memory form, whatever mod says
    bool control = out->map == UNWIND_MAP_0F && !out->vector && out->opcode >= 0x20 && out->opcode <= 0x23;
    if (!control && !skip_operand(&c, out->modrm)) return false;
  }
  // REX.W beats 66 for immediates too
  if (out->rex & 8) c.operand16 = false;
  out->immediate = (uint8_t)immediate_bytes(&c, out, follow);
  c.at += out->immediate;
  if (c.at > c.room) return false;
  out->length = (uint8_t)c.at;
  return true;
}

#endif
