// Save: the drain's state as a trace, in a file that is there whole or not at all. Called by Lifespan.

#include "door.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if LIFESPAN_RECORDS_HERE

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct target {
  int file;
  struct lifespan_map *map;
};

static int write_all(void *context, const void *bytes, size_t length) {
  struct target *target = context;
  for (size_t at = 0; at < length;) {
    ssize_t written = write(target->file, (const char *)bytes + at, length - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    at += (size_t)written;
  }
  // Threads whose rings are full wait for us as long as this moves.
  atomic_fetch_add_explicit(&target->map->consumer_beat, 1, memory_order_relaxed);
  return 0;
}

static int save_to(const char *path, enum lifespan_linked_status *status) {
  struct target target = {.map = lifespan_linked_door.map};
  target.file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (target.file < 0) return errno;
  int error = 0;
  struct lifespan_drain *drain = lifespan_linked_lock(status);
  if (drain) {
    error = lifespan_drain_save(drain, write_all, &target);
    lifespan_linked_unlock();
  }
  if (close(target.file) && !error) error = errno;
  return error;
}

// A file beside the target, which takes its name when it is whole.
static int save_beside(const char *path, enum lifespan_linked_status *status) {
  char beside[PATH_MAX];
  int length = snprintf(beside, sizeof beside, "%s.%d.part", path, (int)getpid());
  if (length < 0 || (size_t)length >= sizeof beside) return ENAMETOOLONG;
  int error = save_to(beside, status);
  if (!error && *status == LIFESPAN_LINKED_OK && rename(beside, path)) error = errno;
  if (error || *status != LIFESPAN_LINKED_OK) unlink(beside);
  return error;
}

enum lifespan_linked_status lifespan_linked_save(const char *path, int *error) {
  enum lifespan_linked_status status;
  *error = 0;
  if (!lifespan_linked_map(&status)) return status;
  if (lifespan_linked_preload(&status, NULL)) return LIFESPAN_LINKED_BY_COMMAND;
  // What is there already: a link's target is written, not the link replaced; a device or a pipe is written to.
  char *target = realpath(path, NULL);
  struct stat there;
  bool in_place = target && !stat(target, &there) && !S_ISREG(there.st_mode);
  const char *name = target ? target : path;
  *error = in_place ? save_to(name, &status) : save_beside(name, &status);
  free(target);
  return *error ? LIFESPAN_LINKED_FAILED : status;
}

#else

enum lifespan_linked_status lifespan_linked_save(const char *path, int *error) {
  (void)path;
  *error = 0;
  return LIFESPAN_LINKED_PLATFORM;
}

#endif

void lifespan_linked_error_text(int error, char *text, size_t room) {
  if (room) snprintf(text, room, "%s", strerror(error));
}
