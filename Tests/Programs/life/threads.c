// Threads and how they end: return, pthread_exit, cancelled at a cancellation point and anywhere, 200 at once, the smallest
// of stacks, objects dropped by destructors of thread-specific data, the main thread gone before the others.
#define _GNU_SOURCE
#include "life.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_t start(void *(*body)(void *), void *argument, size_t stack) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack) need(!pthread_attr_setstacksize(&attributes, stack), "the size of a stack");
  need(!pthread_create(&thread, &attributes, body, argument), "a thread");
  pthread_attr_destroy(&attributes);
  return thread;
}

static void *returns(void *argument) {
  things(100, (long)argument);
  return argument;
}
static void *exits(void *argument) {
  things(100, (long)argument);
  pthread_exit(argument);
}
static pthread_key_t key;
static void drop_last(void *thing) { thing_drop(thing); }
static void *leaves_to_destructor(void *argument) {
  pthread_setspecific(key, thing_make());
  things(100, (long)argument);
  return NULL;
}
static atomic_int waiting;
static void drop_in_cleanup(void *thing) { thing_drop(thing); }
static void *waits(void *argument) {
  void *mine = thing_make();
  pthread_cleanup_push(drop_in_cleanup, mine);
  things(100, (long)argument);
  waiting++;
  for (;;) pause();
  pthread_cleanup_pop(1);
  return NULL;
}

static void end_well(int argc, char **argv) {
  (void)argc, (void)argv;
  pthread_key_create(&key, drop_last);
  for (int round = 0; round < 10; round++) {
    pthread_t all[] = {start(returns, (void *)3, 0), start(exits, (void *)4, 0), start(leaves_to_destructor, (void *)5, 0), start(waits, (void *)6, 0)};
    while (!waiting) usleep(100);
    waiting = 0;
    pthread_cancel(all[3]);
    void *result[4];
    for (int i = 0; i < 4; i++) pthread_join(all[i], &result[i]);
    need(result[0] == (void *)3 && result[1] == (void *)4 && result[3] == PTHREAD_CANCELED, "the threads' results");
  }
}

// Cancelled anywhere, most often in the middle of a hook. Up to one object more or less than counted for each.
static void *anywhere(void *unused) {
  things(10, 0);
  waiting++;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;) things(50, 0);
  return unused;
}
static void cancelled(int argc, char **argv) {
  (void)argc, (void)argv;
  for (int i = 0; i < 100; i++) {
    waiting = 0;
    pthread_t one = start(anywhere, NULL, 0);
    while (!waiting) usleep(50);
    usleep((useconds_t)(i * 7 % 200));
    pthread_cancel(one);
    void *result;
    pthread_join(one, &result);
    need(result == PTHREAD_CANCELED, "a cancelled thread");
  }
  laters(1000, 100);
}

static pthread_barrier_t barrier;
static void *together(void *argument) {
  things(20, (long)argument);
  pthread_barrier_wait(&barrier);
  things(30, 1);
  pthread_barrier_wait(&barrier);
  return NULL;
}
static void many(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 200;
  pthread_t *all = calloc((size_t)count, sizeof *all);
  pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
  for (int i = 0; i < count; i++) all[i] = start(together, (void *)2, PTHREAD_STACK_MIN);
  pthread_barrier_wait(&barrier);
  things(10, 1);
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < count; i++) pthread_join(all[i], NULL);
}

static void *after_main(void *main_thread) {
  pthread_join(*(pthread_t *)main_thread, NULL);
  things(1000, 100);
  truth();
  exit(5);
}
static void main_leaves(int argc, char **argv) {
  (void)argc, (void)argv;
  static pthread_t me;
  me = pthread_self();
  things(100, 10);
  start(after_main, &me, 0);
  pthread_exit(NULL);
}

// A detached thread still allocates when the program ends.
static void *for_ever(void *unused) {
  for (;;) laters(10, 0);
  return unused;
}
static void outlived(int argc, char **argv) {
  (void)argc, (void)argv;
  for (int i = 0; i < 3; i++) pthread_detach(start(for_ever, NULL, 0));
  usleep(5000);
  things(100, 10);
}

static const struct mode modes[] = {{"end-well", end_well},       {"cancelled", cancelled}, {"many", many},
                                    {"main-leaves", main_leaves}, {"outlived", outlived},   {NULL, NULL}};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
