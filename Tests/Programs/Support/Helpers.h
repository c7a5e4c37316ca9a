// C that Swift cannot say by itself, for the behaviour programs (imported as their bridging header).
#ifndef PROGRAM_HELPERS_H
#define PROGRAM_HELPERS_H

#include <sys/types.h>

// Calls `inside` once from within a dl_iterate_phdr callback: the loader's lock is held meanwhile.
void while_loader_is_locked(void (*inside)(void *context), void *context);
// Swift's Glibc module hides it.
pid_t plain_fork(void);
// The other ways to one: "fork", "_Fork" (no fork handlers), "clone" (the bare system call).
pid_t fork_by(const char *way);
// Installs a handler that counts the signal (sigaction, no SA_RESTART) and the count so far.
void count_signal(int signal);
int counted_signals(void);
// Calls `inside` on a thread with a stack of `bytes`; or executes a program there, without arguments.
void on_small_stack(long bytes, void (*inside)(void));
void execute_on_small_stack(long bytes, const char *path);
// Frees a large block after all access to its first page was taken away. The allocator's own word lies before it.
void free_without_access(void);

// Calls `inside` from a function that keeps a frame pointer, below one that keeps a number in rbp, as optimised code does. The number and the
// word below the frame record look like those of an async function.
void with_number_in_rbp(void (*inside)(void));
#endif
