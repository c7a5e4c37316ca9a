// Programs that give up what they may do, and go on allocating: user, groups, capabilities, root folder, system calls.
#define _GNU_SOURCE
#include "life.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *works(void *keep) {
  things(200, (long)keep);
  return NULL;
}
// In this thread and in one that is made afterwards.
static void work_on(void) {
  things(1000, 100);
  pthread_t thread;
  need(!pthread_create(&thread, NULL, works, (void *)20), "a thread");
  pthread_join(thread, NULL);
}

static void user(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 10);
  need(!setgroups(0, NULL) && !setgid(65534) && !setuid(65534), "another user");
  say("user %d", getuid());
  work_on();
}
static void dumpable(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 10);
  need(!prctl(PR_SET_DUMPABLE, 0) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
  work_on();
}
static void capabilities(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 10);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  need(!syscall(SYS_capset, &header, none), "capset");
  work_on();
}
static void root(int argc, char **argv) {
  (void)argc, (void)argv;
  char folder[] = "/tmp/life.XXXXXX";
  things(100, 10);
  need(mkdtemp(folder) && !chroot(folder) && !chdir("/"), "chroot");
  say("there is %s/proc", access("/proc", F_OK) ? "no " : "");
  work_on();
  say("%d", chroot("."));
}
static void namespaces(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 10);
  need(!unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC), "unshare");
  work_on();
}

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
// Only what these lines need; everything else kills, a futex or a sleep of the recorder's too.
static void filter(int argc, char **argv) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_write),
    ALLOW(SYS_exit_group),
    ALLOW(SYS_brk),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  long many = argc > 1 ? atol(argv[1]) : 1000;
  things(100, 10);
  laters(1, 0);
  need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
  if (argc > 2) need(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
  else need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "a filter");
  things(many, 100);
  laters(100, 10);
  truth();
  _exit(0);
}
static void strict(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 10);
  laters(1, 0);
  for (int i = 0; i < 1000; i++) free(malloc(32));
  need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "strict mode");
  things(200000, 0);
  laters(100, 0);
  truth();
  syscall(SYS_exit, 0);
}

static const struct mode modes[] = {{"user", user},   {"dumpable", dumpable},     {"capabilities", capabilities}, {"root", root},
                                    {"filter", filter}, {"strict", strict}, {"namespaces", namespaces}, {NULL, NULL}};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
