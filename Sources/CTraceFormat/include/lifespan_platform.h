// Where the recorder works. Elsewhere the package compiles, and starting says that the platform is not supported.
#ifndef LIFESPAN_PLATFORM_H
#define LIFESPAN_PLATFORM_H

// glibc is told by a header that it alone has: its own macro is set by its headers, which must not come before _GNU_SOURCE.
#define LIFESPAN_RECORDS_HERE 0
#if defined(__linux__) && defined(__x86_64__) && defined(__has_include)
#if __has_include(<gnu/libc-version.h>)
#undef LIFESPAN_RECORDS_HERE
#define LIFESPAN_RECORDS_HERE 1
#endif
#endif

#endif
