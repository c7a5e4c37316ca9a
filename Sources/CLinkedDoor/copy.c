// A copy of this process, made by a bare clone: no handler of fork runs, no lock is taken. It does nothing but wait to be read and killed. It shares open files,
// so that one that the program closes is closed; tells nobody of its end, so that the program's own wait finds no child; takes no signal; ends with the thread
// that made it. Called by picture.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAYS_NOTHING = 0, SAYS_READ = 1 };
#define LOOK_NS 2000000
#define LOOKS_MOST 30000u

static const uint64_t there = 0x6c69666573706e21;

bool lifespan_linked_copy_prepare(struct copy *copy) {
  *copy = (struct copy){0};
  void *page = mmap(NULL, COPY_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  copy->word = page;
  return true;
}

// A filter of system calls that comes with the system may end who reads a process's memory: so the copy does it first.
static _Noreturn void be_copy(pid_t original, _Atomic uint32_t *word) {
  uint64_t read = 0;
  struct iovec own = {&read, 8}, theirs = {(void *)(uintptr_t)&there, 8};
  syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (syscall(SYS_getppid) != original) syscall(SYS_exit_group, 0);
  syscall(SYS_process_vm_readv, (pid_t)syscall(SYS_getpid), &own, 1, &theirs, 1, 0);
  atomic_store(word, SAYS_READ);
  syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
  for (;;) syscall(SYS_pause);
}

int lifespan_linked_copy_make(struct copy *copy) {
  uint64_t all = ~0ull, mask;
  pid_t own = getpid();
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
  long child = syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0);
  if (child == 0) be_copy(own, copy->word);
  int error = child < 0 ? errno : 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
  copy->pid = child > 0 ? (pid_t)child : 0;
  return error;
}

// Where memory becomes short it is the copy that has to go, not the program.
static void offer_first(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "1000", 4) < 0) {} // it goes on without
  close(file);
}

static bool has_read(struct copy *copy) {
  for (unsigned i = 0; i < LOOKS_MOST && atomic_load(copy->word) == SAYS_NOTHING; i++) {
    struct timespec wait = {0, LOOK_NS};
    syscall(SYS_futex, copy->word, FUTEX_WAIT, SAYS_NOTHING, &wait, NULL, 0);
    if (waitpid(copy->pid, NULL, WNOHANG | __WALL) != copy->pid) continue;
    copy->pid = 0;
    return false;
  }
  return atomic_load(copy->word) == SAYS_READ;
}

static bool can_read(pid_t pid) {
  uint64_t word = 0;
  struct iovec own = {&word, 8}, theirs = {(void *)(uintptr_t)&there, 8};
  if (process_vm_readv(pid, &own, 1, &theirs, 1, 0) == 8) return word == there;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  bool read = file >= 0 && pread(file, &word, 8, (off_t)(uintptr_t)&there) == 8 && word == there;
  int error = errno;
  if (file >= 0) close(file);
  errno = error;
  return read;
}

bool lifespan_linked_copy_readable(struct copy *copy, char *reason, size_t room) {
  offer_first(copy->pid);
  if (!has_read(copy)) {
    snprintf(reason, room, "the system ends a process that reads memory by process_vm_readv (a filter of system calls)");
    return false;
  }
  if (can_read(copy->pid)) return true;
  bool hidden = prctl(PR_GET_DUMPABLE) != 1;
  snprintf(reason, room, "the copy of the process cannot be read: %s%s", strerror(errno),
           hidden ? " (a setuid program, or one that has made itself unreadable)" : "");
  return false;
}

void lifespan_linked_copy_end(struct copy *copy) {
  if (copy->pid > 0) {
    kill(copy->pid, SIGKILL);
    while (waitpid(copy->pid, NULL, __WALL) < 0 && errno == EINTR) {}
  }
  if (copy->word) munmap(copy->word, COPY_PAGE);
  *copy = (struct copy){0};
}

#endif
