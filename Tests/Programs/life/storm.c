// Signals at a high rate whose handler makes and drops an object wherever it comes: so stacks are walked from any instruction. For async_storm.swift.
#define _GNU_SOURCE
#include "life.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

static atomic_long handled;
static void allocates(int signal) {
  (void)signal;
  int before = errno;
  later_drop(later_make());
  handled++;
  errno = before;
}

void storm_begin(long nanoseconds) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
  struct sigaction action = {.sa_handler = allocates, .sa_flags = SA_RESTART};
  struct itimerspec often = {{0, nanoseconds}, {0, nanoseconds}};
  later_drop(later_make());
  need(!sigaction(SIGPROF, &action, NULL) && !timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &often, NULL), "a timer");
}
long storm_end(void) {
  struct sigaction none = {.sa_handler = SIG_IGN};
  sigaction(SIGPROF, &none, NULL);
  return handled;
}
