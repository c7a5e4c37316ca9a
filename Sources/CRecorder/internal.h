// What the recorder's files share: the on/off word, the thread state, the clock, and the functions between its files.
// Included by CRecorder's own files only.
//
// Unless a line says otherwise: what takes a thread state runs in hooks, on that thread, between enter and leave; it
// allocates nothing but mmap'ed pages of our own, and a record that cannot be written is lost and counted in the ring.
// `…_start` functions run once, at the start, outside hooks; false: no memory.
#ifndef LIFESPAN_INTERNAL_H
#define LIFESPAN_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_interpose.h"
#include "lifespan_map.h"
#include "lifespan_recorder.h"
#include "unwind.h"

extern char __libc_single_threaded __attribute__((weak)); // glibc's

#pragma GCC visibility push(hidden)

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))

// ---- Process state ----------------------------------------------------------------------------------------------
// One page of its own, wiped in a fork child (MADV_WIPEONFORK): a child is off in its first instruction.
struct lifespan_switch {
  volatile uint32_t on; // hooks record
};
extern struct lifespan_switch *lifespan_switch_page; // never NULL: a page of zeroes before the start
static inline bool lifespan_on(void) { return LIKELY(lifespan_switch_page->on != 0); }

struct lifespan_process {
  struct lifespan_map *map;
  bool (*on_full)(void *);
  void *on_full_context;
  uint32_t tsc;          // clock is the time stamp counter
  uint32_t unwind, depth, scope, refcounts, death_stacks, check_every;
  uint32_t plain_deaths; // deaths carry no stacks and are stamped by the time stamp counter
  uint32_t bare_counts;  // retains and releases of all types are recorded, without stacks and by the time stamp counter
  uint32_t blocks;       // every block of malloc is recorded, not Swift objects alone
  uint32_t vm;           // regions that the program maps
  bool keeps_dead;       // addresses of dead objects are told from others: retains are hooked, and every block of malloc is seen
  bool pointer_mode;     // births by the runtime's data pointers, deaths by free() (hooks_pointer.c)
  bool free_elsewhere;   // the program brings an allocator of its own: free() is not ours to interpose
  void *free_entry;      // free() to be detoured, NULL: it is interposed, or only tracked types are recorded
  _Atomic uint32_t unload_epoch; // load-map epoch of the last unload: stack nodes older than it are not reused
};
extern struct lifespan_process lifespan_process;

// Whether births are recorded. Where another process turned out to be the program nobody reads any more: off for good.
static inline bool lifespan_births_on(void) {
  uint32_t recording = atomic_load_explicit(&lifespan_process.map->recording, memory_order_relaxed);
  if (UNLIKELY(recording == LIFESPAN_RECORDING_ENDED)) lifespan_switch_page->on = 0;
  return LIKELY(recording == LIFESPAN_RECORDING_ON);
}

// ---- Thread state -----------------------------------------------------------------------------------------------
// Lies in memory of the recorder's own, one for each ring slot; reached by one thread-local pointer.
#define LIFESPAN_KNOWN_STACKS 4096u
#define LIFESPAN_KNOWN_TYPES 64u
struct lifespan_thread {
  struct lifespan_ring *ring;
  struct lifespan_cell *cells; // current buffer
  uint64_t mask;               // its cells - 1
  uint64_t head;               // next cell
  uint64_t limit;              // head may come up to here without a look at the consumer
  uint64_t switch_at;          // cells below it lie in an older buffer
  uint64_t dead_beat;          // consumer_beat at which the consumer was found dead; 0 = alive
  uint64_t task;               // task id written last
  uint32_t slot, number;
  uint32_t checks;             // stacks until the next comparison with the reference
  volatile uint32_t pending_mark; // a mark signal came inside a hook
  uint32_t counted;            // the thread was born as an object: its end is a death
  uint32_t kept;               // of a hook that a handler has interrupted, which then forked: the child goes back to it, nobody else may have the place
  _Atomic uintptr_t self;      // its pthread_t; 0 once it has ended
  uint32_t finds;              // looks into images that were under way when a handler entered here
  uintptr_t outer;             // what `inside` was before it is entered: 0, or the entry that a signal handler has interrupted
  char scratch[2][4096];       // texts at the first sight of a type: a hook may use little stack
  struct lifespan_walk walk;
  struct lifespan_known_type {
    const void *metadata;
    _Atomic uint64_t *value;
  } known_types[LIFESPAN_KNOWN_TYPES]; // met lately, and where what is known of them stands
  struct lifespan_known_stack {
    uint32_t hash, id;
  } known_stacks[LIFESPAN_KNOWN_STACKS]; // their innermost nodes, by all frames that were new then
};

#define LIFESPAN_LEVELS_MOST 3u
struct lifespan_local {
  struct lifespan_thread *thread;
  // Our own code runs, hooks pass on: the frame that entered, with the flags below. 0: it does not.
  volatile uintptr_t inside;
  struct lifespan_thread *nested[LIFESPAN_LEVELS_MOST]; // for signal handlers that come in the middle of a hook; with rings of their own
  const void *held_back; // LIFESPAN_QUIET_TASK: a block that may be a task's
  uint64_t held_back_size;
  struct lifespan_frame creator; // who makes a task, while swift_task_create_common runs; pc 0: it does not
};
extern __thread struct lifespan_local lifespan_local INITIAL_EXEC;
#define LIFESPAN_NAMING 1u  // the runtime names a type for us: what it allocates is nobody's event
#define LIFESPAN_TESTING 2u // the self-test of the hooks: events are counted, not recorded
#define LIFESPAN_LEVEL 4u   // times how many entries a signal handler has interrupted: nested[that - 1] is in use
#define LIFESPAN_FLAGS 15u  // a frame lies at a multiple of 16

// Enters our code: the thread's state, or NULL when hooks must pass on (off, inside for the second time (counted), no ring to be had). Everything
// between enter and leave is ours: no original function runs there. The frame is that of the function that has it inlined.
struct lifespan_thread *lifespan_enter_slow(uintptr_t frame);
static inline __attribute__((always_inline)) struct lifespan_thread *lifespan_enter(void) {
  struct lifespan_local *local = &lifespan_local;
  if (UNLIKELY(local->inside || !local->thread)) return lifespan_enter_slow((uintptr_t)__builtin_frame_address(0));
  local->inside = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)LIFESPAN_FLAGS;
  __asm__ volatile("" ::: "memory");
  return local->thread;
}
static inline struct lifespan_known_type *lifespan_known_type(struct lifespan_thread *thread, const void *metadata) {
  return &thread->known_types[((uintptr_t)metadata >> 4 ^ (uintptr_t)metadata >> 10) % LIFESPAN_KNOWN_TYPES];
}
// The same, where it was seen that no hook is open on the thread and that it has a state.
static inline __attribute__((always_inline)) void lifespan_enter_plain(struct lifespan_local *local, const void *frame) {
  local->inside = (uintptr_t)frame & ~(uintptr_t)LIFESPAN_FLAGS;
  __asm__ volatile("" ::: "memory");
}
static inline __attribute__((always_inline)) void lifespan_leave_plain(struct lifespan_local *local) { // nothing was named meanwhile
  __asm__ volatile("" ::: "memory");
  local->inside = 0;
}
void lifespan_leave_slow(struct lifespan_thread *thread);
static inline void lifespan_leave(struct lifespan_thread *thread) {
  __asm__ volatile("" ::: "memory");
  if (UNLIKELY(thread->pending_mark)) lifespan_leave_slow(thread);
  lifespan_local.inside = thread->outer;
}
bool lifespan_threads_start(void);
// In a fork child, before it records: how much of each ring its memory holds; and a beginning without rings and threads.
void lifespan_threads_heads(uint64_t heads[LIFESPAN_RING_SLOTS]);
void lifespan_threads_forked(void);
void lifespan_recorder_fill_header(struct lifespan_map *map); // what the program's recorder owns of it
// The number of the thread with that pthread_t, 0: not known (not seen yet, or ended). `tid`: its kernel id.
uint32_t lifespan_thread_number(uintptr_t self, uint32_t *tid);
// Gives the calling thread a ring, if it has none, and enters. NULL: off, inside already, or there is none to be had.
struct lifespan_thread *lifespan_thread_enter(void);
// The thread has a ring now, and nobody has announced it: made by a raw clone, or before us (thread_life.c). Between enter and leave.
void lifespan_thread_unannounced(struct lifespan_thread *thread);
// The state of the entry that is open on this thread.
struct lifespan_thread *lifespan_inside(void);
// Ends all entries of a thread that will not come back to them. Outside hooks.
void lifespan_end_entries(void);
// Whether the entry in a guard (its frame and flags) was left by a signal handler that never came back, now that `frame` runs.
bool lifespan_left_behind(uintptr_t guard, uintptr_t frame);
// Signals wait from here on, but those that tell of a fault; false: not possible, nothing changed. For what happens once for each thread or type.
bool lifespan_hold_signals(uint64_t *mask_before);

// ---- Clock ------------------------------------------------------------------------------------------------------
uint64_t lifespan_monotonic_ns(void);
#if defined(__x86_64__)
static inline uint64_t lifespan_tsc(void) {
  unsigned low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
  return (uint64_t)high << 32 | low;
}
// Waits for what was issued before it, at twice the price, where another thread may get the address.
static inline uint64_t lifespan_tsc_ordered(void) {
  if (&__libc_single_threaded && __libc_single_threaded) return lifespan_tsc();
  unsigned low, high, aux;
  __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux)::"memory");
  return (uint64_t)high << 32 | low;
}
#endif
static inline uint64_t lifespan_stamp(void) { // between a birth and a death by the language's own rules
#if defined(__x86_64__)
  if (LIKELY(lifespan_process.tsc)) return lifespan_tsc();
#endif
  return lifespan_monotonic_ns();
}
// Births and deaths.
static inline uint64_t lifespan_stamp_ordered(void) {
#if defined(__x86_64__)
  if (LIKELY(lifespan_process.tsc)) return lifespan_tsc_ordered();
#endif
  return lifespan_stamp();
}

// ---- Ring (ring.c) ------------------------------------------------------------------------------------------------
// Reserve, fill, publish, in order. Reserve returns false when the record is lost (counted by the caller's kind).
enum lifespan_loss { LIFESPAN_LOSS_BIRTH, LIFESPAN_LOSS_DEATH, LIFESPAN_LOSS_OTHER };
bool lifespan_ring_make_room(struct lifespan_thread *thread, unsigned cells, enum lifespan_loss loss);
static inline bool lifespan_ring_reserve(struct lifespan_thread *thread, unsigned cells, enum lifespan_loss loss) {
  if (LIKELY(thread->head + cells <= thread->limit)) return true;
  return lifespan_ring_make_room(thread, cells, loss);
}
static inline void lifespan_ring_put(struct lifespan_thread *thread, unsigned index, uint64_t a, uint64_t b) {
  struct lifespan_cell *cell = &thread->cells[(thread->head + index) & thread->mask];
  cell->a = a;
  cell->b = b;
}
static inline void lifespan_ring_publish(struct lifespan_thread *thread, unsigned cells) {
  thread->head += cells;
  atomic_store_explicit(&thread->ring->head, thread->head, memory_order_release);
}
// A record of `fixed_cells` leading cells, then `length` bytes of text, cut where 255 cells are full. False: lost, counted.
bool lifespan_ring_text(struct lifespan_thread *thread, const struct lifespan_cell *fixed, unsigned fixed_cells, const char *text, size_t length,
                        enum lifespan_loss loss);
bool lifespan_consumer_died(const struct lifespan_map *map);
// With a rings file: returns when the trace has its beginning, or after a second (leave.c).
void lifespan_wait_for_trace(struct lifespan_map *map);
void lifespan_ring_bind(struct lifespan_thread *thread); // after the slot was claimed

// ---- Types (types.c) ----------------------------------------------------------------------------------------------
struct lifespan_type {
  uint32_t id;    // 0: ignored
  uint32_t flags; // LIFESPAN_TYPE_*
};
#define LIFESPAN_TYPE_IGNORED (1u << 31) // known, and left out
bool lifespan_types_start(void);
// The type of an object at its birth; classified and named at first sight. In hooks, with the guard held.
struct lifespan_type lifespan_type_at_birth(struct lifespan_thread *thread, const void *metadata, uintptr_t caller);
// The type of a metadata that a birth has shown; id 0 when none has. In hooks. One table look-up.
struct lifespan_type lifespan_type_known(const void *metadata);
// Threads of one start routine (0: not known) are a type. In hooks.
uint32_t lifespan_type_of_threads(struct lifespan_thread *thread, uintptr_t start);
// A pseudo type by name (tasks, tokens). In hooks.
uint32_t lifespan_type_named(struct lifespan_thread *thread, const void *key, uint32_t kind, const char *name, size_t length);
// The image at [start, end) was unloaded, or came back: its metadata is not to be read, or is again. Gives the number of types that were seen there.
uint32_t lifespan_types_unloaded(uintptr_t start, uintptr_t end, bool gone);

// ---- Stacks (stacks.c) ----------------------------------------------------------------------------------------------
bool lifespan_stacks_start(void);
uint32_t lifespan_stack(struct lifespan_thread *thread, uintptr_t pc, uintptr_t sp, uintptr_t fp);

// ---- Tasks (tasks.c) ------------------------------------------------------------------------------------------------
void lifespan_tasks_start(void);
void lifespan_tasks_none_made(void); // outside hooks: none can be until the next is called, before one is
void lifespan_tasks_made(void);
extern _Atomic bool lifespan_no_tasks;
void lifespan_task_note_slow(struct lifespan_thread *thread);
static inline void lifespan_task_note(struct lifespan_thread *thread) { // writes "task is now N" when it differs
  if (!atomic_load_explicit(&lifespan_no_tasks, memory_order_relaxed)) lifespan_task_note_slow(thread);
}
uint64_t lifespan_task_id(const void *task);
void lifespan_task_related(struct lifespan_thread *thread, uint64_t task);

// ---- Hooks (hooks.c, detour_*.c) --------------------------------------------------------------------------------------
// All of them outside hooks, one thread at a time.
// Installs the hooks of the table that are wanted and not there yet. False: none; the reason is in map->capture_reason.
bool lifespan_hooks_start(bool one_thread);
void lifespan_leave_start(bool one_thread); // leave.c: the entry of exit
void lifespan_hooks_test(void); // after that: an object of our own must be seen, else the next way is tried
bool lifespan_hooks_fall_back(void); // to pointer mode, which is partial; false: not possible here
bool lifespan_pointers_start(void);  // sets the runtime's pointers (hooks_pointer.c); false: not this runtime, nothing set
// Detours the executable's own allocator. False: not enough of it for its blocks to be told.
bool lifespan_linked_allocator_start(void);
// The capture is partial, with the reason "what: why". The first reason stands.
void lifespan_say_partial(const char *what, const char *why);

// ---- Symbols (symbols.c) -----------------------------------------------------------------------------------------------
// Address of a function or variable of the Swift runtime: dynamic symbols, then the executable's full symbol table (once
// lifespan_recorder_runtime has read that). Any thread. NULL: not found.
void *lifespan_symbol(const char *name);
// Looks the dynamic symbols of a library's file up that are not known yet. Outside hooks; takes no lock of the dynamic linker.
void lifespan_symbols_of(const char *path, uintptr_t bias);
#pragma GCC visibility pop
#endif
