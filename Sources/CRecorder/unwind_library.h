// Where libunwind's library is found. See unwind_library.c; called by unwind_reference.c outside hooks.
#ifndef LIFESPAN_UNWIND_LIBRARY_H
#define LIFESPAN_UNWIND_LIBRARY_H

// The address-space interface lies in the library of the architecture; libunwind.so.8 comes with it.
#define UNWIND_LIBRARY "libunwind-x86_64.so.8"

#pragma GCC visibility push(hidden)
// Opened RTLD_LOCAL: what lies beside this library, else the system's. NULL: dlerror says why. Not in a static executable.
void *unwind_open_library(void);
#pragma GCC visibility pop

#endif
