// A library that is preloaded beside the recorder's and initialised before it: signals come every 50 microseconds from then on, and interrupt system calls.
// At the program's end it says on stderr whether any came.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_long came;
static timer_t timer;
static void count(int signal) {
  (void)signal;
  came++;
}

__attribute__((constructor)) static void begin(void) {
  if (!strcmp(program_invocation_short_name, "lifespan")) return;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  struct itimerspec often = {{0, 50000}, {0, 50000}};
  struct sigaction action = {.sa_handler = count};
  sigaction(SIGALRM, &action, NULL);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &often, NULL);
}

__attribute__((destructor)) static void end(void) {
  if (!strcmp(program_invocation_short_name, "lifespan")) return;
  timer_delete(timer);
  if (came) (void)!write(2, "signals came\n", 13);
}
