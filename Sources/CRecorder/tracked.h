// Which classes are tracked (refcounts recorded, in both doors): by protocol conformance, or one by one. tracked.c.
#ifndef LIFESPAN_TRACKED_H
#define LIFESPAN_TRACKED_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)
// Whether a class or one of its superclasses is tracked. Any thread, in hooks.
bool lifespan_is_tracked(const void *metadata);
// Whether anything is tracked at all: then retain and release are hooked. Outside hooks.
bool lifespan_tracks_anything(void);
// After something was added: sets the flag on the types seen already (types.c).
void lifespan_types_retrack(void);
#pragma GCC visibility pop

#endif
