// Save: the state of our drain, or of the recording command's, as a trace in a file that is there whole or not at all.
// Called by Lifespan.

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
  // Threads whose rings are full wait for us as long as this moves; the command moves it by itself.
  if (target->map->door == LIFESPAN_DOOR_LINKED) {
    atomic_fetch_add_explicit(&target->map->consumer_beat, 1, memory_order_relaxed);
  }
  return 0;
}

static int save_own(struct target *target, enum lifespan_linked_status *status) {
  struct lifespan_drain *drain = lifespan_linked_lock(status);
  if (!drain) return 0;
  int error = lifespan_drain_save(drain, write_all, target);
  lifespan_linked_unlock();
  return error;
}

// The command's state. It hands over bytes and opens no file of ours: rights and folders may be others there.
static int save_of_command(struct target *target, enum lifespan_linked_status *status) {
  struct lifespan_question question = {0};
  struct lifespan_linked_answer answer;
  *status = lifespan_linked_ask(LIFESPAN_ASK_SAVE, &question, &answer);
  if (*status != LIFESPAN_LINKED_OK) return *status == LIFESPAN_LINKED_FAILED ? EIO : 0;
  int error = write_all(target, answer.bytes, answer.length);
  lifespan_linked_forget(&answer);
  return error;
}

static int save_to(const char *path, enum lifespan_linked_status *status) {
  struct target target = {.map = lifespan_linked_map(status)};
  if (!target.map) return 0;
  target.file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (target.file < 0) return errno;
  bool by_command = lifespan_linked_preload(status, NULL);
  int error = by_command ? save_of_command(&target, status) : save_own(&target, status);
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
