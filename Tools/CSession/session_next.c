// The file that takes a trace's place: see session.h. It has no name until it is whole, where the file system can do that,
// so that a command that is killed leaves nothing behind.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session.h"

#define ATTEMPTS 100u

struct session_next {
  int trace;  // its descriptor stays the same, whatever file it means
  int folder; // where it lies: stays right when this process or the folder moves
  int file;   // -1: none
  bool named; // the file has the name below
  char name[NAME_MAX + 1], beside[NAME_MAX + 1];
};

struct session_next *session_next_create(const char *path, int trace) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  struct session_next *self = strlen(name) <= NAME_MAX ? calloc(1, sizeof *self) : NULL;
  if (!self) return NULL;
  char folder[PATH_MAX];
  int length = slash == path ? 1 : slash ? (int)(slash - path) : 1;
  snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".");
  strcpy(self->name, name);
  self->trace = trace;
  self->file = -1;
  self->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (self->folder >= 0) return self;
  free(self);
  return NULL;
}

void session_next_destroy(struct session_next *self) {
  if (!self) return;
  session_next_abandon(self);
  close(self->folder);
  free(self);
}

// Somebody may have moved the trace or put another file there: that one is never touched.
static int is_in_place(const struct session_next *self, struct stat *trace) {
  struct stat named;
  if (fstat(self->trace, trace)) return errno;
  if (fstatat(self->folder, self->name, &named, AT_SYMLINK_NOFOLLOW)) return errno;
  return named.st_dev == trace->st_dev && named.st_ino == trace->st_ino ? 0 : ESTALE;
}

// Calls `make` with names beside the trace until one is free.
static int with_free_name(struct session_next *self, int (*make)(struct session_next *self)) {
  for (unsigned i = 0; i < ATTEMPTS; i++) {
    snprintf(self->beside, sizeof self->beside, ".lifespan-%d-%u", (int)getpid(), i);
    if (make(self) == 0) {
      self->named = true;
      return 0;
    }
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

static int make_named(struct session_next *self) {
  self->file = openat(self->folder, self->beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return self->file < 0 ? -1 : 0;
}

static int give_name(struct session_next *self) {
  char descriptor[40];
  snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", self->file);
  return linkat(AT_FDCWD, descriptor, self->folder, self->beside, AT_SYMLINK_FOLLOW);
}

int session_next_begin(void *context) {
  struct session_next *self = context;
  struct stat trace;
  int error = is_in_place(self, &trace);
  if (error) return error;
  // Without a name only where it can get one later: /proc may be missing.
  self->file = access("/proc/self/fd", F_OK) ? -1 : openat(self->folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (self->file < 0) error = with_free_name(self, make_named);
  if (error) return error;
  // As the trace: the owner first, as that may take rights away.
  if (fchown(self->file, trace.st_uid, trace.st_gid)) {
    // Not ours to give: then it belongs to who records, as a new trace would.
  }
  if (fchmod(self->file, trace.st_mode & 07777)) error = errno;
  if (error) session_next_abandon(self);
  return error;
}

int session_next_write(void *context, const void *bytes, size_t length) {
  struct session_next *self = context;
  const char *next = bytes;
  while (length) {
    ssize_t written = write(self->file, next, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    next += written;
    length -= (size_t)written;
  }
  return 0;
}

int session_next_commit(void *context) {
  struct session_next *self = context;
  struct stat trace;
  int error = is_in_place(self, &trace);
  if (!error && !self->named) error = with_free_name(self, give_name);
  if (!error && renameat(self->folder, self->beside, self->folder, self->name)) error = errno;
  if (error) return error;
  self->named = false;
  // A descriptor that is open takes another's number without fail.
  while (dup3(self->file, self->trace, O_CLOEXEC) < 0 && (errno == EINTR || errno == EBUSY)) continue;
  close(self->file);
  self->file = -1;
  return 0;
}

void session_next_abandon(void *context) {
  struct session_next *self = context;
  if (self->named) unlinkat(self->folder, self->beside, 0);
  self->named = false;
  if (self->file >= 0) close(self->file);
  self->file = -1;
}
