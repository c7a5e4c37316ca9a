// The small `lifespan`: picks the command, parses its words, runs it. See recorder.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static const struct option only_json[] = {{"--json", NULL, NULL, NULL, false, "one JSON document on stdout"}, {0}};

static const struct command record = {"record", "[options] -- PROGRAM [ARG…]", "run an unmodified program under recording",
                                      record_table, 1, 0, true, record_discussion, run_record};
static const struct command list = {"list", "[--json]", "recordings that run now", only_json, 0, 0, false, NULL, run_list};
static const struct command start = {"start", "[PID] [--json]", "go on recording in a program started with --paused, or stopped",
                                     only_json, 0, 1, false, NULL, run_start};
static const struct command stop = {"stop", "[PID] [--json]", "pause: births are not recorded, deaths are",
                                    only_json, 0, 1, false, NULL, run_stop};
static const struct command mark = {"mark", "[PID] [NAME] [--json]", "mark a generation: name it after what has just been done",
                                    only_json, 0, 2, false,
                                    "PID may be left out where one recording runs. A mark without a name is A, B, … Z, AA.", run_mark};
const struct command *const commands[] = {&record, &list, &start, &stop, &mark, NULL};

// What the whole command has and this one has not.
static const char *const elsewhere[] = {"stats", "generations", "diff", "objects", "history", "doctor", "dump", "threads"};

static const struct command *command_named(const char *name) {
  const char *known[sizeof commands / sizeof *commands];
  size_t count = 0;
  for (const struct command *const *one = commands; *one; one++) {
    if (!strcmp((*one)->name, name)) return *one;
    known[count++] = (*one)->name;
  }
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
    if (!strcmp(elsewhere[i], name))
      fail(STATUS_USAGE, "'%s' is not in this recorder: copy the trace to a machine that has the whole lifespan, and read it there", name);
  const char *meant = nearest(name, known, count);
  fail(STATUS_USAGE, "unknown command '%s'%s%s%s; lifespan --help lists all", name, meant ? ", did you mean '" : "",
       meant ? meant : "", meant ? "'?" : "");
}

static int print_version(void) { return printf("lifespan " LIFESPAN_VERSION "\n") < 0; }

int main(int count, char **arguments) {
  if (count < 2) fail(STATUS_USAGE, "something is missing: expected a command; lifespan --help lists all");
  const char *name = arguments[1];
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) return print_overview(), 0;
  if (!strcmp(name, "--version")) return print_version();
  const struct command *command = command_named(name);
  parse_words(command, arguments + 2);
  if (has("--help")) return print_help(command), 0;
  if (has("--version")) return print_version();
  return command->run(command);
}
