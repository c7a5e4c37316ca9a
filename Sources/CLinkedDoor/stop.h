// Threads that stand still: what stop.c does for picture.c.
#ifndef LIFESPAN_LINKED_STOP_H
#define LIFESPAN_LINKED_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

#define STOP_THREADS_MOST 4096u
#define STOP_GENERAL 15u
#define STOP_WORDS_MOST 360u // general registers, and those for vectors as far as they may hold a reference

struct stop_thread {
  _Atomic uint32_t state; // of stop.c
  pid_t tid;
  uint64_t pc, sp, thread_pointer; // sp 0: it does not stand, it has ended
  bool in_kernel;
  uint32_t count; // of words
  uint64_t words[STOP_WORDS_MOST];
};
struct stop {
  struct stop_thread *threads; // the calling one is the first
  size_t count;
  bool outside_malloc; // all of them: the allocator's memory is whole
};

// Stops all other threads of this process. `sp`: where the caller's own stack begins to count. Between this and lifespan_linked_stop_end nothing may
// be called that could wait for another thread: no malloc, no loader. False: they run, `reason` says why they could not be stopped.
bool lifespan_linked_stop_begin(struct stop *stop, uint64_t sp, char *reason, size_t room);
void lifespan_linked_stop_end(struct stop *stop);

// stop_kernel.c: a number in a line "NAME:\t…" of a file below /proc/self (base 1: a letter); UINT64_MAX: none. No malloc.
uint64_t lifespan_linked_stop_status(const char *path, const char *name, int base);
// 0: the thread does not block that signal; else how much that speaks for it never taking it.
unsigned lifespan_linked_stop_blocked(pid_t tid, int number);
bool lifespan_linked_stop_is_dead(pid_t tid);
// A filter that the program has put on itself may end it for a call that it does not expect.
bool lifespan_linked_stop_is_filtered(void);

// allocator.c: whether that address is of code that changes malloc's lists. Never, where the allocator is not known.
bool lifespan_linked_allocator_runs(uint64_t pc);
bool lifespan_linked_allocator_known(void);

#pragma GCC visibility pop
#endif
