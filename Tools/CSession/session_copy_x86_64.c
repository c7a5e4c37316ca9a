// Registers of stopped threads, and a copy of a stopped process: a child that one of its threads makes by a system call that we put into it (x86-64). The
// child has the same memory at the same addresses, shares open files and runs nothing: it is stopped before its first instruction and ends when we let go.
// What depends on the processor stands here; see session.h.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "session_stopped.h"

#if defined(__x86_64__)

size_t session_thread_count(const struct session_stopped *s) { return s->count; }

static bool is_system_call(pid_t pid, uint64_t address) {
  uint8_t bytes[2] = {0};
  struct iovec own = {bytes, 2}, theirs = {(void *)(uintptr_t)address, 2};
  return process_vm_readv(pid, &own, 1, &theirs, 1, 0) == 2 && bytes[0] == 0x0f && bytes[1] == 0x05;
}

// Beside the general registers those for vectors, which code between two instructions may have a reference in; a call into the kernel leaves none there.
bool session_registers(const struct session_stopped *s, size_t index, struct session_registers *out) {
  struct user_regs_struct r;
  memset(out, 0, sizeof *out);
  out->tid = s->threads[index].tid;
  if (ptrace(PTRACE_GETREGS, out->tid, NULL, &r) != 0) return false;
  out->pc = r.rip;
  out->sp = r.rsp;
  out->thread_pointer = r.fs_base;
  out->in_kernel = is_system_call(s->pid, r.rip - 2);
  const uint64_t general[] = {r.rax, r.rbx, r.rdx, r.rsi, r.rdi, r.rbp, r.r8, r.r9, r.r10, r.r12, r.r13, r.r14, r.r15, r.rcx, r.r11};
  // The kernel's entry has overwritten the last two.
  out->count = sizeof general / sizeof *general - (out->in_kernel ? 2 : 0);
  memcpy(out->words, general, out->count * sizeof *general);
  if (out->in_kernel) return true;
  struct iovec state = {out->words + out->count, sizeof out->words - out->count * 8};
  uint64_t *first = out->words + out->count;
  if (ptrace(PTRACE_GETREGSET, out->tid, NT_X86_XSTATE, &state) != 0) return true;
  size_t words = state.iov_len / 8;
  if (words > 20) { // the legacy area begins with 160 bytes of other things
    memmove(first, first + 20, (words - 20) * 8);
    out->count += (uint32_t)(words - 20);
  }
  return true;
}

// ---- A system call of a stopped thread ----------------------------------------------------------------------------------------------

// An instruction that makes one, in code of the process: where the thread stands, or anywhere.
static uint64_t find_system_call(pid_t pid, uint64_t pc) {
  if (is_system_call(pid, pc - 2)) return pc - 2;
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  FILE *file = fopen(path, "re");
  uint64_t found = 0;
  uint8_t *room = malloc(1 << 16);
  while (file && room && !found && fgets(line, sizeof line, file)) {
    unsigned long start, end;
    char flags[5];
    if (sscanf(line, "%lx-%lx %4s", &start, &end, flags) != 3 || flags[2] != 'x' || flags[0] != 'r') continue;
    for (uint64_t at = start; at < end && !found; at += (1 << 16) - 1) {
      struct iovec own = {room, 1 << 16}, theirs = {(void *)(uintptr_t)at, end - at < 1 << 16 ? end - at : 1 << 16};
      ssize_t got = process_vm_readv(pid, &own, 1, &theirs, 1, 0);
      for (ssize_t i = 0; i + 1 < got && !found; i++)
        if (room[i] == 0x0f && room[i + 1] == 0x05) found = at + (uint64_t)i;
      if (got <= 0) break;
    }
  }
  free(room);
  if (file) fclose(file);
  return found;
}

// A filter may end the process for a call that it does not expect.
static bool is_filtered(pid_t pid) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "re");
  bool filtered = !file;
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, "Seccomp:", 8)) filtered = atoi(line + 8) != 0;
  if (file) fclose(file);
  return filtered;
}

// One instruction, the system call. `made`: receives the process that it makes, if it makes one.
static int step_over(struct session_thread *thread, pid_t *made) {
  for (;;) {
    if (ptrace(PTRACE_SINGLESTEP, thread->tid, NULL, NULL) != 0) return -errno;
    int status = 0;
    while (waitpid(thread->tid, &status, __WALL) < 0)
      if (errno != EINTR) return -errno;
    if (!WIFSTOPPED(status)) return -ESRCH;
    unsigned long child = 0;
    if (status >> 16 == PTRACE_EVENT_CLONE || status >> 16 == PTRACE_EVENT_FORK) {
      if (made && ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &child) == 0) *made = (pid_t)child;
    } else if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP) {
      return 0;
    } else if (status >> 16 == 0) {
      thread->signal = WSTOPSIG(status); // not held back by a mask: of a fault
    }
  }
}

static int64_t call(pid_t pid, struct session_thread *thread, const uint64_t words[5], pid_t *made) {
  struct user_regs_struct before, during;
  uint64_t mask = 0, all = ~0ull;
  if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &before) != 0) return -errno;
  uint64_t place = find_system_call(pid, before.rip);
  if (!place) return -ENOENT;
  if (ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)8, &mask) != 0) return -errno;
  if (made && ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, (void *)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK)) != 0) return -errno;
  during = before;
  during.rip = place;
  during.rax = words[0];
  during.orig_rax = ~0ull; // a call that we have interrupted is not begun again here, but when the registers are back
  during.rdi = words[1];
  during.rsi = words[2];
  during.rdx = words[3];
  during.r10 = words[4];
  during.r8 = 0;
  ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)8, &all);
  int64_t result = -EFAULT;
  if (ptrace(PTRACE_SETREGS, thread->tid, NULL, &during) == 0) {
    result = step_over(thread, made);
    if (result == 0 && ptrace(PTRACE_GETREGS, thread->tid, NULL, &during) == 0) result = (int64_t)during.rax;
  }
  ptrace(PTRACE_SETREGS, thread->tid, NULL, &before);
  ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)8, &mask);
  if (made) ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, NULL);
  return result;
}

// ---- The copy ---------------------------------------------------------------------------------------------------------------------

// Makes a child of `parent`, stopped before its first instruction. Files are shared, so that one that the program closes is closed; no signal tells of its
// end. `memory`: CLONE_VM where it has its parent's, 0 where it has a copy.
static int64_t make_child(pid_t parent, struct session_thread *thread, uint64_t memory, pid_t *child) {
  const uint64_t words[5] = {SYS_clone, CLONE_FILES | memory, 0, 0, 0};
  *child = 0;
  int64_t known = call(parent, thread, words, child);
  if (known < 0) return known;
  struct session_thread made = {.tid = *child};
  if (*child <= 0 || !session_wait_stop(&made)) return -ECHILD;
  return known;
}

static void end_child(pid_t child) {
  if (child <= 0) return;
  kill(child, SIGKILL);
  while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR) {}
}

static bool is_child_of(pid_t child, pid_t parent) {
  char state = 0;
  pid_t actual = 0;
  return session_stat(child, &state, &actual) && actual == parent;
}

// A child of a child whose parent ends at once and is collected while everything stands still: so the program, however it waits, sees neither. (One that
// takes over the orphans below it gets the second: that is collected when it has ended.) The first has the program's own memory, as it is only there to be
// the second's parent: a copy costs 40 ms for each GB, while everything stands still.
int session_copy_make(struct session_stopped *s, struct session_copy *copy) {
  *copy = (struct session_copy){0};
  if (is_filtered(s->pid)) return -EPERM;
  int64_t first = -ESRCH;
  pid_t between = 0;
  size_t i = 0;
  for (; i < s->count && first == -ESRCH; i++) first = make_child(s->pid, &s->threads[i], CLONE_VM, &between);
  if (first < 0) {
    end_child(between);
    return (int)first;
  }
  struct session_thread own = {.tid = between};
  int64_t second = make_child(between, &own, 0, &copy->pid);
  // Its child becomes ours, so that somebody waits for it: not every first process of a container does.
  int reaper = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &reaper, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  end_child(between);
  prctl(PR_SET_CHILD_SUBREAPER, reaper, 0, 0, 0);
  const uint64_t words[5] = {SYS_wait4, (uint64_t)first, 0, __WALL, 0};
  call(s->pid, &s->threads[i - 1], words, NULL);
  if (second < 0) {
    end_child(copy->pid);
    *copy = (struct session_copy){0};
    return (int)second;
  }
  if (is_child_of(copy->pid, s->pid)) copy->known_as = (pid_t)second;
  ptrace(PTRACE_SETOPTIONS, copy->pid, NULL, (void *)PTRACE_O_EXITKILL);
  return 0;
}

// Where the program is its parent it has to wait for it, else it stays in its table for ever. One thread does it for us.
static void collect(pid_t pid, pid_t known_as) {
  struct session_stopped *s = calloc(1, sizeof *s);
  if (!s) return;
  s->pid = pid;
  struct session_thread thread = {.tid = pid};
  if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0) {
    if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0 && session_wait_stop(&thread)) {
      const uint64_t words[5] = {SYS_wait4, (uint64_t)known_as, 0, __WALL | WNOHANG, 0};
      call(pid, &thread, words, NULL);
    }
    ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)thread.signal);
  }
  free(s);
}

void session_copy_end(pid_t pid, const struct session_copy *copy) {
  if (copy->pid <= 0) return;
  end_child(copy->pid);
  if (copy->known_as > 0) collect(pid, copy->known_as);
}

#else

size_t session_thread_count(const struct session_stopped *s) { return s->count; }
bool session_registers(const struct session_stopped *s, size_t index, struct session_registers *out) {
  (void)s;
  (void)index;
  memset(out, 0, sizeof *out);
  return false;
}
int session_copy_make(struct session_stopped *s, struct session_copy *copy) {
  (void)s;
  *copy = (struct session_copy){0};
  return -ENOSYS;
}
void session_copy_end(pid_t pid, const struct session_copy *copy) {
  (void)pid;
  (void)copy;
}

#endif
