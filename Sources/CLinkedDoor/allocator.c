// Where glibc's malloc is: a thread that stands still there may have taken a block half out of its lists, and what is free cannot be told from what is
// held (CHeap/free.c). Called by stop.c, while threads stand still: addresses alone, no call.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stop.h"

#define BEFORE 0x5000u // of malloc's own file before the first function that has a name outside: as much as all of it
#define BEHIND 0x1000u
#define CALL 0x80u // of a function that makes one system call

// glibc's own names, which nobody interposes. Another C library has none.
extern void *__libc_malloc(size_t) __attribute__((weak));
extern void __libc_free(void *) __attribute__((weak));
extern void *__libc_calloc(size_t, size_t) __attribute__((weak));
extern void *__libc_realloc(void *, size_t) __attribute__((weak));
extern void *__libc_memalign(size_t, size_t) __attribute__((weak));
extern size_t malloc_usable_size(void *) __attribute__((weak));

bool lifespan_linked_allocator_known(void) { return __libc_malloc && __libc_free; }

bool lifespan_linked_allocator_runs(uint64_t pc) {
  const uint64_t own[] = {(uint64_t)(uintptr_t)__libc_malloc, (uint64_t)(uintptr_t)__libc_free, (uint64_t)(uintptr_t)__libc_calloc,
                          (uint64_t)(uintptr_t)__libc_realloc, (uint64_t)(uintptr_t)__libc_memalign, (uint64_t)(uintptr_t)malloc_usable_size};
  uint64_t first = UINT64_MAX, last = 0;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    if (!own[i]) continue;
    if (own[i] < first) first = own[i];
    if (own[i] > last) last = own[i];
  }
  if (first <= last && pc >= first - BEFORE && pc < last + BEHIND) return true;
  // What it calls while its lists are not whole. One that waits for its lock has not touched them.
  const uint64_t calls[] = {(uint64_t)(uintptr_t)sbrk, (uint64_t)(uintptr_t)brk, (uint64_t)(uintptr_t)mmap, (uint64_t)(uintptr_t)munmap,
                            (uint64_t)(uintptr_t)mremap, (uint64_t)(uintptr_t)mprotect, (uint64_t)(uintptr_t)madvise};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (pc >= calls[i] && pc < calls[i] + CALL) return true;
  return false;
}

#endif
