// What C programs do to their stacks. Argument: which.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static void *volatile sink;
static __attribute__((noinline)) void take(size_t size) {
  void *block = malloc(size);
  sink = block;
  free(block);
}

static __attribute__((noinline)) int recursion(int depth) {
  take((size_t)depth + 1);
  int result = depth ? recursion(depth - 1) + 1 : 0;
  __asm__ volatile("" ::: "memory"); // a loop would do as well, to the optimiser
  return result;
}

static int compare(const void *a, const void *b) {
  take(32);
  return *(const int *)a - *(const int *)b;
}
static void sort(void) {
  int numbers[200];
  for (int i = 0; i < 200; i++) numbers[i] = (i * 7919) % 200;
  qsort(numbers, 200, sizeof numbers[0], compare);
}

// Over-aligned local and alloca: the frame is found through a pointer to the arguments (DRAP).
static __attribute__((noinline)) void aligned(int count) {
  _Alignas(64) char room[128];
  char *more = alloca((size_t)count * 16 + 16);
  memset(room, count, sizeof room);
  memset(more, count, 16);
  sink = room;
  take(64);
  if (count) aligned(count - 1);
  sink = more;
}

static void *thread(void *argument) {
  for (int i = 0; i < 20; i++) recursion(5);
  return argument;
}
static void threads(void) {
  pthread_t ids[4];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  size_t size = 256 << 10;
  void *own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 4; i++) {
    if (i == 3) pthread_attr_setstack(&attributes, own, size);
    pthread_create(&ids[i], i == 3 ? &attributes : NULL, thread, NULL);
  }
  for (int i = 0; i < 4; i++) pthread_join(ids[i], NULL);
}

static void handler(int number) { take((size_t)number); }
static __attribute__((noinline)) void interrupted(void) { raise(SIGUSR1); }
static void signals(int alternate) {
  static char memory[65536];
  stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
  struct sigaction action = {.sa_handler = handler, .sa_flags = alternate ? SA_ONSTACK : 0};
  if (alternate) sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 20; i++) interrupted();
}

static ucontext_t outside, inside;
static void fiber(void) {
  for (int i = 0; i < 5; i++) {
    recursion(3);
    swapcontext(&inside, &outside);
  }
}
static void fibers(void) {
  static char memory[65536];
  getcontext(&inside);
  inside.uc_stack.ss_sp = memory;
  inside.uc_stack.ss_size = sizeof memory;
  inside.uc_link = &outside;
  makecontext(&inside, fiber, 0);
  for (int i = 0; i < 5; i++) {
    recursion(2);
    swapcontext(&outside, &inside);
  }
}

// Same slots, same return addresses, other callers' words: a kept suffix must notice each.
static __attribute__((noinline)) void inner(void) { take(16); }
static __attribute__((noinline)) void left(int n) { inner(); if (n > 0) left(n - 1); inner(); }
static __attribute__((noinline)) void right(int n) { inner(); if (n > 0) left(n - 1); inner(); }
static void changing(void) {
  for (int i = 0; i < 100; i++) (i % 3 ? left : right)(i % 7);
}

int main(int count, char **names) {
  const char *what = count > 1 ? names[1] : "";
  if (!strcmp(what, "recursion")) recursion(300);
  if (!strcmp(what, "deep")) recursion(1500);
  if (!strcmp(what, "sort")) sort();
  if (!strcmp(what, "aligned")) for (int i = 0; i < 10; i++) aligned(20);
  if (!strcmp(what, "threads")) threads();
  if (!strcmp(what, "signal")) signals(0);
  if (!strcmp(what, "altstack")) signals(1);
  if (!strcmp(what, "fiber")) fibers();
  if (!strcmp(what, "changing")) changing();
  return 0;
}
