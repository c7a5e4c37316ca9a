// `lifespan record` at work: checks what can be checked before the program starts, starts it, serves the session's socket, passes
// signals on, reaps (as PID 1 also orphans), begins and ends recordings, and ends as the program ended. See recorder.h.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder.h"

struct record_session session = {.signals = -1, .server = -1, .spare = {.descriptor = -1}};

// Where the system has no pidfd (an old seccomp profile), a process further down is looked at so often.
enum { LOOK_MS = 100 };

static void clean(void) {
  if (session.socket) leave_place(session.socket);
  session.socket = NULL;
  discard_trace(&session.spare);
}

void note_problem(char *text) {
  session.problems = grown(session.problems, session.problem_count + 1, sizeof *session.problems);
  session.problems[session.problem_count++] = text;
}

// ---- Recordings -----------------------------------------------------------------------------------------------------------

static bool name_is_ours(const char *wanted) {
  for (size_t i = 0; i < session.finished_count; i++)
    if (!strcmp(session.finished[i].path, wanted)) return true;
  return false;
}

// The file of the next recording, with its name: the one that was opened first, or another. False: noted why not.
static bool next_file(pid_t pid, const char *executable, struct trace_file *file) {
  const struct record_options *options = &session.options;
  char *wanted = wanted_name(options->output, executable, pid);
  *file = session.spare;
  session.spare.descriptor = -1;
  int error = file->descriptor >= 0 ? 0 : open_trace(options->output, file);
  // A later trace of the same session never replaces an earlier one, whatever --force says.
  if (!error) error = name_trace(file, wanted, options->force && !name_is_ours(wanted));
  if (error) note_problem(text_of("cannot name the trace %s: %s", wanted, strerror(-error)));
  if (error) discard_trace(file);
  free(wanted);
  return !error;
}

void begin_recording(pid_t pid, struct facts facts, bool shares_pids) {
  struct trace_file file;
  char *problem = NULL;
  if (!next_file(pid, facts.executable, &file)) return;
  session.recording = recording_begin(pid, facts, &session.options, file, shares_pids, &problem);
  if (session.recording) return;
  discard_trace(&file);
  note_problem(problem);
}

void end_recording(int wait_status) {
  if (!session.recording) return;
  struct recording *ended = session.recording;
  session.recording = NULL;
  session.finished = grown(session.finished, session.finished_count + 1, sizeof *session.finished);
  session.finished[session.finished_count++] = recording_finish(ended, wait_status);
}

// ---- Processes and signals --------------------------------------------------------------------------------------------------

// Ctrl-Z stops the whole job: the shell waits for this process. A plain SIGSTOP was meant for the program alone.
static void program_stopped(int signal) {
  if ((signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) && getpid() != 1) session_stop_by(signal);
}

static void reap(void) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (WIFSTOPPED(status)) {
      if (pid == session.program) program_stopped(WSTOPSIG(status));
      continue;
    }
    if (session.recording && pid == session.recording->pid) end_recording(status);
    if (pid == session.program) {
      session.ended = true;
      session.wait_status = status;
    }
  }
}

// The program while it lives, then the recorded process that outlives it.
static void pass_on(int signal, pid_t sender) {
  pid_t target = !session.ended ? session.program : session.recording ? session.recording->pid : 0;
  // What the program itself sends to its whole group has reached it already.
  if (target > 0 && sender != target) kill(target, signal);
}

static void take_signals(void) {
  pid_t sender;
  bool from_terminal, children = false;
  for (int signal; (signal = session_next_signal(session.signals, &sender, &from_terminal));) {
    if (signal == SIGCHLD) children = true;
    else if (!from_terminal) pass_on(signal, sender);
  }
  if (children) reap();
}

static void serve(void) {
  static struct lifespan_message question, reply;
  pid_t peer;
  for (int connection; (connection = session_accept(session.server, &peer)) >= 0 || connection == -EPERM;) {
    if (connection < 0) continue; // another user's: refused
    if (session_receive(connection, &question) == 0) {
      int descriptor = answer(&question, peer > 0 ? peer : (pid_t)question.pid, &reply);
      session_send(connection, &reply, descriptor);
    }
    close(connection);
  }
}

// A process that is not our child tells its status to somebody else: of it only the end is known.
static void look_after_recorded(bool ended) {
  const struct recording *recorded = session.recording;
  if (!recorded) return;
  if (!ended && recorded->pidfd < 0) ended = kill(recorded->pid, 0) != 0 && errno == ESRCH;
  if (!ended) return;
  reap();
  if (session.recording == recorded && (recorded->pid != session.program || session.ended)) end_recording(-1);
}

static void step(void) {
  int recorded = session.recording ? session.recording->pidfd : -1;
  struct pollfd polled[] = {{.fd = session.signals, .events = POLLIN}, {.fd = session.server, .events = POLLIN},
                            {.fd = recorded, .events = POLLIN}};
  bool must_look = session.recording && recorded < 0;
  if (poll(polled, 3, must_look ? LOOK_MS : -1) < 0) return;
  // Hellos first: a program that has just begun and ended is still recorded.
  if (polled[1].revents) serve();
  if (polled[0].revents) take_signals();
  if (polled[2].revents || must_look) look_after_recorded(polled[2].revents != 0);
}

// ---- The program --------------------------------------------------------------------------------------------------------------

static pid_t start_program(const char *path, char **environment) {
  pid_t pid = session_spawn(path, words.operands, environment, &session.mask_before, false);
  if (pid == -ENOEXEC) { // as execvp: a file that is no executable format is a script for the shell
    char **script = grown(NULL, words.operand_count + 2, sizeof *script);
    script[0] = "sh";
    script[1] = (char *)path;
    memcpy(script + 2, words.operands + 1, words.operand_count * sizeof *script);
    pid = session_spawn("/bin/sh", script, environment, &session.mask_before, false);
    free(script);
  }
  if (pid > 0) return pid;
  bool missing = pid == -ENOENT || pid == -ENOTDIR;
  fail(missing ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE, "%s: %s%s", path, strerror(-pid),
       missing ? " (its interpreter is missing)" : "");
}

static void open_spare(void) {
  int error = open_trace(session.options.output, &session.spare);
  if (!error) return;
  char *wanted = wanted_name(session.options.output, "program", 0), *slash = strrchr(wanted, '/');
  if (slash) slash[slash == wanted] = 0;
  fail(STATUS_UNUSABLE, "cannot write a trace in %s: %s; name another place with -o FILE", slash ? wanted : ".", strerror(-error));
}

static char *trace_directory(void) {
  char *path = strrchr(session.spare.path, '/') ? text_of("%s", session.spare.path) : text_of("./");
  strrchr(path, '/')[1] = 0;
  char *real = realpath(path, NULL);
  free(path);
  return real;
}

int run_record(const struct command *command) {
  (void)command;
  session_fill_standard_descriptors();
  session.options = record_options();
  session.typed = words.operands[0];
  const char *cure = NULL;
  char *path = find_program(session.typed);
  const char *against = obstacle(path, &cure);
  check_output(session.options.output);
  at_failure(clean);
  open_spare();
  session.signals = session_signals(&session.mask_before, sizeof session.mask_before);
  if (session.signals < 0) fail(STATUS_UNUSABLE, "signals: %s", strerror(-session.signals));
  char *library = against ? NULL : preload_library();
  if (library) session.server = listen_somewhere(trace_directory(), &session.socket);
  if (against) say("%s cannot be recorded: %s; %s", session.typed, against, cure);
  session.program = start_program(path, program_environment(library, session.socket));
  while (!session.ended || session.recording) step();
  clean();
  closing_line(against != NULL);
  return WIFEXITED(session.wait_status) ? WEXITSTATUS(session.wait_status) : 128 + WTERMSIG(session.wait_status);
}
