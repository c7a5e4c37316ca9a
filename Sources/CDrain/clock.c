// Stamps and their rate: the clock that the mapping names. Used by merge.c for cuts, by drain.c for the header.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

uint64_t drain_monotonic_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t drain_now(uint32_t clock) {
#if defined(__x86_64__)
  if (clock == LIFESPAN_CLOCK_TSC) {
    _mm_lfence();
    return __rdtsc();
  }
#endif
  (void)clock;
  return drain_monotonic_ns();
}

// Both clocks at one moment: of a few tries the one in which they were read closest together.
void drain_pair(uint32_t clock, uint64_t *stamp, uint64_t *ns) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 8; i++) {
    uint64_t before = drain_now(clock), middle = drain_monotonic_ns(), after = drain_now(clock);
    if (after - before >= best) continue;
    best = after - before;
    *stamp = before + (after - before) / 2;
    *ns = middle;
  }
}

#define RATE_PAUSE_NS 2000000ull

// Ticks per second since the pair (stamp, ns). It is one value for the whole recording, in the header: waits until at
// least 2 ms lie between the two readings, which makes it exact to some 30 parts in a million.
uint64_t drain_rate(uint32_t clock, uint64_t stamp, uint64_t ns) {
  if (clock != LIFESPAN_CLOCK_TSC) return 1000000000ull;
  uint64_t now = 0, now_ns = 0;
  for (drain_pair(clock, &now, &now_ns); now_ns - ns < RATE_PAUSE_NS; drain_pair(clock, &now, &now_ns)) {
    struct timespec pause = {0, (long)(RATE_PAUSE_NS - (now_ns - ns))};
    nanosleep(&pause, NULL);
  }
  uint64_t rate = (uint64_t)((double)(now - stamp) * 1e9 / (double)(now_ns - ns));
  return rate ? rate : 1;
}

uint64_t drain_to_ns(uint64_t ticks, uint64_t ticks_per_second) {
  return ticks_per_second ? (uint64_t)((unsigned __int128)ticks * 1000000000u / ticks_per_second) : 0;
}

static size_t date_digits(char *text, size_t at, uint64_t value, unsigned digits) {
  for (unsigned i = digits; i > 0; i--, value /= 10) text[at + i - 1] = (char)('0' + value % 10);
  return at + digits;
}

// In decimal; the text lies somewhere in `text`.
const char *drain_digits(uint64_t value, char text[DRAIN_DIGITS]) {
  char *digit = &text[DRAIN_DIGITS - 1];
  *digit = 0;
  do {
    *--digit = (char)('0' + value % 10);
  } while (value /= 10);
  return digit;
}

// RFC 3339 in UTC, without libc's locale and time zone. Returns the length.
size_t drain_date(uint64_t seconds, char text[DRAIN_DATE_ROOM]) {
  if (seconds > 253402300799ull) seconds = 253402300799ull; // the end of 9999
  uint64_t days = seconds / 86400, rest = seconds % 86400;
  // Years that begin in March put the leap day last; an era is 400 of them.
  uint64_t z = days + 719468, era = z / 146097, day_of_era = z % 146097;
  uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  uint64_t shifted = (5 * day_of_year + 2) / 153;
  uint64_t day = day_of_year - (153 * shifted + 2) / 5 + 1, month = shifted < 10 ? shifted + 3 : shifted - 9;
  uint64_t year = year_of_era + era * 400 + (month <= 2);
  const uint64_t fields[] = {year, month, day, rest / 3600, rest / 60 % 60, rest % 60};
  const char separators[] = "--T::Z";
  size_t at = 0;
  for (int i = 0; i < 6; i++) {
    at = date_digits(text, at, fields[i], i ? 2 : 4);
    text[at++] = separators[i];
  }
  text[at] = 0;
  return at;
}

#endif
