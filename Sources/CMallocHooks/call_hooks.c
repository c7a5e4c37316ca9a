// Bare system calls that concern the recorder: forks (fork_hooks.c says why), and seccomp: what the program forbids itself, the recorder leaves from then
// on. prctl (thread_hooks.c) comes here, too.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lifespan_interpose.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

typedef long (*call_function)(long, long, long, long, long, long, long);
static call_function next_syscall;

// Before the program runs: a handler may not ask the dynamic linker.
__attribute__((constructor(101))) static void look_up(void) { next_syscall = (call_function)dlsym(RTLD_NEXT, "syscall"); }

// A new process with its own copy of this memory, which goes on from here on this stack.
static int copies(long number, long a, long b) {
  if (number == SYS_fork) return 1;
  if (number == SYS_clone) return !(a & CLONE_VM) && !b;
  if (number != SYS_clone3) return 0;
  const struct clone_args *arguments = (const struct clone_args *)a;
  return !(arguments->flags & CLONE_VM) && !arguments->stack;
}

// The recorder must know the filter before it is in force.
static void sandbox(long number, long a, long b, long c) {
  if (number == SYS_seccomp && a <= 1) lifespan_recorder_sandboxed(a == SECCOMP_SET_MODE_FILTER ? (const void *)c : NULL);
  if (number == SYS_prctl && a == PR_SET_TSC && b == PR_TSC_SIGSEGV) lifespan_recorder_without_clock();
  if (number == SYS_prctl && a == PR_SET_SECCOMP) lifespan_recorder_sandboxed(b == SECCOMP_MODE_FILTER ? (const void *)c : NULL);
}

static long copy(long number, long a, long b, long c, long d, long e, long f) {
  struct lifespan_rings rings = lifespan_recorder_rings();
  long pid = next_syscall(number, a, b, c, d, e, f);
  if (pid == 0) lifespan_recorder_forked(rings);
  return pid;
}

static long syscall_hook(long number, long a, long b, long c, long d, long e, long f) {
  if (!next_syscall) look_up();
  if (number == SYS_seccomp || number == SYS_prctl) sandbox(number, a, b, c);
  if (__builtin_expect(copies(number, a, b), 0)) return copy(number, a, b, c, d, e, f);
  __attribute__((musttail)) return next_syscall(number, a, b, c, d, e, f); // it may return twice, or on another stack
}
EXPORTED long syscall(long number, ...) __attribute__((alias("syscall_hook")));
