// Detours: the entry of a function jumps to a hook; the original is reached through a copy of its first instructions. One file for each
// processor (detour_x86_64.c). Islands and copies are never given back, so a thread inside one is always safe.
#ifndef LIFESPAN_DETOUR_H
#define LIFESPAN_DETOUR_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct lifespan_detour {
  const char *name;
  void *entry;           // NULL: not in this process
  void *hook;
  void **original;       // receives the callable copy before the entry is changed
  const char *refused;   // out: why it was not installed, NULL when it was (or has no entry)
  bool installed;        // out
};

// Decodes all, then patches all that can be. `one_thread`: no other thread runs (a five-byte jump is written); else the one-byte punned jump, safe
// while other threads execute the entry. Outside hooks. Returns the number installed.
unsigned lifespan_detours_install(struct lifespan_detour *list, unsigned count, bool one_thread);

#pragma GCC visibility pop
#endif
