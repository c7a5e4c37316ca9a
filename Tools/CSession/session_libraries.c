// What the dynamic linker finds on this machine, for `lifespan doctor`. See session.h.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdlib.h>

#include "session.h"

// The first word of the preload library's door, whatever its version: struct lifespan_door_table in lifespan_recorder.h.
struct door_head {
  uint32_t abi;
};

int64_t session_preload_abi(const char *path, const char **reason) {
  *reason = NULL;
  unsetenv("LIFESPAN_SESSION");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *reason = dlerror();
    return -1;
  }
  const struct door_head *(*door)(void) = (const struct door_head *(*)(void))dlsym(library, "lifespan_preload_door");
  return door ? (int64_t)door()->abi : -1;
}

bool session_can_load(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (library) dlclose(library);
  return library != NULL;
}

const char *session_glibc_version(void) { return gnu_get_libc_version(); }
