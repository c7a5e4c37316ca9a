// `lifespan --help` and `lifespan COMMAND --help`, from the tables that words.c reads. See recorder.h.
#include <string.h>

#include "recorder.h"

enum { MOST_LEFT = 28, LINE = 100 };

// Two columns; a left side that is too wide gets a line of its own.
static void print_row(const char *left, const char *help, size_t width) {
  size_t used = strlen(left), column = width + 4;
  printf("  %s", left);
  if (used > width) {
    printf("\n");
    used = 0;
    printf("%*s", (int)column, "");
  } else {
    printf("%*s", (int)(column - 2 - used), "");
  }
  size_t at = 0;
  for (const char *word = help; *word;) {
    size_t length = strcspn(word, " ");
    if (at && at + 1 + length > LINE - column) {
      printf("\n%*s", (int)column, "");
      at = 0;
    }
    at += (size_t)printf("%s%.*s", at ? " " : "", (int)length, word);
    word += length;
    word += strspn(word, " ");
  }
  printf("\n");
}

static void left_of(const struct option *option, char *text, size_t room) {
  // The spelling that is typed more often comes first.
  bool short_first = option->other && option->value;
  const char *first = short_first ? option->other : option->name, *second = short_first ? option->name : option->other;
  snprintf(text, room, "%s%s%s%s%s", first, second ? ", " : "", second ? second : "", option->value ? " " : "",
           option->value ? option->value : "");
}

void print_overview(void) {
  printf("usage: lifespan COMMAND [options]\n\ncommands:\n");
  for (const struct command *const *one = commands; *one; one++) print_row((*one)->name, (*one)->summary, 6);
  printf("\nlifespan COMMAND --help explains one. lifespan --version prints the version.\n"
         "This is the recorder alone. The traces are read by the whole lifespan, on any machine.\n");
}

void print_help(const struct command *command) {
  static const struct option rest[] = {{"--help", "-h", NULL, NULL, false, "this text"},
                                       {"--version", NULL, NULL, NULL, false, "the version"},
                                       {0}};
  const struct option *tables[] = {command->options, rest};
  char left[96], help[512];
  size_t width = 0;
  for (int pass = 0; pass < 2; pass++) {
    if (pass) printf("usage: lifespan %s %s\n\n%s\n\noptions:\n", command->name, command->usage, command->summary);
    for (size_t t = 0; t < 2; t++)
      for (const struct option *one = tables[t]; one && one->name; one++) {
        left_of(one, left, sizeof left);
        if (strlen(left) > width) width = strlen(left) < MOST_LEFT ? strlen(left) : MOST_LEFT;
        snprintf(help, sizeof help, "%s%s", one->help, one->repeatable ? " (repeatable)" : "");
        if (pass) print_row(left, help, width);
      }
  }
  if (command->discussion) printf("\n%s\n", command->discussion);
}
