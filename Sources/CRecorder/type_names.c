// Names and patterns: what a report calls a type, and whether a rule of the recording lets it in.
// Called by types.c once for each type, in hooks: no allocation.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "type_names.h"

#include <string.h>

// Takes private discriminators off as swift_getTypeName writes them: "(unknown context at $7f…).". (The demangler's form,
// "(Name in _HASH)", is for LifespanAnalysis.) Returns the length in `plain`.
size_t lifespan_plain_name(const char *name, size_t length, char *plain, size_t room) {
  static const char unknown[] = "(unknown context at $";
  size_t out = 0;
  for (size_t i = 0; i < length && out + 1 < room;) {
    if (length - i > sizeof unknown && !memcmp(name + i, unknown, sizeof unknown - 1)) {
      size_t j = i;
      while (j < length && name[j] != ')') j++;
      if (j + 1 < length && name[j + 1] == '.') {
        i = j + 2;
        continue;
      }
    }
    plain[out++] = name[i++];
  }
  plain[out] = 0;
  return out;
}

// Glob in which only * is special. Linear in practice: one star is retried at a time.
bool lifespan_glob(const char *pattern, size_t pattern_length, const char *text, size_t length) {
  size_t p = 0, t = 0, star = SIZE_MAX, retry = 0;
  while (t < length) {
    if (p < pattern_length && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern_length && pattern[p] == text[t]) {
      p++;
      t++;
    } else if (star != SIZE_MAX) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern_length && pattern[p] == '*') p++;
  return p == pattern_length;
}

// Rules "+PATTERN\n-PATTERN\n…" in order, the last match wins. Without a match a type is recorded, unless the first rule is a "+".
bool lifespan_rules_allow(const char *rules, size_t rules_length, const char *name, size_t length) {
  bool allowed = rules_length == 0 || rules[0] != '+';
  for (size_t i = 0; i < rules_length;) {
    const char *end = memchr(rules + i, '\n', rules_length - i);
    size_t stop = end ? (size_t)(end - rules) : rules_length;
    if (stop > i + 1 && lifespan_glob(rules + i + 1, stop - i - 1, name, length)) allowed = rules[i] == '+';
    i = stop + 1;
  }
  return allowed;
}

uint32_t lifespan_class_kind(const char *name, size_t length) {
  static const struct {
    const char *prefix;
    uint32_t kind;
  } storages[] = {
    {"Swift._ContiguousArrayStorage<", LIFESPAN_KIND_ARRAY},
    {"Swift._DictionaryStorage<", LIFESPAN_KIND_DICTIONARY},
    {"Swift._SetStorage<", LIFESPAN_KIND_SET},
  };
  for (size_t i = 0; i < sizeof storages / sizeof *storages; i++) {
    size_t prefix = strlen(storages[i].prefix);
    if (length >= prefix && !memcmp(name, storages[i].prefix, prefix)) return storages[i].kind;
  }
  return LIFESPAN_KIND_CLASS;
}

#endif
