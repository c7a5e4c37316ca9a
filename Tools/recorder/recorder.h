// The small `lifespan`: record, mark, list, start and stop on libc alone, for images that hold no Swift runtime but the program's own.
// Options, lines, exit statuses and the session's protocol are those of the whole command (Tools/lifespan), whose commands may
// talk to this one's recordings and the other way round. Built by Tools/build, packed by Tools/package. One thread, and one that
// drains each recording (CSession). Nothing here runs in a recorded program.
#ifndef LIFESPAN_RECORDER_COMMAND_H
#define LIFESPAN_RECORDER_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "session.h"

enum status { STATUS_UNUSABLE = 2, STATUS_USAGE = 64, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

// ---- text.c: lines, and memory that must be there.

// One line on stderr, led by "lifespan: ".
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The same, then the cleanup of whoever asked for one, and the end of this process.
_Noreturn void fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Called once by `fail`.
void at_failure(void (*clean)(void));
// Room that is freed with free(); no memory ends this process.
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *grown(void *array, size_t count, size_t size);
// Text that is written piece by piece: `end_text` gives it and closes the stream.
FILE *begin_text(char **text);
void end_text(FILE *stream);
// Numbers as people read them: 1,204,331. `things`: 1 event, 2 events.
void put_count(FILE *out, uint64_t value);
void put_things(FILE *out, uint64_t value, const char *thing);
// A word as a shell would need it typed.
void put_shell_word(FILE *out, const char *word);
const char *file_name(const char *path);

// ---- json.c: one line of JSON, made and read.

// A string with its quotes. Bytes that are no UTF-8 become U+FFFD.
void put_json_string(FILE *out, const char *text);
// Members of a flat object. False where it has none of that name. The text is the caller's to free.
bool json_number(const char *line, const char *name, int64_t *value);
bool json_bool(const char *line, const char *name);
char *json_text(const char *line, const char *name);

// ---- words.c: the command line.

struct option {
  const char *name, *other; // --name, and -o or NULL
  const char *value;        // what stands for it in the help; NULL: a switch
  const char *choices;      // "auto|fp|none" or NULL
  bool repeatable;
  const char *help;
};
struct command {
  const char *name, *usage, *summary;
  const struct option *options; // up to one without a name
  size_t least, most;           // operands; most 0 and `program`: the first one ends the options
  bool program;
  const char *discussion;
  int (*run)(const struct command *command);
};
struct given {
  const char *name, *value; // under its first spelling
};
// What parse_words found; one command line a process.
extern struct words {
  struct given *given;
  size_t given_count;
  char **operands; // up to a NULL
  size_t operand_count;
} words;
void parse_words(const struct command *command, char **next);
bool has(const char *name);
const char *value_of(const char *name); // NULL: not given
// A plain decimal number; false for everything else.
bool number_of(const char *text, uint64_t *value);
bool bytes_of(const char *text, uint64_t *value);
int signal_of(const char *text); // 0: none that a program may handle
const char *nearest(const char *word, const char *const *known, size_t count);

// ---- help.c

extern const struct command *const commands[]; // main.c, up to a NULL
void print_overview(void);
void print_help(const struct command *command);

// ---- options.c: what `record` was asked for.

struct record_options {
  const char *output;
  bool force, exact_time;
  bool keep_living;  // events of what died are discarded
  uint64_t max_size; // bytes that a trace never exceeds; 0 none
  uint64_t buffer;
  struct lifespan_options mapping;
  const char *unwind;
  char *as_typed;
};
extern const struct option record_table[];
extern const char record_discussion[];
struct record_options record_options(void);

// ---- naming.c: the trace's name and file.

struct trace_file {
  int descriptor;
  char *path;
};
// Checks -o; no file is touched. Ends this process where it names none.
void check_output(const char *pattern);
const char *host_name(void);
// Opened under a hidden name in the directory of the traces. 0 or -errno.
int open_trace(const char *pattern, struct trace_file *file);
// The name of a recording of that process.
char *wanted_name(const char *pattern, const char *program, pid_t pid);
// Gives it that name, or with -2, -3 … where it is taken and not `force`. 0 or -errno; file->path is then the name that was refused last.
int name_trace(struct trace_file *file, const char *wanted, bool force);
void discard_trace(struct trace_file *file);

// ---- lookup.c: the program, our library, our own place.

// Finds PROGRAM as a shell does; ends this process with 126 or 127.
char *find_program(const char *name);
// Why nothing can be loaded into it, NULL when it can; *cure is what to do.
const char *obstacle(const char *path, const char **cure);
// The preload library. Ends this process when it is not there.
char *preload_library(void);
// The environment of the program: LD_PRELOAD and LIFESPAN_SESSION added, or, without a library, as it is.
char **program_environment(const char *library, const char *socket);

// ---- recording.c: one process that is recorded into one trace.

struct facts {
  char *executable; // by /proc, else as the process says
  char *arguments;  // shell-quoted
};
struct facts facts_of(pid_t pid, const char *claimed);
struct recording {
  pid_t pid;
  int pidfd;
  struct facts facts;
  struct trace_file file;
  int mapping;
  struct lifespan_map *map;
  struct lifespan_drain *drain;
  struct session_drain *thread;
  struct session_next *next; // makes the file that takes the trace's place; NULL: none ever does
  bool bounded;              // asked to keep the trace from growing with time
  uint64_t written;
  void *compressor;
};
struct finished {
  char *path, *program;
  bool began;
  struct lifespan_drain_counts counts;
  int error;
  char *limitation; // NULL: complete
  int unbounded;    // errno of why the trace was not made anew any more, 0: it was
  uint64_t checked, equal, guessed;
};
// Takes the file. NULL: not possible, *problem says why.
struct recording *recording_begin(pid_t pid, struct facts facts, const struct record_options *options, struct trace_file file,
                                  bool shares_pids, char **problem);
// `wait_status` < 0: only the process's own word is known. Frees the recording.
struct finished recording_finish(struct recording *recording, int wait_status);
bool recording_has_begun(const struct recording *recording);
struct lifespan_drain_counts recording_counts(const struct recording *recording);
int64_t recording_mark(const struct recording *recording, const char *name, size_t length, int64_t *nanoseconds);
// The letters of mark `number`, which has no name of its own.
char *recording_letters(const struct recording *recording, uint64_t number);
int recording_turn(const struct recording *recording, bool on);
int recording_flush(const struct recording *recording);
int64_t nanoseconds_of(uint64_t ticks, const struct lifespan_drain_counts *counts);

// ---- compress.c: zstd where it was linked in, else nothing.

void *compressor_create(void);
void compressor_destroy(void *compressor);
size_t compressor_run(void *compressor, void *target, size_t room, const void *bytes, size_t length);
extern const bool compressor_works;

// ---- record.c: `record` at work; answers.c: what it says on its socket; closing.c: its last line.

struct record_session {
  struct record_options options;
  const char *typed; // the program's name on the command line
  int signals, server;
  sigset_t mask_before;
  char *socket;
  pid_t program;
  bool ended;
  int wait_status;
  struct trace_file spare; // descriptor -1: taken
  struct recording *recording;
  pid_t last_recorded;
  struct finished *finished;
  size_t finished_count;
  char **problems;
  size_t problem_count;
};
extern struct record_session session;
void note_problem(char *text);
void begin_recording(pid_t pid, struct facts facts, bool shares_pids);
void end_recording(int wait_status);
// The answer to one message of that process; returns the descriptor that goes with it, -1 none.
int answer(const struct lifespan_message *question, pid_t from, struct lifespan_message *reply);
void closing_line(bool warned);
int run_record(const struct command *command);

// ---- places.c: where sessions lie; clients.c: the commands that talk to them.

// Listens in the first folder that can be used; *path is the socket. `beside`: the directory of the traces, tried last. Ends this process.
int listen_somewhere(const char *beside, char **path);
// Removes the socket, and the folder where that was made for it beside the trace.
void leave_place(char *path);
// Calls `found` for every socket that may be one of ours: in the folders where `record` would put it now, or (`elsewhere`) where the kernel
// has others, those of a `record` whose TMPDIR was not ours.
void each_socket(bool elsewhere, void (*found)(const char *path, void *context), void *context);
int run_mark(const struct command *command);
int run_list(const struct command *command);
int run_start(const struct command *command);
int run_stop(const struct command *command);

#endif
