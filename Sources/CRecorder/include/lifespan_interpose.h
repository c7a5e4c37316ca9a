// What the preload library's interposed functions (CMallocHooks) need of the recorder. Hidden: nothing of it leaves the library.
// Any thread, signal handlers too, before the start as well; nothing here allocates. What cannot be recorded is counted.
#ifndef LIFESPAN_INTERPOSE_H
#define LIFESPAN_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

// free() of any block, before it: an event when it looks like an object of a known type and no hook above announced it.
void lifespan_record_free(const void *address);

// realloc of a block that looks like an object: before the call (true: the other must follow), and after it (to = NULL: it failed).
bool lifespan_record_moving(const void *address);
void lifespan_record_moved(const void *from, const void *to, uint64_t size);

// malloc and free of an allocator that is linked into a static executable, NULL: none. After lifespan_recorder_runtime.
void *lifespan_executable_malloc(void);
void *lifespan_executable_free(void);

// Whether the runtime names a type on this thread just now, on our behalf.
bool lifespan_recorder_is_naming(void);

#pragma GCC visibility pop
#endif
