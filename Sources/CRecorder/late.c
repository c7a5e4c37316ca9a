// A Swift runtime that comes by dlopen into a program without one. The load map tells of its library when that is mapped, before it is
// relocated: its functions are looked up in the library's file then (no dlsym: the dynamic linker holds its lock), but none may be called yet.
// The first block that the runtime's own code asks malloc for shows that it runs: then the hooks go in, as into any running process. What was
// allocated before stays what it was, a block of malloc. Called by the load map's sink (lifecycle.c) and by the block hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "late.h"

#include <string.h>

#include "internal.h"

extern char __libc_single_threaded __attribute__((weak));

_Atomic uint32_t lifespan_late_state;
static uintptr_t start, end; // of libswiftCore

static bool is_named(const char *path, const char *name) {
  const char *base = strrchr(path, '/');
  return !strncmp(base ? base + 1 : path, name, strlen(name));
}

void lifespan_late_image(const char *path, uintptr_t bias, uintptr_t image_start, uintptr_t image_end) {
  struct lifespan_map *map = lifespan_process.map;
  if (atomic_load(&map->runtime) == LIFESPAN_RUNTIME_THERE) return;
  bool core = is_named(path, "libswiftCore.so");
  if (!core && !is_named(path, "libswift_Concurrency.so")) return;
  lifespan_symbols_of(path, bias);
  if (core) {
    start = image_start;
    end = image_end;
  }
  // Tasks may come later than the rest.
  if (start) atomic_store_explicit(&lifespan_late_state, LIFESPAN_LATE_MAPPED, memory_order_release);
}

void lifespan_late_block(uintptr_t caller) {
  if (caller < start || caller >= end) return;
  uint32_t mapped = LIFESPAN_LATE_MAPPED;
  if (!atomic_compare_exchange_strong(&lifespan_late_state, &mapped, LIFESPAN_LATE_NONE)) return;
  struct lifespan_map *map = lifespan_process.map;
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_OURS);
  lifespan_types_start();
  lifespan_tasks_start();
  // This thread is inside the runtime, but behind the bytes that are replaced: what called malloc has a call before it.
  bool hooked = lifespan_hooks_start(&__libc_single_threaded && __libc_single_threaded);
  if (hooked) lifespan_hooks_test();
  else lifespan_say_partial("the Swift runtime that was loaded", "it could not be hooked");
  lifespan_quiet_end(was);
  if (!hooked || atomic_load(&map->runtime) == LIFESPAN_RUNTIME_LATE) return;
  atomic_store(&map->runtime_stamp, lifespan_stamp_ordered());
  atomic_store(&map->runtime, LIFESPAN_RUNTIME_LATE);
}

#endif
