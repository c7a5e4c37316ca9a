// Programs that change what is around them: descriptors, folder, environment, name, limits, memory locked or not dumped.
#define _GNU_SOURCE
#include "life.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void list_descriptors(void) {
  int own = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  DIR *folder = fdopendir(own);
  need(folder != NULL, "/proc/self/fd");
  for (struct dirent *entry; (entry = readdir(folder));) {
    int number = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && number != own && number > 2) say("open: %d", number);
  }
  closedir(folder);
}
// As a daemon does: all descriptors closed after the first objects, and opened anew. They must be 0, 1, 2 and 3, 4 again.
static void descriptors(int argc, char **argv) {
  (void)argv;
  things(100, 10);
  list_descriptors();
  int out = dup(1);
  need(dup2(out, 700) == 700, "dup2");
  if (argc > 1) closefrom(701);
  for (int i = 0; i < 700; i++) close(i);
  need(open("/dev/null", O_RDWR) == 0 && dup2(700, 1) == 1 && open("/dev/null", O_RDWR) == 2, "0, 1, 2");
  close(700);
  things(1000, 100);
  int a = open("/etc/passwd", O_RDONLY), b = open("/etc/group", O_RDONLY);
  say("opened %d and %d", a, b);
  things(100000, 0);
  list_descriptors();
}

static void folder(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 10);
  need(!chdir("/"), "chdir");
  umask(0777);
  things(1000, 100);
}

static void environment(int argc, char **argv) {
  (void)argc, (void)argv;
  extern char **environ;
  for (char **one = environ; *one; one++)
    if (strstr(*one, "LIFESPAN_SESSION") || strstr(*one, "LD_PRELOAD")) say("left: %s", *one);
  say("ASAN_OPTIONS: %s", getenv("ASAN_OPTIONS") ? getenv("ASAN_OPTIONS") : "not set");
  things(100, 10);
  clearenv();
  static char word[] = "WORD=here";
  putenv(word);
  setenv("OTHER", "there", 1);
  unsetenv("WORD");
  environ = NULL;
  things(1000, 100);
  say("system: %d", system("test -z \"$OTHER\"") >> 8);
}

static void *named(void *unused) {
  prctl(PR_SET_NAME, "second");
  things(100, 10);
  return unused;
}
// The title of a process is its arguments and environment, written over.
static void title(int argc, char **argv) {
  (void)argc;
  things(100, 10);
  prctl(PR_SET_NAME, "renamed");
  pthread_t thread;
  need(!pthread_create(&thread, NULL, named, NULL), "a thread");
  pthread_join(thread, NULL);
  extern char **environ;
  char *end = argv[0];
  for (char **one = argv; *one; one++) end = *one + strlen(*one);
  for (char **one = environ; *one; one++) end = *one + strlen(*one);
  memset(argv[0], 't', (size_t)(end - argv[0]));
  things(1000, 100);
}

// The address space may not grow beyond `argument` MiB above what is used; a block that fits plain must fit, and one that does not must not.
static void address_space(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 10);
  struct rlimit before, limit = {600 << 20, RLIM_INFINITY};
  need(!setrlimit(RLIMIT_AS, &limit) && !getrlimit(RLIMIT_AS, &before), "RLIMIT_AS");
  say("limit %lu MiB", before.rlim_cur >> 20);
  void *volatile block = malloc(100 << 20), *volatile large = malloc(700 << 20);
  say("100 MiB: %s, 700 MiB: %s", block ? "there" : "refused", large ? "there" : "refused");
  things(1000, 100);
}
static void born_small(int argc, char **argv) { // under a limit from outside
  (void)argc, (void)argv;
  things(100, 10);
  void *volatile block = malloc(100 << 20);
  say("100 MiB: %s", block ? "there" : "refused");
  things(1000, 100);
}
static void limits(int argc, char **argv) {
  (void)argc, (void)argv;
  things(100, 10);
  struct rlimit few = {3, 3}, none = {0, 0};
  need(!setrlimit(RLIMIT_NOFILE, &few) && !setrlimit(RLIMIT_FSIZE, &none), "setrlimit");
  things(100000, 100);
  say("a file: %d", open("/dev/null", O_RDONLY));
}
static void locked(int argc, char **argv) {
  (void)argv;
  things(100, 10);
  need(!mlockall(argc > 1 ? MCL_FUTURE : MCL_CURRENT | MCL_FUTURE), "mlockall");
  things(10000, 100);
  // Not by getrusage: its maximum counts what this process was before it was executed, a copy of its parent.
  char text[64] = "";
  int file = open("/proc/self/statm", O_RDONLY);
  need(file >= 0 && read(file, text, sizeof text - 1) > 0, "/proc/self/statm");
  close(file);
  char *resident = strchr(text, ' ');
  say("resident beyond 512 MiB: %d", resident && strtol(resident, NULL, 10) * sysconf(_SC_PAGESIZE) > 512l << 20);
  munlockall();
}
// A core file holds the program's memory, not the recorder's tables.
static void core(int argc, char **argv) {
  (void)argc, (void)argv;
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &all);
  things(100, 10);
  truth();
  abort();
}

static const struct mode modes[] = {{"descriptors", descriptors}, {"folder", folder}, {"environment", environment}, {"title", title},
                                    {"address-space", address_space}, {"born-small", born_small}, {"limits", limits}, {"locked", locked},
                                    {"core", core}, {NULL, NULL}};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
