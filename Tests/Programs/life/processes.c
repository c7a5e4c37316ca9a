// Programs that make processes: every way to fork, with and without other threads; exec; what libc builds on them.
// A child makes objects of its own that must not be in the parent's trace, and ends with a status that says it did.
#define _GNU_SOURCE
#include "life.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int by_fork(void) { return fork(); }
static int by_Fork(void) { return _Fork(); }
static int by_syscall(void) { return (int)syscall(SYS_fork); }
static int by_clone_call(void) { return (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static int by_clone3(void) {
  struct { unsigned long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls; } arguments = {.exit_signal = SIGCHLD};
  return (int)syscall(SYS_clone3, &arguments, sizeof arguments);
}
static const struct {
  const char *name;
  int (*make)(void);
} ways[] = {{"fork", by_fork}, {"_Fork", by_Fork}, {"syscall fork", by_syscall}, {"syscall clone", by_clone_call}, {"clone3", by_clone3}};
#define WAYS (sizeof ways / sizeof *ways)

static void forks(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 40);
  for (unsigned i = 0; i < WAYS; i++) {
    int child = ways[i].make();
    if (!child) {
      things(500, 100);
      // A grandchild is nobody's either.
      int grandchild = fork();
      if (!grandchild) {
        laters(50, 10);
        _exit(4);
      }
      waitpid(grandchild, NULL, 0);
      _exit(3);
    }
    say_child(ways[i].name, child);
    things(10, 5);
  }
}

// clone() of libc with a stack of its own, and a child that shares the memory: its objects are the program's.
static int cloned(void *keep) {
  things(300, (long)keep);
  return 6;
}
static void clones(int argc, char **argv) {
  (void)argc, (void)argv;
  size_t bytes = 1 << 20;
  char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  need(stack != MAP_FAILED, "mmap");
  things(100, 40);
  say_child("clone", clone(cloned, stack + bytes, SIGCHLD, (void *)100));
  say_child("clone, waited for", clone(cloned, stack + bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)30));
  things(10, 5);
}

// Four threads allocate all the time while children are made in every way. A child may not allocate where another thread
// held a lock of malloc's; it gives back blocks and takes them again from its own cache.
static atomic_int stop;
static void *busy(void *unused) {
  while (!stop) things(50, 0);
  return unused;
}
static void busy_forks(int argc, char **argv) {
  (void)argc, (void)argv;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) need(!pthread_create(&threads[i], NULL, busy, NULL), "a thread");
  void *few[5];
  for (int i = 0; i < 5; i++) few[i] = thing_make();
  for (int round = 0; round < 40; round++) {
    int child = ways[round % WAYS].make();
    if (!child) {
      for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 5; k++) thing_drop(few[k]);
        for (int k = 0; k < 5; k++) few[k] = thing_make();
      }
      _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    need(WIFEXITED(status) && WEXITSTATUS(status) == 3, ways[round % WAYS].name);
  }
  stop = 1;
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  say("forked 40 times");
}

// A signal handler forks, now and then in the middle of a hook of the recorder; the child goes on where the signal came.
static atomic_int children, bad, in_child, wanted = 200;
static void forking(int signal) {
  (void)signal;
  if (in_child || children >= wanted) return;
  int child = children % 2 ? _Fork() : fork();
  if (!child) {
    in_child = 1;
    return;
  }
  children++;
}
static void handler_forks(int argc, char **argv) {
  if (argc > 1) wanted = atoi(argv[1]);
  struct sigaction action = {.sa_handler = forking, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  int pipe_ends[2];
  need(!pipe(pipe_ends), "pipe");
  int parent = getpid();
  int sender = fork();
  if (!sender) {
    close(pipe_ends[1]);
    char byte;
    fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
    while (read(pipe_ends[0], &byte, 1) < 0) {
      kill(parent, SIGUSR1);
      usleep(300);
    }
    _exit(0);
  }
  close(pipe_ends[0]);
  void *kept = thing_make();
  while (children < wanted && !in_child) {
    thing_drop(kept);
    kept = thing_make();
  }
  if (in_child) {
    for (int i = 0; i < 2000; i++) {
      thing_drop(kept);
      kept = thing_make();
    }
    laters(30, 10);
    _exit(3);
  }
  close(pipe_ends[1]);
  signal(SIGUSR1, SIG_IGN);
  int status;
  for (int ended = 0; ended <= wanted;) {
    int child = wait(&status);
    if (child < 0 && errno == ECHILD) break;
    if (child < 0) continue;
    ended++;
    if (child == sender || (WIFEXITED(status) && WEXITSTATUS(status) == 3)) continue;
    say("a child ended with %#x", status);
    bad++;
  }
  say("children that did not end well: %d", bad);
}

static void vforks(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 40);
  int child = vfork();
  if (!child) {
    execl("/bin/sh", "sh", "-c", "echo vfork and exec; exit 5", (char *)NULL);
    _exit(127);
  }
  say_child("vfork, exec", child);
  child = vfork();
  if (!child) {
    things(20, 10); // in the parent's own memory: the parent's objects
    _exit(7);
  }
  say_child("vfork", child);
  things(10, 5);
}

static void spawns(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 40);
  char *words[] = {"sh", "-c", "echo spawned; env | grep -c -e LD_PRELOAD -e LIFESPAN; exit 5", NULL};
  pid_t child = 0;
  need(!posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ), "posix_spawn");
  say_child("posix_spawn", child);
  need(!posix_spawnp(&child, "sh", NULL, NULL, words, environ), "posix_spawnp");
  say_child("posix_spawnp", child);
  say("system: %d", WEXITSTATUS(system("echo system; exit 6")));
  FILE *pipe = popen("echo popen; exit 7", "r");
  char line[64] = "";
  need(pipe && fgets(line, sizeof line, pipe), "popen");
  say("popen: %.5s, %d", line, WEXITSTATUS(pclose(pipe)));
  things(10, 5);
}

// The classic daemon: two forks, a session of its own, all descriptors new. The program that was recorded ends at once.
static void daemons(int argc, char **argv) {
  (void)argc, (void)argv;
  int pipe_ends[2];
  need(!pipe(pipe_ends), "pipe");
  things(100, 40);
  int child = fork();
  if (!child) {
    setsid();
    if (fork()) _exit(0);
    need(!chdir("/"), "chdir");
    things(500, 100);
    (void)!write(pipe_ends[1], "d", 1);
    _exit(0);
  }
  say_child("first child", child);
  char byte = 0;
  need(read(pipe_ends[0], &byte, 1) == 1, "the daemon's word");
  say("daemon: %c", byte);
  int second = fork();
  if (!second) {
    need(!daemon(0, 0), "daemon");
    things(500, 100);
    (void)!write(pipe_ends[1], "e", 1);
    _exit(0);
  }
  say_child("second child", second);
  need(read(pipe_ends[0], &byte, 1) == 1, "the daemon's word");
  say("daemon: %c", byte);
}

// This very process becomes a daemon's parent by libc's daemon(): it ends inside of it.
static void becomes_daemon(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 40);
  truth();
  need(!daemon(1, 1), "daemon");
  things(500, 100);
  say("the daemon's line");
  _exit(9);
}

static void *exec_elsewhere(void *argv) {
  execv(((char **)argv)[0], argv);
  return NULL;
}
// Each way to exec: replaces the program by `processes more`.
static void execs(int argc, char **argv) {
  things(100, 40);
  truth();
  const char *way = argc > 1 ? argv[1] : "";
  char *self = realpath("/proc/self/exe", NULL), *words[] = {self, "more", NULL};
  char *some[] = {"PATH=/usr/bin:/bin", "SOME=thing", NULL};
  (void)argv;
  if (!strcmp(way, "execve")) execve(self, words, some);
  if (!strcmp(way, "execl")) execl(self, self, "more", (char *)NULL);
  if (!strcmp(way, "execle")) execle(self, self, "more", (char *)NULL, some);
  if (!strcmp(way, "execvpe")) execvpe(self, words, some);
  if (!strcmp(way, "fexecve")) fexecve(open(self, O_RDONLY | O_CLOEXEC), words, some);
  if (!strcmp(way, "execveat")) execveat(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), self + 1, words, some, 0);
  if (!strcmp(way, "raw")) syscall(SYS_execve, self, words, environ);
  if (!strcmp(way, "thread")) {
    pthread_t thread;
    need(!pthread_create(&thread, NULL, exec_elsewhere, words), "a thread");
    pthread_join(thread, NULL);
  }
  need(0, way);
}
static void more(int argc, char **argv) {
  (void)argc, (void)argv;
  say("SOME is %s", getenv("SOME") ? getenv("SOME") : "not set");
  say("ours: %s %s", getenv("LD_PRELOAD") ? "LD_PRELOAD" : "", getenv("LIFESPAN_SESSION") ? "LIFESPAN_SESSION" : "");
  laters(7, 3);
}

static const struct mode modes[] = {
  {"forks", forks}, {"clones", clones}, {"busy-forks", busy_forks}, {"handler-forks", handler_forks}, {"vforks", vforks},
  {"spawns", spawns}, {"daemons", daemons}, {"becomes-daemon", becomes_daemon}, {"exec", execs}, {"more", more}, {NULL, NULL},
};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
