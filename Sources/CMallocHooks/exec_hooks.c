// exec in the recorded process: the next image gets our variables back, so that it is recorded in a new trace. Children do not: they are told apart by
// the process id (also after vfork). Async-signal-safe, as exec is: no malloc.

#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lifespan_recorder.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

extern char **environ;

static bool is_recorded_process(void) {
  const struct lifespan_preload_environment *saved = lifespan_preload_saved();
  return saved && saved->pid == getpid();
}

static size_t count(char *const strings[]) {
  size_t n = 0;
  while (strings && strings[n]) n++;
  return n;
}

// The new environment, in pages of its own: exec may be called on a small stack. NULL: no memory, and the next image is not recorded.
struct pages {
  void *start;
  size_t bytes;
};

static char **build(char *const envp[], struct pages *pages) {
  const struct lifespan_preload_environment *saved = lifespan_preload_saved();
  const char *theirs = "";
  for (size_t i = 0; envp && envp[i]; i++)
    if (!strncmp(envp[i], "LD_PRELOAD=", 11)) theirs = envp[i] + 11;
  const char *ours_end = strchr(saved->preload, ':');
  size_t ours = ours_end ? (size_t)(ours_end - saved->preload) : strlen(saved->preload), more = strlen(theirs);
  size_t strings = (count(envp) + 3) * sizeof(char *);
  pages->bytes = strings + ours + 1 + more + 1;
  pages->start = mmap(NULL, pages->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages->start == MAP_FAILED) return NULL;
  char **out = pages->start, *preload = (char *)pages->start + strings;
  size_t n = 0;
  for (size_t i = 0; envp && envp[i]; i++)
    if (strncmp(envp[i], "LD_PRELOAD=", 11) && strncmp(envp[i], "LIFESPAN_SESSION=", 17)) out[n++] = envp[i];
  memcpy(preload, saved->preload, ours);
  if (more) preload[ours++] = ':';
  memcpy(preload + ours, theirs, more);
  preload[ours + more] = 0;
  out[n++] = preload;
  out[n++] = (char *)saved->session;
  out[n] = NULL;
  return out;
}

// The functions behind ours, looked up before the program runs: exec may be called where dlsym may not (after fork, in a signal handler).
typedef int (*exec_function)(const char *, char *const[], char *const[]);
static exec_function next_execve, next_execvpe;
static int (*next_fexecve)(int, char *const[], char *const[]);

__attribute__((constructor(101))) static void look_up(void) {
  next_execve = (exec_function)dlsym(RTLD_NEXT, "execve");
  next_execvpe = (exec_function)dlsym(RTLD_NEXT, "execvpe");
  next_fexecve = (int (*)(int, char *const[], char *const[]))dlsym(RTLD_NEXT, "fexecve");
}

// Calls NEXT, an exec with the environment `ours`.
#define EXEC_WITH_OURS(envp, NEXT)                                                    \
  struct pages pages;                                                                 \
  char **made = is_recorded_process() ? build((envp), &pages) : NULL;                 \
  char *const *ours = made ? made : (envp);                                           \
  int result = (NEXT);                                                                \
  int failure = errno;                                                                \
  if (made) munmap(pages.start, pages.bytes);                                         \
  errno = failure;                                                                    \
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
