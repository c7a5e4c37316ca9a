// A copy of this process that runs nothing: what copy.c does for picture.c.
#ifndef LIFESPAN_LINKED_COPY_H
#define LIFESPAN_LINKED_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

struct copy {
  pid_t pid; // 0: none
  _Atomic uint32_t *word; // in a page that both share: what the copy says
};
#define COPY_PAGE 4096u

// Before threads stand still. False: no memory.
bool lifespan_linked_copy_prepare(struct copy *copy);
// While they do: no malloc, no lock. 0 or an errno value.
int lifespan_linked_copy_make(struct copy *copy);
// When they run again. False: it cannot be read, `reason` says why.
bool lifespan_linked_copy_readable(struct copy *copy, char *reason, size_t room);
// Ends and collects it. Also where none was made.
void lifespan_linked_copy_end(struct copy *copy);

#pragma GCC visibility pop
#endif
