// A heap to be looked at: N objects of 24 to 96 bytes in a tree below a global. Prints `ready BYTES`, then looks for leaks at every line of stdin where
// LeakSanitizer is linked in, and prints how many nanoseconds that took. Used by Tools/bench/leaks.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

struct node {
  node *left, *right;
  uint64_t number;
};
static node *volatile root; // the only reference to all of it
static uint64_t bytes;

static node *make(uint64_t number) {
  size_t size = sizeof(node) + (number * 2654435761u >> 8 & 3) * 24;
  auto made = (node *)malloc(size);
  if (!made) exit(70);
  bytes += size;
  *made = {};
  for (size_t at = sizeof(node); at < size; at += 8) *(uint64_t *)((char *)made + at) = at;
  return made;
}

// Level by level, not by recursion: so the stacks are few. Meanwhile each node's number leads to the next one.
static void grow(uint64_t count) {
  node *first = make(0), *fill = first, *last = first;
  root = first;
  for (uint64_t i = 1; i < count; i++) {
    node *made = make(i);
    last->number = (uint64_t)made, last = made;
    if (!fill->left) {
      fill->left = made;
    } else {
      fill->right = made;
      fill = (node *)fill->number;
    }
  }
  for (node *at = first; at;) {
    node *next = (node *)at->number;
    at->number = 1, at = next;
  }
}

int main(int count, char **words) {
  grow(count > 1 ? strtoull(words[1], nullptr, 10) : 1000);
  printf("ready %llu\n", (unsigned long long)bytes);
  fflush(stdout);
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int found = __lsan_do_recoverable_leak_check ? __lsan_do_recoverable_leak_check() : 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("took %lld found %d\n", (long long)(end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec, found);
    fflush(stdout);
  }
  return 0;
}
