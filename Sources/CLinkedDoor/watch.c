// One lock, one thread for all deadlines, a clock. Called by Lifespan/Watching.

#include "door.h"
#include "lifespan_watch.h"

#if LIFESPAN_RECORDS_HERE

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken;
static pthread_once_t made = PTHREAD_ONCE_INIT;
static _Atomic pid_t owner;
static bool started;

static void make(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&woken, &attributes);
  pthread_condattr_destroy(&attributes);
  atomic_store(&owner, getpid());
}

bool lifespan_watch_possible(void) {
  pthread_once(&made, make);
  return atomic_load_explicit(&owner, memory_order_relaxed) == getpid();
}

void lifespan_watch_lock(void) { pthread_mutex_lock(&lock); }
void lifespan_watch_unlock(void) { pthread_mutex_unlock(&lock); }

static void *run(void *body) {
  pthread_setname_np(pthread_self(), "lifespan-watch");
  ((void (*)(void))body)();
  return NULL;
}

bool lifespan_watch_start(void (*body)(void)) {
  if (started) return true;
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGPROF); // by which it is stopped when the heap is looked at (stop.c)
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  started = !pthread_create(&thread, NULL, run, (void *)body);
  if (started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

void lifespan_watch_wait(uint64_t until_ns) {
  if (until_ns == UINT64_MAX) {
    pthread_cond_wait(&woken, &lock);
    return;
  }
  struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
  pthread_cond_timedwait(&woken, &lock, &until);
}

void lifespan_watch_wake(void) { pthread_cond_signal(&woken); }

uint64_t lifespan_watch_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t lifespan_watch_ticks(void) {
  enum lifespan_linked_status status;
  struct lifespan_map *map = lifespan_linked_map(&status);
  return map && status == LIFESPAN_LINKED_OK ? lifespan_recorder_now(map) - map->start_stamp : 0;
}

// Weak: a program without tasks need not link them.
__attribute__((swiftcall, weak)) void *swift_task_getCurrent(void);
__attribute__((swiftcall, weak)) uint64_t swift_task_getJobTaskId(const void *task);

uint64_t lifespan_watch_task_id(void) {
  void *task = swift_task_getCurrent ? swift_task_getCurrent() : NULL;
  return task && swift_task_getJobTaskId ? swift_task_getJobTaskId(task) & LIFESPAN_VALUE_MASK : 0;
}

uint32_t lifespan_watch_thread_id(void) { return (uint32_t)syscall(SYS_gettid); }

void lifespan_watch_sleep_ns(uint64_t ns) {
  struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  while (nanosleep(&t, &t) && errno == EINTR) {}
}

bool lifespan_watch_asks_at_once(void) {
  enum lifespan_linked_status status;
  return lifespan_linked_map(&status) && !lifespan_linked_preload(&status, NULL);
}

bool lifespan_watch_counts_references(void) {
  enum lifespan_linked_status status;
  struct lifespan_map *map = lifespan_linked_map(&status);
  return map && map->options.refcounts;
}

bool lifespan_watch_read(uint64_t address, void *into, size_t bytes) {
  struct iovec here = {into, bytes}, there = {(void *)(uintptr_t)address, bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

void lifespan_watch_say(const char *line, size_t length) {
  int error = errno;
  struct iovec parts[] = {{(void *)(uintptr_t)"lifespan: ", 10}, {(void *)(uintptr_t)line, length}, {(void *)(uintptr_t)"\n", 1}};
  if (writev(STDERR_FILENO, parts, 3) < 0) {} // nobody to tell
  errno = error;
}

#else

bool lifespan_watch_possible(void) { return false; }
void lifespan_watch_lock(void) {}
void lifespan_watch_unlock(void) {}
bool lifespan_watch_start(void (*body)(void)) {
  (void)body;
  return false;
}
void lifespan_watch_wait(uint64_t until_ns) { (void)until_ns; }
void lifespan_watch_wake(void) {}
uint64_t lifespan_watch_now_ns(void) { return 0; }
uint64_t lifespan_watch_ticks(void) { return 0; }
uint64_t lifespan_watch_task_id(void) { return 0; }
uint32_t lifespan_watch_thread_id(void) { return 0; }
void lifespan_watch_sleep_ns(uint64_t ns) { (void)ns; }
bool lifespan_watch_asks_at_once(void) { return false; }
bool lifespan_watch_counts_references(void) { return false; }
bool lifespan_watch_read(uint64_t address, void *into, size_t bytes) {
  (void)address, (void)into, (void)bytes;
  return false;
}
void lifespan_watch_say(const char *line, size_t length) { (void)line, (void)length; }

#endif
