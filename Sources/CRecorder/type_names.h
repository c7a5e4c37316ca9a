// Names and patterns of types (type_names.c). Pure functions for any thread, in hooks too: they allocate nothing and
// cannot fail. Used by types.c and records.c.
#ifndef LIFESPAN_TYPE_NAMES_H
#define LIFESPAN_TYPE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_map.h"

#pragma GCC visibility push(hidden)
// The name without private discriminators, zero terminated and cut to `room`. Returns its length.
size_t lifespan_plain_name(const char *name, size_t length, char *plain, size_t room);
// Whether the whole text matches a pattern in which only * is special.
bool lifespan_glob(const char *pattern, size_t pattern_length, const char *text, size_t length);
// What the rules of lifespan_options say of a plain name.
bool lifespan_rules_allow(const char *rules, size_t rules_length, const char *name, size_t length);
// Class, or array, dictionary, set storage, by the runtime's name of the class.
uint32_t lifespan_class_kind(const char *name, size_t length);
#pragma GCC visibility pop

#endif
