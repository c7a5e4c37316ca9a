// The C interface for programs: mark generations from inside.
#ifndef LIFESPAN_H
#define LIFESPAN_H

#ifdef __cplusplus
extern "C" {
#endif

// Closes the current generation and names it `name` (UTF-8, or NULL for A, B, C …). Any thread, also signal handlers; allocates nothing;
// does nothing where nothing is recorded. Programs that link nothing find it with dlsym(NULL, "lifespan_mark_generation").
void lifespan_mark_generation(const char *name);

#ifdef __cplusplus
}
#endif
#endif
