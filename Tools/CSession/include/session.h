// What `lifespan record` and its clients do with the kernel and with atomics, which Swift cannot say: the mapping that is shared
// with the recorded program, descriptors sent over the session socket, the thread that drains. Called by Tools/lifespan/Record.
// Everything here runs in the command, never in a recorded program; it may allocate. Results < 0 are -errno.
#ifndef LIFESPAN_SESSION_H
#define LIFESPAN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lifespan_drain.h"

// ---- session_map.c: the mapping. Main thread.

// Makes the memfd, `data_bytes` of it (and the header) allocated, sealed against shrinking, header filled in as far as the consumer
// owns it, and maps it. Returns the descriptor; *map is the mapping. Undone by session_map_close.
int session_map_create(const struct lifespan_options *options, uint64_t data_bytes, struct lifespan_map **map);
// The same in a file that survives (options.rings_file): made at `path`, 0600; -EEXIST: something is there.
int session_map_create_at(const char *path, const struct lifespan_options *options, uint64_t data_bytes, struct lifespan_map **map);
void session_map_close(struct lifespan_map *map, int file);
// A copy of such a file in memory, for a reader: closed with file -1. 0; -EPROTO: it is none, of another version, or not ours.
int session_map_read(const char *path, struct lifespan_map **map);
uint32_t session_map_pid(const struct lifespan_map *map);
// Which recording of its session it is; before the program has it.
void session_map_set_number(struct lifespan_map *map, uint32_t number);
// 1 while births are recorded. Any thread.
bool session_map_recording(const struct lifespan_map *map);
// enum lifespan_program_state and enum lifespan_capture as the program says. Any thread.
uint32_t session_map_state(const struct lifespan_map *map);
uint32_t session_map_capture(const struct lifespan_map *map);
// enum lifespan_runtime_state. Any thread.
uint32_t session_map_runtime(const struct lifespan_map *map);
// Why the capture is not complete, as the program says; always terminated. After the program's end or while it runs.
void session_map_reason(const struct lifespan_map *map, char *room, size_t length);
// Stacks that were compared with libunwind's (--check-unwind), those that were equal, and others that differ only from where it guesses. Any thread.
uint64_t session_map_checked(const struct lifespan_map *map, uint64_t *equal, uint64_t *guessed);
// Says goodbye: no producer waits for us any more.
void session_map_leave(struct lifespan_map *map);
// The same for good: the recorder in the program switches itself off.
void session_map_dismiss(struct lifespan_map *map);
// After that, with the drain at rest: the rings' memory goes back to the system. The program may go on writing into them.
void session_map_release(struct lifespan_map *map, int file);

// ---- session_process.c: a bell, which another thread rings by writing 8 bytes that are no zero. A descriptor or -errno.
int session_bell(void);
void session_bell_heard(int bell);

// ---- session_drain.c: the thread that drains.

struct session_drain;
// Starts the thread (all signals blocked in it). NULL: errno. Drain and mapping stay the caller's. When the trace cannot be written
// any more, the thread says goodbye to the program, which then waits for nobody.
struct session_drain *session_drain_start(struct lifespan_drain *drain, struct lifespan_map *map);
// Around every use of the drain by another thread while the thread runs.
void session_drain_lock(struct session_drain *thread);
void session_drain_unlock(struct session_drain *thread);
// Ends the loop, waits for the thread and frees it. Returns what the loop returned: 0, or the errno value of the sink
// with either sign.
int session_drain_stop(struct session_drain *thread);

// ---- session_next.c: the file that takes a trace's place (struct lifespan_next).

struct session_next;
// For the trace that lies at `path` and is open as `trace`, which must stay open; its descriptor stays the same for ever. NULL:
// its folder can't be opened. The functions below return 0 or an errno value, ESTALE when the trace does not lie there any more.
struct session_next *session_next_create(const char *path, int trace);
void session_next_destroy(struct session_next *next);
int session_next_begin(void *next);
int session_next_write(void *next, const void *bytes, size_t length);
int session_next_commit(void *next);
void session_next_abandon(void *next);

// ---- session_stop.c: a process whose threads stand still. All of it on one thread, which is then their tracer.

struct session_code {
  uint64_t start, end;
  bool calls_out; // whoever was called from there counts as being there
};
struct session_stopped;
// Stops every thread, none of them inside `code` (which must stay until they go on). That takes a while: `meanwhile` is called again and again, so that
// no thread waits in vain for what the caller does otherwise. 0; -EPERM: we may not; -ESRCH: the process is gone.
int session_stop(pid_t pid, const struct session_code *code, size_t count, void (*meanwhile)(void *context), void *context,
                 struct session_stopped **stopped);
void session_go_on(struct session_stopped *stopped);
// lifespan_word_reader: `context` is the struct session_stopped.
size_t session_read_words(void *context, const uint64_t *addresses, size_t count, uint64_t *words);

// ---- session_copy_x86_64.c: what the threads held, and a copy of the process. On the thread that has stopped it.

struct session_registers {
  pid_t tid;
  bool in_kernel; // it has been interrupted in a system call, or has just come out of one
  uint64_t pc, sp, thread_pointer;
  uint32_t count;
  uint64_t words[544]; // `count` words that may be references
};
size_t session_thread_count(const struct session_stopped *stopped);
// False: not to be had.
bool session_registers(const struct session_stopped *stopped, size_t index, struct session_registers *registers);

struct session_copy {
  pid_t pid;      // 0: none
  pid_t known_as; // in the program's own namespace, where the program is its parent; else 0
};
// Makes a copy of the stopped process that runs nothing, is no child of it, and ends with us. 0; -EPERM: a filter of system calls forbids it; or another -errno.
int session_copy_make(struct session_stopped *stopped, struct session_copy *copy);
// Ends it, and lets the program `pid` (which runs) collect it.
void session_copy_end(pid_t pid, const struct session_copy *copy);

// ---- session_socket.c: SOCK_SEQPACKET messages with descriptors.

// One message, with `descriptor` attached when it is >= 0. Returns 0 or -errno.
int session_send(int socket, const struct lifespan_message *message, int descriptor);
// One message. Returns 0, -EPROTO when it is no whole message of our ABI, -ECONNRESET at the end, or -errno.
int session_receive(int socket, struct lifespan_message *message);
// Listens on `path` with mode 0600; the path must not exist. Returns the socket (close-on-exec, non-blocking) or -errno.
int session_listen(const char *path);
// Takes a connection of our own uid (or root's). Returns it, *pid the peer's process (0 outside our pid namespace), or -errno (-EPERM another's).
int session_accept(int socket, pid_t *pid);
// Sends the question and receives the answer in its place. Waits as long as the process that listens is at work; -EAGAIN: it slept, or was stopped, for
// three seconds. Returns 0 or -errno.
int session_ask(const char *path, struct lifespan_message *message);

// ---- session_process.c: what Glibc's Swift overlay does not offer.

// Raises our own limit of open files as far as it may be; what session_spawn starts gets the old one. 0, or -EMFILE: fewer than `needed`.
int session_more_descriptors(uint64_t needed);

// A descriptor that becomes readable when the process ends, or -errno (-ESRCH: it is gone).
int session_pidfd(pid_t pid);
// Whether that process counts processes and threads as we do (the same pid namespace). False where the system does not tell.
bool session_shares_pids(pid_t pid);
// Renames without replacing. Returns 0 or -errno (-EEXIST: the name is taken).
int session_rename_new(const char *from, const char *to);
// Blocks all signals but those of a broken program in this thread; *before is the mask as it was. Returns a signalfd or -errno.
int session_signals(void *before, size_t before_size);
// Opens /dev/null (close-on-exec) in the place of a standard descriptor that is closed, so that no file of ours gets its number.
void session_fill_standard_descriptors(void);
// One signal from the signalfd. Returns its number, 0 when there is none; *sender its process, *from_kernel when a terminal sent it.
int session_next_signal(int descriptor, pid_t *sender, bool *from_kernel);
// The ABI of a preload library: loads it (inert without LIFESPAN_SESSION) and asks its door. < 0: it cannot be loaded or has none;
// *reason is then the dynamic linker's word or NULL.
int64_t session_preload_abi(const char *path, const char **reason);
// glibc's version at run time, e.g. "2.36". Static memory.
const char *session_glibc_version(void);
// True when the dynamic linker finds that library.
bool session_can_load(const char *name);
// True when the file carries capabilities, which make the dynamic linker ignore LD_PRELOAD.
bool session_has_capabilities(const char *path);
// Stops this process by the signal that stopped the program, so that the shell sees what it would see without us. Returns when it
// goes on, or at once where the signal is ignored.
void session_stop_by(int signal);
// Starts a program with the given signal mask, everything else inherited (`output_to_error`: its standard output is our standard error). Returns
// its pid or -errno.
pid_t session_spawn(const char *path, char *const arguments[], char *const environment[], const void *mask, bool output_to_error);

#endif
