// The executable's own path, also where no /proc is mounted. Asked by lifecycle.c, symbols.c, images_elf.c and the preload library, outside hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lifespan_recorder.h"

size_t lifespan_recorder_executable(char *path, size_t room) {
  static const char deleted[] = " (deleted)";
  size_t tail = sizeof deleted - 1;
  ssize_t length = readlink("/proc/self/exe", path, room - 1);
  if (length > 0) {
    path[length] = 0;
    if ((size_t)length > tail && !strcmp(path + length - tail, deleted)) path[length -= (ssize_t)tail] = 0;
    return (size_t)length;
  }
  // As the kernel was told to start it: of a script that is the script.
  const char *started = (const char *)getauxval(AT_EXECFN);
  path[0] = 0;
  if (!started || !*started) return 0;
  size_t used = 0;
  if (started[0] != '/' && getcwd(path, room)) {
    used = strlen(path);
    if (used + 1 < room) path[used++] = '/';
  }
  snprintf(path + used, room - used, "%s", started);
  return strlen(path);
}

#endif
