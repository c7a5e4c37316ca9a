// What the kernel says of this process and its threads (/proc/self). No malloc, and no lock: threads may stand still meanwhile. Called by stop.c, picture.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stop.h"

#define ASLEEP_WEIGHT 6u // of one that sleeps with the signal blocked: it stays so

static uint64_t number_at(const char *at, int base) {
  uint64_t number = 0;
  while (*at == ' ' || *at == '\t') at++;
  if (base == 1) return (uint8_t)*at; // a letter
  for (;; at++) {
    unsigned digit = *at >= '0' && *at <= '9' ? (unsigned)(*at - '0') : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10 : 99;
    if (digit >= (unsigned)base) return number;
    number = number * (unsigned)base + digit;
  }
}

uint64_t lifespan_linked_stop_status(const char *path, const char *name, int base) {
  char text[4096];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (got <= 0) return UINT64_MAX;
  text[got] = 0;
  size_t length = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (!strncmp(line, name, length) && line[length] == ':') return number_at(line + length + 1, base);
  }
  return UINT64_MAX;
}

static uint64_t of_thread(pid_t tid, const char *name, int base) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)tid);
  return lifespan_linked_stop_status(path, name, base);
}

unsigned lifespan_linked_stop_blocked(pid_t tid, int number) {
  uint64_t state = of_thread(tid, "State", 1), mask = of_thread(tid, "SigBlk", 16);
  if (state == UINT64_MAX || mask == UINT64_MAX || !(mask >> (number - 1) & 1)) return 0;
  return state == 'R' ? 1 : ASLEEP_WEIGHT;
}

bool lifespan_linked_stop_is_dead(pid_t tid) {
  uint64_t state = of_thread(tid, "State", 1);
  return state == 'Z' || state == 'X' || state == UINT64_MAX;
}

// ---- Filters of system calls --------------------------------------------------------------------------------------------------------

static struct filters {
  uint64_t mode, count;
} at_load;

// Of this thread: each may have its own.
static struct filters filters_now(void) {
  return (struct filters){lifespan_linked_stop_status("/proc/thread-self/status", "Seccomp", 10), lifespan_linked_stop_status("/proc/thread-self/status", "Seccomp_filters", 10)};
}

// Before the program can have put any on itself: those that are there now are its surroundings', made for programs that have children.
__attribute__((constructor)) static void lifespan_linked_look_around(void) { at_load = filters_now(); }

bool lifespan_linked_stop_is_filtered(void) {
  struct filters now = filters_now();
  return now.mode == 1 || now.mode != at_load.mode || now.count != at_load.count;
}

#endif
