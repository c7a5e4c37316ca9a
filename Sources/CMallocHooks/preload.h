// What the preload library's files share.
#ifndef LIFESPAN_PRELOAD_H
#define LIFESPAN_PRELOAD_H

#include <sys/types.h>

#pragma GCC visibility push(hidden)

// One line on stderr.
void lifespan_preload_say(const char *what, const char *why);

// What an exec of the recorded process gets back, so that the next image is recorded too. NULL: nothing is recorded here.
struct lifespan_preload_environment {
  pid_t pid;
  char session[160], preload[4096], others[4096];
};
const struct lifespan_preload_environment *lifespan_preload_saved(void);

// free() as the program calls it where that is not ours: an allocator linked into the executable comes before any preload. NULL: ours is called.
void *lifespan_preload_foreign_free(void);

// The malloc that serves what the runtime allocates while it names a type for us (NULL: as always).
void lifespan_preload_name_with(void *function);

#pragma GCC visibility pop
#endif
