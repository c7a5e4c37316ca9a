// Reads what the bounds of the main thread's stack need; once, outside hooks, by lifespan_images_start.
#ifndef LIFESPAN_UNWIND_BOUNDS_H
#define LIFESPAN_UNWIND_BOUNDS_H
#pragma GCC visibility push(hidden)
void unwind_bounds_start(void);
#pragma GCC visibility pop
#endif
