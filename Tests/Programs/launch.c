// Executes the program that its arguments name, after it has changed what that program starts under:
//
//   launch no-writable-code PROGRAM …   a seccomp filter that refuses memory that is writable and executable at once
//   launch no-reading PROGRAM …         a seccomp filter that ends who reads the memory of a process by a system call, but for the program its own
//   launch no-copies PROGRAM …          a seccomp filter that refuses every child that is no thread (EPERM)
//   launch no-tracing PROGRAM …         a seccomp filter that refuses ptrace (EPERM), as older containers do
//   launch alarm PROGRAM …              SIGALRM comes every millisecond, and is ignored until the program asks for it
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define WX (PROT_WRITE | PROT_EXEC)

static int take(struct sock_filter *code, size_t count) {
  struct sock_fprog program = {(unsigned short)count, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int no_reading(void) {
  struct sock_filter code[] = {
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 2),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  return take(code, sizeof code / sizeof *code);
}

static int no_copies(void) {
  struct sock_filter code[] = {
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 2),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  return take(code, sizeof code / sizeof *code);
}

static int no_tracing(void) {
  struct sock_filter code[] = {
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return take(code, sizeof code / sizeof *code);
}

static int no_writable_code(void) {
  struct sock_filter code[] = {
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    LOAD(args[2]),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, WX),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WX, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return take(code, sizeof code / sizeof *code);
}

static int alarm_often(void) {
  struct itimerval often = {{0, 1000}, {0, 1000}};
  signal(SIGALRM, SIG_IGN);
  return setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv) {
  int failed = argc < 3;
  if (!failed && !strcmp(argv[1], "no-writable-code")) failed = no_writable_code();
  if (!failed && !strcmp(argv[1], "no-reading")) failed = no_reading();
  if (!failed && !strcmp(argv[1], "no-copies")) failed = no_copies();
  if (!failed && !strcmp(argv[1], "no-tracing")) failed = no_tracing();
  if (!failed && !strcmp(argv[1], "alarm")) failed = alarm_often();
  if (!failed) execv(argv[2], argv + 2);
  perror("launch");
  return 99;
}
