// What the program asked for at its start, where the recording is the command's. The command records what it was told,
// all Swift objects as a rule; the program gets what it would get without the command. Called by start.c, tell.c and
// Lifespan.

#include "door.h"

#if LIFESPAN_RECORDS_HERE

#include <string.h>

#include "lifespan_records.h"

// Only the options are used: the recorder reads rules where a mapping has them.
static struct lifespan_map asked;
static uint32_t history_events;
static _Atomic bool has_asked; // written last

static bool same(const struct lifespan_linked_settings *settings, size_t length) {
  const struct lifespan_options *options = &asked.options;
  return settings->scope == options->scope && settings->refcounts == options->refcounts &&
         settings->history_events == history_events && length == options->rules_length &&
         (!length || !memcmp(settings->rules, options->rules, length));
}

bool lifespan_linked_ask_for(const struct lifespan_linked_settings *settings) {
  size_t length = settings->rules ? strlen(settings->rules) : 0;
  if (atomic_load(&has_asked)) return same(settings, length);
  if (length > sizeof asked.options.rules) return false;
  asked.options.scope = settings->scope;
  asked.options.refcounts = settings->refcounts;
  asked.options.rules_length = (uint32_t)length;
  if (length) memcpy(asked.options.rules, settings->rules, length);
  history_events = settings->history_events;
  // Our own recorder does not start here, but knows the tracked types.
  if (lifespan_tracked_protocol) lifespan_recorder_track_protocol(lifespan_tracked_protocol);
  atomic_store(&has_asked, true);
  return true;
}

enum lifespan_linked_recorded lifespan_linked_is_asked_for(const void *metadata, const char *name, size_t length) {
  if (!atomic_load(&has_asked)) return LIFESPAN_LINKED_RECORDED;
  if (!lifespan_recorder_rules_allow(&asked, name, length)) return LIFESPAN_LINKED_BY_RULE;
  bool all = !metadata || asked.options.scope != LIFESPAN_SCOPE_TRACKED;
  return all || lifespan_linked_tracks(metadata) ? LIFESPAN_LINKED_RECORDED : LIFESPAN_LINKED_NOT_TRACKED;
}

// As the recorder decides at a type's first birth (types.c there): only classes and tokens can be tracked.
bool lifespan_linked_wants(const struct lifespan_type_row *type, const char *name) {
  if (!atomic_load(&has_asked)) return true;
  if (type->kind == LIFESPAN_KIND_THREAD) return false; // seen by the preload library alone
  bool closure = type->kind == LIFESPAN_KIND_CLOSURE;
  if (!lifespan_recorder_rules_allow(&asked, closure ? "closure" : name, closure ? 7 : type->name_length)) return false;
  if (asked.options.scope != LIFESPAN_SCOPE_TRACKED || type->flags & LIFESPAN_TYPE_TRACKED) return true;
  switch (type->kind) {
  case LIFESPAN_KIND_TOKEN: return true;
  case LIFESPAN_KIND_CLASS: // tracked by name since the command was told of it
  case LIFESPAN_KIND_ARRAY:
  case LIFESPAN_KIND_DICTIONARY:
  case LIFESPAN_KIND_SET: return lifespan_recorder_is_tracked((const void *)(uintptr_t)type->metadata);
  default: return false;
  }
}

#else

bool lifespan_linked_wants(const struct lifespan_type_row *type, const char *name) {
  (void)type, (void)name;
  return true;
}

#endif
