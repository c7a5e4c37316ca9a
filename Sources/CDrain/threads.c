// Threads that end without a word of their own: made by a raw clone, or in the linked door, where nothing of theirs is hooked. Used by
// side.c and upkeep.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PF_EXITING 0x4ul   // in the flags of /proc/PID/task/TID/stat
#define SURE_AFTER_NS 50000000ull // when all threads of a process are told to end, they do so one after another

void drain_thread_gone(struct lifespan_drain *d, uint32_t thread, uint32_t tid, uint64_t stamp) {
  drain_thread_row(d, thread, tid, LIFESPAN_THREAD_GONE, stamp, "", 0);
  struct drain_object *object = drain_living_find(&d->living, LIFESPAN_THREAD_ADDRESS | thread);
  struct drain_record record = {.stamp = stamp, .thread = thread, .kind = LIFESPAN_R_DEATH, .cells = 1};
  if (object) drain_end(d, object, &record, LIFESPAN_EVENT_DEATH);
}

// Whether the thread runs, and is not about to end. /proc/PID/task/TID/stat: tid (name) state, then numbers, the sixth
// of which is its flags.
static bool threads_lives(uint32_t pid, uint32_t tid) {
  char path[64], text[512];
  snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  const char *at = strrchr(text, ')');
  if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X') return false;
  at += 2;
  for (int field = 0; field < 6 && at; field++) at = strchr(at + 1, ' ');
  return at && !(strtoul(at + 1, NULL, 10) & PF_EXITING);
}

// Whether the process goes on: one of its threads that we know lives. In the linked door it is ourselves.
static bool threads_process_lives(const struct lifespan_drain *d) {
  uint32_t pid = d->map->pid;
  if (pid == (uint32_t)getpid() || threads_lives(pid, pid)) return true;
  const struct lifespan_ring *rings = (const struct lifespan_ring *)((const uint8_t *)d->map + LIFESPAN_RINGS_OFFSET);
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    uint32_t tid = d->rings[slot].claimed ? __atomic_load_n(&rings[slot].tid, __ATOMIC_RELAXED) : 0;
    if (tid && threads_lives(pid, tid)) return true;
  }
  return false;
}

bool drain_thread_is_gone(struct lifespan_drain *d, struct drain_ring *r, uint32_t tid) {
  int saved_errno = errno;
  bool there = syscall(SYS_tgkill, (int)d->map->pid, (int)tid, 0) == 0 || errno != ESRCH;
  errno = saved_errno;
  if (there) {
    r->gone_ns = 0;
    return false;
  }
  if (!r->lives) return true;
  uint64_t now = drain_monotonic_ns();
  if (!r->gone_ns) r->gone_ns = now;
  return now - r->gone_ns >= SURE_AFTER_NS && threads_process_lives(d);
}

#endif
