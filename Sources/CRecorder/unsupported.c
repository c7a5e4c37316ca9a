// The C interface on platforms where nothing is recorded.
#include "lifespan.h"
#include "lifespan_platform.h"

#if !LIFESPAN_RECORDS_HERE
void lifespan_mark_generation(const char *name) { (void)name; }
#endif
