// The times in which the program had stopped its recording, as a reason why the capture is not complete. It stands in the
// mapping, from where the drain takes it into the trace, whoever drains. Called by start.c.

#include "door.h"

#if LIFESPAN_RECORDS_HERE

#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t stopped_at, first_stop; // nanoseconds since the start of the recording
static bool is_stopped;
static uint32_t stops;
static char other_reason[sizeof(((struct lifespan_map *)0)->capture_reason)]; // why it was partial before

static uint64_t since_start(const struct lifespan_map *map) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  uint64_t now = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
  return now > map->start_monotonic_ns ? now - map->start_monotonic_ns : 0;
}

void lifespan_linked_pause_begins(struct lifespan_map *map) {
  if (is_stopped) return;
  is_stopped = true;
  stopped_at = since_start(map);
}

static void say_reason(struct lifespan_map *map, uint64_t now) {
  char times[32] = "", reason[sizeof map->capture_reason];
  if (stops > 1) snprintf(times, sizeof times, "%u times ", stops);
  unsigned long long from = first_stop / 1000000, to = (now + 999999) / 1000000; // milliseconds, outwards
  snprintf(reason, sizeof reason,
           "recording was stopped %sbetween %llu.%03llu s and %llu.%03llu s: objects born then are not counted%s%s", times,
           from / 1000, from % 1000, to / 1000, to % 1000, *other_reason ? "; " : "", other_reason);
  memcpy(map->capture_reason, reason, sizeof reason);
  if (atomic_load(&map->capture) == LIFESPAN_CAPTURE_COMPLETE) atomic_store(&map->capture, LIFESPAN_CAPTURE_PARTIAL);
}

void lifespan_linked_pause_ends(struct lifespan_map *map) {
  if (!is_stopped) return;
  is_stopped = false;
  if (!stops++) {
    first_stop = stopped_at;
    if (atomic_load(&map->capture) != LIFESPAN_CAPTURE_COMPLETE) {
      memcpy(other_reason, map->capture_reason, sizeof other_reason - 1);
    }
  }
  say_reason(map, since_start(map));
}

#endif
