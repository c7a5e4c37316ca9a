// What a container does to a program, one after the other as its arguments say, and then the program:
//
//   filter docker     system calls that Docker's default filter refuses (EPERM), and clone3 as older Dockers answer it (ENOSYS)
//   filter old        the same, and what filters from before 2020 do not know: pidfd_open, renameat2
//   limit NAME N      NAME: memory (bytes), files, size (bytes of a file), processes
//   locked            no new privileges
//   wrap              runs the rest as a child and ends as it ends
//   run WORDS…        executes them
//
// Needs libc alone.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const int refused[] = {
  SYS_acct, SYS_add_key, SYS_bpf, SYS_clock_adjtime, SYS_clock_settime, SYS_delete_module, SYS_fanotify_init, SYS_finit_module, SYS_fsconfig,
  SYS_fsmount, SYS_fsopen, SYS_fspick, SYS_get_mempolicy, SYS_init_module, SYS_io_uring_enter, SYS_io_uring_register, SYS_io_uring_setup,
  SYS_ioperm, SYS_iopl, SYS_kcmp, SYS_kexec_file_load, SYS_kexec_load, SYS_keyctl, SYS_lookup_dcookie, SYS_mbind, SYS_mount, SYS_mount_setattr,
  SYS_move_mount, SYS_move_pages, SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_open_tree, SYS_perf_event_open, SYS_personality,
  SYS_pivot_root, SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_quotactl, SYS_reboot, SYS_request_key, SYS_set_mempolicy,
  SYS_setns, SYS_settimeofday, SYS_swapoff, SYS_swapon, SYS_sysfs, SYS_syslog, SYS_umount2, SYS_unshare, SYS_userfaultfd, SYS_vhangup,
};
static const int unknown[] = {SYS_pidfd_open, SYS_renameat2};

static struct sock_filter program[256];
static unsigned short length;

static void add(unsigned short code, unsigned k, unsigned char yes, unsigned char no) {
  program[length++] = (struct sock_filter){code, yes, no, k};
}

static void answer(int call, int error) {
  add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
  add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error, 0, 0);
}

static void fail(const char *what) {
  fprintf(stderr, "sandbox: %s: %s\n", what, strerror(errno));
  exit(70);
}

static void lock(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("no new privileges");
}

static void filter(const char *which) {
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) answer(refused[i], EPERM);
  for (size_t i = 0; !strcmp(which, "old") && i < sizeof unknown / sizeof *unknown; i++) answer(unknown[i], EPERM);
  answer(SYS_clone3, ENOSYS);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  struct sock_fprog whole = {length, program};
  lock();
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0)) fail("filter");
}

static void limit(const char *name, const char *value) {
  int which = !strcmp(name, "memory") ? RLIMIT_AS : !strcmp(name, "files") ? RLIMIT_NOFILE : !strcmp(name, "size") ? RLIMIT_FSIZE : RLIMIT_NPROC;
  rlim_t number = strtoull(value, NULL, 10);
  if (setrlimit(which, &(struct rlimit){number, number})) fail(name);
}

static void wrap(void) {
  int status;
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) return;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int count, char **words) {
  for (int i = 1; i < count; i++) {
    if (!strcmp(words[i], "filter")) filter(words[++i]);
    else if (!strcmp(words[i], "limit")) limit(words[i + 1], words[i + 2]), i += 2;
    else if (!strcmp(words[i], "locked")) lock();
    else if (!strcmp(words[i], "wrap")) wrap();
    else if (!strcmp(words[i], "run")) {
      execv(words[i + 1], words + i + 1);
      fail(words[i + 1]);
    }
  }
  return 70;
}
