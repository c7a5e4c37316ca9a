// The command line against a command's table of options, and the written forms of values. See recorder.h.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "recorder.h"

struct words words;

static const struct option common[] = {{"--help", "-h", NULL, NULL, false, "this text"},
                                       {"--version", NULL, NULL, NULL, false, "the version"},
                                       {0}};

// ---- Suggestions --------------------------------------------------------------------------------------------------

// Insertions, deletions, replacements and swaps of neighbours.
static unsigned distance(const char *one, const char *other) {
  enum { MOST = 64 };
  unsigned rows[3][MOST + 1];
  size_t long_one = strnlen(one, MOST), long_other = strnlen(other, MOST);
  for (size_t j = 0; j <= long_other; j++) rows[0][j] = (unsigned)j;
  for (size_t i = 1; i <= long_one; i++) {
    unsigned *next = rows[i % 3], *row = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    next[0] = (unsigned)i;
    for (size_t j = 1; j <= long_other; j++) {
      unsigned least = row[j - 1] + (one[i - 1] != other[j - 1]);
      if (row[j] + 1 < least) least = row[j] + 1;
      if (next[j - 1] + 1 < least) least = next[j - 1] + 1;
      bool swap = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (swap && before[j - 2] + 1 < least) least = before[j - 2] + 1;
      next[j] = least;
    }
  }
  return rows[long_one % 3][long_other];
}

const char *nearest(const char *word, const char *const *known, size_t count) {
  size_t length = strlen(word);
  unsigned limit = length / 3 > 2 ? (unsigned)(length / 3) : 2;
  const char *best = NULL;
  for (size_t i = 0; i < count; i++) {
    unsigned away = distance(word, known[i]);
    if (away > limit || (best && away >= distance(word, best))) continue;
    best = known[i];
  }
  return best;
}

static _Noreturn void unknown_option(const struct command *command, const char *name) {
  const char *known[64];
  size_t count = 0;
  const struct option *tables[] = {command->options, common};
  for (size_t t = 0; t < 2; t++)
    for (const struct option *one = tables[t]; one && one->name && count < 62; one++) {
      known[count++] = one->name;
      if (one->other) known[count++] = one->other;
    }
  const char *meant = nearest(name, known, count);
  if (meant) fail(STATUS_USAGE, "unknown option '%s', did you mean '%s'?", name, meant);
  fail(STATUS_USAGE, "unknown option '%s'", name);
}

// ---- Options --------------------------------------------------------------------------------------------------------

bool has(const char *name) { return value_of(name) != NULL; }

const char *value_of(const char *name) {
  for (size_t i = words.given_count; i > 0; i--)
    if (!strcmp(words.given[i - 1].name, name)) return words.given[i - 1].value;
  return NULL;
}

static const struct option *find(const struct option *table, const char *name) {
  for (; table && table->name; table++)
    if (!strcmp(table->name, name) || (table->other && !strcmp(table->other, name))) return table;
  return NULL;
}

static bool is_choice(const char *choices, const char *value) {
  size_t length = strlen(value);
  for (const char *at = choices; length;) {
    size_t word = strcspn(at, "|");
    if (word == length && !strncmp(at, value, word)) return true;
    if (!at[word]) break;
    at += word + 1;
  }
  return false;
}

static _Noreturn void bad_choice(const char *name, const char *value, const char *choices) {
  char *list = NULL;
  FILE *out = begin_text(&list);
  for (; *choices; choices++) fputs(*choices == '|' ? ", " : (char[]){*choices, 0}, out);
  end_text(out);
  fail(STATUS_USAGE, "%s does not take '%s': expected %s", name, value, list);
}

// Takes the option in *next and, where it stands there, its value.
static void take(const struct command *command, char ***next) {
  char *name = text_of("%s", *(*next)++);
  char *inlined = strncmp(name, "--", 2) ? NULL : strchr(name, '=');
  if (inlined) *inlined++ = 0;
  const struct option *option = find(command->options, name);
  if (!option) option = find(common, name);
  if (!option) unknown_option(command, name);
  const char *value = "";
  if (!option->value) {
    if (inlined) fail(STATUS_USAGE, "%s takes no value", name);
  } else {
    if (!option->repeatable && has(option->name)) fail(STATUS_USAGE, "%s is given twice", name);
    if (inlined) value = inlined;
    else if (**next && strcmp(**next, "--")) value = *(*next)++;
    else fail(STATUS_USAGE, "%s needs a value: %s %s", name, name, option->value);
    if (option->choices && !is_choice(option->choices, value)) bad_choice(name, value, option->choices);
  }
  words.given = grown(words.given, words.given_count + 1, sizeof *words.given);
  words.given[words.given_count++] = (struct given){option->name, value};
}

static void add_operand(char *word) {
  words.operands = grown(words.operands, words.operand_count + 2, sizeof *words.operands);
  words.operands[words.operand_count++] = word;
  words.operands[words.operand_count] = NULL;
}

void parse_words(const struct command *command, char **next) {
  bool only_operands = false;
  while (*next) {
    if (only_operands) add_operand(*next++);
    else if (!strcmp(*next, "--")) only_operands = next++ != NULL;
    else if (**next == '-' && (*next)[1]) take(command, &next);
    else {
      add_operand(*next++);
      only_operands = command->program;
    }
  }
  if (has("--help") || has("--version")) return; // needs no operands
  if (words.operand_count < command->least) fail(STATUS_USAGE, "something is missing: expected %s", command->usage);
  if (!command->program && words.operand_count > command->most)
    fail(STATUS_USAGE, "unexpected '%s'", words.operands[command->most]);
}

// ---- Values -----------------------------------------------------------------------------------------------------------

bool number_of(const char *text, uint64_t *value) {
  if (!*text || text[strspn(text, "0123456789")]) return false;
  unsigned __int128 sum = 0;
  for (; *text; text++) {
    sum = sum * 10 + (unsigned)(*text - '0');
    if (sum > UINT64_MAX) return false;
  }
  *value = (uint64_t)sum;
  return true;
}

bool bytes_of(const char *text, uint64_t *value) {
  static const char units[] = "KMGT";
  char digits[32];
  size_t length = strlen(text);
  if (length >= sizeof digits) return false;
  memcpy(digits, text, length + 1);
  if (length > 2 && !strcasecmp(digits + length - 2, "ib")) digits[length -= 2] = 0;
  else if (length > 1 && !strcasecmp(digits + length - 1, "b")) digits[length -= 1] = 0;
  const char *unit = length ? strchr(units, digits[length - 1] & ~0x20) : NULL;
  unsigned shift = unit && digits[length - 1] >= 'A' ? 10 * (unsigned)(unit - units + 1) : 0;
  if (shift) digits[length - 1] = 0;
  if (!number_of(digits, value) || *value > UINT64_MAX >> shift) return false;
  *value <<= shift;
  return true;
}

int signal_of(const char *text) {
  static const struct {
    const char *name;
    int number;
  } names[] = {{"HUP", SIGHUP}, {"INT", SIGINT}, {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM},
               {"TERM", SIGTERM}, {"CONT", SIGCONT}, {"WINCH", SIGWINCH}, {"URG", SIGURG}, {"IO", SIGIO}, {"PROF", SIGPROF},
               {"VTALRM", SIGVTALRM}, {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"PWR", SIGPWR}};
  enum { FIRST = 34, LAST = 64 }; // of the real-time signals; glibc keeps two for itself
  uint64_t number = 0;
  if (!strncasecmp(text, "SIG", 3)) text += 3;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcasecmp(text, names[i].name)) return names[i].number;
  if (!strcasecmp(text, "RTMIN")) return FIRST;
  if (!strncasecmp(text, "RTMIN+", 6)) return number_of(text + 6, &number) && number <= LAST - FIRST ? FIRST + (int)number : 0;
  if (!number_of(text, &number) || number > LAST) return 0;
  if (number >= FIRST) return (int)number;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].number == (int)number) return (int)number;
  return 0;
}
