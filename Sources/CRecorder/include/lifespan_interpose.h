// What the preload library's interposed functions (CMallocHooks) need of the recorder. Hidden: nothing of it leaves the library.
// Any thread, signal handlers too, before the start as well; nothing here allocates. What cannot be recorded is counted.
#ifndef LIFESPAN_INTERPOSE_H
#define LIFESPAN_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_spots.h"

#pragma GCC visibility push(hidden)

// The caller's registers, taken in the hook itself.
struct lifespan_frame {
  uintptr_t pc, sp, fp;
};
#define LIFESPAN_CALLER lifespan_frame_above(__builtin_frame_address(0))
static inline __attribute__((always_inline)) struct lifespan_frame lifespan_frame_above(const void *hook) { // its frame pointer
  const uintptr_t *words = hook;
  return (struct lifespan_frame){words[1], (uintptr_t)(words + 2), words[0]};
}

// ---- Inside the allocator -------------------------------------------------------------------------------------------------
// One allocation, one birth: whoever calls an original that may come back to the allocator's entries says so in this word.
enum lifespan_quiet {
  LIFESPAN_QUIET_NO = 0,
  LIFESPAN_QUIET_ALLOCATOR = 1, // an allocator's own function runs: what it calls is its own affair
  LIFESPAN_QUIET_OBJECT = 2,    // swift_allocObject and its like: the next block is the object's
  LIFESPAN_QUIET_TASK = 3,      // the making of a task: the next block may be the task's, and is held back until that is known
  LIFESPAN_QUIET_OURS = 4,      // the recorder's own start: nobody's blocks
};
// With the frame that said it: a signal handler may leave it by siglongjmp.
extern __thread volatile uintptr_t lifespan_quiet __attribute__((tls_model("initial-exec")));

static inline __attribute__((always_inline)) uintptr_t lifespan_quiet_begin(enum lifespan_quiet quiet) {
  uintptr_t was = lifespan_quiet;
  lifespan_quiet = ((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)15) | quiet;
  __asm__ volatile("" ::: "memory");
  return was;
}
static inline void lifespan_quiet_end(uintptr_t was) {
  __asm__ volatile("" ::: "memory");
  lifespan_quiet = was;
}

// The object's block, as it comes from the allocator with nothing else to be told of it: the hook that made it announce itself records the birth. The call
// came from so near below that hook that no signal handler's frame lies between (lifespan_quiet_reach; 0: it is always to be looked at).
extern uintptr_t lifespan_quiet_reach;
static inline __attribute__((always_inline)) bool lifespan_quiet_is_objects(uintptr_t quiet, uintptr_t sp) {
  return (quiet & 15) == LIFESPAN_QUIET_OBJECT && quiet - sp < lifespan_quiet_reach;
}

// ---- Blocks (record_block.c) ----------------------------------------------------------------------------------------------
// A block was obtained (NULL: the call failed, nothing). After the call.
void lifespan_record_block(const void *block, size_t size, struct lifespan_frame caller);
void lifespan_record_block_below(const void *block, size_t size, const void *hook); // the same, with the frame pointer of the hook

// The same, where an inner function of the allocator's may have told of it already.
void lifespan_record_block_unless_known(const void *block, size_t size, struct lifespan_frame caller);

// Before free(): whether the next has anything to do.
extern bool lifespan_record_frees_all;
static inline __attribute__((always_inline)) bool lifespan_free_matters(const void *address) {
  return lifespan_record_frees_all || lifespan_spot(address) != LIFESPAN_SPOT_NONE;
}

// free() of any block, before it: an event where the block's birth was one and no hook above announced its end.
void lifespan_record_free(const void *address);

// realloc of a recorded block: before the call (0: it is not recorded; else the next must follow), and after it (to = NULL: it failed). `recorded` is what the first gave.
uint32_t lifespan_record_moving(const void *address);
void lifespan_record_moved(uint32_t recorded, const void *from, const void *to, size_t size, struct lifespan_frame caller);

// What is born before the recorder's start is kept in a small table, until it starts (it is recorded then) or it is known that nothing is recorded here.
void lifespan_record_no_early_blocks(void);

// ---- Regions (record_region.c) ----
struct lifespan_region {
  uintptr_t start;
  size_t bytes;
  int protection, flags, descriptor; // as given to mmap
  const char *name;                  // of a region that no mmap made, else NULL
};
// Before a call that takes pages away: its stamp, 0: regions are not recorded. Errno stays in all of these.
uint64_t lifespan_region_stamp(void);
// After the call.
void lifespan_record_mapped(const struct lifespan_region *region, struct lifespan_frame caller);
// `bytes` 0: the whole mapping that begins there.
void lifespan_record_unmapped(uint64_t stamp, uintptr_t start, size_t bytes, struct lifespan_frame caller);
// mremap, before it: its stamp, 0: regions are not recorded. One of the next two must follow.
uint64_t lifespan_record_region_moving(uintptr_t from, size_t bytes);
void lifespan_record_region_stayed(uint64_t stamp, uintptr_t from, size_t bytes);
// `stays`: what was there is there still.
void lifespan_record_remapped(uint64_t stamp, uintptr_t from, size_t from_bytes, uintptr_t to, size_t to_bytes, bool stays, struct lifespan_frame caller);

// ---- Threads (thread_life.c) ----
// What a new thread is told by the one that makes it. Filled and read by the recorder.
struct lifespan_thread_note {
  uint64_t stamp;
  uint64_t start; // its start routine
  uint32_t creator, stack;
};
// pthread_create, before it, with the caller's registers. False: nothing is recorded here, and the thread needs no note.
bool lifespan_thread_creating(struct lifespan_thread_note *note, uintptr_t start, uintptr_t pc, uintptr_t sp, uintptr_t fp);
// In the new thread, before its start routine.
void lifespan_thread_began(const struct lifespan_thread_note *note);
// In a thread whose start routine has ended in whatever way. What it frees afterwards is still recorded.
void lifespan_thread_ended(void);
// A thread (a pthread_t) has a new name. Zero terminated.
void lifespan_thread_renamed(uintptr_t self, const char *name);

// ---- An allocator inside the executable (linked_allocator.c, symbols.c) ----
// Its functions, each with the letters that say what the hook of CMallocHooks/linked_hooks.c does.
#define LIFESPAN_ALLOCATOR_FUNCTIONS(X)                                                                                                        \
  X(malloc) X(free) X(calloc) X(realloc) X(reallocarray) X(posix_memalign) X(aligned_alloc) X(memalign) X(valloc) X(pvalloc)                    \
  X(_Znwm) X(_Znam) X(_ZnwmRKSt9nothrow_t) X(_ZnamRKSt9nothrow_t) X(_ZnwmSt11align_val_t) X(_ZnamSt11align_val_t)                               \
  X(_ZnwmSt11align_val_tRKSt9nothrow_t) X(_ZnamSt11align_val_tRKSt9nothrow_t) X(_ZdlPv) X(_ZdaPv) X(_ZdlPvm) X(_ZdaPvm)                         \
  X(_ZdlPvRKSt9nothrow_t) X(_ZdaPvRKSt9nothrow_t) X(_ZdlPvSt11align_val_t) X(_ZdaPvSt11align_val_t) X(_ZdlPvmSt11align_val_t)                   \
  X(_ZdaPvmSt11align_val_t) X(_ZdlPvSt11align_val_tRKSt9nothrow_t) X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

// One of them in the symbol table of the executable's file, NULL: not there. After lifespan_recorder_runtime.
void *lifespan_executable_function(const char *name);
static inline void *lifespan_executable_malloc(void) { return lifespan_executable_function("malloc"); }
static inline void *lifespan_executable_free(void) { return lifespan_executable_function("free"); }

struct lifespan_linked_function {
  const char *name;
  void *hook;
  void **original; // receives what the hook calls
  void *entry;     // NULL: the executable has none
};
// Private memory of the recorder's that may hold words of the program's: no root of its heap. At the start.
void lifespan_recorder_owns(const void *memory, size_t bytes);
// Given before lifespan_recorder_start, which detours them where the program's free() is its own and blocks are recorded.
void lifespan_recorder_linked_allocator(const struct lifespan_linked_function *functions, unsigned count);

// Whether the runtime names a type on this thread just now, on our behalf.
bool lifespan_recorder_is_naming(void);

// longjmp and its kind, before it: from `here` to the stack pointer `target`. Ends the hook that is left behind, if there is one.
void lifespan_recorder_jumps(uintptr_t here, uintptr_t target);

// Before a fork, and in the new process after it: a handler that has interrupted a hook may have made it, and the hook must not write into the parent's
// rings.
struct lifespan_rings {
  void *memory;
  size_t bytes;
};
struct lifespan_rings lifespan_recorder_rings(void);
void lifespan_recorder_forked(struct lifespan_rings rings);

// The program is about to restrict its system calls: by a seccomp filter (a struct sock_fprog), NULL: to read, write and exit.
void lifespan_recorder_sandboxed(const void *program);
void lifespan_recorder_without_clock(void); // the time stamp counter must not be read any more

#pragma GCC visibility pop
#endif
