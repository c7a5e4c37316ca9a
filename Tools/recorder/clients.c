// mark, list, start and stop: they find the running recordings by their sockets and ask them. See recorder.h.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

enum { MARK_NAME = 255 };

struct running {
  char *socket, *line; // its status as it says
  int64_t pid, record_pid;
  char *program;
};
static struct {
  struct running *at;
  size_t count;
} all;

static struct lifespan_message *message(uint32_t op, const char *text) {
  static struct lifespan_message one;
  one = (struct lifespan_message){.abi = LIFESPAN_ABI, .op = op, .pid = (uint32_t)getpid(), .length = (uint32_t)strlen(text)};
  memcpy(one.text, text, one.length);
  return &one;
}

static void found(const char *path, void *context) {
  (void)context;
  struct lifespan_message *status = message(LIFESPAN_OP_STATUS, "");
  struct running one = {0};
  int error = session_ask(path, status);
  if (error == -ECONNREFUSED) unlink(path); // its command is gone
  if (error || status->status) return;
  one.line = text_of("%.*s", (int)status->length, status->text);
  one.program = json_text(one.line, "program");
  if (!one.program || !json_number(one.line, "pid", &one.pid) || !json_number(one.line, "record_pid", &one.record_pid)) return;
  one.socket = text_of("%s", path);
  all.at = grown(all.at, all.count + 1, sizeof *all.at);
  size_t at = all.count++;
  for (; at && all.at[at - 1].pid > one.pid; at--) all.at[at] = all.at[at - 1];
  all.at[at] = one;
}

static void find_all(void) {
  each_socket(false, found, NULL);
  if (!all.count) each_socket(true, found, NULL);
}

static char *known(void) {
  char *text = NULL;
  FILE *out = begin_text(&text);
  for (size_t i = 0; i < all.count; i++) fprintf(out, "%s%lld (%s)", i ? ", " : "", (long long)all.at[i].pid, all.at[i].program);
  end_text(out);
  return text;
}

// The recording of that process, or of that `record`; 0: the only one that runs.
static const struct running *pick(int64_t pid) {
  find_all();
  if (!pid && all.count == 1) return all.at;
  if (!pid && !all.count) fail(STATUS_UNUSABLE, "no recording runs; start one with lifespan record -- PROGRAM");
  if (!pid) fail(STATUS_USAGE, "several recordings run, give the PID of one: %s", known());
  for (int tries = 0; tries < 2; tries++) {
    for (size_t i = 0; i < all.count; i++)
      if (all.at[i].pid == pid || all.at[i].record_pid == pid) return &all.at[i];
    each_socket(true, found, NULL);
  }
  if (!all.count) fail(STATUS_UNUSABLE, "process %lld is not recorded: no recording runs", (long long)pid);
  fail(STATUS_UNUSABLE, "process %lld is not recorded; these are: %s", (long long)pid, known());
}

static void ask_running(const struct running *one, struct lifespan_message *it) {
  long long pid = (long long)one->pid;
  int error = session_ask(one->socket, it);
  if (error == -ENOENT || error == -ECONNREFUSED) fail(STATUS_UNUSABLE, "process %lld: its recording has just ended", pid);
  if (error) fail(STATUS_UNUSABLE, "process %lld: its recording does not answer: %s", pid, strerror(-error));
  if (it->status == ENOENT)
    fail(STATUS_UNUSABLE, "process %lld (%s) has not begun to be recorded: no Swift runtime so far", pid, one->program);
  if (it->status) fail(STATUS_UNUSABLE, "process %lld: %s", pid, strerror((int)it->status));
}

static bool is_pid(const char *word, int64_t *pid) {
  uint64_t number = 0;
  if (!*word || word[strspn(word, "0123456789")]) return false;
  if (!number_of(word, &number) || !number || number > INT32_MAX) fail(STATUS_USAGE, "cannot use '%s': expected a PID", word);
  *pid = (int64_t)number;
  return true;
}

static void print_trace(const char *line) {
  char *trace = json_text(line, "trace");
  printf(",\"trace\":");
  if (trace) put_json_string(stdout, trace);
  else printf("null");
}

// ---- mark -----------------------------------------------------------------------------------------------------------------

int run_mark(const struct command *command) {
  (void)command;
  int64_t pid = 0;
  size_t used = words.operand_count && is_pid(words.operands[0], &pid) ? 1 : 0;
  if (!used && words.operand_count == 2) fail(STATUS_USAGE, "cannot use '%s': expected PID NAME", words.operands[0]);
  const char *name = words.operand_count > used ? words.operands[used] : "";
  if (strlen(name) > MARK_NAME) fail(STATUS_USAGE, "cannot use '%s': expected a name of at most 255 bytes", name);
  const struct running *one = pick(pid);
  struct lifespan_message *it = message(LIFESPAN_OP_MARK, name);
  ask_running(one, it);
  char *line = text_of("%.*s", (int)it->length, it->text), *shown = NULL;
  long long nanoseconds = strtoll(line, &shown, 10);
  if (shown == line || *shown != ' ')
    fail(STATUS_UNUSABLE, "process %lld: its recording is of another version of lifespan", (long long)one->pid);
  if (!has("--json")) {
    printf("%s\n", shown + 1);
    return 0;
  }
  printf("{\"format\":1,\"pid\":%lld,\"generation\":", (long long)one->pid);
  put_json_string(stdout, shown + 1);
  printf(",\"number\":%llu,\"timestamp_ns\":%lld", (unsigned long long)it->number, nanoseconds);
  print_trace(one->line);
  printf("}\n");
  return 0;
}

// ---- start and stop ---------------------------------------------------------------------------------------------------------

static int turn(uint32_t op) {
  int64_t pid = 0, elapsed = 0;
  if (words.operand_count && !is_pid(words.operands[0], &pid))
    fail(STATUS_USAGE, "cannot use '%s': expected a PID", words.operands[0]);
  const struct running *one = pick(pid);
  struct lifespan_message *it = message(op, "");
  ask_running(one, it);
  bool changed = it->number == 1;
  if (!has("--json")) {
    printf("%lld: %s%s\n", (long long)one->pid, changed ? "" : "already ", op == LIFESPAN_OP_START ? "recording" : "paused");
    return 0;
  }
  it = message(LIFESPAN_OP_STATUS, "");
  ask_running(one, it);
  char *line = text_of("%.*s", (int)it->length, it->text);
  json_number(line, "elapsed_ns", &elapsed);
  printf("{\"format\":1,\"pid\":%lld,\"recording\":%s,\"changed\":%s,\"elapsed_ns\":%lld", (long long)one->pid,
         json_bool(line, "recording") ? "true" : "false", changed ? "true" : "false", (long long)elapsed);
  print_trace(line);
  printf("}\n");
  return 0;
}

int run_start(const struct command *command) { return (void)command, turn(LIFESPAN_OP_START); }
int run_stop(const struct command *command) { return (void)command, turn(LIFESPAN_OP_STOP); }

// ---- list ---------------------------------------------------------------------------------------------------------------------

enum { COLUMNS = 8, NUMBERS = 5 }; // the first ones stand to the right

static int64_t number(const struct running *one, const char *name) {
  int64_t value = 0;
  json_number(one->line, name, &value);
  return value;
}

static char *counted(const struct running *one, const char *name) {
  char *text = NULL;
  FILE *out = begin_text(&text);
  put_count(out, (uint64_t)number(one, name));
  end_text(out);
  return text;
}

static void cells_of(const struct running *one, char *cells[COLUMNS]) {
  int64_t tenths = number(one, "elapsed_ns") / 100000000;
  char *trace = json_text(one->line, "trace");
  cells[0] = text_of("%lld", (long long)one->pid);
  cells[1] = text_of("%lld.%lld s", (long long)tenths / 10, (long long)tenths % 10);
  cells[2] = counted(one, "events");
  cells[3] = counted(one, "living");
  cells[4] = counted(one, "lost");
  cells[5] = text_of("%s", !trace ? "waiting" : json_bool(one->line, "recording") ? "recording" : "paused");
  cells[6] = text_of("%s", trace ? file_name(trace) : "-");
  cells[7] = one->program;
}

static void print_table(void) {
  char *(*rows)[COLUMNS] = grown(NULL, all.count + 1, sizeof *rows);
  int widths[COLUMNS] = {0};
  char *head[COLUMNS] = {"PID", "elapsed", "events", "living", "lost", "state", "trace", "program"};
  memcpy(rows[0], head, sizeof head);
  for (size_t i = 0; i < all.count; i++) cells_of(&all.at[i], rows[i + 1]);
  for (size_t i = 0; i <= all.count; i++)
    for (int column = 0; column < COLUMNS; column++)
      if ((int)strlen(rows[i][column]) > widths[column]) widths[column] = (int)strlen(rows[i][column]);
  for (size_t i = 0; i <= all.count; i++)
    for (int column = 0; column < COLUMNS; column++) {
      int width = column == COLUMNS - 1 ? 0 : column < NUMBERS ? widths[column] : -widths[column];
      printf("%*s%s", width, rows[i][column], column == COLUMNS - 1 ? "\n" : "  ");
    }
}

static void print_json(const struct running *one) {
  printf("{\"pid\":%lld,\"record_pid\":%lld,\"program\":", (long long)one->pid, (long long)one->record_pid);
  put_json_string(stdout, file_name(one->program));
  printf(",\"path\":");
  if (*one->program == '/') put_json_string(stdout, one->program);
  else printf("null");
  const char *names[] = {"elapsed_ns", "events", "living", "lost"};
  for (size_t i = 0; i < 4; i++) printf(",\"%s\":%lld", names[i], (long long)number(one, names[i]));
  printf(",\"recording\":%s", json_bool(one->line, "recording") ? "true" : "false");
  print_trace(one->line);
  printf("}");
}

int run_list(const struct command *command) {
  (void)command;
  find_all();
  if (has("--json")) {
    printf("{\"format\":1,\"recordings\":[");
    for (size_t i = 0; i < all.count; i++) {
      if (i) printf(",");
      print_json(&all.at[i]);
    }
    printf("]}\n");
  } else if (!all.count) {
    printf("no recording runs\n");
  } else {
    print_table();
  }
  return 0;
}
