// A Swift runtime that comes while the program runs: see late.c. Included by CRecorder's own files only.
#ifndef LIFESPAN_LATE_H
#define LIFESPAN_LATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum lifespan_late_state { LIFESPAN_LATE_NONE = 0, LIFESPAN_LATE_MAPPED = 1 }; // mapped: not hooked yet
extern _Atomic uint32_t lifespan_late_state;

// An image was loaded; with the load map's lock. No allocation.
void lifespan_late_image(const char *path, uintptr_t bias, uintptr_t start, uintptr_t end);
// A block's hook, outside our own code: installs the hooks when the caller is the runtime's. Any thread.
void lifespan_late_block(uintptr_t caller);

#pragma GCC visibility pop
#endif
