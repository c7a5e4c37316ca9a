// Rows for code that has no frame descriptions (Swift's `nounwind` functions: 11 to 32 % of its libraries' code), by
// following the height of the stack through the instructions. Two passes: the first finds the spans that jumps cross,
// so that an aligned loop head is not taken for a new function; the second simulates. Called by rows_compile.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include <string.h>

#include "rows.h"
#include "unwind_instruction.h"

struct height {
  int32_t cfa;   // CFA - rsp in bytes, UNKNOWN when the code realigned or computed rsp
  int16_t fp;    // caller's rbp lies at CFA + 8 * fp, 0: rbp is still the caller's
  bool framed;   // rbp points at the slot of the caller's rbp
};
#define UNKNOWN INT32_MIN
static const struct height at_entry = {.cfa = 8};

enum flow { FLOW_NEXT, FLOW_CALL, FLOW_BRANCH, FLOW_JUMP, FLOW_INDIRECT, FLOW_END };

// What the scan keeps for each byte of the gap.
struct place {
  int16_t cfa8;      // height / 8 at a jump's target
  int8_t fp;
  uint8_t flags;     // KNOWN, FRAMED
  int32_t crossing;  // +1 where a jump's span begins, -1 where it ends
  struct unwind_instruction instruction; // that begins here, decoded by the first pass; length 0: none does
};
_Static_assert(sizeof(struct place) == ROWS_SCRATCH, "scratch");
enum { KNOWN = 1, FRAMED = 2 };

struct scan {
  uintptr_t base, from, to;
  struct place *places;
  struct rows_builder *builder;
  bool emit;
  struct height now, body; // body: as of the last call or branch, before any epilogue
  int32_t crossings;
};

static bool is_framed_at(const struct height *h, int32_t offset) {
  return h->fp && h->cfa != UNKNOWN && h->cfa - offset == -8 * h->fp;
}

static void grow(struct height *h, int64_t bytes) {
  if (h->cfa == UNKNOWN) return;
  int64_t cfa = h->cfa + bytes;
  h->cfa = cfa >= 8 && cfa < 8 * INT16_MAX ? (int32_t)cfa : UNKNOWN;
}

static void restore_fp(struct height *h) {
  h->cfa = -8 * h->fp - 8;
  h->fp = 0;
  h->framed = false;
}

static int64_t immediate(const uint8_t *p, const struct unwind_instruction *i) {
  int8_t byte = 0;
  int32_t word = 0;
  if (i->immediate == 1) memcpy(&byte, p + i->length - i->immediate, 1);
  else if (i->immediate == 4) memcpy(&word, p + i->length - i->immediate, 4);
  return i->immediate == 1 ? byte : word;
}

static int64_t displacement(const uint8_t *p, const struct unwind_instruction *i) {
  const uint8_t *at = p + i->modrm_at + 1 + ((i->modrm & 7) == 4);
  int32_t word = 0;
  if (i->modrm >> 6 == 1) return (int8_t)*at;
  if (i->modrm >> 6 == 2) memcpy(&word, at, 4);
  return word;
}

// push and pop of a register.
static void stack_register(struct height *h, unsigned reg, bool push) {
  if (push) {
    grow(h, 8);
    if (reg == 5 && !h->fp && h->cfa != UNKNOWN && h->cfa <= 1024) h->fp = (int16_t)(-h->cfa / 8);
  } else if (reg == 5 && h->fp && (h->framed || is_framed_at(h, 0))) {
    restore_fp(h);
  } else {
    grow(h, -8);
  }
}

// lea that writes rsp or rbp.
static void lea(const uint8_t *p, const struct unwind_instruction *i, struct height *h) {
  unsigned reg = (i->modrm >> 3 & 7) | (i->rex & 4) << 1, base = (i->modrm & 7) | (i->rex & 1) << 3;
  bool by_sp = base == 4 && p[i->modrm_at + 1] == 0x24 && !(i->rex & 2), by_fp = base == 5 && i->modrm >> 6 != 0;
  int64_t offset = displacement(p, i);
  if (reg == 4) {
    if (by_sp) grow(h, -offset);
    else if (by_fp && h->framed && -8 * h->fp - offset >= 8) h->cfa = (int32_t)(-8 * h->fp - offset);
    else h->cfa = UNKNOWN;
  } else if (reg == 5) {
    h->framed = by_sp && is_framed_at(h, (int32_t)offset);
  }
}

// mov between registers where one is rsp or rbp.
static void move(unsigned from, unsigned to, struct height *h) {
  if (to == 5) h->framed = from == 4 && is_framed_at(h, 0);
  else if (to == 4 && from == 5 && h->framed) h->cfa = -8 * h->fp;
  else if (to == 4) h->cfa = UNKNOWN;
}

// Arithmetic on rsp: by a constant it is followed, else the height is lost.
static void arithmetic(const uint8_t *p, const struct unwind_instruction *i, struct height *h) {
  unsigned mod = i->modrm >> 6, rm = (i->modrm & 7) | (i->rex & 1) << 3, reg = (i->modrm >> 3 & 7) | (i->rex & 4) << 1;
  uint8_t op = i->opcode;
  if (op == 0x81 || op == 0x83) {
    if (mod != 3 || rm != 4) return;
    if ((reg & 7) == 5) grow(h, immediate(p, i));
    else if ((reg & 7) == 0) grow(h, -immediate(p, i));
    else if ((reg & 7) != 7) h->cfa = UNKNOWN;
  } else if (op == 0x89 || op == 0x8b) {
    if (mod == 3) move(op == 0x89 ? reg : rm, op == 0x89 ? rm : reg, h);
    else if (op == 0x8b && reg == 4) h->cfa = UNKNOWN;
  } else if (op < 0x38 && ((op & 7) == 1 || (op & 7) == 3)) {
    unsigned to = (op & 7) == 1 ? rm : reg;
    if (to == 4 && (mod == 3 || (op & 7) == 3)) h->cfa = UNKNOWN;
  }
}

// Applies an instruction of the one-byte map to the height and says where control goes.
static enum flow step_one(const uint8_t *p, const struct unwind_instruction *i, struct height *h) {
  uint8_t op = i->opcode;
  unsigned group = i->modrm >> 3 & 7;
  if (op >= 0x50 && op < 0x60) stack_register(h, (op & 7) | (i->rex & 1) << 3, op < 0x58);
  else if (op == 0x68 || op == 0x6a || op == 0x9c) grow(h, 8);
  else if (op == 0x9d || op == 0x8f) grow(h, -8);
  else if (op == 0x8d) lea(p, i, h);
  else if (op == 0xc9) {
    if (h->framed) restore_fp(h); else *h = (struct height){.cfa = UNKNOWN};
  } else if (op == 0xc2 || op == 0xc3 || op == 0xf4 || op == 0xcc) return FLOW_END;
  else if (op == 0xeb || op == 0xe9) return FLOW_JUMP;
  else if ((op >= 0x70 && op < 0x80) || (op >= 0xe0 && op < 0xe4)) return FLOW_BRANCH;
  else if (op == 0xe8) return FLOW_CALL;
  else if (op == 0xff) {
    if (group == 6) grow(h, 8);
    return group == 2 || group == 3 ? FLOW_CALL : group == 4 || group == 5 ? FLOW_INDIRECT : FLOW_NEXT;
  } else if (i->rex & 8) arithmetic(p, i, h);
  return FLOW_NEXT;
}

static enum flow step(const uint8_t *p, const struct unwind_instruction *i, struct height *h) {
  if (i->vector) return FLOW_NEXT;
  if (i->map == UNWIND_MAP_ONE) return step_one(p, i, h);
  if (i->map == UNWIND_MAP_0F && i->opcode >= 0x80 && i->opcode < 0x90) return FLOW_BRANCH;
  if (i->map == UNWIND_MAP_0F && (i->opcode == 0x0b || i->opcode == 0xb9 || i->opcode == 0xff)) return FLOW_END;
  return FLOW_NEXT;
}

static bool is_padding(const struct unwind_instruction *i) {
  if (i->vector) return false;
  if (i->map == UNWIND_MAP_ONE) return i->opcode == 0xcc || (i->opcode == 0x90 && !(i->rex & 1));
  return i->map == UNWIND_MAP_0F && i->opcode == 0x1f;
}

static struct rows_row row_of(const struct height *h) {
  struct rows_row row = {.kind = ROWS_NONE};
  if (h->framed) {
    row = (struct rows_row){.kind = ROWS_FP, .cfa = (int16_t)-h->fp, .fp = (int8_t)h->fp};
  } else if (h->cfa != UNKNOWN) {
    row = (struct rows_row){.kind = ROWS_SP, .cfa = (int16_t)(h->cfa / 8), .fp = (int8_t)h->fp};
  }
  return row;
}

static void leave(struct place *place, int16_t cfa8, const struct height *height) {
  place->cfa8 = cfa8;
  place->fp = (int8_t)height->fp;
  place->flags = (uint8_t)(KNOWN | (height->framed ? FRAMED : 0));
}

// Jumps farther than this lead to parts split off from a function (`.cold`): their spans would cover everything
// between.
#define FARTHEST 32768

// A direct jump: leaves its height at the target; in the first pass marks the span, unless it is a tail call.
static void jump(struct scan *s, uintptr_t next, int64_t offset, bool conditional) {
  uintptr_t target = next + (uintptr_t)offset;
  if (target < s->from || target >= s->to) return;
  bool tail = !conditional && s->now.cfa == 8 && !s->now.framed && !s->now.fp;
  struct place *place = &s->places[target - s->from];
  if (!s->emit) {
    // The height is less sure in this pass: only what looks like a function's start is left out.
    if ((tail && target % 16 == 0) || offset > FARTHEST || offset < -FARTHEST) return;
    uintptr_t low = target < next ? target : next, high = target < next ? next : target;
    s->places[low - s->from].crossing += 1;
    if (high < s->to) s->places[high - s->from].crossing -= 1;
  }
  if (!tail && target >= next && !(place->flags & KNOWN) && s->now.cfa != UNKNOWN) {
    leave(place, (int16_t)(s->now.cfa / 8), &s->now);
  } else if (!tail && target >= next && !(place->flags & KNOWN) && s->now.framed) {
    leave(place, 0, &s->now);
  }
}

static const uint8_t prologue[] = {0x55, 0x48, 0x89, 0xe5}; // push rbp; mov rbp, rsp

static bool is_prologue(const struct scan *s, uintptr_t at) {
  return s->to - at >= sizeof prologue && !memcmp((const void *)at, prologue, sizeof prologue);
}

// The height at the first instruction after one that never falls through.
static void resume(struct scan *s, uintptr_t at, enum flow flow, bool aligned) {
  const struct place *place = &s->places[at - s->from];
  bool in_body = s->now.cfa != 8 || s->now.framed;
  bool prologued = is_prologue(s, at);
  if (!prologued && place->flags & KNOWN) {
    s->now = (struct height){place->cfa8 ? place->cfa8 * 8 : UNKNOWN, place->fp, place->flags & FRAMED};
    return;
  }
  // Tail calls come after the epilogue, so a jump from the body stays in its function: a table's case follows, or a
  // block that a jump further down leads to.
  bool jumped_inside = in_body && (flow == FLOW_INDIRECT || (flow == FLOW_JUMP && s->crossings > 0));
  if (jumped_inside && !prologued && !(aligned && s->crossings == 0)) return;
  s->now = s->crossings > 0 && s->emit && !prologued ? s->body : at_entry;
  s->body = s->now;
}

// Adds up the spans that begin and end at [at, at + length).
static void cross(struct scan *s, uintptr_t at, unsigned length) {
  for (unsigned k = 0; k < length; k++) s->crossings += s->places[at + k - s->from].crossing;
}

// What an instruction at `at` that control may not reach from above means for the height.
static void enter(struct scan *s, uintptr_t at, enum flow before, bool padded) {
  bool falls = before == FLOW_NEXT || before == FLOW_CALL || before == FLOW_BRANCH;
  const struct place *place = &s->places[at - s->from];
  // Behind a call that never returns there may be padding, then the next function; padding inside a function stands
  // before loops only, and these are crossed by their jump.
  bool aligned = padded && at % 16 == 0;
  bool next = falls && ((aligned && s->crossings == 0) || ((s->now.fp || s->now.cfa != 8) && is_prologue(s, at)));
  if (!falls || next) resume(s, at, next ? FLOW_END : before, aligned);
  else if (s->emit && place->flags & KNOWN && s->now.cfa == UNKNOWN && !s->now.framed) s->now.cfa = place->cfa8 * 8;
}

// The instruction at `at`: decoded once. Where none is, and for zeros that some linkers pad with, one byte is skipped.
static bool instruction_at(struct scan *s, uintptr_t at, enum flow before, bool padded, struct unwind_instruction *i) {
  const uint8_t *p = (const uint8_t *)at;
  struct unwind_instruction *kept = &s->places[at - s->from].instruction;
  bool zero = p[0] == 0 && before != FLOW_NEXT && before != FLOW_BRANCH;
  if (zero && (before != FLOW_CALL || padded || (s->to - at > 1 && p[1] == 0))) return false;
  if (!kept->length && !unwind_decode(p, s->to - at, kept)) {
    kept->length = 0;
    return false;
  }
  *i = *kept;
  return true;
}

static void pass(struct scan *s) {
  struct unwind_instruction i = {0};
  s->now = s->body = at_entry;
  s->crossings = 0;
  enum flow before = FLOW_END;
  bool padded = false;
  for (uintptr_t at = s->from; at < s->to;) {
    bool good = instruction_at(s, at, before, padded, &i);
    unsigned length = good ? i.length : 1;
    if (before != FLOW_NEXT && before != FLOW_BRANCH && (!good || is_padding(&i))) {
      cross(s, at, length); // no return address lies in padding
      padded = true;
      at += length;
      continue;
    }
    cross(s, at, 1);
    enter(s, at, before, padded);
    padded = false;
    const uint8_t *p = (const uint8_t *)at;
    struct rows_row row = s->emit ? row_of(&s->now) : (struct rows_row){0};
    enum flow flow = good ? step(p, &i, &s->now) : FLOW_END;
    if (s->emit) {
      rows_put(s->builder, (uint32_t)(at - s->base), row);
      if (flow == FLOW_CALL && s->builder->call) s->builder->call(s->builder->context, at + length - 1, row);
    }
    if (flow == FLOW_CALL || flow == FLOW_BRANCH) s->body = s->now;
    if (flow == FLOW_BRANCH || flow == FLOW_JUMP) jump(s, at + length, immediate(p, &i), flow == FLOW_BRANCH);
    cross(s, at + 1, length - 1);
    at += length;
    before = flow;
  }
}

void rows_gap(uintptr_t base, uintptr_t from, uintptr_t to, void *scratch, struct rows_builder *builder) {
  struct scan s = {.base = base, .from = from, .to = to, .places = scratch, .builder = builder};
  memset(scratch, 0, (to - from) * ROWS_SCRATCH);
  pass(&s);
  for (uintptr_t i = 0; i < to - from; i++) s.places[i].flags = 0;
  s.emit = true;
  pass(&s);
}

#endif
