// Signal handlers that allocate, on the program's stack and on one of their own, nested, and left by siglongjmp; at a rate
// that interrupts the recorder's hooks all the time. Linked with heap.c: an allocation may be interrupted by another.
#define _GNU_SOURCE
#include "life.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void every(int signal, long nanoseconds) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
  need(!timer_create(CLOCK_MONOTONIC, &event, &timer), "a timer");
  struct itimerspec often = {{0, nanoseconds}, {0, nanoseconds}};
  need(!timer_settime(timer, 0, &often, NULL), "a timer's time");
}
static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  need(!sigaction(signal, &action, NULL), "sigaction");
}
static void *own_stack(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {.ss_sp = memory, .ss_size = bytes};
  need(memory != MAP_FAILED && !sigaltstack(&stack, NULL), "sigaltstack");
  return memory;
}

static atomic_long handled;
static void allocates(int signal) {
  (void)signal;
  int before = errno;
  things(2, 0);
  handled++;
  errno = before;
}

// The handler's own objects where it comes between the program's: outside any hook, each is recorded.
static void calm(int argc, char **argv) {
  (void)argc, (void)argv;
  own_stack(1 << 16);
  handle(SIGUSR1, allocates, 0);
  handle(SIGUSR2, allocates, SA_ONSTACK | SA_NODEFER);
  things(100, 10);
  for (int i = 0; i < 100; i++) raise(i % 2 ? SIGUSR1 : SIGUSR2);
  things(100, 10);
}

static void storm_for(int rounds) {
  while (handled < rounds) {
    errno = 1234;
    laters(20, 0);
    need(errno == 1234, "errno, as it was");
  }
}
static void stop_all(void) {
  signal(SIGALRM, SIG_IGN);
  signal(SIGPROF, SIG_IGN);
}
static void storm(int argc, char **argv) {
  (void)argv;
  if (argc > 1) own_stack(1 << 16);
  handle(SIGALRM, allocates, SA_RESTART | (argc > 1 ? SA_ONSTACK : 0));
  handle(SIGPROF, allocates, SA_RESTART);
  every(SIGALRM, 100000);
  every(SIGPROF, 77000);
  storm_for(2000);
  stop_all();
}

// Blocks of malloc alone, wherever the signal comes: in the making of an object, too.
static long wanted;
static void allocates_a_block(int signal) {
  (void)signal;
  int before = errno;
  void *volatile block = handled < wanted ? malloc(5000) : NULL;
  if (block) handled++;
  errno = before;
}
static void blocks(int argc, char **argv) {
  wanted = argc > 1 ? atol(argv[1]) : 0;
  handle(SIGALRM, allocates_a_block, SA_RESTART);
  if (wanted) every(SIGALRM, 50000);
  storm_for((int)wanted);
  laters(20, 0);
  stop_all();
  say("blocks of handlers: %ld", (long)handled);
}

// Leaves whatever it interrupts, a hook too, and never comes back.
static sigjmp_buf back;
static void leaves(int signal) {
  (void)signal;
  handled++;
  siglongjmp(back, 1);
}
static void jump(int argc, char **argv) {
  (void)argv;
  if (argc > 1) own_stack(1 << 16);
  handle(SIGALRM, leaves, argc > 1 ? SA_ONSTACK : 0);
  if (!sigsetjmp(back, 1)) every(SIGALRM, 100000);
  while (handled < 1000) things(20, 0);
  stop_all();
  laters(1000, 100); // all of them must be there
}

// The same on a coroutine's stack, with the objects made there and on the thread's own.
static ucontext_t home, away;
static void coroutine(void) {
  if (!sigsetjmp(back, 1)) every(SIGALRM, 100000);
  while (handled < 500) things(20, 0);
  stop_all();
  laters(500, 50);
  swapcontext(&away, &home);
}
static void jump_away(int argc, char **argv) {
  (void)argc, (void)argv;
  size_t bytes = 1 << 17;
  need(!getcontext(&away), "getcontext");
  away.uc_stack.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  away.uc_stack.ss_size = bytes;
  makecontext(&away, coroutine, 0);
  handle(SIGALRM, leaves, 0);
  swapcontext(&home, &away);
  laters(500, 50);
}

// Out of a fault in the middle of anything: the handler runs on a stack of its own and recovers.
static void *volatile nowhere;
static void recover(int argc, char **argv) {
  (void)argc, (void)argv;
  own_stack(1 << 16);
  handle(SIGSEGV, leaves, SA_ONSTACK);
  things(100, 10);
  for (volatile int i = 0; i < 100; i++) {
    if (sigsetjmp(back, 1)) continue;
    things(5, 0);
    *(volatile char *)nowhere = 1;
  }
  laters(1000, 100);
}

// Blocked, ignored and pending signals are what they were; a system call is interrupted or goes on as before.
static void says(int signal) { handled += signal == SIGALRM; }
static void masks(int argc, char **argv) {
  (void)argc, (void)argv;
  sigset_t mask, pending;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  for (int i = 1; i < 32; i++)
    if (sigismember(&mask, i)) say("blocked: %d", i);
  struct sigaction action;
  for (int i = 1; i < 32; i++)
    if (!sigaction(i, NULL, &action) && action.sa_handler != SIG_DFL) say("not default: %d %d", i, action.sa_handler == SIG_IGN);
  sigpending(&pending);
  for (int i = 1; i < 32; i++)
    if (sigismember(&pending, i)) say("pending: %d", i);
  things(10, 1);
  handle(SIGALRM, says, 0);
  every(SIGALRM, 1000000);
  struct timespec second = {1, 0};
  say("interrupted: %d", nanosleep(&second, NULL) < 0 && errno == EINTR);
  things(10, 1);
  handle(SIGALRM, SIG_IGN, 0);
}

static const struct mode modes[] = {{"calm", calm}, {"storm", storm}, {"blocks", blocks},     {"jump", jump}, {"jump-away", jump_away},
                                    {"recover", recover}, {"masks", masks}, {NULL, NULL}};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
