// Where frames end oddly: longjmp between frames of one thread, coroutines on stacks that nobody knows, and recursion to the end of a stack.
#define _GNU_SOURCE
#include "life.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

static jmp_buf back;
static __attribute__((noinline)) void down(int depth) {
  void *mine = thing_make();
  if (!depth) {
    thing_drop(mine);
    longjmp(back, 1);
  }
  thing_drop(mine);
  down(depth - 1);
  thing_make(); // never
}
static void jumps(int argc, char **argv) {
  (void)argc, (void)argv;
  for (volatile int i = 0; i < 100; i++) {
    if (!setjmp(back)) down(i % 20);
    things(3, 1);
  }
}

#define COROUTINES 10
static ucontext_t home, contexts[COROUTINES];
static int finished;
static void body(int number) {
  for (int round = 0; round < 50; round++) {
    things(4, round % 10 == 0);
    swapcontext(&contexts[number], &contexts[(number + 1) % COROUTINES]); // never home: each wakes the next
  }
  if (++finished == COROUTINES) setcontext(&home);
  swapcontext(&contexts[number], &contexts[(number + 1) % COROUTINES]);
}
static void run_coroutines(size_t bytes) {
  finished = 0;
  for (int i = 0; i < COROUTINES; i++) {
    need(!getcontext(&contexts[i]), "getcontext");
    contexts[i].uc_stack.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    contexts[i].uc_stack.ss_size = bytes;
    contexts[i].uc_link = &home;
    makecontext(&contexts[i], (void (*)(void))body, 1, i);
  }
  swapcontext(&home, &contexts[0]);
}
static void *in_thread(void *unused) {
  run_coroutines(1 << 15);
  return unused;
}
static void coroutines(int argc, char **argv) {
  (void)argc, (void)argv;
  run_coroutines(1 << 15);
  things(10, 1);
  pthread_t thread;
  need(!pthread_create(&thread, NULL, in_thread, NULL), "a thread");
  pthread_join(thread, NULL);
  run_coroutines(1 << 14);
}

// Allocates in each of its frames until the stack is full.
static __attribute__((noinline)) long deeper(long depth) {
  volatile char frame[256];
  frame[0] = (char)depth;
  things(1, 0);
  return deeper(depth + 1) + frame[0];
}
static void *overflows_thread(void *unused) {
  say("deep: %ld", deeper(0));
  return unused;
}
static void small_stack(void) {
  struct rlimit limit = {256 << 10, RLIM_INFINITY};
  need(!setrlimit(RLIMIT_STACK, &limit), "a small stack");
}
static void overflow(int argc, char **argv) {
  (void)argv;
  things(100, 10);
  say("to the end of the stack");
  if (argc > 1) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    need(!pthread_create(&thread, &attributes, overflows_thread, NULL), "a thread");
    pthread_join(thread, NULL);
  }
  small_stack();
  overflows_thread(NULL);
}
// The same, and a handler on a stack of its own that allocates and ends the program.
static void at_the_end(int signal) {
  say("signal %d", signal);
  laters(10, 5);
  _exit(6);
}
static void overflow_handled(int argc, char **argv) {
  (void)argc, (void)argv;
  stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  struct sigaction action = {.sa_handler = at_the_end, .sa_flags = SA_ONSTACK};
  need(!sigaltstack(&stack, NULL) && !sigaction(SIGSEGV, &action, NULL), "a handler");
  small_stack();
  overflows_thread(NULL);
}

// A handler's stack that lies in a frame of the program's own stack.
static sigjmp_buf out;
static void leaves(int signal) {
  things(2, 1);
  if (signal == SIGUSR2) siglongjmp(out, 1);
}
static void handler_in_frame(int argc, char **argv) {
  (void)argc, (void)argv;
  static char far[1]; // so that the array is no tail of the frame
  char room[1 << 16];
  stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
  struct sigaction action = {.sa_handler = leaves, .sa_flags = SA_ONSTACK};
  need(!sigaltstack(&stack, NULL) && !sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGUSR2, &action, NULL), "a handler");
  for (volatile int i = 0; i < 50; i++) {
    if (!sigsetjmp(out, 1)) raise(i % 2 ? SIGUSR1 : SIGUSR2);
    things(2, 1);
  }
  far[0] = room[0];
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, NULL);
}

static const struct mode modes[] = {{"jumps", jumps},           {"coroutines", coroutines},
                                    {"overflow", overflow},     {"overflow-handled", overflow_handled},
                                    {"frame", handler_in_frame}, {NULL, NULL}};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
