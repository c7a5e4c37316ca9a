// One process that is recorded into one trace: the mapping, the drain and its thread, the file. Made when the process says hello,
// finished when it ends or executes another program. See recorder.h.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

enum { HISTORY_EVENTS = 65536, COARSE = 1024 };
#define LARGE (1ull << 30)

// ---- Facts ------------------------------------------------------------------------------------------------------------

static char *shell_quoted(int file) {
  char *text = NULL, word[4096];
  size_t used = 0;
  FILE *out = begin_text(&text), *in = fdopen(file, "r");
  bool first = true;
  for (int c; in && (c = fgetc(in)) != EOF;) {
    if (c) {
      if (used + 1 < sizeof word) word[used++] = (char)c;
      continue;
    }
    word[used] = 0;
    used = 0;
    if (!first) fputc(' ', out);
    first = false;
    put_shell_word(out, word);
  }
  if (in) fclose(in);
  else close(file);
  end_text(out);
  return text;
}

// The words that we started, where no /proc tells those of the process.
static char *words_started(pid_t pid) {
  char *text = NULL;
  FILE *out = begin_text(&text);
  for (size_t i = 0; pid == session.program && i < words.operand_count; i++) {
    if (i) fputc(' ', out);
    put_shell_word(out, words.operands[i]);
  }
  end_text(out);
  return text;
}

struct facts facts_of(pid_t pid, const char *claimed) {
  char path[64], link[PATH_MAX];
  snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  ssize_t length = readlink(path, link, sizeof link - 1);
  struct facts facts = {.executable = length > 0 ? text_of("%.*s", (int)length, link) : text_of("%s", claimed)};
  snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  facts.arguments = file >= 0 ? shell_quoted(file) : words_started(pid);
  return facts;
}

// ---- Begin ----------------------------------------------------------------------------------------------------------------

// Once, when a trace becomes large that nothing keeps from growing.
static void warn_of_size(const struct recording *self) {
  char *line = text_of("lifespan: %s has passed 1 GiB; record with --keep living (discards what died) or --max-size BYTES to bound it\n",
                       self->file.path);
  for (size_t done = 0, length = strlen(line); done < length;) {
    ssize_t written = write(2, line + done, length - done);
    if (written <= 0) break;
    done += (size_t)written;
  }
  free(line);
}

static int to_file(void *context, const void *bytes, size_t length) {
  struct recording *self = context;
  bool small = self->written < LARGE;
  self->written += length;
  if (!self->bounded && small && self->written >= LARGE) warn_of_size(self);
  for (const char *at = bytes; length > 0;) {
    ssize_t written = write(self->file.descriptor, at, length);
    if (written > 0) {
      at += written;
      length -= (size_t)written;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

static void tell_information(const struct recording *self, const struct record_options *options) {
  struct {
    const char *key, *value;
  } pairs[] = {{"arguments", self->facts.arguments}, {"recorder", LIFESPAN_VERSION}, {"options", options->as_typed},
               {"host", host_name()}, {"refcounts", options->mapping.refcounts ? "all" : "tracked"},
               {"unwind", options->unwind}, {"recording", "all"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) lifespan_drain_info(self->drain, pairs[i].key, pairs[i].value);
}

static struct lifespan_drain *make_drain(struct recording *self, const struct record_options *options, bool shares_pids) {
  struct lifespan_drain_options wanted = {
    .map = self->map, .file = self->mapping, .sink = to_file, .sink_context = self,
    .compressor = compressor_works ? compressor_run : NULL, .compressor_context = self->compressor,
    .ticks_per_unit = options->exact_time ? 1 : COARSE,
    .history_when_asked = 1,
    .history_events = HISTORY_EVENTS, // asked for by Allocations.history in a program that links the library
    // In another namespace its thread ids mean other threads here, or none: rings are then not taken back.
    .process_tid_check = shares_pids,
    .sample_pid = (uint32_t)self->pid,
  };
  self->bounded = options->keep_living || options->max_size;
  self->next = self->bounded ? session_next_create(self->file.path, self->file.descriptor) : NULL;
  if (self->next) {
    wanted.keep_living = options->keep_living;
    wanted.max_size = options->max_size;
    wanted.next = (struct lifespan_next){session_next_begin, session_next_write, session_next_commit, session_next_abandon, self->next};
  }
  return lifespan_drain_create(&wanted);
}

struct recording *recording_begin(pid_t pid, struct facts facts, const struct record_options *options, struct trace_file file,
                                  bool shares_pids, char **problem) {
  struct recording *self = grown(NULL, 1, sizeof *self);
  *self = (struct recording){.pid = pid, .pidfd = -1, .facts = facts, .file = file};
  self->compressor = compressor_create();
  self->mapping = session_map_create(&options->mapping, options->buffer, &self->map);
  if (self->mapping < 0) {
    *problem = text_of("no shared memory for the recording: %s", strerror(-self->mapping));
  } else if (!(self->drain = make_drain(self, options, shares_pids))) {
    *problem = text_of("the recording cannot be drained: %s", strerror(errno));
    session_map_close(self->map, self->mapping);
  } else {
    tell_information(self, options);
    self->thread = session_drain_start(self->drain, self->map);
    if (self->thread) {
      self->pidfd = session_pidfd(pid);
      return self;
    }
    *problem = text_of("no thread to drain the recording: %s", strerror(errno));
    lifespan_drain_destroy(self->drain);
    session_map_close(self->map, self->mapping);
  }
  session_next_destroy(self->next);
  compressor_destroy(self->compressor);
  free(self);
  return NULL;
}

// ---- Questions --------------------------------------------------------------------------------------------------------------

static void take(const struct recording *self) {
  if (self->thread) session_drain_lock(self->thread);
}
static void give(const struct recording *self) {
  if (self->thread) session_drain_unlock(self->thread);
}

bool recording_has_begun(const struct recording *self) { return session_map_state(self->map) != LIFESPAN_PROGRAM_NEW; }

struct lifespan_drain_counts recording_counts(const struct recording *self) {
  struct lifespan_drain_counts counts;
  take(self);
  lifespan_drain_counts(self->drain, &counts);
  give(self);
  return counts;
}

int64_t nanoseconds_of(uint64_t ticks, const struct lifespan_drain_counts *counts) {
  if (!counts->ticks_per_second) return 0;
  unsigned __int128 value = (unsigned __int128)ticks * 1000000000u / counts->ticks_per_second;
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int64_t recording_mark(const struct recording *self, const char *name, size_t length, int64_t *nanoseconds) {
  struct lifespan_drain_counts counts;
  take(self);
  int64_t number = lifespan_drain_mark(self->drain, name, length);
  lifespan_drain_counts(self->drain, &counts); // nobody sets another one meanwhile: the drain is ours
  give(self);
  *nanoseconds = nanoseconds_of(counts.mark_ticks, &counts);
  return number;
}

int recording_turn(const struct recording *self, bool on) {
  take(self);
  int result = lifespan_drain_set_recording(self->drain, on);
  give(self);
  return result;
}

int recording_flush(const struct recording *self) {
  take(self);
  int64_t consumed = lifespan_drain_round(self->drain);
  int error = consumed < 0 ? (int)-consumed : lifespan_drain_flush(self->drain);
  give(self);
  return error;
}

// ---- End --------------------------------------------------------------------------------------------------------------------

static char *limitation(const struct recording *self) {
  char reason[sizeof self->map->capture_reason + 1];
  session_map_reason(self->map, reason, sizeof reason);
  switch (session_map_capture(self->map)) {
  case LIFESPAN_CAPTURE_COMPLETE: return NULL;
  case LIFESPAN_CAPTURE_PARTIAL: return text_of("partial (%s)", reason);
  case LIFESPAN_CAPTURE_COUNTS: return text_of("counts-only (%s)", reason);
  default: return *reason ? text_of("%s", reason) : NULL;
  }
}

struct finished recording_finish(struct recording *self, int wait_status) {
  int error = abs(session_drain_stop(self->thread));
  self->thread = NULL;
  bool began = recording_has_begun(self);
  bool clean = wait_status >= 0 ? (wait_status & 0x7f) == 0 : session_map_state(self->map) == LIFESPAN_PROGRAM_ENDING;
  int closing = began ? lifespan_drain_finish(self->drain, clean, wait_status >= 0 ? wait_status : 0) : 0;
  struct finished result = {.path = text_of("%s", self->file.path), .program = text_of("%s", file_name(self->facts.executable)),
                            .began = began, .error = error ? error : closing, .limitation = limitation(self)};
  lifespan_drain_counts(self->drain, &result.counts);
  if (self->bounded && !self->next) result.unbounded = ENOTDIR;
  if (self->next) lifespan_drain_renewed(self->drain, &result.unbounded);
  lifespan_drain_destroy(self->drain);
  session_next_destroy(self->next);
  result.checked = session_map_checked(self->map, &result.equal, &result.guessed);
  session_map_leave(self->map);
  session_map_close(self->map, self->mapping);
  if (!began) {
    discard_trace(&self->file);
  } else {
    close(self->file.descriptor);
    free(self->file.path);
  }
  if (self->pidfd >= 0) close(self->pidfd);
  compressor_destroy(self->compressor);
  free(self->facts.executable);
  free(self->facts.arguments);
  free(self);
  return result;
}
