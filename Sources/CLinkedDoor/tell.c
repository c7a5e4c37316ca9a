// What the program tells the recorder: tracked classes, tokens, marks. It goes to the recorder of the preload library
// where there is one, else to our own. Called by Lifespan.

#include "door.h"

#include <string.h>

#include "lifespan_records.h"

#if LIFESPAN_RECORDS_HERE

static const struct lifespan_door_table *preload_in_use(void) {
  enum lifespan_linked_status status;
  return lifespan_linked_preload(&status, NULL);
}

void lifespan_linked_track(const void *metadata) {
  const struct lifespan_door_table *preload = preload_in_use();
  if (preload) preload->track(metadata);
  lifespan_recorder_own_door()->track(metadata); // ours too: it answers lifespan_linked_records
}

uint64_t lifespan_linked_token_born(const char *name, size_t length, uint64_t size) {
  const struct lifespan_door_table *preload = preload_in_use();
  return preload ? preload->token_born(name, length, size) : lifespan_recorder_token_born(name, length, size);
}

void lifespan_linked_token_died(uint64_t token) {
  if (!token) return;
  const struct lifespan_door_table *preload = preload_in_use();
  if (preload) preload->token_died(token);
  else lifespan_recorder_token_died(token);
}

int64_t lifespan_linked_mark(const char *name, size_t length) {
  enum lifespan_linked_status status;
  struct lifespan_map *map = lifespan_linked_map(&status);
  if (!map) return -1;
  const struct lifespan_door_table *preload = lifespan_linked_preload(&status, NULL);
  uint64_t stamp = preload ? preload->mark(name, length) : lifespan_recorder_mark(name, length);
  return stamp ? (int64_t)(stamp - map->start_stamp) : -1;
}

bool lifespan_linked_tracks(const void *metadata) {
  if (lifespan_recorder_is_tracked(metadata)) return true;
  // An image may have been loaded since; and under the preload library our own recorder never starts.
  if (lifespan_tracked_protocol) lifespan_recorder_track_protocol(lifespan_tracked_protocol);
  return lifespan_recorder_is_tracked(metadata);
}

enum lifespan_linked_recorded lifespan_linked_records(const void *metadata, const char *name, size_t length) {
  enum lifespan_linked_status status;
  struct lifespan_map *map = lifespan_linked_map(&status);
  if (!map) return LIFESPAN_LINKED_NOT_TRACKED;
  enum lifespan_linked_recorded asked = lifespan_linked_is_asked_for(metadata, name, length);
  if (asked != LIFESPAN_LINKED_RECORDED) return asked;
  if (!lifespan_recorder_rules_allow(map, name, length)) return LIFESPAN_LINKED_BY_RULE;
  if (!metadata || map->options.scope != LIFESPAN_SCOPE_TRACKED) return LIFESPAN_LINKED_RECORDED;
  return lifespan_linked_tracks(metadata) ? LIFESPAN_LINKED_RECORDED : LIFESPAN_LINKED_NOT_TRACKED;
}

size_t lifespan_linked_plain_name(const char *name, size_t length, char *plain, size_t room) {
  return lifespan_recorder_plain_name(name, length, plain, room);
}

#else

void lifespan_linked_track(const void *metadata) { (void)metadata; }
uint64_t lifespan_linked_token_born(const char *name, size_t length, uint64_t size) {
  (void)name, (void)length, (void)size;
  return 0;
}
void lifespan_linked_token_died(uint64_t token) { (void)token; }
int64_t lifespan_linked_mark(const char *name, size_t length) {
  (void)name, (void)length;
  return -1;
}
enum lifespan_linked_recorded lifespan_linked_records(const void *metadata, const char *name, size_t length) {
  (void)metadata, (void)name, (void)length;
  return LIFESPAN_LINKED_NOT_TRACKED;
}
size_t lifespan_linked_plain_name(const char *name, size_t length, char *plain, size_t room) {
  size_t part = room && length >= room ? room - 1 : length;
  if (room) memcpy(plain, name, part);
  return room ? part : 0;
}

#endif
