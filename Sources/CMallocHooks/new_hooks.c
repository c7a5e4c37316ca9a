// C++'s operator new and delete, for allocators that bring their own (jemalloc, tcmalloc, mimalloc): those don't come through malloc. The C++ library's do, and
// are passed on without a look.
//
// operator new may throw through these functions: nothing here needs to be undone then.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "lifespan_interpose.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

struct next {
  void *function;
  bool own; // not the C++ library's: a block of it is told here
};

// A program without the C++ library may load one for a plugin alone, out of the sight of RTLD_NEXT.
static void *find_loaded(const char *name) {
  static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
  void *function = NULL;
  for (size_t i = 0; !function && i < sizeof libraries / sizeof *libraries; i++) {
    void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    function = dlsym(library, name);
    dlclose(library);
  }
  return function;
}

// The definition behind ours. The first call of each function looks it up; before that there is no second thread, and later ones find the same.
static struct next find(struct next *known, const char *name) {
  void *function = __atomic_load_n(&known->function, __ATOMIC_ACQUIRE);
  if (__builtin_expect(function != NULL, 1)) return *known;
  struct next found = {dlsym(RTLD_NEXT, name), false};
  if (!found.function) found.function = find_loaded(name);
  Dl_info info;
  if (found.function && dladdr(found.function, &info) && info.dli_fname)
    found.own = !strstr(info.dli_fname, "libstdc++") && !strstr(info.dli_fname, "libc++");
  known->own = found.own;
  __atomic_store_n(&known->function, found.function, __ATOMIC_RELEASE);
  return found;
}

// Without a definition nobody could have linked a call of it; a weak call is as it would be without us.
#define NEXT(name)                 \
  static struct next known;        \
  struct next next = find(&known, name)

#define NEW(symbol, parameters, types, ...)                                   \
  EXPORTED void *symbol parameters {                                          \
    NEXT(#symbol);                                                            \
    void *(*call) types = (void *(*)types)next.function;                      \
    if (!next.own) __attribute__((musttail)) return call(__VA_ARGS__);        \
    void *block = call(__VA_ARGS__);                                          \
    lifespan_record_block_unless_known(block, size, LIFESPAN_CALLER);         \
    return block;                                                             \
  }
#define DELETE(symbol, parameters, types, ...)                                \
  EXPORTED void symbol parameters {                                           \
    NEXT(#symbol);                                                            \
    if (next.own) lifespan_record_free(block);                                \
    __attribute__((musttail)) return ((void(*) types)next.function)(__VA_ARGS__); \
  }

#include "operators.h"
