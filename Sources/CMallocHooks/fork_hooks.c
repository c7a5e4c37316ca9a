// Fork children under `record --children`: the first thing that a child does is to say hello, as an executed program does, and to go on into
// a mapping of its own. Without --children nothing is installed, and a child is off in its first instruction. A child that was made by a raw
// clone or fork system call is not seen: it stays off. vfork, posix_spawn, system and popen make no copy of the heap.
//
// A signal handler may fork while it interrupts a hook of ours. The child goes on in the middle of that hook and would write into the parent's rings, which
// both share: every child gets memory of its own in their place.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "lifespan_interpose.h"
#include "lifespan_recorder.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

static __thread volatile uint64_t forking __attribute__((tls_model("initial-exec"))); // number of the fork that this thread is in
static pid_t (*next_fork)(void), (*next_handled_fork)(void);
static bool wanted;

__attribute__((constructor(101))) static void look_up(void) {
  next_fork = (pid_t(*)(void))dlsym(RTLD_NEXT, "_Fork");
  next_handled_fork = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
}

static void before(void) { forking = lifespan_recorder_fork_begins(); }

static void in_child(void) {
  uint64_t number = forking;
  forking = 0;
  if (!number) return;
  int saved_errno = errno;
  lifespan_recorder_fork_child(number);
  lifespan_environment_forked();
  struct lifespan_map *map;
  struct lifespan_hello hello = {.runtime = lifespan_recorder_runtime((char[256]){0}, 256), .fork = number, .recording = lifespan_recorder_number()};
  lifespan_session_greet(lifespan_environment_session(), &hello, &map);
  if (map) lifespan_recorder_go_on(map);
  errno = saved_errno;
}

// Registered before the program's own handlers: last of those before the fork, first of those in the child.
void lifespan_preload_follow_forks(void) {
  if (wanted) return;
  wanted = true;
  pthread_atfork(before, NULL, in_child);
}

// fork's handlers do not run for it.
EXPORTED pid_t _Fork(void) {
  if (!next_fork) return errno = ENOSYS, -1;
  struct lifespan_rings rings = lifespan_recorder_rings();
  if (wanted) before();
  pid_t pid = next_fork();
  if (pid) return pid;
  if (wanted) in_child();
  lifespan_recorder_forked(rings);
  return 0;
}

static pid_t fork_hook(void) {
  if (!next_handled_fork) return errno = ENOSYS, -1;
  struct lifespan_rings rings = lifespan_recorder_rings();
  pid_t pid = next_handled_fork();
  if (pid == 0) lifespan_recorder_forked(rings);
  return pid;
}
EXPORTED pid_t fork(void) __attribute__((alias("fork_hook")));
EXPORTED pid_t __fork(void) __attribute__((alias("fork_hook")));
