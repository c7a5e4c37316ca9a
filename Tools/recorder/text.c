// Lines for people, and memory that must be there. See recorder.h.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

static void (*cleanup)(void);
void at_failure(void (*clean)(void)) { cleanup = clean; }

// In one write, so that it never tears the program's own lines.
static void say_it(const char *format, va_list arguments) {
  char *words = NULL, *line = NULL;
  int length = vasprintf(&words, format, arguments);
  if (length >= 0) length = asprintf(&line, "lifespan: %s\n", words);
  for (int done = 0; length > 0 && done < length;) {
    ssize_t written = write(2, line + done, (size_t)(length - done));
    if (written > 0) done += (int)written;
    else if (errno != EINTR) break;
  }
  free(words);
  free(line);
}

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say_it(format, arguments);
  va_end(arguments);
}

void fail(int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say_it(format, arguments);
  va_end(arguments);
  void (*clean)(void) = cleanup;
  cleanup = NULL;
  if (clean) clean();
  exit(status);
}

static _Noreturn void no_memory(void) { fail(STATUS_UNUSABLE, "%s", strerror(ENOMEM)); }

char *text_of(const char *format, ...) {
  va_list arguments;
  char *text = NULL;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) no_memory();
  return text;
}

void *grown(void *array, size_t count, size_t size) {
  void *larger = reallocarray(array, count, size);
  if (!larger) no_memory();
  return larger;
}

static size_t text_size;
FILE *begin_text(char **text) {
  FILE *stream = open_memstream(text, &text_size);
  if (!stream) no_memory();
  return stream;
}
void end_text(FILE *stream) {
  if (fclose(stream)) no_memory();
}

void put_count(FILE *out, uint64_t value) {
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) fputc(',', out);
    fputc(digits[i], out);
  }
}

void put_things(FILE *out, uint64_t value, const char *thing) {
  put_count(out, value);
  fprintf(out, " %s%s", thing, value == 1 ? "" : "s");
}

void put_shell_word(FILE *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  if (*word && word[strspn(word, plain)] == 0) {
    fputs(word, out);
    return;
  }
  fputc('\'', out);
  for (; *word; word++) {
    if (*word == '\'') fputs("'\\''", out);
    else fputc(*word, out);
  }
  fputc('\'', out);
}

const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}
