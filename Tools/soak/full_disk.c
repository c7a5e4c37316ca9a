// A disk that is full at a byte of our choosing, for the recording command alone: loaded with LD_PRELOAD by soak.py, it
// lets FULL_AT bytes be written to files below FULL_BELOW and fails what follows as a full disk does.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t left;
static const char *below;

__attribute__((constructor)) static void start(void) {
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  const char *at = getenv("FULL_AT");
  if (length <= 0 || !at) return;
  self[length] = 0;
  const char *name = strrchr(self, '/');
  // The recorded program gets the variables too; its disk is not full.
  if (!name || strcmp(name, "/lifespan")) return;
  below = getenv("FULL_BELOW");
  left = strtoul(at, NULL, 10);
}

static int is_below(int file) {
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = below ? readlink(link, path, sizeof path - 1) : 0;
  return length > 0 && (size_t)length > strlen(below) && !strncmp(path, below, strlen(below));
}

ssize_t write(int file, const void *bytes, size_t count) {
  if (!is_below(file)) return syscall(SYS_write, file, bytes, count);
  if (count && !left) {
    errno = ENOSPC;
    return -1;
  }
  // As on a real disk: what fits is written first.
  ssize_t written = syscall(SYS_write, file, bytes, count < left ? count : left);
  if (written > 0) left -= (size_t)written;
  return written;
}
