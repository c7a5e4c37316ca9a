// The one line on stderr after the program: what was recorded, or why nothing was. The words are those of
// Tools/lifespan/Record/ClosingLine.swift. See recorder.h.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

static void put_reason(FILE *out) {
  if (session.problem_count) fputs(session.problems[0], out);
  else if (!session.finished_count) fprintf(out, "%s has no Swift runtime, nor has a program that it started", session.typed);
  else if (session.finished[0].limitation) fprintf(out, "%s: %s", session.finished[0].program, session.finished[0].limitation);
  else fprintf(out, "%s ended before its recorder began", session.finished[0].program);
}

static void put_next(FILE *out, const char *path) {
  size_t length = strlen(path), ending = strlen(".lifespan");
  fputs(" Next: lifespan stats", out);
  // `stats` alone takes the newest trace here; elsewhere the name must be typed.
  if (!strchr(path, '/') && length >= ending && !strcmp(path + length - ending, ".lifespan")) return;
  fputc(' ', out);
  put_shell_word(out, path);
}

static void put_recorded(FILE *out) {
  struct finished sum = {0};
  const struct finished *last = NULL, *broken = NULL, *grown = NULL;
  const char *limitation = NULL;
  for (size_t i = 0; i < session.finished_count; i++) {
    const struct finished *one = &session.finished[i];
    if (!one->began) continue;
    fprintf(out, "%s%s", last ? ", " : "", one->path);
    last = one;
    if (!broken && one->error) broken = one;
    if (!grown && one->unbounded) grown = one;
    if (!limitation) limitation = one->limitation;
    sum.counts.events += one->counts.events;
    sum.counts.lost += one->counts.lost + one->counts.suppressed;
    sum.counts.ends_not_seen += one->counts.ends_not_seen;
    sum.checked += one->checked;
    sum.equal += one->equal;
    sum.guessed += one->guessed;
  }
  fputs(": ", out);
  put_things(out, sum.counts.events, "event");
  fputs(", ", out);
  put_count(out, sum.counts.lost);
  fputs(" lost", out);
  if (sum.counts.ends_not_seen) {
    fputs(", ", out);
    put_things(out, sum.counts.ends_not_seen, "object");
    fputs(" ended unseen", out);
  }
  if (sum.checked) {
    fputs(", stacks checked against libunwind: ", out);
    put_count(out, sum.checked);
    fputs(", equal ", out);
    put_count(out, sum.equal);
    if (sum.guessed) {
      fputs(", guessed by it ", out);
      put_count(out, sum.guessed);
    }
  }
  if (limitation) fprintf(out, ", capture %s", limitation);
  fputc('.', out);
  if (broken) {
    fprintf(out, " %s is cut: %s.", broken->path, strerror(broken->error));
    return;
  }
  if (grown) {
    bool moved = grown->unbounded == ESTALE || grown->unbounded == ENOENT;
    fprintf(out, " %s was kept as it is: %s%s.", grown->path,
            moved ? "it was moved or replaced while it was recorded" : "no file could take its place: ",
            moved ? "" : strerror(grown->unbounded));
    return;
  }
  if (session.problem_count) fprintf(out, " Not recorded: %s.", session.problems[0]);
  else put_next(out, last->path);
}

void closing_line(bool warned) {
  bool began = false;
  for (size_t i = 0; i < session.finished_count; i++) began |= session.finished[i].began;
  if (!began && warned) return; // said before the program
  char *line = NULL;
  FILE *out = begin_text(&line);
  if (began) {
    put_recorded(out);
  } else {
    fputs("lifespan: nothing recorded: ", out);
    put_reason(out);
  }
  fputc('\n', out);
  end_text(out);
  for (size_t done = 0, length = strlen(line); done < length;) {
    ssize_t written = write(2, line + done, length - done);
    if (written <= 0) break;
    done += (size_t)written;
  }
  free(line);
}
