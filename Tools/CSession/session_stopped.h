// The threads of a process that stand still: shared by session_stop.c and session_copy_*.c.
#ifndef SESSION_STOPPED_H
#define SESSION_STOPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "session.h"

#define SESSION_THREADS_MOST 4096u

struct session_thread {
  pid_t tid;
  int signal; // one that came meanwhile, and is delivered when it goes on
};

struct session_stopped {
  pid_t pid;
  const struct session_code *code;
  size_t code_count;
  void (*meanwhile)(void *);
  void *context;
  uint64_t meanwhile_ns; // when it was called last
  size_t count;
  struct session_thread threads[SESSION_THREADS_MOST];
};

// Waits until the thread stops. False: it is gone; its end is left for whoever waits for the process.
bool session_wait_stop(struct session_thread *thread);
// A process's or a thread's state as the kernel letters it, and its parent. False: it is gone.
bool session_stat(pid_t pid, char *state, pid_t *parent);

#endif
