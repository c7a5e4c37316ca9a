// The smallest harness for tests of C internals: each test is a function, a failed check prints its place and its values.
#ifndef LIFESPAN_CHECK_H
#define LIFESPAN_CHECK_H

#include <stdint.h>
#include <stdio.h>

extern int failures_in_test;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      failures_in_test++;                                                       \
      printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);          \
    }                                                                           \
  } while (0)
#define CHECK_EQUAL(got, wanted)                                                                      \
  do {                                                                                                \
    uint64_t got_value = (uint64_t)(got), wanted_value = (uint64_t)(wanted);                          \
    if (got_value != wanted_value) {                                                                  \
      failures_in_test++;                                                                             \
      printf("%s:%d: %s is %llu, not %llu\n", __FILE__, __LINE__, #got, (unsigned long long)got_value, \
             (unsigned long long)wanted_value);                                                       \
    }                                                                                                 \
  } while (0)

struct test {
  const char *name;
  void (*run)(void);
};

#endif
