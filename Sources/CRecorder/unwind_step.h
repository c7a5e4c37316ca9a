// One step of a walk, from a frame to its caller, by a row. Shared by the parts of the walk; nothing here allocates,
// locks or calls the system.
#ifndef LIFESPAN_UNWIND_STEP_H
#define LIFESPAN_UNWIND_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "images.h"
#include "lifespan_map.h"

#pragma GCC visibility push(hidden)

#define UNWIND_ASYNC (1ull << 60) // in a saved frame pointer: the frame is an async function's

struct unwind_state {
  uintptr_t pc, sp;
  uintptr_t fp;        // as it lies in the stack, UNWIND_ASYNC included
  uintptr_t fp_slot;   // where it was read, 0: in the register
  uintptr_t cfa_slot;  // where sp itself was read, 0: it was computed
  uintptr_t floor, hi; // bounds of what may be read
  bool exact;          // pc is the next instruction itself (below a signal frame), not a return address
  bool uses, restores; // the last step read rbp; took it from the stack
  bool interrupted;    // a signal frame was passed: a frame beyond it may stand at any instruction
};

static inline uintptr_t unwind_clean(uintptr_t fp) { return fp & ~UNWIND_ASYNC; }

ROWS_INLINE bool unwind_readable(const struct unwind_state *s, uintptr_t address, uintptr_t bytes) {
  return address % 8 == 0 && address >= s->floor && address < s->hi && bytes <= s->hi - address;
}

static inline uintptr_t unwind_word(uintptr_t address) { return *(const uintptr_t *)address; }

static inline bool unwind_is_pointer(uintptr_t value) {
  return value % 8 == 0 && value >= IMAGES_LOWEST && value < IMAGES_HIGHEST;
}

bool unwind_can_read(uintptr_t address); // asks the kernel

// After the step out of a frame: whether it was an async function's. A mark stands on a frame pointer of this very stack. Where the caller
// keeps none, its rbp is saved here with whatever it holds (a hash, a count with flags): that is no mark, whatever its highest bits say.
ROWS_INLINE bool unwind_async_mark(const struct unwind_state *s) {
  uintptr_t fp = unwind_clean(s->fp);
  return s->fp & UNWIND_ASYNC && fp >= s->sp && unwind_readable(s, fp, 16);
}

#define UNWIND_GO_ON -1 // else the result of a step is an enum lifespan_stack_end

// A signal frame: the interrupted registers lie in the ucontext that rsp points at (rbp at 120, rsp at 160, rip at
// 168).
ROWS_INLINE int unwind_step_signal(struct unwind_state *s) {
  if (!unwind_readable(s, s->sp, 176)) return LIFESPAN_END_RANGE;
  uintptr_t sp = unwind_word(s->sp + 160), pc = unwind_word(s->sp + 168);
  if (sp <= s->sp || sp > s->hi || sp % 8) return LIFESPAN_END_RANGE;
  *s = (struct unwind_state){.pc = pc, .sp = sp, .fp = unwind_word(s->sp + 120), .fp_slot = s->sp + 120,
                             .floor = s->floor, .hi = s->hi, .exact = true, .restores = true, .interrupted = true};
  return UNWIND_GO_ON;
}

// Rows met rarely: gives the frame's address, or the reason to stop.
static inline int unwind_rare_row(const struct unwind_state *s, const struct rows_row *row, uintptr_t *cfa) {
  uintptr_t fp = unwind_clean(s->fp), at = fp + (uintptr_t)(intptr_t)(row->cfa * 8);
  if (row->kind == ROWS_END) return LIFESPAN_END_WHOLE;
  if (row->kind == ROWS_PLT) {
    *cfa = s->sp + 8 + (s->pc % 16 >= (uintptr_t)row->cfa ? 8 : 0);
    return UNWIND_GO_ON;
  }
  if (row->kind != ROWS_DRAP) return LIFESPAN_END_NO_ROW;
  if (!unwind_readable(s, at, 8) || !unwind_readable(s, fp, 8)) return LIFESPAN_END_RANGE;
  *cfa = unwind_word(at);
  return UNWIND_GO_ON;
}

ROWS_INLINE int unwind_step(struct unwind_state *s, struct rows_row row) {
  uintptr_t fp = unwind_clean(s->fp), cfa = row.kind == ROWS_SP ? s->sp : fp, slot = fp;
  cfa += (uintptr_t)(intptr_t)(row.cfa * 8);
  bool drap = false;
  if (row.kind != ROWS_SP && row.kind != ROWS_FP) {
    if (row.kind == ROWS_SIGNAL) return unwind_step_signal(s);
    struct unwind_state copy = *s; // so that the state itself stays in registers
    int rare = unwind_rare_row(&copy, &row, &cfa);
    if (rare != UNWIND_GO_ON) return rare;
    drap = row.kind == ROWS_DRAP;
  }
  s->uses = row.kind == ROWS_FP || drap;
  s->restores = row.fp != 0 || drap;
  // Above sp, which is at or above the floor: so the return address below cfa can be read as well.
  if (cfa <= s->sp || cfa > s->hi || cfa % 8) return LIFESPAN_END_RANGE;
  if (s->restores) {
    if (!drap) slot = cfa + (uintptr_t)(intptr_t)(row.fp * 8);
    bool good = slot >= s->floor && slot < s->hi;
    s->fp = good ? unwind_word(slot) : 0; // whoever needs it will stop there
    s->fp_slot = good ? slot : 0;
  }
  s->pc = unwind_word(cfa - 8);
  s->sp = cfa;
  s->cfa_slot = drap ? fp + (uintptr_t)(intptr_t)(row.cfa * 8) : 0;
  s->exact = false;
  return s->pc ? UNWIND_GO_ON : LIFESPAN_END_WHOLE;
}

#define UNWIND_CONTEXTS 64u

// What a walk took from the thread's task. FOLLOWED: instead of the executor's frames, the functions that wait for the innermost one.
enum unwind_task_part { UNWIND_TASK_NOT_MET = 0, UNWIND_TASK_UNKNOWN, UNWIND_TASK_FOLLOWED, UNWIND_TASK_CUT };

// The callers of the async function with this context, which the thread's task runs: innermost first, none for the task's first function.
// UNKNOWN: it is no context of the task's; CUT: there are more than `room`, or than can be found. `careful`: the task may be no longer this thread's.
enum unwind_task_part unwind_task_callers(uintptr_t context, uint64_t *pcs, unsigned room, bool careful, unsigned *count);

// Return address of a task in the function that runs jobs; 0: not known.
extern uintptr_t unwind_task_run;

// An async frame's callers: fills `pcs`, innermost first, from the chain that begins with its own context. 0: there is
// none that can be followed. `whole`: the chain's end was reached. `careful`: its contexts may be gone.
unsigned unwind_async(uintptr_t context, uint64_t *pcs, unsigned room, bool careful, bool *whole);

// The reference with the reason of its end; unwind_reference.c.
struct lifespan_walk;
unsigned unwind_by_reference(const struct lifespan_walk *bounds, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                             const void *registers, uint64_t *pcs, unsigned room, uint32_t *end, unsigned *known);

#pragma GCC visibility pop
#endif
