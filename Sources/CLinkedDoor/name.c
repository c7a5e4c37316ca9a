// Names of return addresses from the images' dynamic symbol tables, for who wants to read a history in the process
// itself. The command finds more: it reads the full symbol tables. Called by Lifespan.

#include "door.h"

#include <stdio.h>
#include <string.h>

#if LIFESPAN_RECORDS_HERE

#include <dlfcn.h>
#include <stdlib.h>

// The runtime's own demangler; weak, as another version may lack it.
extern char *swift_demangle(const char *mangled, size_t length, char *output, size_t *room, uint32_t flags)
  __attribute__((weak));

void lifespan_linked_demangle(const char *mangled, char *plain, size_t room) {
  char *text = swift_demangle ? swift_demangle(mangled, strlen(mangled), NULL, NULL, 0) : NULL;
  snprintf(plain, room, "%s", text ? text : mangled);
  free(text);
}

bool lifespan_linked_name(uint64_t return_address, struct lifespan_linked_name *name) {
  memset(name, 0, sizeof *name);
  Dl_info info;
  // The call lies before the address that it returns to; the next function may begin there.
  if (!return_address || !dladdr((const void *)(uintptr_t)(return_address - 1), &info)) return false;
  if (info.dli_fname) snprintf(name->image, sizeof name->image, "%s", info.dli_fname);
  if (info.dli_sname) lifespan_linked_demangle(info.dli_sname, name->function, sizeof name->function);
  name->offset = return_address - (uint64_t)(uintptr_t)(info.dli_sname ? info.dli_saddr : info.dli_fbase);
  return true;
}

#else

void lifespan_linked_demangle(const char *mangled, char *plain, size_t room) { snprintf(plain, room, "%s", mangled); }
bool lifespan_linked_name(uint64_t return_address, struct lifespan_linked_name *name) {
  (void)return_address;
  memset(name, 0, sizeof *name);
  return false;
}

#endif
