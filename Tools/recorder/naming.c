// The name of a trace and its file. It is opened before the program starts, under a hidden name, and gets its own when the recording
// begins and the pid is known. See recorder.h; the names are those of Tools/lifespan/Record/OutputName.swift.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

#define ENDING ".lifespan"
enum { MOST_NUMBERS = 9999 };

const char *host_name(void) {
  static char name[256];
  if (!name[0]) gethostname(name, sizeof name - 1);
  return name;
}

// Of the command's start, so that all traces of one `record` say the same.
static const char *time_text(void) {
  static char text[32];
  time_t now = time(NULL);
  struct tm parts;
  if (!text[0]) strftime(text, sizeof text, "%Y%m%dT%H%M%S", localtime_r(&now, &parts));
  return text;
}

char *wanted_name(const char *pattern, const char *program, pid_t pid) {
  if (!pattern) return text_of("%s.%d" ENDING, file_name(program), (int)pid);
  char *path = NULL;
  FILE *out = begin_text(&path);
  for (const char *at = pattern; *at; at++) {
    if (*at != '%' || !at[1]) {
      fputc(*at, out);
      continue;
    }
    at++;
    if (*at == 'p') fprintf(out, "%d", (int)pid);
    else if (*at == 'h') fputs(host_name(), out);
    else if (*at == 't') fputs(time_text(), out);
    else if (*at == '%') fputc('%', out);
    else fprintf(out, "%%%c", *at);
  }
  end_text(out);
  return path;
}

static char *directory_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return text_of(".");
  return slash == path ? text_of("/") : text_of("%.*s", (int)(slash - path), path);
}

// What it is that is no file of a trace; NULL: nothing there, or a file.
static const char *other_kind(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0 || S_ISREG(status.st_mode)) return NULL;
  return S_ISDIR(status.st_mode) ? "a directory" : "no regular file";
}

void check_output(const char *pattern) {
  time_text();
  char *path = wanted_name(pattern, "program", 0);
  size_t length = strlen(path);
  const char *kind = length && path[length - 1] == '/' ? "a directory" : other_kind(path);
  if (kind) fail(STATUS_UNUSABLE, "cannot write %s: it is %s; give the name of a file with -o FILE", path, kind);
  free(path);
}

int open_trace(const char *pattern, struct trace_file *file) {
  char *wanted = wanted_name(pattern, "program", 0), *directory = directory_of(wanted);
  file->path = strcmp(directory, ".") ? text_of("%s/.lifespan-XXXXXX", directory) : text_of(".lifespan-XXXXXX");
  free(wanted);
  free(directory);
  file->descriptor = mkostemp(file->path, O_CLOEXEC);
  if (file->descriptor < 0) return -errno;
  mode_t mask = umask(0); // as any file that a program makes: mkostemp gives 0600 alone
  umask(mask);
  fchmod(file->descriptor, 0666 & ~mask);
  return 0;
}

static char *numbered(const char *path, int number) {
  size_t length = strlen(path), ending = strlen(ENDING);
  if (number < 2) return text_of("%s", path);
  if (length < ending || strcmp(path + length - ending, ENDING)) return text_of("%s-%d", path, number);
  return text_of("%.*s-%d" ENDING, (int)(length - ending), path, number);
}

static void take_name(struct trace_file *file, char *name) {
  free(file->path);
  file->path = name;
}

int name_trace(struct trace_file *file, const char *wanted, bool force) {
  if (force && !other_kind(wanted)) {
    if (rename(file->path, wanted) != 0) return -errno;
    take_name(file, text_of("%s", wanted));
    return 0;
  }
  for (int number = 1; number <= MOST_NUMBERS; number++) {
    char *candidate = numbered(wanted, number);
    int result = session_rename_new(file->path, candidate);
    if (result == 0) {
      take_name(file, candidate);
      return 0;
    }
    free(candidate);
    if (result != -EEXIST) return result;
  }
  return -EEXIST;
}

void discard_trace(struct trace_file *file) {
  if (file->descriptor < 0) return;
  unlink(file->path);
  close(file->descriptor);
  free(file->path);
  *file = (struct trace_file){.descriptor = -1};
}
