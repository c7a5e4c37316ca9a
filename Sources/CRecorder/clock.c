// The clock of a recording: the processor's time stamp counter where it can be trusted, else CLOCK_MONOTONIC.
// Called by the start (lifecycle.c) and, for stamps, by every hook through internal.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

uint64_t lifespan_monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Reads the first bytes of a file; false when it isn't there.
static bool read_start(const char *path, char *buffer, size_t room) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, buffer, room - 1);
  close(file);
  buffer[length > 0 ? length : 0] = 0;
  return length > 0;
}

bool lifespan_recorder_tsc_usable(void) {
#if defined(__x86_64__)
  // The kernel's own verdict: it uses the counter for its clock only where all processors agree and none stops it.
  char text[4096];
  if (read_start("/sys/devices/system/clocksource/clocksource0/current_clocksource", text, sizeof text))
    return strncmp(text, "tsc", 3) == 0;
  if (!read_start("/proc/cpuinfo", text, sizeof text)) return false;
  return strstr(text, "constant_tsc") && strstr(text, "nonstop_tsc");
#else
  return false;
#endif
}

uint64_t lifespan_recorder_now(const struct lifespan_map *map) {
#if defined(__x86_64__)
  if (map->clock == LIFESPAN_CLOCK_TSC) {
    unsigned low, high, aux;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux)::"memory");
    return (uint64_t)high << 32 | low;
  }
#endif
  (void)map;
  return lifespan_monotonic_ns();
}

#endif
