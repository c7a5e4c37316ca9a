// Every way to end, with objects made and dropped until the very last moment.
#define _GNU_SOURCE
#include "life.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *early[20];
__attribute__((constructor(101))) static void before_main(void) {
  for (int i = 0; i < 20; i++) early[i] = thing_make();
}

static void last_words(void) {
  things(10, 5);
  for (int i = 0; i < 10; i++) thing_drop(early[i]);
  truth();
}
__attribute__((destructor(101))) static void after_exit(void) {
  if (getenv("LATE")) {
    laters(10, 5);
    truth();
  }
}

static void ends(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "";
  things(100, 40);
  truth();
  if (!strcmp(way, "exit")) {
    setenv("LATE", "1", 1);
    atexit(last_words);
    exit(3);
  }
  if (!strcmp(way, "_exit")) _exit(4);
  if (!strcmp(way, "raw")) syscall(SYS_exit_group, 5);
  if (!strcmp(way, "quick")) {
    at_quick_exit(last_words);
    quick_exit(6);
  }
  if (!strcmp(way, "abort")) abort();
  if (!strcmp(way, "trap")) swift_trap(7);
  if (!strcmp(way, "segv")) *(volatile int *)8 = 1;
  if (!strcmp(way, "fpe")) raise(SIGFPE);
  if (!strcmp(way, "ill")) __builtin_trap();
  if (!strcmp(way, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(way, "term")) kill(getpid(), SIGTERM);
  if (!strcmp(way, "alarm")) {
    alarm(1);
    for (;;) pause();
  }
  if (!strcmp(way, "thread")) pthread_exit(NULL); // the last thread: exit status 0
  need(0, way);
}

static const struct mode modes[] = {{"ends", ends}, {NULL, NULL}};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
