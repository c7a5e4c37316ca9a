// What the preload library's files share.
#ifndef LIFESPAN_PRELOAD_H
#define LIFESPAN_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lifespan_map.h"

#pragma GCC visibility push(hidden)

// One line on stderr.
void lifespan_preload_say(const char *what, const char *why);

// ---- environment.c: our two variables. Taken out of the program's environment at the start, given back to what it executes.

// To whom.
enum lifespan_heirs {
  LIFESPAN_HEIRS_NONE, // nobody
  LIFESPAN_HEIRS_SELF, // the next image of this process: it is recorded in a new trace
  LIFESPAN_HEIRS_ALL,  // children as well: the program may be one of them
};
// The constructor, one thread: notes the two variables and takes them out. Gives the session's path, NULL: there is none.
const char *lifespan_environment_take(void);
// Any thread, also after fork and vfork and in a signal handler: no allocation, no lock.
void lifespan_environment_leave_to(enum lifespan_heirs heirs);
// The calling process executes something in its own place, or starts a child: does that get them?
bool lifespan_environment_has_heir(bool child);
// Whether the calling process is the one that was started.
bool lifespan_environment_is_self(void);
const char *lifespan_environment_session(void);
// Whether its memory is a copy (fork), not that of the one that was started (which a vfork child shares).
bool lifespan_environment_is_copy(void);
// In a fork child that is a process of the session now.
void lifespan_environment_forked(void);
// `envp` with our variables, made in `room`, and how much of that is needed. `envp` may hold variables of ours already.
size_t lifespan_environment_room(char *const envp[]);
char **lifespan_environment_make(char *const envp[], void *room);

// ---- session.c: the socket of the recording command. Calls of the kernel alone, with time limits.

struct lifespan_hello {
  int runtime;        // as in struct lifespan_message
  const char *reason; // why the runtime can't be hooked, with runtime 2
  // In a fork child: the fork's number and that of its parent's recording; else 0.
  uint64_t fork;
  uint32_t recording;
};
// Says hello and gives the answer (enum lifespan_verdict), 0: the command can't be reached. *map: the mapping that came with it, or NULL.
uint32_t lifespan_session_greet(const char *path, const struct lifespan_hello *hello, struct lifespan_map **map);

// ---- fork_hooks.c: from now on fork children say hello. The constructor.
void lifespan_preload_follow_forks(void);

// ---- malloc_hooks.c

// free() as the program calls it where that is not ours: an allocator linked into the executable comes before any preload. NULL: ours is called.
void *lifespan_preload_foreign_free(void);

// The malloc that serves what the runtime allocates while it names a type for us (NULL: as always).
void lifespan_preload_name_with(void *function);

// The recorder has taken so much of the address space: limits that the program sets are meant without it (limit_hooks.c).
void lifespan_preload_takes(uint64_t bytes);
// linked_hooks.c: finds the executable's own allocator and gives it to the recorder. Before lifespan_recorder_start.
void lifespan_preload_linked_allocator(void);
// A function as the program calls it where that is its own, NULL: it is ours, or there is none.
void *lifespan_preload_foreign(const char *name);

// From now on threads are seen from their creation to their end. Once, when recording has begun.
void lifespan_preload_threads_start(void);
// From now on every new block is filled with zeros (--leaks). Before there is a second thread.
void lifespan_preload_fill(void);

#pragma GCC visibility pop
#endif
