// Runs the recorder's tests: its parts driven with fake pointers, without a Swift runtime. Built and run by Tests/Recorder/run.

#include <stddef.h>

#include "check.h"

int failures_in_test;

extern const struct test ring_tests[], detour_tests[], name_tests[], record_tests[], refcount_tests[], block_tests[], region_tests[], thread_tests[], fork_tests[], resume_tests[], concurrency_tests[];
static const struct test *const groups[] = {ring_tests, detour_tests, name_tests, record_tests, refcount_tests, block_tests, region_tests, thread_tests, fork_tests, resume_tests, concurrency_tests};

int main(void) {
  int passed = 0, failed = 0;
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    for (const struct test *test = groups[g]; test->name; test++) {
      failures_in_test = 0;
      test->run();
      if (failures_in_test) printf("FAIL %s\n", test->name);
      failures_in_test ? failed++ : passed++;
    }
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
