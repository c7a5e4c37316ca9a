// What `record` answers on its session's socket, and which process it records: the first with a Swift runtime, and what that one
// executes in its place. (What lies below `swift run` and `swift test` is the whole command's business: images that hold a toolchain
// have room for it.) See recorder.h.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

static void put_text(struct lifespan_message *reply, const char *text, size_t length) {
  if (length > sizeof reply->text) length = sizeof reply->text;
  memcpy(reply->text, text, length);
  reply->length = (uint32_t)length;
}

// ---- Hello --------------------------------------------------------------------------------------------------------------

// Its thread ids mean the same here: by /proc, or because it is our own child and sees itself by the number that we see.
static bool shares_pids(pid_t from, pid_t claimed) {
  if (session_shares_pids(from)) return true;
  return access("/proc/self/ns/pid", F_OK) != 0 && from == session.program && claimed == from;
}

static enum lifespan_verdict choose(const struct lifespan_message *question, pid_t from) {
  // A child of the recorded program, or another one beside it.
  if (session.recording && session.recording->pid != from) return LIFESPAN_VERDICT_OFF;
  if (question->runtime != 1) return LIFESPAN_VERDICT_PASS;
  if (session.last_recorded && session.last_recorded != from) return LIFESPAN_VERDICT_PASS;
  session.last_recorded = from;
  return LIFESPAN_VERDICT_RECORD;
}

static int hello(const struct lifespan_message *question, pid_t from, struct lifespan_message *reply) {
  bool other = question->runtime == 2; // the text says why it cannot be hooked
  char *text = text_of("%.*s", (int)question->length, question->text);
  struct facts facts = facts_of(from, other ? "" : text);
  bool recorded = session.recording != NULL, again = recorded && session.recording->pid == from;
  reply->status = choose(question, from);
  if (again) end_recording(0); // a new image: the old one's objects are gone with it
  if (other && !recorded) note_problem(text_of("%s: %s", file_name(facts.executable), text));
  free(text);
  if (reply->status == LIFESPAN_VERDICT_RECORD) {
    begin_recording(from, facts, shares_pids(from, (pid_t)question->pid));
    if (session.recording) return session.recording->mapping;
    reply->status = LIFESPAN_VERDICT_OFF;
  }
  free(facts.executable);
  free(facts.arguments);
  return -1;
}

// ---- The other commands ---------------------------------------------------------------------------------------------------

static void mark(const struct lifespan_message *question, struct lifespan_message *reply) {
  const struct recording *recording = session.recording;
  int64_t nanoseconds, number = recording_mark(recording, question->text, question->length, &nanoseconds);
  if (number < 0) {
    reply->status = (uint32_t)-number;
    return;
  }
  char *letters = question->length ? NULL : recording_letters(recording, (uint64_t)number);
  char *text = letters ? text_of("%lld %s", (long long)nanoseconds, letters)
                       : text_of("%lld %.*s", (long long)nanoseconds, (int)question->length, question->text);
  reply->number = (uint64_t)number;
  put_text(reply, text, strlen(text));
  free(letters);
  free(text);
}

static void turn(bool on, struct lifespan_message *reply) {
  int result = recording_turn(session.recording, on);
  if (result < 0) reply->status = (uint32_t)-result;
  else reply->number = (uint64_t)result;
}

static char *status_line(const char *program) {
  const struct recording *recording = session.recording;
  struct lifespan_drain_counts counts = {0};
  if (recording) counts = recording_counts(recording);
  char *line = NULL, *real = recording ? realpath(recording->file.path, NULL) : NULL;
  FILE *out = begin_text(&line);
  fprintf(out, "{\"elapsed_ns\":%lld,\"events\":%llu,\"living\":%llu,\"lost\":%llu,\"pid\":%d,\"program\":",
          (long long)nanoseconds_of(counts.elapsed_ticks, &counts), (unsigned long long)counts.events,
          (unsigned long long)counts.living, (unsigned long long)counts.lost, (int)(recording ? recording->pid : session.program));
  put_json_string(out, program);
  bool on = recording && session_map_recording(recording->map);
  fprintf(out, ",\"record_pid\":%d,\"recording\":%s", (int)getpid(), on ? "true" : "false");
  if (recording) {
    fputs(",\"trace\":", out);
    put_json_string(out, real ? real : recording->file.path);
  }
  fputc('}', out);
  end_text(out);
  free(real);
  return line;
}

static void status(struct lifespan_message *reply) {
  const char *program = session.recording ? session.recording->facts.executable : session.typed;
  char *line = status_line(program);
  if (strlen(line) > sizeof reply->text) {
    char short_name[61];
    snprintf(short_name, sizeof short_name, "%s", file_name(program));
    free(line);
    line = status_line(short_name);
  }
  if (strlen(line) > sizeof reply->text) reply->status = ENAMETOOLONG;
  else put_text(reply, line, strlen(line));
  free(line);
}

int answer(const struct lifespan_message *question, pid_t from, struct lifespan_message *reply) {
  *reply = (struct lifespan_message){.abi = LIFESPAN_ABI, .op = question->op, .pid = (uint32_t)getpid()};
  switch (question->op) {
  case LIFESPAN_OP_HELLO: return hello(question, from, reply);
  case LIFESPAN_OP_STATUS: return status(reply), -1;
  case LIFESPAN_OP_MARK:
  case LIFESPAN_OP_START:
  case LIFESPAN_OP_STOP:
  case LIFESPAN_OP_FLUSH: break;
  default: return reply->status = EOPNOTSUPP, -1;
  }
  if (!session.recording || !recording_has_begun(session.recording)) reply->status = ENOENT;
  else if (question->op == LIFESPAN_OP_MARK) mark(question, reply);
  else if (question->op == LIFESPAN_OP_FLUSH) reply->status = (uint32_t)recording_flush(session.recording);
  else turn(question->op == LIFESPAN_OP_START, reply);
  return -1;
}
