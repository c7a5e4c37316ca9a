// What watching (Lifespan/Watching) needs of the system: one lock, one thread for all deadlines, a clock. Called by Lifespan alone.
#ifndef LIFESPAN_WATCH_H
#define LIFESPAN_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Whether objects can be watched in this process: false on other systems, and in a child that was forked after the first time it was asked, where
// the thread is not there and the lock may be held for ever. Any thread; to be asked before each lock.
bool lifespan_watch_possible(void);

// Held by Swift code that calls nothing of the program's: no release of its objects, no handler.
void lifespan_watch_lock(void);
void lifespan_watch_unlock(void);

// Starts the thread that runs `body`, which does not return; with all signals blocked. Once; false when there is no thread to be had.
// Below the lock.
bool lifespan_watch_start(void (*body)(void));
// Waits until then, or until it is woken. Below the lock, which is free meanwhile. UINT64_MAX: until it is woken.
void lifespan_watch_wait(uint64_t until_ns);
void lifespan_watch_wake(void);

uint64_t lifespan_watch_now_ns(void);        // CLOCK_MONOTONIC
uint64_t lifespan_watch_ticks(void);         // of the recording, since its start; 0: nothing is recorded
uint64_t lifespan_watch_task_id(void);       // of the task that runs here, as the recorder knows it; 0: none
uint32_t lifespan_watch_thread_id(void);     // the calling thread's, as the recorder knows it
void lifespan_watch_sleep_ns(uint64_t ns);
bool lifespan_watch_asks_at_once(void);      // questions are answered in this process
bool lifespan_watch_counts_references(void); // retains and releases of all recorded types are recorded
// Reads memory that may be gone. False: it is.
bool lifespan_watch_read(uint64_t address, void *into, size_t bytes);
// One line to stderr, whole, and nothing else with it.
void lifespan_watch_say(const char *line, size_t length);

#ifdef __cplusplus
}
#endif
#endif
