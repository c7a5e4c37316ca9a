// The walk: frames from the hooked call outwards until a frame is met that the walk before has seen in the same state,
// from where on everything read then is still the same. Called by the recorder's hooks.
//
// A walk's own words are eight for each frame, root first (struct frame). New frames are put at the far end, innermost
// last, and moved down behind the kept ones.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include <string.h>

#include "unwind.h"
#include "unwind_step.h"

#define ROOM (LIFESPAN_WALK_FRAMES - 1)
// In a slot. While a walk is made: the step outwards read rbp, replaced it. Afterwards: rbp matters from this frame
// outwards; the frame is not like most (its own address was read from the stack, or is not known); rbp was read from a word that
// no frame further out tells of.
enum { LIVE = 1, USES = 2, RESTORES = 4, RARE = 2, SAVED = 4, FLAGS = 7 };

struct frame {
  _Alignas(64) uint64_t fp; // rbp, as it lies in the stack
  uint64_t pc;              // the return address
  uint64_t matters[2]; // of the two words that lie before each other in the stack: all ones where it is one to be looked at
  uint64_t check;    // where they lie, or others that no frame has: it is not like most
  uint64_t slot;     // address of the return address, with the flags
  uint64_t fp_slot;  // where rbp was read, 0: in the register, or it does not matter
  uint64_t cfa_slot; // where the frame's address was read, 0: computed
};
_Static_assert(sizeof(struct frame) == 8 * sizeof(uint64_t), "a frame's share of the walk's words");

typedef uint64_t pair __attribute__((vector_size(16)));
typedef pair pair_in_stack __attribute__((aligned(8)));
static const pair no_frame; // a return address of 0

static inline struct frame *frames_of(struct lifespan_walk *w) { return (struct frame *)w->opaque; }

// What is looked at to find the frame unchanged, now that it is known whether rbp matters. `outer`: the next frame outwards, or NULL.
static inline void settle(struct frame *f, const struct frame *outer, uint64_t slot, bool live) {
  if (!live) f->fp_slot = 0;
  bool told = outer && outer->slot & LIVE && outer->fp_slot == f->fp_slot;
  bool saved = f->fp_slot && !told, rare = f->cfa_slot || !slot || (saved && f->fp_slot != slot - 8);
  f->slot = slot | (live ? LIVE : 0) | (rare ? RARE : 0) | (saved ? SAVED : 0);
  f->check = rare ? (uintptr_t)&no_frame : slot - 8;
  f->matters[0] = saved ? UINT64_MAX : 0;
  f->matters[1] = UINT64_MAX;
}

ROWS_INLINE bool fp_unchanged(const struct frame *f, uintptr_t sp) {
  return !(f->slot & SAVED) || (f->fp_slot >= sp && unwind_word(f->fp_slot) == f->fp);
}

// Whether so many frames are like most and unchanged. They lie above `sp`.
ROWS_INLINE bool all_unchanged(const struct frame *f, unsigned count) {
  pair changed = no_frame;
  for (unsigned i = 0; i < count; i++) changed |= (*(const pair_in_stack *)f[i].check ^ *(const pair *)&f[i].fp) & *(const pair *)f[i].matters;
  return !(changed[0] | changed[1]);
}

ROWS_INLINE bool unchanged(const struct frame *f, uintptr_t sp, uintptr_t hi) {
  uintptr_t at = f->slot & ~(uint64_t)FLAGS;
  if (at < sp || at >= hi || unwind_word(at) != f->pc || !fp_unchanged(f, sp)) return false;
  return !f->cfa_slot || (f->cfa_slot >= sp && unwind_word(f->cfa_slot) == at + 8);
}

// How many frames from the root have every word unchanged that the walk beyond them read. Reads only above `sp`.
ROWS_INLINE uint32_t verified(struct lifespan_walk *w, uintptr_t sp) {
  const struct frame *f = frames_of(w) + w->callers, *end = frames_of(w) + w->count;
  while (end > f && end[-1].slot < sp + 8) end--; // slots fall from frame to frame
  while (f < end) {
    while (f + 8 <= end && all_unchanged(f, 8)) f += 8;
    if (f + 4 <= end && all_unchanged(f, 4)) f += 4;
    while (f < end && all_unchanged(f, 1)) f++;
    if (f == end || !unchanged(f, sp, w->hi)) break;
    f++;
  }
  return (uint32_t)(f - frames_of(w));
}

// Finds whether rbp matters at each new frame, outermost first, and forgets where it was read where it does not.
static void set_live(struct lifespan_walk *w, uint32_t from, uint32_t to, bool live) {
  for (uint32_t i = from; i < to; i++) {
    struct frame *f = &frames_of(w)[i];
    uint64_t flags = f->slot;
    live = flags & USES || (!(flags & RESTORES) && live);
    settle(f, i ? f - 1 : NULL, flags & ~(uint64_t)FLAGS, live);
  }
}

static void move(struct lifespan_walk *w, uint32_t to, uint32_t from, uint32_t count) {
  if (to == from || !count) return;
  if (count > 8) {
    memmove(w->pcs + to, w->pcs + from, count * sizeof *w->pcs);
    memmove(frames_of(w) + to, frames_of(w) + from, count * sizeof(struct frame));
    return;
  }
  for (uint32_t i = 0; i < count; i++) { // downwards: no frame is written over before it is moved
    w->pcs[to + i] = w->pcs[from + i];
    frames_of(w)[to + i] = frames_of(w)[from + i];
  }
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

// The new frames join the old ones [0, match]; `at_match` says where this walk read the words of the frame that was
// met. False: the kept root does not fit the depth.
static bool join(struct lifespan_walk *w, uint32_t position, uint32_t match, struct frame at_match, uint32_t depth) {
  uint32_t fresh = ROOM - position, total = match + 1 + fresh, drop = total > depth ? total - depth : 0;
  if (w->end == LIFESPAN_END_CUT && total != depth) return false;
  if (drop > match) return false;
  struct frame *met = &frames_of(w)[match];
  bool live = met->slot & LIVE;
  if (met->fp_slot != (live ? at_match.fp_slot : 0) || met->cfa_slot != at_match.cfa_slot) {
    settle(&at_match, match ? met - 1 : NULL, met->slot & ~(uint64_t)FLAGS, live);
    *met = at_match;
  } else {
    met->fp = at_match.fp; // what tells of it stands where it stood
  }
  struct frame *outermost = &frames_of(w)[drop];
  if (drop) settle(outermost, NULL, outermost->slot & ~(uint64_t)FLAGS, outermost->slot & LIVE); // what was further out tells nothing any more
  move(w, 0, drop, match + 1 - drop);
  move(w, match + 1 - drop, position, fresh);
  set_live(w, match + 1 - drop, total - drop, live);
  w->count = total - drop;
  w->kept = drop ? 0 : match + 1;
  if (drop) w->end = LIFESPAN_END_CUT;
  return true;
}

ROWS_INLINE bool matches(struct lifespan_walk *w, uint32_t i, const struct unwind_state *s) {
  const struct frame *f = &frames_of(w)[i];
  if ((f->slot & ~(uint64_t)FLAGS) != s->sp - 8 || w->pcs[i] != s->pc || s->exact) return false;
  return !(f->slot & LIVE) || unwind_clean(f->fp) == unwind_clean(s->fp);
}

ROWS_INLINE int row_step(struct unwind_state *s, bool by_rows, struct rows_row *row) {
  *row = (struct rows_row){.kind = ROWS_FP, .cfa = 2, .fp = -2};
  s->uses = s->restores = false;
  if (!by_rows && !unwind_clean(s->fp)) return LIFESPAN_END_WHOLE; // by frame pointers alone the chain ends with 0
  if (by_rows && !images_row_cached(s->pc - !s->exact, row)) {
    images_missed(s->pc);
    return LIFESPAN_END_NO_IMAGE;
  }
  return unwind_step(s, *row);
}

// Puts callers that are not on the stack in front of the new frames; the new position.
static uint32_t put_callers(struct lifespan_walk *w, uint32_t position, const uint64_t *callers, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    position--;
    w->pcs[position] = callers[i];
    frames_of(w)[position] = (struct frame){.pc = callers[i]};
  }
  return position;
}

static __attribute__((noinline)) uint32_t add_async(struct lifespan_walk *w, uint32_t position, uintptr_t context,
                                                    uint32_t depth, bool careful, int *end) {
  uint64_t callers[UNWIND_CONTEXTS];
  bool whole = false;
  unsigned room = depth - (ROOM - position);
  if (room > UNWIND_CONTEXTS) room = UNWIND_CONTEXTS;
  unsigned count = unwind_async(context, callers, room, careful, &whole);
  if (!count) return position;
  *end = whole ? LIFESPAN_END_ASYNC : LIFESPAN_END_CUT;
  return put_callers(w, position, callers, count);
}

static unsigned room_at(uint32_t position, uint32_t depth) {
  unsigned room = depth - (ROOM - position);
  return room < UNWIND_CONTEXTS ? room : UNWIND_CONTEXTS;
}

// Called where a task is run: the functions that wait for its innermost one instead of the executor's frames.
static __attribute__((noinline)) uint32_t add_task(struct lifespan_walk *w, uint32_t position, uintptr_t context_slot, const struct unwind_state *s, uint32_t depth, int *end) {
  uint64_t callers[UNWIND_CONTEXTS];
  unsigned count;
  enum unwind_task_part part = unwind_task_callers(unwind_word(context_slot), callers, room_at(position, depth), s->interrupted, &count);
  w->task = part;
  w->run_slot = s->sp - 8;
  w->context_slot = context_slot;
  if (part == UNWIND_TASK_UNKNOWN) return position;
  w->callers = count;
  *end = part == UNWIND_TASK_FOLLOWED ? LIFESPAN_END_ASYNC : LIFESPAN_END_CUT;
  return put_callers(w, position, callers, count);
}

static void forget(struct lifespan_walk *w) {
  w->count = w->callers = 0;
  w->task = UNWIND_TASK_NOT_MET;
}

// The root that was joined stands for what it took from the task, unless the new frames say more.
static void keep_task(struct lifespan_walk *w, enum unwind_task_part task, uint32_t callers) {
  if (w->task != UNWIND_TASK_NOT_MET) return;
  w->task = task == UNWIND_TASK_FOLLOWED && w->end == LIFESPAN_END_CUT ? UNWIND_TASK_CUT : task;
  w->callers = w->task == UNWIND_TASK_FOLLOWED ? callers : 0;
}

// Whether the thread's task gives what it gave to the walk before. Else no frame of that walk is met again; where the same addresses stand, their nodes stay.
static __attribute__((noinline)) void ask_task(struct lifespan_walk *w, uintptr_t sp) {
  uint64_t callers[UNWIND_CONTEXTS];
  unsigned count, same = 0;
  bool there = w->context_slot >= sp && w->run_slot < w->hi && unwind_word(w->run_slot) == unwind_task_run && w->callers <= w->count;
  if (there && w->task != UNWIND_TASK_CUT && unwind_task_callers(unwind_word(w->context_slot), callers, UNWIND_CONTEXTS, false, &count) == w->task && count == w->callers) {
    while (same < count && callers[same] == w->pcs[count - 1 - same]) same++;
    if (same == count) return;
  }
  for (uint32_t i = 0; i < w->count; i++) frames_of(w)[i].slot = 0;
  w->callers = 0;
  w->task = UNWIND_TASK_NOT_MET;
}

// The loop. The state is a local whose address goes nowhere, so that it lives in registers: written to memory in words
// and read back in pairs, it cost 20 ns a frame.
static void walk_frames(struct lifespan_walk *w, struct unwind_state state, bool by_rows, uint32_t depth,
                        uint32_t unchanged) {
  struct unwind_state *s = &state;
  uint32_t old = w->count, position = ROOM, before = w->end;
  int64_t match = unchanged < old ? (int64_t)unchanged : (int64_t)old - 1;
  int end = UNWIND_GO_ON;
  enum unwind_task_part task = w->task;
  unsigned callers = w->callers;
  w->task = UNWIND_TASK_NOT_MET;
  w->callers = 0;
  while (end == UNWIND_GO_ON) {
    while (match >= 0 && (frames_of(w)[match].slot & ~(uint64_t)FLAGS) < s->sp - 8) match--;
    if (match >= 0 && matches(w, (uint32_t)match, s)) {
      if (join(w, position, (uint32_t)match, (struct frame){.fp = s->fp, .pc = s->pc, .fp_slot = s->fp_slot, .cfa_slot = s->cfa_slot}, depth)) {
        keep_task(w, task, callers);
        return;
      }
      match = -1;
    }
    position--;
    if (match >= (int64_t)position) match = (int64_t)position - 1;
    w->pcs[position] = s->pc;
    // Below a signal frame the pc is not at its usual place; such a frame is walked anew each time.
    struct frame *f = &frames_of(w)[position];
    uint64_t slot = s->exact ? 0 : s->sp - 8;
    f->fp = s->fp;
    f->pc = s->pc;
    f->fp_slot = s->fp_slot;
    f->cfa_slot = s->cfa_slot;
    uintptr_t fp = unwind_clean(s->fp);
    struct rows_row row;
    end = row_step(s, by_rows, &row);
    f->slot = slot | (s->uses ? USES : 0) | (s->restores ? RESTORES : 0);
    if (ROOM - position == depth) {
      if (end == UNWIND_GO_ON) end = LIFESPAN_END_CUT;
    } else if (end == UNWIND_GO_ON && row.kind == ROWS_FP && row.cfa == 2 && row.fp == -2 && unwind_readable(s, fp - 8, 8)) {
      struct unwind_state copy = *s;
      if (s->pc == unwind_task_run) position = add_task(w, position, fp - 8, &copy, depth, &end);
      else if (unwind_async_mark(&copy)) position = add_async(w, position, unwind_word(fp - 8), depth, s->interrupted, &end);
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
  }
  w->task = UNWIND_TASK_NOT_MET;
  w->callers = 0;
  for (uint32_t i = 0; i < count; i++) frames_of(w)[i] = (struct frame){.check = (uintptr_t)&no_frame, .matters = {0, UINT64_MAX}}; // the addresses may have stood there
  w->count = count;
  w->kept = kept;
  w->end = end;
  return count;
}

static __attribute__((noinline)) unsigned walk_by_reference(struct lifespan_walk *w, uintptr_t pc, uintptr_t sp,
                                                            uintptr_t fp, uint32_t depth) {
  uint64_t *pcs = w->opaque; // not needed in this mode, and a thread may have a small stack
  uint32_t end = LIFESPAN_END_NO_ROW;
  unsigned known, count = unwind_by_reference(w, pc, sp, fp, NULL, pcs, depth, &end, &known);
  return put_plain(w, pcs, count, end);
}

// The same call at the same place as before, below unchanged frames: all of a loop's.
ROWS_INLINE bool is_the_same(struct lifespan_walk *w, uintptr_t pc, uintptr_t sp, uintptr_t fp, uint32_t depth, uint32_t unchanged) {
  if (!w->count || unchanged + 1 < w->count) return false;
  struct frame *innermost = &frames_of(w)[w->count - 1];
  if ((innermost->slot & ~(uint64_t)FLAGS) != sp - 8 || innermost->pc != pc) return false;
  if (innermost->slot & LIVE && unwind_clean(innermost->fp) != unwind_clean(fp)) return false;
  if (innermost->fp_slot | innermost->cfa_slot || w->count > depth) return false;
  if (w->end == LIFESPAN_END_CUT && w->count != depth) return false;
  innermost->fp = fp;
  w->kept = w->count;
  return true;
}

static __attribute__((noinline)) unsigned walk_anew(struct lifespan_walk *w, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                                                    bool by_rows, uint32_t depth, uint32_t unchanged) {
  walk_frames(w, (struct unwind_state){.pc = pc, .sp = sp, .fp = fp, .floor = sp, .hi = w->hi}, by_rows, depth, unchanged);
  return w->count;
}

#define MANNER(mode, depth) ((uint64_t)((mode) + 1) << 32 | (depth))

// Whatever is not as it was the last time.
static __attribute__((noinline)) unsigned walk_with_care(struct lifespan_walk *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                                                         unsigned mode, unsigned depth) {
  uint32_t epoch = lifespan_images_epoch();
  if (walk->epoch != epoch || walk->manner >> 32 != MANNER(mode, 0) >> 32) forget(walk);
  walk->epoch = epoch;
  walk->manner = MANNER(mode, 0);
  if (mode == LIFESPAN_UNWIND_NONE || !depth) return put_plain(walk, NULL, 0, LIFESPAN_END_CUT);
  if (!walk->hi || sp < walk->lo || sp >= walk->hi || sp % 8) {
    uint64_t only = pc;
    return put_plain(walk, &only, 1, LIFESPAN_END_FOREIGN);
  }
  if (depth > ROOM) depth = ROOM;
  if (mode == LIFESPAN_UNWIND_LIBUNWIND) return walk_by_reference(walk, pc, sp, fp, depth);
  walk->manner = MANNER(mode, depth);
  if (walk->task != UNWIND_TASK_NOT_MET) ask_task(walk, sp);
  return walk_anew(walk, pc, sp, fp, mode == LIFESPAN_UNWIND_AUTO && images_have_rows, depth, verified(walk, sp));
}

unsigned lifespan_walk_stack(struct lifespan_walk *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp, unsigned mode,
                             unsigned depth) {
  bool usual = walk->manner == MANNER(mode, depth) && walk->epoch == lifespan_images_epoch() && sp >= walk->lo && sp < walk->hi && !(sp % 8);
  if (!usual) return walk_with_care(walk, pc, sp, fp, mode, depth);
  if (walk->task != UNWIND_TASK_NOT_MET) ask_task(walk, sp);
  uint32_t unchanged = verified(walk, sp);
  if (is_the_same(walk, pc, sp, fp, depth, unchanged)) return walk->count;
  return walk_anew(walk, pc, sp, fp, mode == LIFESPAN_UNWIND_AUTO && images_have_rows, depth, unchanged);
}

bool lifespan_walk_agrees(const struct lifespan_walk *walk, const uint64_t *pcs, unsigned count) {
  uint32_t root = 0;
  bool partly = walk->end == LIFESPAN_END_CUT || walk->end == LIFESPAN_END_ASYNC;
  while (walk->end != LIFESPAN_END_FOREIGN && root < walk->count && !(((const struct frame *)walk->opaque)[root].slot & ~(uint64_t)FLAGS) && partly) root++;
  uint32_t own = walk->count - root;
  if (partly ? own > count : own != count) return false;
  for (uint32_t i = 0; i < own; i++)
    if (walk->pcs[walk->count - 1 - i] != pcs[i]) return false;
  return true;
}

#endif
