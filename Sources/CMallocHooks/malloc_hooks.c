// free and realloc as the program calls them: objects that are freed behind the runtime's back, and memory that outlived its object's deinit.
// Interposed in the preload library; each passes on to the function that would have been called without us.
//
// malloc is interposed for one case: an allocator that a static executable hides from the shared C++ library. The runtime names types with C++ strings, which
// that library allocates and the executable frees; while a type is named for us, the executable's own malloc and free serve them.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_interpose.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

// glibc's own, for calls that come before the next definition is known (dlsym itself may free).
extern void *__libc_malloc(size_t size);
extern void __libc_free(void *address);
extern void *__libc_realloc(void *address, size_t size);

static void *(*executable_malloc)(size_t);
static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static void *(*next_realloc)(void *, size_t);
static __thread volatile int looking __attribute__((tls_model("initial-exec")));

static void look_up(void) {
  if (looking) return;
  looking = 1;
  void (*found_free)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "free");
  void *(*found_realloc)(void *, size_t) = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
  void *(*found_malloc)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  __atomic_store_n(&next_malloc, found_malloc, __ATOMIC_RELEASE);
  __atomic_store_n(&next_realloc, found_realloc, __ATOMIC_RELEASE);
  __atomic_store_n(&next_free, found_free, __ATOMIC_RELEASE);
  looking = 0;
}

static void free_hook(void *address) {
  if (executable_malloc && lifespan_recorder_is_naming()) {
    ((void (*)(void *))lifespan_executable_free())(address);
    return;
  }
  lifespan_record_free(address);
  void (*next)(void *) = __atomic_load_n(&next_free, __ATOMIC_ACQUIRE);
  if (!next) {
    look_up();
    next = __atomic_load_n(&next_free, __ATOMIC_ACQUIRE);
  }
  if (!next) {
    __libc_free(address);
    return;
  }
  __attribute__((musttail)) return next(address);
}

static void *realloc_hook(void *address, size_t size) {
  void *(*next)(void *, size_t) = __atomic_load_n(&next_realloc, __ATOMIC_ACQUIRE);
  if (!next) {
    look_up();
    next = __atomic_load_n(&next_realloc, __ATOMIC_ACQUIRE);
  }
  if (!next) next = __libc_realloc;
  if (!lifespan_record_moving(address)) __attribute__((musttail)) return next(address, size);
  void *moved = next(address, size);
  if (moved || size) lifespan_record_moved(address, moved, size);
  else lifespan_record_free(address); // realloc to 0 gave the block back
  return moved;
}

void lifespan_preload_name_with(void *function) { executable_malloc = (void *(*)(size_t))function; }

static void *malloc_hook(size_t size) {
  if (executable_malloc && lifespan_recorder_is_naming()) return executable_malloc(size);
  void *(*next)(size_t) = __atomic_load_n(&next_malloc, __ATOMIC_ACQUIRE);
  if (!next) {
    look_up();
    next = __atomic_load_n(&next_malloc, __ATOMIC_ACQUIRE);
  }
  if (!next) next = __libc_malloc;
  __attribute__((musttail)) return next(size);
}

EXPORTED void *malloc(size_t size) __attribute__((alias("malloc_hook")));
EXPORTED void free(void *address) __attribute__((alias("free_hook")));
EXPORTED void *realloc(void *address, size_t size) __attribute__((alias("realloc_hook")));

void *lifespan_preload_foreign_free(void) {
  void *used = dlsym(RTLD_DEFAULT, "free");
  if (used && used != (void *)free_hook) return used;
  return lifespan_executable_free();
}
