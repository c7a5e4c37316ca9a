// Which system calls of ours the program's own seccomp filters forbid. A hook makes some (a full ring, a thread's first event); one that the program has
// forbidden itself would kill it. Known because the preload library sees the filter before the kernel does. Included by CRecorder's own files only.
#ifndef LIFESPAN_SANDBOX_H
#define LIFESPAN_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum lifespan_call {
  LIFESPAN_CALL_FUTEX,
  LIFESPAN_CALL_NANOSLEEP,
  LIFESPAN_CALL_GETTID,
  LIFESPAN_CALL_PRCTL,
  LIFESPAN_CALL_SIGALTSTACK,
  LIFESPAN_CALL_SIGPROCMASK,
  LIFESPAN_CALL_MMAP,
  LIFESPAN_CALL_READLINK, // a mapped file's name
  LIFESPAN_CALL_CLOCK, // clock_gettime, where the kernel's page cannot answer it
  LIFESPAN_CALLS
};

extern _Atomic uint32_t lifespan_forbidden; // a bit for each

static inline bool lifespan_may(enum lifespan_call call) {
  return !(atomic_load_explicit(&lifespan_forbidden, memory_order_relaxed) & 1u << call);
}

#pragma GCC visibility pop
#endif
