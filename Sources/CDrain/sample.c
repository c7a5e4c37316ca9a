// Samples: what the system holds for the process, against what lives in its heap. Taken by the recording command between rounds; the linked door
// takes none.
//
// Everything is read from outside. The allocator is not asked: glibc's mallinfo2 walks all free chunks under each arena's lock, in a thread of the
// program, and an idle program calls no hook that could ask it. /proc/PID/pagemap tells which pages of the heap are there, whatever the allocator, also
// in a program that waits. It is read in steps, some each round: the rings must not fill meanwhile.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_NS 50000000ull      // after the begin; the gaps then grow with the time that has passed …
#define MOST_OFTEN_NS 100000000ull
#define USUAL_NS 1000000000ull    // … up to this, for ten minutes, and on to a six hundredth of it
#define USUAL_PART 600u
#define COST_FACTOR 100u          // a sample that takes long is not taken again before so many times as long
#define STEP_NS 2000000ull        // of counting pages, in a round
#define PAGES_OF_GRANULE ((1u << DRAIN_HEAP_GRANULE_LOG2) / 4096u)

// A file of /proc/PID/task/TID; -1: not to be read.
static int sample_open(const struct lifespan_drain *d, uint32_t tid, const char *name) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", d->options.sample_pid, tid, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

// `Name:  123 kB` of /proc/PID/status, in bytes.
static uint64_t sample_field(const char *text, const char *name) {
  const char *at = strstr(text, name);
  return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

// False: the process has no memory any more, or there is no /proc.
static bool sample_status(struct lifespan_drain *d, struct drain_sample *sample, uint32_t tid) {
  char text[4096];
  int file = sample_open(d, tid, "status");
  if (file < 0) return false;
  ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  sample->resident = sample_field(text, "\nVmRSS:");
  sample->anonymous = sample_field(text, "\nRssAnon:");
  sample->swapped = sample_field(text, "\nVmSwap:");
  return sample->resident;
}

// A thread that has the process's memory: main, or where that has ended by itself another one that we know. 0: none.
static uint32_t sample_thread(struct lifespan_drain *d, struct drain_sample *sample) {
  if (sample_status(d, sample, d->options.sample_pid)) return d->options.sample_pid;
  if (!d->options.process_tid_check) return 0; // their numbers are not ours
  const struct lifespan_ring *rings = (const struct lifespan_ring *)((const uint8_t *)d->map + LIFESPAN_RINGS_OFFSET);
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    uint32_t tid = d->rings[slot].claimed ? __atomic_load_n(&rings[slot].tid, __ATOMIC_RELAXED) : 0;
    if (tid && sample_status(d, sample, tid)) return tid;
  }
  return 0;
}

static void sample_begin(struct lifespan_drain *d, unsigned flags, uint64_t now) {
  struct drain_sample *sample = &d->sample;
  *sample = (struct drain_sample){.file = -1, .next_ns = sample->next_ns, .done_ns = sample->done_ns, .flags = flags};
  uint32_t tid = sample_thread(d, sample);
  if (!tid) {
    sample->next_ns = now + USUAL_NS;
    return;
  }
  sample->stamp = drain_now(d->clock);
  sample->living_count = d->memory.count;
  sample->living_bytes = d->memory.bytes;
  sample->living_footprint = d->memory.footprint;
  sample->file = d->memory.leaves && sysconf(_SC_PAGESIZE) == 4096 ? sample_open(d, tid, "pagemap") : -1;
  sample->running = true;
}

static void sample_done(struct lifespan_drain *d, uint64_t now) {
  struct drain_sample *sample = &d->sample;
  if (sample->file >= 0) close(sample->file);
  struct drain_bytes *row = drain_row_begin(d);
  const uint64_t fields[] = {drain_zigzag(drain_since_start(d, sample->stamp)),
                             sample->flags | (sample->file >= 0 ? LIFESPAN_SAMPLE_HEAP : 0),
                             sample->resident,
                             sample->anonymous,
                             sample->swapped,
                             sample->file >= 0 ? sample->present * 4096 : 0,
                             sample->file >= 0 ? sample->away * 4096 : 0,
                             sample->living_count,
                             sample->living_bytes,
                             sample->living_footprint};
  bool made = true;
  for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) made = made && drain_put_varint(row, fields[i]);
  if (made) drain_keep(d, LIFESPAN_CHUNK_SAMPLES, row);
  sample->running = false;
  sample->done_ns = now;
  uint64_t elapsed = now - d->sampling_since_ns, gap = elapsed / USUAL_PART;
  if (gap < USUAL_NS) gap = elapsed < USUAL_NS ? elapsed / 4 : USUAL_NS;
  if (gap < MOST_OFTEN_NS) gap = MOST_OFTEN_NS;
  if (gap < sample->cost_ns * COST_FACTOR) gap = sample->cost_ns * COST_FACTOR;
  sample->next_ns = now + gap;
}

// The next granules in a row, at most as many as are read at once; false: there are no more.
static bool sample_run(struct lifespan_drain *d, uint64_t *first, uint64_t *count) {
  const struct drain_heap *heap = &d->memory;
  uint64_t at = d->sample.granule, end = DRAIN_HEAP_LEAVES * DRAIN_HEAP_LEAF_GRANULES;
  *count = 0;
  while (at < end && *count < DRAIN_PAGES_AT_ONCE / PAGES_OF_GRANULE) {
    const uint64_t *leaf = heap->leaves[at / DRAIN_HEAP_LEAF_GRANULES];
    uint64_t word = leaf ? leaf[at % DRAIN_HEAP_LEAF_GRANULES / 64] : 0;
    if (word >> at % 64 & 1) {
      if (!*count) *first = at;
      ++*count;
      at++;
    } else if (*count) {
      break;
    } else if (!leaf) {
      at = (at / DRAIN_HEAP_LEAF_GRANULES + 1) * DRAIN_HEAP_LEAF_GRANULES;
    } else {
      at = word >> at % 64 ? at + (uint64_t)__builtin_ctzll(word >> at % 64) : (at / 64 + 1) * 64;
    }
  }
  d->sample.granule = at;
  return *count;
}

// False: the process has no memory any more.
static bool sample_count(struct lifespan_drain *d, uint64_t first, uint64_t count) {
  const uint64_t *pages = d->pages;
  off_t offset = (off_t)(first * PAGES_OF_GRANULE * sizeof(*pages));
  ssize_t got = pread(d->sample.file, d->pages, count * PAGES_OF_GRANULE * sizeof(*pages), offset);
  for (ssize_t i = 0; i < got / (ssize_t)sizeof(*pages); i++) {
    d->sample.present += pages[i] >> 63; // in memory
    d->sample.away += pages[i] >> 62 & 1; // in swap
  }
  return got > 0;
}

// A sample that the process did not outlive says nothing.
void drain_sample_drop(struct lifespan_drain *d) {
  if (d->sample.running && d->sample.file >= 0) close(d->sample.file);
  d->sample.running = false;
}

// Goes on with a sample; to its end where nothing else waits.
static void sample_step(struct lifespan_drain *d, bool whole) {
  uint64_t began = drain_monotonic_ns(), now = began, first, count;
  bool more = d->sample.file >= 0;
  while (more && (whole || now - began < STEP_NS)) {
    more = sample_run(d, &first, &count);
    if (more && !sample_count(d, first, count)) return drain_sample_drop(d);
    now = drain_monotonic_ns();
  }
  d->sample.cost_ns += now - began;
  if (!more) sample_done(d, now);
}

void drain_sample(struct lifespan_drain *d) {
  if (!d->options.sample_pid) return;
  uint64_t now = drain_monotonic_ns();
  if (!d->sampling_since_ns) {
    d->sampling_since_ns = now;
    d->sample.next_ns = now + FIRST_NS;
  }
  if (!d->sample.running && (d->sample.wanted || now >= d->sample.next_ns)) sample_begin(d, d->sample.wanted, now);
  if (d->sample.running) sample_step(d, false);
}

void drain_sample_mark(struct lifespan_drain *d) {
  // A program that marks in a loop is not looked at each time.
  if (drain_monotonic_ns() - d->sample.done_ns >= MOST_OFTEN_NS) d->sample.wanted |= LIFESPAN_SAMPLE_MARK;
}

uint32_t drain_sample_asked(const struct lifespan_drain *d) {
  return atomic_load_explicit(&d->map->sample_wanted, memory_order_acquire);
}

void drain_sample_answer(struct lifespan_drain *d, uint32_t asked) {
  if (asked == d->sample_answered) return;
  if (d->map->options.verify && asked != d->verified) return; // its counts are looked at first: verify.c
  d->sample_answered = asked;
  if (d->options.sample_pid) {
    if (d->sample.running) sample_step(d, true);
    sample_begin(d, LIFESPAN_SAMPLE_END, drain_monotonic_ns());
    if (d->sample.running) sample_step(d, true);
  }
  atomic_store_explicit(&d->map->sample_done, asked, memory_order_release);
  syscall(SYS_futex, &d->map->sample_done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

#endif
