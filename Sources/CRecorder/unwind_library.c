// Opens libunwind: the one that Tools/package puts beside the preload library, for images that have none, else the system's. See unwind_library.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "unwind_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Missing in static executables, where nobody calls this.
#pragma weak dladdr
#pragma weak dlopen

static void *open_in(const char *folder, int length, const char *name) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%.*s%s", length, folder, name) >= (int)sizeof path || access(path, R_OK)) return NULL;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void *unwind_open_library(void) {
  // What it needs comes first: then the dynamic linker finds that by its name, loaded already.
  static const char *const needs[] = {"liblzma.so.5", "libunwind.so.8"};
  Dl_info self;
  bool known = dladdr && dladdr((void *)unwind_open_library, &self) && self.dli_fname;
  const char *slash = known ? strrchr(self.dli_fname, '/') : NULL;
  int folder = slash ? (int)(slash - self.dli_fname) + 1 : 0;
  for (size_t i = 0; folder && i < sizeof needs / sizeof *needs; i++)
    if (!dlopen(needs[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) open_in(self.dli_fname, folder, needs[i]);
  void *beside = folder ? open_in(self.dli_fname, folder, UNWIND_LIBRARY) : NULL;
  return beside ? beside : dlopen(UNWIND_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

#endif
