// exec in a process of the session: the next image gets our variables back, where it is to be recorded in a new trace or to be asked. Which
// that is: environment.c. Async-signal-safe, as exec is: no malloc. The functions that start a child are in spawn_hooks.c.

#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))
#define STACK_ROOM 8192u // exec may be called on a small stack

extern char **environ;

// The functions behind ours, looked up before the program runs: exec may be called where dlsym may not (after fork, in a signal handler).
typedef int (*exec_function)(const char *, char *const[], char *const[]);
static exec_function next_execve, next_execvpe;
static int (*next_fexecve)(int, char *const[], char *const[]);
static int (*next_execveat)(int, const char *, char *const[], char *const[], int);

__attribute__((constructor(101))) static void look_up(void) {
  next_execve = (exec_function)dlsym(RTLD_NEXT, "execve");
  next_execvpe = (exec_function)dlsym(RTLD_NEXT, "execvpe");
  next_execveat = (int (*)(int, const char *, char *const[], char *const[], int))dlsym(RTLD_NEXT, "execveat");
  next_fexecve = (int (*)(int, char *const[], char *const[]))dlsym(RTLD_NEXT, "fexecve");
}

// A vfork child lives in its parent's memory, where what it maps would stay for ever: on the stack where that is not too much.
static bool on_stack(size_t bytes) { return bytes <= STACK_ROOM && !lifespan_environment_is_copy() && !lifespan_environment_is_self(); }

// Calls NEXT, an exec with the environment `ours`.
#define EXEC_WITH_OURS(envp, NEXT)                                                                                         \
  size_t bytes = lifespan_environment_has_heir(false) ? lifespan_environment_room(envp) : 0;                              \
  void *room = NULL, *pages = MAP_FAILED;                                                                                  \
  if (bytes && on_stack(bytes)) room = alloca(bytes);                                                                      \
  else if (bytes) pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);                   \
  if (pages != MAP_FAILED) room = pages;                                                                                   \
  char *const *ours = room ? lifespan_environment_make((envp), room) : (envp);                                             \
  int result = (NEXT);                                                                                                     \
  int failure = errno;                                                                                                     \
  if (pages != MAP_FAILED) munmap(pages, bytes);                                                                           \
  errno = failure;                                                                                                         \
  return result;

static int execute(exec_function next, const char *path, char *const argv[], char *const envp[]) {
  if (!next) return errno = ENOSYS, -1; // another library's constructor runs an exec before ours has run
  EXEC_WITH_OURS(envp, next(path, argv, ours))
}

EXPORTED int execve(const char *path, char *const argv[], char *const envp[]) { return execute(next_execve, path, argv, envp); }
EXPORTED int execv(const char *path, char *const argv[]) { return execute(next_execve, path, argv, environ); }
EXPORTED int execvp(const char *file, char *const argv[]) { return execute(next_execvpe, file, argv, environ); }
EXPORTED int execvpe(const char *file, char *const argv[], char *const envp[]) { return execute(next_execvpe, file, argv, envp); }

EXPORTED int fexecve(int descriptor, char *const argv[], char *const envp[]) {
  if (!next_fexecve) return errno = ENOSYS, -1;
  EXEC_WITH_OURS(envp, next_fexecve(descriptor, argv, ours))
}

EXPORTED int execveat(int folder, const char *path, char *const argv[], char *const envp[], int flags) {
  if (!next_execveat) return errno = ENOSYS, -1;
  EXEC_WITH_OURS(envp, next_execveat(folder, path, argv, ours, flags))
}

// The list forms: the arguments are gathered on the stack.
#define GATHER(first)                                                                 \
  va_list arguments, again;                                                           \
  va_start(arguments, first);                                                         \
  va_copy(again, arguments);                                                          \
  size_t length = 1;                                                                  \
  while (va_arg(again, const char *)) length++;                                       \
  va_end(again);                                                                      \
  char **argv = alloca((length + 1) * sizeof *argv);                                  \
  argv[0] = (char *)(first);                                                          \
  for (size_t i = 1; i <= length; i++) argv[i] = va_arg(arguments, char *);

EXPORTED int execl(const char *path, const char *first, ...) {
  GATHER(first)
  va_end(arguments);
  return execute(next_execve, path, argv, environ);
}
EXPORTED int execlp(const char *file, const char *first, ...) {
  GATHER(first)
  va_end(arguments);
  return execute(next_execvpe, file, argv, environ);
}
EXPORTED int execle(const char *path, const char *first, ...) {
  GATHER(first)
  char *const *envp = va_arg(arguments, char *const *);
  va_end(arguments);
  return execute(next_execve, path, argv, envp);
}
