// What busy.swift counts in: memory of a file that it shares with soak.py, which outlives it.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// A thread counts what it has published: after the call that made or ended an object has returned. The log says what it
// had published when: soak.py looks back some milliseconds from the last moment.
#define BUSY_LOG 4096
struct busy_thread {
  uint64_t births, deaths, blocks, frees;
  uint64_t moment; // of the newest entry of the log, milliseconds
  uint64_t padding[3];
  struct {
    uint64_t moment, births, deaths;
  } log[BUSY_LOG]; // by the millisecond
};

static inline struct busy_thread *busy_map(const char *path, int threads) {
  size_t bytes = sizeof(struct busy_thread) * (size_t)threads;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, (off_t)bytes)) abort();
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) abort();
  close(file);
  return at;
}

static inline struct busy_thread *busy_thread(struct busy_thread *all, int number) { return &all[number]; }

// Behind everything that stands before it in the program.
static inline void busy_count(uint64_t *counter) { __atomic_store_n(counter, *counter + 1, __ATOMIC_RELEASE); }
static inline void busy_birth(struct busy_thread *t) { busy_count(&t->births); }
static inline void busy_death(struct busy_thread *t) { busy_count(&t->deaths); }

static inline void busy_log(struct busy_thread *t) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t moment = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
  if (moment == t->moment) return;
  uint64_t place = moment % BUSY_LOG;
  t->log[place].births = t->births;
  t->log[place].deaths = t->deaths;
  __atomic_store_n(&t->log[place].moment, moment, __ATOMIC_RELEASE);
  __atomic_store_n(&t->moment, moment, __ATOMIC_RELEASE);
}

// A block of malloc that the compiler does not know to be useless.
static inline void busy_block(struct busy_thread *t, void *volatile *place) {
  if (*place) {
    free(*place);
    busy_count(&t->frees);
  }
  *place = malloc(200);
  busy_count(&t->blocks);
}
