// posix_spawn, system and popen: the child gets our variables back where children are asked or recorded (environment.c). fork needs nothing:
// what its child executes comes by exec_hooks.c.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

extern char **environ;

typedef int (*spawn_function)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
static spawn_function next_spawn, next_spawnp;
static int (*next_system)(const char *);
static FILE *(*next_popen)(const char *, const char *);

__attribute__((constructor(101))) static void look_up(void) {
  next_spawn = (spawn_function)dlsym(RTLD_NEXT, "posix_spawn");
  next_spawnp = (spawn_function)dlsym(RTLD_NEXT, "posix_spawnp");
  next_system = (int (*)(const char *))dlsym(RTLD_NEXT, "system");
  next_popen = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "popen");
}

static char **make(char *const envp[], size_t *bytes) {
  if (!lifespan_environment_has_heir(true)) return NULL;
  *bytes = lifespan_environment_room(envp);
  void *pages = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? NULL : lifespan_environment_make(envp, pages);
}

static int spawn(spawn_function next, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const argv[], char *const envp[]) {
  if (!next) return ENOSYS;
  int before = errno;
  size_t bytes;
  char **ours = make(envp, &bytes);
  int result = next(pid, path, actions, attributes, argv, ours ? ours : envp);
  if (ours) munmap(ours, bytes);
  errno = before; // posix_spawn gives its error as a result
  return result;
}

EXPORTED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                         char *const argv[], char *const envp[]) {
  return spawn(next_spawn, pid, path, actions, attributes, argv, envp);
}

EXPORTED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                          char *const argv[], char *const envp[]) {
  return spawn(next_spawnp, pid, file, actions, attributes, argv, envp);
}

// system and popen take the environment from `environ` itself. While one of them runs it points to ours; who reads it meanwhile sees two
// variables more. Where the program has made a new one meanwhile, from ours, that one stays, and so do its strings.
static struct {
  _Atomic int lock;
  unsigned users;
  char **ours, **theirs;
  size_t bytes;
} swapped;

static void lock(void) {
  int free = 0;
  while (!__atomic_compare_exchange_n((int *)&swapped.lock, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    free = 0;
    sched_yield();
  }
}
static void unlock(void) { __atomic_store_n((int *)&swapped.lock, 0, __ATOMIC_RELEASE); }

static bool swap_in(void) {
  lock();
  bool ours = swapped.users > 0;
  if (!ours && (swapped.ours = make(environ, &swapped.bytes))) {
    swapped.theirs = environ;
    environ = swapped.ours;
    ours = true;
  }
  swapped.users += ours;
  unlock();
  return ours;
}

static void swap_out(void) {
  lock();
  if (--swapped.users == 0 && environ == swapped.ours) {
    environ = swapped.theirs;
    munmap(swapped.ours, swapped.bytes);
  }
  unlock();
}

EXPORTED int system(const char *command) {
  if (!next_system) return errno = ENOSYS, -1;
  bool ours = command && swap_in();
  int result = next_system(command), failure = errno;
  if (ours) swap_out();
  errno = failure;
  return result;
}

EXPORTED FILE *popen(const char *command, const char *mode) {
  if (!next_popen) return errno = ENOSYS, NULL;
  bool ours = swap_in();
  FILE *result = next_popen(command, mode);
  int failure = errno;
  if (ours) swap_out();
  errno = failure;
  return result;
}
