// A picture of this process's own heap, in the linked door: threads stand still (stop.c), the drain takes all events, the blocks are listed, a raw copy of
// the process is made, threads go on. Then the copy, which runs nothing, is read by CHeap as the recording command reads one. Called by heap.c.
#include "picture.h"

#if LIFESPAN_RECORDS_HERE

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "copy.h"
#include "stop.h"

#define OWN_ROOM 2048u
#define SPARE_BLOCKS 65536u // born between the count and the stop
#define QUIET_ROUNDS 3u
#define ROUNDS_MOST 256u
#define PAGE_ROUND 4095u
#define UNSETTLED "threads stood within malloc each time, so that what it keeps free was not told from what is held, and leaks may be missed"

struct picture {
  struct stop stop;
  struct copy copy;
  struct heap_block *blocks;
  size_t room, count; // of blocks
  struct heap_own own[OWN_ROOM];
  size_t own_count;
  uint32_t numbers[STOP_THREADS_MOST]; // of threads, in the recording
  uint64_t pause_ns;
  struct lifespan_drain_counts counts;
};

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void *pages(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

// ---- While everything stands still: nothing that waits for a thread, no malloc ------------------------------------------------------

static void add_own(struct picture *p, uint64_t start, uint64_t bytes) {
  if (start > 1 && p->own_count < OWN_ROOM) p->own[p->own_count++] = (struct heap_own){start, (start + bytes + PAGE_ROUND) & ~(uint64_t)PAGE_ROUND};
}

static void list_own(struct picture *p) {
  struct lifespan_map *map = lifespan_linked_door.map;
  uint64_t start, end;
  add_own(p, (uint64_t)(uintptr_t)map, atomic_load(&map->allocated));
  for (unsigned i = 0; i < LIFESPAN_OWN_RANGES; i++) add_own(p, atomic_load(&map->own[i].start), atomic_load(&map->own[i].end) - atomic_load(&map->own[i].start));
  for (uint32_t i = 0; lifespan_drain_own(i, &start, &end); i++) add_own(p, start, end - start);
  add_own(p, (uint64_t)(uintptr_t)p, sizeof *p);
  add_own(p, (uint64_t)(uintptr_t)p->blocks, p->room * sizeof *p->blocks);
  add_own(p, (uint64_t)(uintptr_t)p->stop.threads, STOP_THREADS_MOST * sizeof *p->stop.threads);
}

static void settle(struct lifespan_drain *drain) {
  unsigned quiet = 0;
  for (unsigned i = 0; i < ROUNDS_MOST && quiet < QUIET_ROUNDS; i++) quiet = lifespan_drain_round(drain) == 0 ? quiet + 1 : 0;
}

// Everything that is of one moment. 0, ENOBUFS (more blocks than room: once more), or an errno value.
static int freeze(struct picture *p, struct lifespan_drain *drain) {
  settle(drain);
  lifespan_drain_counts(drain, &p->counts);
  p->count = lifespan_drain_blocks(drain, (struct lifespan_block *)(void *)p->blocks, p->room);
  if (p->count == p->room) return ENOBUFS;
  for (size_t i = 0; i < p->stop.count; i++) p->numbers[i] = lifespan_drain_thread(drain, (uint32_t)p->stop.threads[i].tid);
  list_own(p);
  return lifespan_linked_copy_make(&p->copy);
}

// ---- Before and after -------------------------------------------------------------------------------------------------------------

static enum lifespan_linked_status say(enum lifespan_linked_status status, char *reason, size_t room, const char *what, int error) {
  if (error) snprintf(reason, room, "%s: %s", what, strerror(error));
  else snprintf(reason, room, "%s", what);
  return status;
}

static bool is_own_proc(void) {
  char path[32];
  ssize_t length = readlink("/proc/self", path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = 0;
  return atoi(path) == getpid();
}

static enum lifespan_linked_status check(char *reason, size_t room) {
  if (!is_own_proc()) return say(LIFESPAN_LINKED_FORBIDDEN, reason, room, "/proc is not there, or is another system's", 0);
  if (lifespan_linked_stop_is_filtered()) return say(LIFESPAN_LINKED_FORBIDDEN, reason, room, "the program has forbidden itself system calls (seccomp), and copying it might end it", 0);
  return LIFESPAN_LINKED_OK;
}

// Stops, freezes, lets go; anew with more room while objects are born faster than that.
static enum lifespan_linked_status take(struct picture *p, uint64_t sp, char *reason, size_t room) {
  enum lifespan_linked_status status;
  if (!lifespan_linked_copy_prepare(&p->copy)) return LIFESPAN_LINKED_NO_MEMORY;
  for (int error = ENOBUFS; error == ENOBUFS;) {
    struct lifespan_drain *drain = lifespan_linked_lock(&status);
    if (!drain) return status;
    if (p->blocks) munmap(p->blocks, p->room * sizeof *p->blocks);
    p->room = lifespan_drain_block_limit(drain) + lifespan_drain_block_limit(drain) / 8 + SPARE_BLOCKS;
    p->blocks = pages(p->room * sizeof *p->blocks);
    p->own_count = 0;
    uint64_t from = now_ns();
    if (!p->blocks) {
      lifespan_linked_unlock();
      return LIFESPAN_LINKED_NO_MEMORY;
    }
    if (!lifespan_linked_stop_begin(&p->stop, sp, reason, room)) {
      lifespan_linked_unlock();
      return LIFESPAN_LINKED_FORBIDDEN;
    }
    error = freeze(p, drain);
    lifespan_linked_stop_end(&p->stop);
    p->pause_ns = now_ns() - from;
    lifespan_linked_unlock();
    if (error && error != ENOBUFS) return say(LIFESPAN_LINKED_FORBIDDEN, reason, room, "the process cannot be copied", error);
  }
  return lifespan_linked_copy_readable(&p->copy, reason, room) ? LIFESPAN_LINKED_OK : LIFESPAN_LINKED_FORBIDDEN;
}

static struct heap_type *list_types(size_t *count) {
  enum lifespan_linked_status status;
  struct lifespan_drain *drain = lifespan_linked_lock(&status);
  if (!drain) return NULL;
  size_t limit = lifespan_drain_type_limit(drain), bytes = (limit + 1) * sizeof(struct heap_type);
  struct heap_type *types = pages(bytes);
  *count = types ? limit : 0;
  for (uint32_t id = 0; id < *count; id++) {
    struct lifespan_type_row row;
    const char *name;
    if (lifespan_drain_type(drain, id, &row, &name)) types[id] = heap_type_make(row.kind, name, row.name_length, row.metadata, row.instance_size);
  }
  lifespan_linked_unlock();
  return types;
}

static void note(char *notes, size_t room, const char *text, const char *more) {
  size_t used = strlen(notes);
  snprintf(notes + used, room - used, "%s%s%s", used ? "\n" : "", text, more);
}

static void tell(const struct picture *p, struct heap_report_facts *facts, char *notes, size_t room) {
  const struct lifespan_map *map = lifespan_linked_door.map;
  *notes = 0;
  note(notes, room, "blocks of malloc that are no Swift objects are not known here, nor what was born before the start or is not recorded: all such memory "
                    "counts as held, so leaks may be missed", "");
  note(notes, room, "new objects are not filled with zeros here, so they may hold what lay there before, and leaks may be missed", "");
  if (!p->stop.outside_malloc) note(notes, room, UNSETTLED, "");
  if (map->options.scope == LIFESPAN_SCOPE_TRACKED)
    note(notes, room, "tracked types alone are recorded: a leak of theirs is found where they hold each other directly", "");
  if (atomic_load(&map->capture) != LIFESPAN_CAPTURE_COMPLETE) note(notes, room, "the capture is not complete: ", map->capture_reason);
  facts->notes = notes;
  facts->pause_ns = p->pause_ns;
  // An end that was lost makes a dead object look alive.
  if (p->counts.lost) facts->withheld = "events were lost, so that what holds an object may not be known";
}

// A call into the kernel that the signal has interrupted, or that will be made again: nothing lies below the stack pointer then, nor in vector registers.
static bool is_in_kernel(pid_t copy, uint64_t pc) {
  uint8_t code[4] = {0};
  struct iovec own[2] = {{code, 2}, {code + 2, 2}}, theirs[2] = {{(void *)(uintptr_t)(pc - 2), 2}, {(void *)(uintptr_t)pc, 2}};
  if (process_vm_readv(copy, own, 2, theirs, 2, 0) < 2) return false;
  return (code[0] == 0x0f && code[1] == 0x05) || (code[2] == 0x0f && code[3] == 0x05);
}

static enum lifespan_linked_status look(struct picture *p, uint64_t address, struct heap_report *report, char *reason, size_t room) {
  struct heap_input input = {.pid = p->copy.pid, .blocks = p->blocks, .count = p->count, .own = p->own, .own_count = p->own_count};
  struct heap_thread *threads = calloc(p->stop.count, sizeof *threads);
  struct heap_type *types = list_types(&input.type_count);
  char notes[2048];
  struct heap_report_facts facts = {0};
  struct heap *heap = NULL;
  int error = ENOMEM;
  if (threads && types) {
    for (size_t i = 0; i < p->stop.count; i++) {
      const struct stop_thread *from = &p->stop.threads[i];
      // One that ended while the others were stopped has no registers.
      if (!from->sp) continue;
      bool in_kernel = from->in_kernel || is_in_kernel(p->copy.pid, from->pc);
      threads[input.thread_count++] =
          (struct heap_thread){.pc = from->pc, .sp = from->sp, .thread_pointer = from->thread_pointer, .words = from->words,
                               .count = in_kernel && from->count > STOP_GENERAL ? STOP_GENERAL : from->count, .number = p->numbers[i], .in_kernel = in_kernel};
    }
    input.threads = threads;
    input.types = types;
    heap = heap_begin(&input);
  }
  if (heap) error = heap_scan(heap);
  tell(p, &facts, notes, sizeof notes);
  if (heap && !error) error = address ? heap_report_holders(heap, address, &facts, report) : heap_report_leaks(heap, &facts, report);
  heap_end(heap);
  if (types) munmap(types, (input.type_count + 1) * sizeof *types);
  free(threads);
  if (!error) return LIFESPAN_LINKED_OK;
  if (error == ENOENT) return LIFESPAN_LINKED_UNKNOWN;
  if (error == ENOMEM) return LIFESPAN_LINKED_NO_MEMORY;
  return say(LIFESPAN_LINKED_FORBIDDEN, reason, room, "the copy of the process cannot be read", error);
}

enum lifespan_linked_status lifespan_linked_picture(uint64_t address, uint64_t sp, struct heap_report *report, char *reason, size_t room) {
  static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER; // one at a time
  struct lifespan_linked_door *door = &lifespan_linked_door;
  if (!atomic_load_explicit(&door->drain, memory_order_acquire)) return LIFESPAN_LINKED_NOT_STARTED;
  if (door->pid != getpid()) return LIFESPAN_LINKED_FORKED; // its locks may be held by threads that are not here
  int cancelled;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled); // it would leave the lock and the copy behind
  pthread_mutex_lock(&looking);
  enum lifespan_linked_status status = check(reason, room);
  struct picture *p = status == LIFESPAN_LINKED_OK ? pages(sizeof *p) : NULL;
  if (p) {
    status = take(p, sp, reason, room);
    if (status == LIFESPAN_LINKED_OK) status = look(p, address, report, reason, room);
    lifespan_linked_copy_end(&p->copy);
    if (p->blocks) munmap(p->blocks, p->room * sizeof *p->blocks);
    munmap(p, sizeof *p);
  } else if (status == LIFESPAN_LINKED_OK) {
    status = LIFESPAN_LINKED_NO_MEMORY;
  }
  pthread_mutex_unlock(&looking);
  pthread_setcancelstate(cancelled, NULL);
  return status;
}

#endif
