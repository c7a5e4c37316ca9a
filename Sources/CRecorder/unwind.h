// Stacks in a hook: load map, compiled unwind rows, the walk. Facts: see "Stacks" in ARCHITECTURE.md.
#ifndef LIFESPAN_UNWIND_H
#define LIFESPAN_UNWIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define LIFESPAN_WALK_FRAMES 1024u // frames a walk keeps for reuse; deeper stacks are walked and cut

// Order of calls, outside hooks: lifespan_images_start, lifespan_reference_start if wanted, lifespan_images_refresh now and
// then (it costs nothing while nothing was missed). In a hook: lifespan_stack_bounds once for each thread, into the walk's
// lo and hi; lifespan_walk_stack with one mode and one depth for all walks of that thread; nodes for the frames from `kept` on.
//
// A walk's root frame carries `end` as its label: `kept` is 0 when the reason has changed, so that kept nodes are always right.
// Frames that async contexts gave (LIFESPAN_END_ASYNC) are functions' starts plus one, so that a reader who takes one off any
// return address lands in the right function. A frame below a signal handler is the interrupted instruction itself.

// One thread's walk. Zeroed memory is a valid empty state. Owned by one thread; never allocated by the unwinder.
// Frames stand root first, so that a kept suffix of the stack is a kept prefix of these arrays.
struct lifespan_walk {
  uintptr_t lo, hi;      // bounds of the thread's own stack; hi = 0: not known, no walk ("foreign")
  uint32_t count;        // frames of the last walk
  uint32_t kept;         // of these, how many (from the root) are verified unchanged since the walk before
  uint32_t end;          // enum lifespan_stack_end: why it stopped
  uint32_t epoch;        // load-map epoch of the last walk; a change drops everything kept
  uint64_t manner;       // the unwinder's own: mode and depth of the last walk, where they are of the usual kind
  uint32_t task;         // the unwinder's own: enum unwind_task_part: what the last walk took from the thread's task
  uint32_t callers;      // of `count`: frames from the task's contexts, at the root
  uintptr_t run_slot;    // where the return address to the function that runs jobs lay
  uintptr_t context_slot; // where the context of the function that it called lay
  uint64_t pcs[LIFESPAN_WALK_FRAMES];   // return addresses, root first
  uint32_t nodes[LIFESPAN_WALK_FRAMES]; // the caller's: stack node of each frame, valid for the first `kept`
  uint64_t hashes[LIFESPAN_WALK_FRAMES]; // the caller's, likewise: of the frames from the root to each
  _Alignas(64) uint64_t opaque[LIFESPAN_WALK_FRAMES * 8]; // the unwinder's own: slots, values, liveness
};

// Called for each image that is loaded (op 1) or gone (op 0), with the new epoch. Runs where the caller of
// lifespan_images_* runs; must not call back into this file.
typedef void (*lifespan_image_sink)(void *context, uint32_t image_id, int op, uint32_t epoch, uintptr_t bias, uintptr_t start, uintptr_t end,
                                    const uint8_t *build_id, size_t build_id_length, const char *path);

// Reads the load map, compiles rows for every image, installs the notification of later loads (the dynamic linker's _dl_debug_state
// is detoured when `follow` is true and the entry can be patched). One thread, outside hooks; memory by mmap only. False: no rows at all
// (walks then use frame pointers).
bool lifespan_images_start(bool follow, lifespan_image_sink sink, void *context);

// Looks for images that came or went since the last call. Any thread, outside hooks. Takes no lock of the dynamic linker
// other than what dl_iterate_phdr takes; called from the notification it takes none.
void lifespan_images_refresh(void);
// In a fork child that goes on recording: its changes are its own.
void lifespan_images_forked(void);

// Current epoch. Any thread, in hooks.
extern _Atomic uint32_t lifespan_images_shown;
static inline uint32_t lifespan_images_epoch(void) { return atomic_load_explicit(&lifespan_images_shown, memory_order_acquire); }

// Walks the stack of the calling thread. `pc` is the return address of the hooked call, `sp` and `fp` the registers in that caller. Mode: enum
// lifespan_unwind_mode. In hooks: no allocation, no lock, no system call, at most 1 KB of stack (libunwind mode: more). Returns walk->count.
unsigned lifespan_walk_stack(struct lifespan_walk *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp, unsigned mode, unsigned depth);

// `registers`: 17 words in DWARF's order (rax rdx rcx rbx rsi rdi rbp rsp r8…r15 rip) or NULL; of them rbx and r12…r15 are used.
// The reference: the same stack by libunwind's address-space interface over our load map and bounded reads, innermost first into pcs.
// Returns the number of frames, 0 when libunwind is not there; `known`: of these, how many it found by unwind information: it guesses behind a function
// that has none (UINT_MAX: all). In hooks: allocates nothing, no lock, no descriptor of its own.
unsigned lifespan_walk_reference(const struct lifespan_walk *bounds, uintptr_t pc, uintptr_t sp, uintptr_t fp, const void *registers, uint64_t *pcs, unsigned room, unsigned *known);

// Does a walk agree with the reference's frames (innermost first)? Compared are the frames on the stack: a walk that went on through
// async contexts, or was cut, agrees when all frames up to there are the same. In hooks.
bool lifespan_walk_agrees(const struct lifespan_walk *walk, const uint64_t *pcs, unsigned count);

// Where a stack goes on in its task (unwind_tasks.c): the runtime's functions, any of them NULL, and what gives the thread's current task. False:
// this runtime's code is not of the known shape, and stacks end at its executors. One thread, outside hooks.
bool lifespan_walk_tasks_start(const void *job_run, const void *task_alloc, const void *task_dealloc, void *(*current)(void));

// Opens libunwind (dlopen RTLD_LOCAL) for the two uses above. One thread, outside hooks. Returns NULL or why not.
const char *lifespan_reference_start(void);

// Stack bounds of the calling thread from struct pthread (no pthread_getattr_np); false: not known.
bool lifespan_stack_bounds(uintptr_t *lo, uintptr_t *hi);

#pragma GCC visibility pop
#endif
