// The walk: frames from the hooked call outwards until a frame is met that the walk before has seen in the same state, from
// where on everything read then is still the same. Called by the recorder's hooks.
//
// Layout of a walk's own words: slots (address of the frame's return address, with three bits), values of rbp, where
// these were read, and where the frame's address was read (functions that realign the stack). New frames are put at the far end, innermost last, and moved down behind the kept ones.
#include <string.h>

#include "unwind.h"
#include "unwind_step.h"

#define ROOM LIFESPAN_WALK_FRAMES
// In a slot. While a walk is made: the step outwards read rbp, replaced it. Afterwards: rbp matters from this frame
// outwards, and the frame's address was itself read from the stack.
enum { LIVE = 1, USES = 2, RESTORES = 4, READ = 2, FLAGS = 7 };

static uint64_t *slots(struct lifespan_walk *w) { return w->opaque; }
static uint64_t *fps(struct lifespan_walk *w) { return w->opaque + ROOM; }
static uint64_t *fp_slots(struct lifespan_walk *w) { return w->opaque + 2 * ROOM; }
static uint64_t *cfa_slots(struct lifespan_walk *w) { return w->opaque + 3 * ROOM; } // where it was read, 0 nowhere
#define MODE (4 * ROOM - 1) // of the last walk: in the last frame's last word, which is never used
#define DEEPEST (ROOM - 1)

// How many frames from the root have every word unchanged that the walk beyond them read. Reads only above `sp`.
static uint32_t verified(struct lifespan_walk *w, uintptr_t sp) {
  const uint64_t *slot = slots(w), *fp = fps(w), *fp_slot = fp_slots(w);
  uint32_t i = 0;
  for (; i < w->count; i++) {
    uintptr_t at = slot[i] & ~(uint64_t)FLAGS;
    if (at < sp || at >= w->hi || unwind_word(at) != w->pcs[i]) break;
    if (fp_slot[i] && (fp_slot[i] < sp || unwind_word(fp_slot[i]) != fp[i])) break;
    if (slot[i] & READ && (cfa_slots(w)[i] < sp || unwind_word(cfa_slots(w)[i]) != at + 8)) break;
  }
  return i;
}

// Finds whether rbp matters at each new frame, outermost first, and forgets where it was read where it does not.
static void set_live(struct lifespan_walk *w, uint32_t from, uint32_t to, bool live) {
  for (uint32_t i = from; i < to; i++) {
    uint64_t flags = slots(w)[i];
    live = flags & USES || (!(flags & RESTORES) && live);
    slots(w)[i] = (flags & ~(uint64_t)FLAGS) | (live ? LIVE : 0) | (cfa_slots(w)[i] ? READ : 0);
    if (!live) fp_slots(w)[i] = 0;
  }
}

static void move(struct lifespan_walk *w, uint32_t to, uint32_t from, uint32_t count) {
  if (to == from || !count) return;
  memmove(w->pcs + to, w->pcs + from, count * sizeof *w->pcs);
  for (unsigned column = 0; column < 4; column++)
    memmove(w->opaque + column * ROOM + to, w->opaque + column * ROOM + from, count * sizeof *w->opaque);
}

// No frame of the walk before was met: the new frames at [position, ROOM) become the whole stack. Where the same return
// addresses stand at the root for the same reason, their nodes stay good.
static void replace(struct lifespan_walk *w, uint32_t position, uint32_t old, bool same_end) {
  uint32_t count = ROOM - position, kept = 0, limit = old < count ? old : count;
  if (limit > position) limit = position; // further ones have been written over
  while (same_end && kept < limit && w->pcs[kept] == w->pcs[position + kept]) kept++;
  move(w, 0, position, count);
  set_live(w, 0, count, false);
  w->count = count;
  w->kept = kept;
}

static void set_read(struct lifespan_walk *w, uint32_t i, uintptr_t cfa_slot) {
  cfa_slots(w)[i] = cfa_slot;
  slots(w)[i] = (slots(w)[i] & ~(uint64_t)READ) | (cfa_slot ? READ : 0);
}

// The new frames join the old ones [0, match]. False: the kept root does not fit the depth.
static bool join(struct lifespan_walk *w, uint32_t position, uint32_t match, const struct unwind_state *s, uint32_t depth) {
  uint32_t fresh = ROOM - position, total = match + 1 + fresh, drop = total > depth ? total - depth : 0;
  if (w->end == LIFESPAN_END_CUT && total != depth) return false;
  if (drop > match) return false;
  bool live = slots(w)[match] & LIVE;
  fps(w)[match] = s->fp;
  fp_slots(w)[match] = live ? s->fp_slot : 0;
  set_read(w, match, s->cfa_slot);
  move(w, 0, drop, match + 1 - drop);
  move(w, match + 1 - drop, position, fresh);
  set_live(w, match + 1 - drop, total - drop, live);
  w->count = total - drop;
  w->kept = drop ? 0 : match + 1;
  if (drop) w->end = LIFESPAN_END_CUT;
  return true;
}

static bool matches(struct lifespan_walk *w, uint32_t i, const struct unwind_state *s) {
  uint64_t slot = slots(w)[i];
  if ((slot & ~(uint64_t)FLAGS) != s->sp - 8 || w->pcs[i] != s->pc || s->exact) return false;
  return !(slot & LIVE) || unwind_clean(fps(w)[i]) == unwind_clean(s->fp);
}

static int row_step(struct unwind_state *s, bool by_rows, struct rows_row *row) {
  *row = (struct rows_row){.kind = ROWS_FP, .cfa = 2, .fp = -2};
  s->uses = s->restores = false;
  if (!by_rows && !unwind_clean(s->fp)) return LIFESPAN_END_WHOLE; // by frame pointers alone the chain ends with 0
  if (by_rows && !images_row_cached(s->pc - !s->exact, row)) {
    images_missed(s->pc);
    return LIFESPAN_END_NO_IMAGE;
  }
  return unwind_step(s, row);
}

// Puts the callers in the task's contexts in front of the new frames; the new position.
static uint32_t add_async(struct lifespan_walk *w, uint32_t position, const struct unwind_state *s, uintptr_t fp,
                          uint32_t depth, int *end) {
  uint64_t callers[UNWIND_CONTEXTS];
  bool whole = false;
  unsigned room = depth - (ROOM - position);
  if (room > UNWIND_CONTEXTS) room = UNWIND_CONTEXTS;
  unsigned count = unwind_async(s, fp, callers, room, &whole);
  if (!count) return position;
  for (unsigned i = 0; i < count; i++) {
    position--;
    w->pcs[position] = callers[i];
    slots(w)[position] = fps(w)[position] = fp_slots(w)[position] = cfa_slots(w)[position] = 0; // not on the stack: never taken as unchanged
  }
  *end = whole ? LIFESPAN_END_ASYNC : LIFESPAN_END_CUT;
  return position;
}

static void walk_frames(struct lifespan_walk *w, struct unwind_state *s, bool by_rows, uint32_t depth, uint32_t unchanged) {
  uint32_t old = w->count, position = ROOM, before = w->end;
  int64_t match = unchanged < old ? (int64_t)unchanged : (int64_t)old - 1;
  int end = UNWIND_GO_ON;
  struct rows_row row;
  while (end == UNWIND_GO_ON) {
    while (match >= 0 && (slots(w)[match] & ~(uint64_t)FLAGS) < s->sp - 8) match--;
    if (match >= 0 && matches(w, (uint32_t)match, s)) {
      if (join(w, position, (uint32_t)match, s, depth)) return;
      match = -1;
    }
    position--;
    if (match >= (int64_t)position) match = (int64_t)position - 1;
    w->pcs[position] = s->pc;
    fps(w)[position] = s->fp;
    fp_slots(w)[position] = s->fp_slot;
    cfa_slots(w)[position] = s->cfa_slot;
    // Below a signal frame the pc is not at its usual place; such a frame is walked anew each time.
    uint64_t slot = s->exact ? 0 : s->sp - 8;
    slots(w)[position] = slot;
    uintptr_t fp = unwind_clean(s->fp);
    end = row_step(s, by_rows, &row);
    slots(w)[position] |= (s->uses ? USES : 0) | (s->restores ? RESTORES : 0);
    if (ROOM - position == depth) {
      if (end == UNWIND_GO_ON) end = LIFESPAN_END_CUT;
    } else if (end == UNWIND_GO_ON && row.kind == ROWS_FP && row.cfa == 2 && row.fp == -2 && s->fp >> 60 == 1) {
      position = add_async(w, position, s, fp, depth, &end);
    }
  }
  w->end = (uint32_t)end;
  replace(w, position, old, before == w->end);
}

// A stack that another unwinder has read, or a single frame: kept only where its return addresses are the same.
static unsigned put_plain(struct lifespan_walk *w, const uint64_t *innermost_first, uint32_t count, uint32_t end) {
  uint32_t kept = 0;
  bool same = w->end == end;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t pc = innermost_first[count - 1 - i];
    same = same && i < w->count && w->pcs[i] == pc;
    kept += same;
    w->pcs[i] = pc;
    slots(w)[i] = fps(w)[i] = fp_slots(w)[i] = cfa_slots(w)[i] = 0;
  }
  w->count = count;
  w->kept = kept;
  w->end = end;
  return count;
}

static __attribute__((noinline)) unsigned walk_by_reference(struct lifespan_walk *w, uintptr_t pc, uintptr_t sp,
                                                            uintptr_t fp, uint32_t depth) {
  uint64_t pcs[ROOM];
  uint32_t end = LIFESPAN_END_NO_ROW;
  unsigned count = unwind_by_reference(w, pc, sp, fp, NULL, pcs, depth, &end);
  return put_plain(w, pcs, count, end);
}

unsigned lifespan_walk_stack(struct lifespan_walk *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp, unsigned mode,
                             unsigned depth) {
  uint32_t epoch = lifespan_images_epoch();
  if (walk->epoch != epoch || walk->opaque[MODE] != mode) walk->count = 0;
  walk->epoch = epoch;
  walk->opaque[MODE] = mode;
  if (mode == LIFESPAN_UNWIND_NONE || !depth) return put_plain(walk, NULL, 0, LIFESPAN_END_CUT);
  if (depth > DEEPEST) depth = DEEPEST;
  if (!walk->hi || sp < walk->lo || sp >= walk->hi || sp % 8) {
    uint64_t only = pc;
    return put_plain(walk, &only, 1, LIFESPAN_END_FOREIGN);
  }
  if (mode == LIFESPAN_UNWIND_LIBUNWIND) return walk_by_reference(walk, pc, sp, fp, depth);
  struct unwind_state state = {.pc = pc, .sp = sp, .fp = fp, .floor = sp, .hi = walk->hi};
  uint32_t unchanged = verified(walk, sp);
  walk_frames(walk, &state, mode == LIFESPAN_UNWIND_AUTO && epoch, depth, unchanged);
  return walk->count;
}

bool lifespan_walk_agrees(const struct lifespan_walk *walk, const uint64_t *pcs, unsigned count) {
  uint32_t root = 0;
  bool partly = walk->end == LIFESPAN_END_CUT || walk->end == LIFESPAN_END_ASYNC;
  while (walk->end != LIFESPAN_END_FOREIGN && root < walk->count && walk->opaque[root] == 0 && partly) root++;
  uint32_t own = walk->count - root;
  if (partly ? own > count : own != count) return false;
  for (uint32_t i = 0; i < own; i++)
    if (walk->pcs[walk->count - 1 - i] != pcs[i]) return false;
  return true;
}
