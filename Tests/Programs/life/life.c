// See life.h.
#define _GNU_SOURCE
#include "life.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *swift_thing(void);
void *swift_later(void);
void swift_gone(void *);

static atomic_long made, gone, later_made, later_gone;

void *thing_make(void) {
  void *thing = swift_thing();
  made++;
  return thing;
}
void thing_drop(void *thing) {
  gone++;
  swift_gone(thing);
}
void *later_make(void) {
  void *later = swift_later();
  later_made++;
  return later;
}
void later_drop(void *later) {
  later_gone++;
  swift_gone(later);
}

void things(long count, long keep) {
  for (long i = 0; i < count; i++) {
    void *one = thing_make();
    if (i >= keep) thing_drop(one);
  }
}
void laters(long count, long keep) {
  for (long i = 0; i < count; i++) {
    void *one = later_make();
    if (i >= keep) later_drop(one);
  }
}
long things_living(void) { return made - gone + later_made - later_gone; }

void say(const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  line[length++] = '\n';
  for (int at = 0; at < length;) {
    ssize_t written = write(1, line + at, (size_t)(length - at));
    if (written < 0 && errno != EINTR) return;
    if (written > 0) at += (int)written;
  }
}

void truth(void) {
  long a = made, b = gone, c = later_made, d = later_gone;
  say("TRUTH {\"types\":{\"Program.Thing\":{\"total\":%ld,\"living\":%ld,\"destroyed\":%ld},"
      "\"Program.Later\":{\"total\":%ld,\"living\":%ld,\"destroyed\":%ld}}}",
      a, a - b, b, c, c - d, d);
}

void need(int condition, const char *what) {
  if (condition) return;
  say("needs: %s: %s", what, strerror(errno));
  _exit(99);
}

void say_child(const char *what, int child) {
  int status = 0;
  need(child > 0, what);
  while (waitpid(child, &status, 0) < 0) need(errno == EINTR, "waitpid");
  if (WIFSIGNALED(status)) say("%s: signal %d", what, WTERMSIG(status));
  else say("%s: exit status %d", what, WEXITSTATUS(status));
}

int run_mode(const struct mode *modes, int argc, char **argv) {
  for (; argc > 1 && modes->name; modes++)
    if (!strcmp(modes->name, argv[1])) {
      modes->run(argc - 1, argv + 1);
      truth();
      return 0;
    }
  need(0, argc > 1 ? argv[1] : "a mode");
  return 99;
}
