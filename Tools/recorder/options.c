// What `record` was asked for: the table of its options, and the options of the mapping made of them. See recorder.h.
// Options, forms and ranges are those of Tools/lifespan/Record/RecordOptions.swift.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

enum { DEFAULT_DEPTH = 256, MOST_DEPTH = 1024 };
#define DEFAULT_BUFFER (4ull << 20)
#define LEAST_BUFFER (64ull << 10)
#define MOST_BUFFER (4ull << 30)

const struct option record_table[] = {
  {"--output", "-o", "FILE", NULL, false,
   "the trace: %p pid, %h host, %t time; default PROGRAM.PID.lifespan; a name that is taken gets -2, -3 …"},
  {"--force", NULL, NULL, NULL, false, "overwrite the trace"},
  {"--events", NULL, "allocations|refcounts", "allocations|refcounts", false,
   "refcounts: also every retain and release (Tracked types always record them)"},
  {"--record", NULL, "PATTERN", NULL, true, "types to record; with --ignore in order, last match wins"},
  {"--ignore", NULL, "PATTERN", NULL, true, "types to leave out"},
  {"--swift-only", NULL, NULL, NULL, false, "no blocks of malloc that are no Swift objects"},
  {"--vm", NULL, NULL, NULL, false, "also the regions that the program maps (mmap), as rows of kind vm beside the heap"},
  {"--keep", NULL, "all|living", "all|living", false,
   "living: discard events of what died, so that the trace follows what lives; default all"},
  {"--max-size", NULL, "BYTES", NULL, false,
   "the trace never exceeds this: the oldest events of what died go; while it is recorded a second file of up to that size "
   "is beside it"},
  {"--unwind", NULL, "auto|fp|libunwind|none", "auto|fp|libunwind|none", false, "how stacks are taken; default auto"},
  {"--depth", NULL, "N", NULL, false, "frames kept of a stack; default 256"},
  {"--buffer", NULL, "BYTES", NULL, false, "shared memory that is there before the program starts; default 4M"},
  {"--when-full", NULL, "wait|drop", "wait|drop", false, "a full buffer: wait, or drop and count; default wait"},
  {"--time", NULL, "coarse|exact", "coarse|exact", false, "time of events, to 1,024 ticks or to one; default coarse"},
  {"--paused", NULL, NULL, NULL, false, "begin paused; lifespan start PID goes on"},
  {"--mark-signal", NULL, "SIG", NULL, false, "the program marks a generation when it gets this signal"},
  {"--death-stacks", NULL, NULL, NULL, false, "also record where objects die"},
  {"--check-unwind", NULL, "N", NULL, false, "compare every N-th stack with libunwind's"},
  {0},
};

const char record_discussion[] =
  "PROGRAM is any dynamically linked executable, script or wrapper; the first process with a Swift\n"
  "runtime is recorded. PATTERN is a glob of type names, in which only * is special.\n"
  "\n"
  "exit status: the program's own, 128+n when signal n killed it, 126 not executable, 127 not found,\n"
  "2 the trace cannot be written (before the program starts), 64 wrong usage.\n"
  "\n"
  "environment:\n"
  "  LIFESPAN_SESSION  set by record for the program: path of the session's socket; the preload\n"
  "                    library takes it out again\n"
  "  LIFESPAN_PRELOAD  the preload library to use instead of the one beside the command\n"
  "  TMPDIR            where the session's socket lies unless XDG_RUNTIME_DIR says so; else /tmp, then\n"
  "                    the directory of the trace";

static bool is(const char *option, const char *value) {
  const char *given = value_of(option);
  return given && !strcmp(given, value);
}

static uint32_t number_in(const char *option, uint64_t least, uint64_t most, uint32_t otherwise) {
  const char *given = value_of(option);
  uint64_t value = 0;
  if (!given) return otherwise;
  if (!number_of(given, &value) || value < least || value > most)
    fail(STATUS_USAGE, "%s does not take '%s': expected a number from %llu to %llu", option, given, (unsigned long long)least,
         (unsigned long long)most);
  return (uint32_t)value;
}

static uint64_t buffer_bytes(void) {
  const char *given = value_of("--buffer");
  uint64_t bytes = DEFAULT_BUFFER;
  if (given && (!bytes_of(given, &bytes) || bytes < LEAST_BUFFER || bytes > MOST_BUFFER))
    fail(STATUS_USAGE, "--buffer does not take '%s': expected a number of bytes, e.g. 65536, 64K, 1M, 2G, from 64K to 4G", given);
  return bytes;
}

// Below a megabyte there is no room for the tables that every trace has.
static uint64_t size_limit(void) {
  const char *given = value_of("--max-size");
  uint64_t bytes = 0;
  if (given && (!bytes_of(given, &bytes) || bytes < 1 << 20))
    fail(STATUS_USAGE, "--max-size does not take '%s': expected a number of bytes, e.g. 65536, 64K, 1M, 2G, at least 1M", given);
  return bytes;
}

static uint32_t mark_signal(void) {
  const char *given = value_of("--mark-signal");
  int number = given ? signal_of(given) : 0;
  if (given && !number)
    fail(STATUS_USAGE, "--mark-signal does not take '%s': expected a signal that a program may handle, e.g. USR1, SIGUSR2, 10, RTMIN+3",
         given);
  return (uint32_t)number;
}

static uint32_t unwind_mode(const char *name) {
  if (!strcmp(name, "fp")) return LIFESPAN_UNWIND_FP;
  if (!strcmp(name, "libunwind")) return LIFESPAN_UNWIND_LIBUNWIND;
  return strcmp(name, "none") ? LIFESPAN_UNWIND_AUTO : LIFESPAN_UNWIND_NONE;
}

// "+PATTERN\n" and "-PATTERN\n" in the order given; the last match wins.
static void put_rules(struct lifespan_options *mapping) {
  char *text = NULL;
  FILE *out = begin_text(&text);
  for (size_t i = 0; i < words.given_count; i++) {
    const struct given *one = &words.given[i];
    bool record = !strcmp(one->name, "--record");
    if (!record && strcmp(one->name, "--ignore")) continue;
    if (!*one->value || strchr(one->value, '\n'))
      fail(STATUS_USAGE, "%s does not take '%s': expected a pattern of type names", one->name, one->value);
    fprintf(out, "%c%s\n", record ? '+' : '-', one->value);
  }
  end_text(out);
  size_t length = strlen(text);
  if (length >= sizeof mapping->rules)
    fail(STATUS_USAGE, "--record/--ignore does not take '%zu bytes of patterns': expected less than %zu", length, sizeof mapping->rules);
  memcpy(mapping->rules, text, length);
  mapping->rules_length = (uint32_t)length;
  free(text);
}

static char *as_typed(void) {
  char *text = NULL;
  FILE *out = begin_text(&text);
  for (size_t i = 0; i < words.given_count; i++) {
    const struct given *one = &words.given[i];
    fprintf(out, "%s%s", i ? " " : "", strcmp(one->name, "--output") ? one->name : "-o");
    if (!*one->value) continue;
    fputc(' ', out);
    put_shell_word(out, one->value);
  }
  end_text(out);
  return text;
}

struct record_options record_options(void) {
  struct record_options options = {.output = value_of("--output"), .force = has("--force"), .exact_time = is("--time", "exact")};
  if (options.output && !*options.output) fail(STATUS_USAGE, "-o does not take '': expected a file name");
  options.buffer = buffer_bytes();
  options.keep_living = is("--keep", "living");
  options.max_size = size_limit();
  options.unwind = has("--unwind") ? value_of("--unwind") : "auto";
  options.as_typed = as_typed();
  struct lifespan_options *mapping = &options.mapping;
  mapping->scope = LIFESPAN_SCOPE_SWIFT;
  mapping->refcounts = is("--events", "refcounts");
  mapping->unwind = unwind_mode(options.unwind);
  mapping->depth = number_in("--depth", 1, MOST_DEPTH, DEFAULT_DEPTH);
  mapping->when_full = is("--when-full", "drop") ? LIFESPAN_FULL_DROP : LIFESPAN_FULL_WAIT;
  mapping->malloc_blocks = !has("--swift-only");
  mapping->vm = has("--vm");
  if (mapping->vm && !mapping->malloc_blocks) fail(STATUS_USAGE, "--vm and --swift-only exclude each other");
  mapping->paused = has("--paused");
  mapping->death_stacks = has("--death-stacks");
  mapping->check_every = number_in("--check-unwind", 1, UINT32_MAX, 0);
  mapping->mark_signal = mark_signal();
  put_rules(mapping);
  return options;
}
