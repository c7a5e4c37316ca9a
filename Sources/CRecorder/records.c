// What is recorded, asked from outside of hooks: the same decisions as types.c makes at a type's first birth. Called by
// CLinkedDoor.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "lifespan_records.h"

#include "tracked.h"
#include "type_names.h"

bool lifespan_recorder_is_tracked(const void *metadata) { return metadata && lifespan_is_tracked(metadata); }

bool lifespan_recorder_rules_allow(const struct lifespan_map *map, const char *name, size_t length) {
  uint32_t rules = map->options.rules_length;
  if (!rules || rules > sizeof map->options.rules) return true;
  char plain[4096];
  size_t plain_length = lifespan_plain_name(name, length, plain, sizeof plain);
  return lifespan_rules_allow(map->options.rules, rules, plain, plain_length);
}

size_t lifespan_recorder_plain_name(const char *name, size_t length, char *plain, size_t room) {
  return lifespan_plain_name(name, length, plain, room);
}

#endif
