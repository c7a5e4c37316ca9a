// Whether a type's objects are recorded under a mapping's options. For the linked library, which must not answer 0
// where it means "not looked at".
#ifndef LIFESPAN_RECORDS_H
#define LIFESPAN_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_map.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether the class or one of its superclasses is tracked (by protocol or by lifespan_recorder_track). Any thread.
bool lifespan_recorder_is_tracked(const void *metadata);

// Whether the rules of a recording let a type in, by the name that the runtime prints. Any thread; 4 KB of stack.
bool lifespan_recorder_rules_allow(const struct lifespan_map *map, const char *name, size_t length);

// A type's name without private discriminators, into `plain` (zero terminated). Returns its length. Any thread.
size_t lifespan_recorder_plain_name(const char *name, size_t length, char *plain, size_t room);

#ifdef __cplusplus
}
#endif
#endif
