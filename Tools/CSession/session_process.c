// Processes, signals and names. See session.h.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "session.h"

#define DESCRIPTORS_MOST 65536u // some systems have a limit of a thousand million, and sizes that follow it

int session_pidfd(pid_t pid) {
  long descriptor = syscall(SYS_pidfd_open, pid, 0u);
  return descriptor < 0 ? -errno : (int)descriptor;
}

int session_bell(void) {
  int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return bell < 0 ? -errno : bell;
}

void session_bell_heard(int bell) {
  uint64_t rings;
  while (read(bell, &rings, sizeof rings) < 0 && errno == EINTR) {}
}

bool session_shares_pids(pid_t pid) {
  char path[64];
  struct stat own, theirs;
  snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
  if (stat("/proc/self/ns/pid", &own) != 0 || stat(path, &theirs) != 0) return false;
  return own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino;
}

int session_rename_new(const char *from, const char *to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  // A file system without that flag, or a container's filter that does not know the call: a second name never replaces either.
  if (errno != EINVAL && errno != ENOSYS && errno != EPERM) return -errno;
  if (link(from, to) == 0) return unlink(from), 0;
  if (errno != EPERM && errno != ENOSYS && errno != EOPNOTSUPP && errno != EMLINK) return -errno;
  // One without second names (FAT, some network ones): who makes the file has the name.
  int made = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0) return -errno;
  close(made);
  return rename(from, to) == 0 ? 0 : -errno;
}

// Blocked, not handled and not ignored: the dispositions that the program inherits stay as we found them, and a blocked signal is
// kept for the signalfd even where its default is to be ignored (SIGCHLD, and every signal of pid 1).
int session_signals(void *before, size_t before_size) {
  if (before_size != sizeof(sigset_t)) return -EINVAL;
  sigset_t set;
  sigfillset(&set);
  const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&set, own[i]);
  if (sigprocmask(SIG_BLOCK, &set, before) != 0) return -errno;
  // EPIPE and EFBIG are told by write: these two are for whoever wrote, and not the program's.
  sigdelset(&set, SIGPIPE);
  sigdelset(&set, SIGXFSZ);
  int descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  return descriptor < 0 ? -errno : descriptor;
}

void session_fill_standard_descriptors(void) {
  for (int number = 0; number < 3; number++) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    int made = open("/dev/null", O_RDWR | O_CLOEXEC); // the lowest free number is this one
    if (made >= 0 && made != number) close(made);
  }
}

int session_next_signal(int descriptor, pid_t *sender, bool *from_kernel) {
  struct signalfd_siginfo info;
  if (read(descriptor, &info, sizeof info) != (ssize_t)sizeof info) return 0;
  *sender = (pid_t)info.ssi_pid;
  *from_kernel = info.ssi_code == SI_KERNEL;
  return (int)info.ssi_signo;
}

void session_stop_by(int signal) {
  sigset_t only, before;
  sigemptyset(&only);
  sigaddset(&only, signal);
  // Sent while blocked it becomes one with the terminal's own that may be waiting still: one stop, not two.
  kill(getpid(), signal);
  pthread_sigmask(SIG_UNBLOCK, &only, &before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool session_has_capabilities(const char *path) {
  return getxattr(path, "security.capability", NULL, 0) > 0;
}

static struct rlimit descriptors; // as we found it; rlim_max 0: not changed

int session_more_descriptors(uint64_t needed) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -errno;
  struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (raised.rlim_cur > DESCRIPTORS_MOST) raised.rlim_cur = DESCRIPTORS_MOST;
  if (raised.rlim_cur > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0) descriptors = limit, limit = raised;
  return limit.rlim_cur >= needed ? 0 : -EMFILE;
}

// In the child: the program, or why not through the pipe. Nothing but system calls happens here.
static _Noreturn void become(const char *path, char *const arguments[], char *const environment[], const void *mask, bool output_to_error, int report) {
  sigprocmask(SIG_SETMASK, mask, NULL);
  if (descriptors.rlim_max) setrlimit(RLIMIT_NOFILE, &descriptors);
  if (output_to_error) dup2(2, 1);
  execve(path, arguments, environment);
  int error = errno;
  ssize_t written = write(report, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 126);
}

// fork, not posix_spawn: glibc's leaves its two internal signals ignored in the program, which then are not as without us.
pid_t session_spawn(const char *path, char *const arguments[], char *const environment[], const void *mask, bool output_to_error) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return -errno;
  pid_t pid = fork();
  if (pid == 0) become(path, arguments, environment, mask, output_to_error, report[1]);
  int error = pid < 0 ? errno : 0;
  close(report[1]);
  // The end of the pipe without a word is exec's success: the descriptor went with it.
  if (!error && read(report[0], &error, sizeof error) != sizeof error) error = 0;
  close(report[0]);
  if (!error) return pid;
  if (pid > 0) waitpid(pid, NULL, 0);
  return -error;
}
