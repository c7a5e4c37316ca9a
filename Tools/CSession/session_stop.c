// Stops all threads of a process that we may trace, outside of given stretches of code, reads its memory meanwhile, and lets it go on.
// Used by `lifespan doctor --refcounts` and for pictures of the heap. See session.h.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session.h"
#include "session_stopped.h"

#define STEPS_MOST 20000u // of one thread: whoever does not get out of the code is taken as it stands
#define STEPS_BETWEEN 64u
#define MEANWHILE_NS 50000000u
#define STEP_TRIES 1000u
#define STEP_TRIES_AT_ONCE 800u
#define FRAMES_BYTES 4096u

static bool is_known(const struct session_stopped *s, pid_t tid) {
  for (size_t i = 0; i < s->count; i++)
    if (s->threads[i].tid == tid) return true;
  return false;
}

// Waits until the thread stops. False: it is gone; its end is left for whoever waits for the process.
bool session_wait_stop(struct session_thread *thread) {
  for (;;) {
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) != 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return false;
    int status = 0;
    if (waitpid(thread->tid, &status, __WALL) != thread->tid || !WIFSTOPPED(status)) return false;
    int signal = WSTOPSIG(status);
    if (status >> 16 == 0 && signal != SIGTRAP) thread->signal = signal; // about to be delivered
    return true;
  }
}

bool session_stat(pid_t pid, char *state, pid_t *parent) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  const char *name = strrchr(text, ')'); // a name may hold anything
  int number = 0;
  if (!name || sscanf(name + 1, " %c %d", state, &number) != 2) return false;
  *parent = number;
  return true;
}

// Dead, and not waited for yet: that can't be traced either, and is no matter of permission.
static bool is_dead(pid_t pid) {
  char state = 0;
  pid_t parent = 0;
  return !session_stat(pid, &state, &parent) || state == 'Z' || state == 'X';
}

static int seize(struct session_stopped *s, pid_t tid) {
  if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) return errno == ESRCH || is_dead(s->pid) ? 0 : -errno;
  if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0) return 0;
  struct session_thread thread = {.tid = tid};
  if (session_wait_stop(&thread)) s->threads[s->count++] = thread;
  return 0;
}

// Not after each thread: what the others do meanwhile is then much, and stopping 200 busy threads took 20 s instead of some ms.
static void meanwhile(struct session_stopped *s) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  if (!s->meanwhile_ns) s->meanwhile_ns = ns;
  if (ns - s->meanwhile_ns < MEANWHILE_NS) return;
  s->meanwhile(s->context);
  clock_gettime(CLOCK_MONOTONIC, &now);
  s->meanwhile_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Those that are not stopped yet. Returns how many were found, or -errno.
static int seize_new(struct session_stopped *s) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)s->pid);
  DIR *folder = opendir(path);
  if (!folder) return -errno;
  int found = 0, error = 0;
  struct dirent *entry;
  while (!error && (entry = readdir(folder))) {
    pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (tid <= 0 || is_known(s, tid)) continue;
    if (s->count == SESSION_THREADS_MOST) error = -EMFILE;
    size_t before = s->count;
    if (!error) error = seize(s, tid);
    // A main thread that has ended by itself stays in the list, and can't be traced.
    if (error == -EPERM && s->count > 0) error = 0;
    found += s->count > before;
    meanwhile(s);
  }
  closedir(folder);
  return error ? error : found;
}

static bool is_in_code(const struct session_stopped *s, uint64_t address, bool own_alone) {
  for (size_t i = 0; i < s->code_count; i++) {
    if (own_alone && !s->code[i].calls_out) continue;
    if (address >= s->code[i].start && address < s->code[i].end) return true;
  }
  return false;
}

#if defined(__x86_64__)
// Whether the thread is between a record and what it records. One that waits in the kernel is not: nothing waits there.
static bool is_busy(const struct session_stopped *s, pid_t tid) {
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) != 0) return false;
  uint16_t before = 0;
  struct iovec own = {&before, sizeof before}, theirs = {(void *)(uintptr_t)(registers.rip - 2), sizeof before};
  bool in_kernel = process_vm_readv(s->pid, &own, 1, &theirs, 1, 0) == sizeof before && before == 0x050f;
  if (in_kernel) return false;
  if (is_in_code(s, registers.rip, false)) return true;
  uint64_t stack[FRAMES_BYTES / 8];
  own = (struct iovec){stack, sizeof stack};
  theirs = (struct iovec){(void *)(uintptr_t)registers.rsp, sizeof stack};
  ssize_t got = process_vm_readv(s->pid, &own, 1, &theirs, 1, 0);
  for (ssize_t i = 0; i < got / 8; i++)
    if (is_in_code(s, stack[i], true)) return true;
  return false;
}
#else
static bool is_busy(const struct session_stopped *s, pid_t tid) {
  (void)s;
  (void)tid;
  return false;
}
#endif

#if defined(__x86_64__)
// About to wait in the kernel, perhaps for a thread that stands still: then it never comes back from that step. Whoever waits is out.
static bool would_wait(const struct session_stopped *s, pid_t tid) {
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) != 0 || registers.rax != SYS_futex) return false;
  uint16_t next = 0;
  struct iovec own = {&next, sizeof next}, theirs = {(void *)(uintptr_t)registers.rip, sizeof next};
  return process_vm_readv(s->pid, &own, 1, &theirs, 1, 0) == sizeof next && next == 0x050f;
}
#else
static bool would_wait(const struct session_stopped *s, pid_t tid) {
  (void)s;
  (void)tid;
  return false;
}
#endif

// The step may be into any other call that waits: then it is brought back, as when it was stopped first.
static bool wait_step(struct session_thread *thread) {
  for (unsigned tries = 0; tries < STEP_TRIES; tries++) {
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return false;
    if (info.si_pid) return session_wait_stop(thread);
    if (tries > STEP_TRIES_AT_ONCE) usleep(50);
  }
  return ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0 && session_wait_stop(thread);
}

static void step_out(struct session_stopped *s, struct session_thread *thread) {
  for (unsigned steps = 0; steps < STEPS_MOST && is_busy(s, thread->tid) && !would_wait(s, thread->tid); steps++) {
    // It may be waiting for room in its ring, in our own code.
    if (steps % STEPS_BETWEEN == STEPS_BETWEEN - 1) meanwhile(s);
    if (ptrace(PTRACE_SINGLESTEP, thread->tid, NULL, NULL) != 0 || !wait_step(thread)) return;
  }
}

int session_stop(pid_t pid, const struct session_code *code, size_t count, void (*meanwhile)(void *), void *context,
                 struct session_stopped **stopped) {
  struct session_stopped *s = calloc(1, sizeof *s);
  if (!s) return -ENOMEM;
  s->pid = pid;
  s->code = code;
  s->code_count = count;
  s->meanwhile = meanwhile;
  s->context = context;
  int found;
  while ((found = seize_new(s)) > 0) {}
  if (found == 0 && s->count == 0) found = -ESRCH;
  if (found < 0) {
    session_go_on(s);
    return found;
  }
  for (size_t i = 0; i < s->count; i++) step_out(s, &s->threads[i]);
  *stopped = s;
  return 0;
}

void session_go_on(struct session_stopped *s) {
  for (size_t i = 0; i < s->count; i++) ptrace(PTRACE_DETACH, s->threads[i].tid, NULL, (void *)(intptr_t)s->threads[i].signal);
  free(s);
}

size_t session_read_words(void *stopped, const uint64_t *addresses, size_t count, uint64_t *words) {
  const struct session_stopped *s = stopped;
  struct iovec theirs[256];
  size_t most = count < 256 ? count : 256;
  for (size_t i = 0; i < most; i++) theirs[i] = (struct iovec){(void *)(uintptr_t)addresses[i], 16};
  struct iovec own = {words, most * 16};
  ssize_t got = process_vm_readv(s->pid, &own, 1, theirs, most, 0);
  return got < 0 ? 0 : (size_t)got / 16;
}
