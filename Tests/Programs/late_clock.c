// A library whose monotonic clock goes on by 0.6 s each time it is asked: what waits for a second does so at once.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  static long long ahead;
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(clock, time);
  if (status == 0 && clock == CLOCK_MONOTONIC) {
    long long now = time->tv_sec * 1000000000ll + time->tv_nsec + __atomic_add_fetch(&ahead, 600000000ll, __ATOMIC_RELAXED);
    time->tv_sec = now / 1000000000ll;
    time->tv_nsec = now % 1000000000ll;
  }
  return status;
}
