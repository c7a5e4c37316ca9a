// One frame description entry → rows: runs its call frame program. Called by rows_compile.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <string.h>

#include "rows.h"

enum cfa_rule { CFA_BAD, CFA_REGISTER, CFA_DRAP, CFA_PLT, CFA_SIGNAL };
enum fp_rule { FP_SAME, FP_OFFSET, FP_DRAP, FP_SIGNAL, FP_BAD };
enum ra_rule { RA_BAD, RA_USUAL, RA_UNDEFINED, RA_SIGNAL };

struct state {
  uint8_t cfa, fp, ra;   // the rules above
  uint8_t cfa_register;
  int64_t cfa_offset, fp_offset;
};

#define DEPTH 8
struct machine {
  const struct rows_cie *cie;
  const uint8_t *end;    // of the running program
  struct state now, initial, saved[DEPTH];
  unsigned depth;
  uintptr_t pc;
};

enum { RBP = 6, RSP = 7, RIP = 16 };

// The row that a state stands for.
static struct rows_row row_of(const struct state *s) {
  struct rows_row none = {.kind = ROWS_NONE}, row = none;
  int64_t cfa = s->cfa_offset;
  if (s->ra == RA_UNDEFINED) return (struct rows_row){.kind = ROWS_END};
  if (s->cfa == CFA_SIGNAL && s->ra == RA_SIGNAL && s->fp == FP_SIGNAL) {
    row.kind = ROWS_SIGNAL;
  } else if (s->ra != RA_USUAL) {
    return none;
  } else if (s->cfa == CFA_PLT) {
    return (struct rows_row){.kind = ROWS_PLT, .cfa = (int16_t)cfa};
  } else if (s->cfa == CFA_DRAP && s->fp == FP_DRAP) {
    row.kind = ROWS_DRAP;
  } else if (s->cfa == CFA_REGISTER && (s->fp == FP_SAME || s->fp == FP_OFFSET)) {
    row.kind = s->cfa_register == RSP ? ROWS_SP : s->cfa_register == RBP ? ROWS_FP : ROWS_NONE;
    if (s->fp == FP_OFFSET) {
      if (s->fp_offset % 8 || s->fp_offset < -1024 || s->fp_offset >= 0) return none;
      row.fp = (int8_t)(s->fp_offset / 8);
    }
  }
  if (row.kind == ROWS_NONE || cfa % 8 || cfa / 8 != (int16_t)(cfa / 8)) return none;
  row.cfa = (int16_t)(cfa / 8);
  return row;
}

// An expression of the shape "breg N; sleb offset" with `tail` behind it.
static bool is_based(const uint8_t *at, const uint8_t *end, unsigned reg, int64_t *offset, const char *tail, size_t n) {
  if (at >= end || *at != 0x70 + reg) return false;
  at++;
  *offset = rows_sleb(&at, end);
  return (size_t)(end - at) == n && !memcmp(at, tail, n);
}

static void cfa_expression(struct state *s, const uint8_t *at, const uint8_t *end) {
  // breg7 8; breg16 0; lit15; and; lit11 (lit10 with endbr64); ge; lit3; shl; plus: what every linker writes for .plt
  static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
  s->cfa = CFA_BAD;
  if (is_based(at, end, RBP, &s->cfa_offset, "\x06", 1)) s->cfa = CFA_DRAP;
  else if (is_based(at, end, RSP, &s->cfa_offset, "\x06", 1) && s->cfa_offset == 160) s->cfa = CFA_SIGNAL;
  else if (end - at == sizeof plt && !memcmp(at, plt, 6) && !memcmp(at + 7, plt + 7, 4) &&
           at[6] >= 0x30 && at[6] < 0x50) {
    s->cfa = CFA_PLT;
    s->cfa_offset = at[6] - 0x30;
  }
}

static void register_expression(struct state *s, uint64_t reg, const uint8_t *at, const uint8_t *end) {
  int64_t offset = 0;
  bool by_fp = is_based(at, end, RBP, &offset, "", 0);
  if (reg == RBP && by_fp && offset == 0) {
    s->fp = FP_DRAP;
    return;
  }
  bool by_sp = is_based(at, end, RSP, &offset, "", 0);
  if (reg == RBP) s->fp = by_sp && offset == 120 ? FP_SIGNAL : FP_BAD;
  if (reg == RIP) s->ra = by_sp && offset == 168 ? RA_SIGNAL : RA_BAD;
}

// A factored offset. What overflows is nonsense, but not undefined.
static int64_t factored(uint64_t value, int64_t align) { return (int64_t)(value * (uint64_t)align); }

static void offset_rule(struct state *s, uint64_t reg, int64_t offset) {
  if (reg == RBP) {
    s->fp = FP_OFFSET;
    s->fp_offset = offset;
  } else if (reg == RIP) {
    s->ra = offset == -8 ? RA_USUAL : RA_BAD;
  }
}

static void other_rule(struct state *s, uint64_t reg, bool undefined) {
  if (reg == RBP) s->fp = undefined ? FP_SAME : FP_BAD; // undefined: nobody needs it any more
  if (reg == RIP) s->ra = undefined ? RA_UNDEFINED : RA_BAD;
}

static void same_rule(struct state *s, uint64_t reg) {
  if (reg == RBP) s->fp = FP_SAME;
  else other_rule(s, reg, false);
}

static void restore_rule(struct machine *m, uint64_t reg) {
  if (reg == RBP) {
    m->now.fp = m->initial.fp;
    m->now.fp_offset = m->initial.fp_offset;
  } else if (reg == RIP) {
    m->now.ra = m->initial.ra;
  }
}

// Instructions with a block behind them.
static bool run_expression(struct machine *m, unsigned op, const uint8_t **at) {
  uint64_t reg = op == 0x0f ? 0 : rows_uleb(at, m->end);
  uint64_t length = rows_uleb(at, m->end);
  if (length > (uint64_t)(m->end - *at)) return false;
  const uint8_t *block = *at, *block_end = *at + length;
  *at = block_end;
  if (op == 0x0f) cfa_expression(&m->now, block, block_end);
  else if (op == 0x10) register_expression(&m->now, reg, block, block_end);
  else other_rule(&m->now, reg, false);
  return true;
}

// Instructions that change rules. False: not known.
static bool run_rule(struct machine *m, unsigned op, const uint8_t **at) {
  struct state *s = &m->now;
  int64_t align = m->cie->data_align;
  uint64_t reg = 0;
  switch (op) {
    case 0x05: reg = rows_uleb(at, m->end); offset_rule(s, reg, factored(rows_uleb(at, m->end), align)); return true;
    case 0x06: restore_rule(m, rows_uleb(at, m->end)); return true;
    case 0x07: other_rule(s, rows_uleb(at, m->end), true); return true;
    case 0x08: same_rule(s, rows_uleb(at, m->end)); return true;
    case 0x09: reg = rows_uleb(at, m->end); rows_uleb(at, m->end); other_rule(s, reg, false); return true;
    case 0x0c: case 0x12:
      s->cfa = CFA_REGISTER;
      s->cfa_register = (uint8_t)rows_uleb(at, m->end);
      s->cfa_offset = op == 0x0c ? (int64_t)rows_uleb(at, m->end) : factored((uint64_t)rows_sleb(at, m->end), align);
      return true;
    case 0x0d: s->cfa_register = (uint8_t)rows_uleb(at, m->end); return true;
    case 0x0e: s->cfa_offset = (int64_t)rows_uleb(at, m->end); return true;
    case 0x13: s->cfa_offset = factored((uint64_t)rows_sleb(at, m->end), align); return true;
    case 0x0f: case 0x10: case 0x16: return run_expression(m, op, at);
    case 0x11: reg = rows_uleb(at, m->end); offset_rule(s, reg, factored((uint64_t)rows_sleb(at, m->end), align)); return true;
    case 0x14: case 0x15:
      reg = rows_uleb(at, m->end);
      if (op == 0x14) rows_uleb(at, m->end); else rows_sleb(at, m->end);
      other_rule(s, reg, false);
      return true;
    case 0x2e: rows_uleb(at, m->end); return true; // GNU args size
    case 0x2f: reg = rows_uleb(at, m->end); offset_rule(s, reg, factored(-rows_uleb(at, m->end), align)); return true;
    default: return false;
  }
}

// Moves the program counter for advance instructions; false when `op` is none.
static bool advance(struct machine *m, unsigned op, const uint8_t **at) {
  uint64_t delta = 0;
  unsigned bytes = op == 0x02 ? 1 : op == 0x03 ? 2 : op == 0x04 ? 4 : 0;
  if ((op & 0xc0) == 0x40) delta = op & 0x3f;
  else if (op == 0x01) return rows_pointer(at, m->end, m->cie->encoding, 0, &m->pc);
  else if (!bytes || (size_t)(m->end - *at) < bytes) return false;
  else memcpy(&delta, *at, bytes);
  *at += bytes;
  m->pc += delta * m->cie->code_align;
  return true;
}

// Runs a program to its end; with a builder, a row is put wherever the rules change.
static bool run(struct machine *m, const uint8_t *at, const uint8_t *end, uintptr_t base,
                struct rows_builder *builder) {
  m->end = end;
  while (at < end) {
    unsigned op = *at++;
    bool moves = (op & 0xc0) == 0x40 || (op >= 1 && op <= 4);
    if (moves) {
      if (builder) rows_put(builder, (uint32_t)(m->pc - base), row_of(&m->now));
      if (!advance(m, op, &at)) return false;
    } else if ((op & 0xc0) == 0x80) {
      offset_rule(&m->now, op & 0x3f, factored(rows_uleb(&at, end), m->cie->data_align));
    } else if ((op & 0xc0) == 0xc0) {
      restore_rule(m, op & 0x3f);
    } else if (op == 0x0a) {
      if (m->depth == DEPTH) return false;
      m->saved[m->depth++] = m->now;
    } else if (op == 0x0b) {
      if (!m->depth) return false;
      m->now = m->saved[--m->depth];
    } else if (op && !run_rule(m, op, &at)) {
      return false;
    }
  }
  if (builder) rows_put(builder, (uint32_t)(m->pc - base), row_of(&m->now));
  return true;
}

bool rows_cfi(const struct rows_source *source, uintptr_t fde, struct rows_cie *cache, struct rows_builder *builder,
              struct rows_fde *out) {
  const uint8_t *at, *end;
  uint32_t delta = 0;
  if (!rows_open_entry(source, fde, &at, &end)) return false;
  memcpy(&delta, at, 4);
  uintptr_t cie = (uintptr_t)at - delta;
  if (!delta || (cache->address != cie && !rows_parse_cie(source, cie, cache))) {
    cache->address = 0;
    return false;
  }
  at += 4;
  uintptr_t begin = 0, range = 0;
  if (!rows_pointer(&at, end, cache->encoding, 0, &begin)) return false;
  if (!rows_pointer(&at, end, cache->encoding & 0x0f, 0, &range) || !range) return false;
  if (cache->augmented) {
    uint64_t bytes = rows_uleb(&at, end);
    if (bytes > (uint64_t)(end - at)) return false;
    at += bytes;
  }
  *out = (struct rows_fde){begin, begin + range};
  if (begin < source->base || begin + range - source->base > UINT32_MAX) return false;
  struct machine machine = {.cie = cache, .pc = begin, .now = {.cfa = CFA_BAD, .ra = RA_BAD}};
  if (run(&machine, cache->program, cache->program_end, source->base, NULL)) {
    machine.initial = machine.now;
    machine.pc = begin;
    if (run(&machine, at, end, source->base, builder)) return true;
  }
  // What could not be followed to its end is not known from there on.
  rows_put(builder, (uint32_t)(machine.pc - source->base), (struct rows_row){.kind = ROWS_NONE});
  return true;
}

#endif
