// A preload library that is none: what a linked program finds below a recording command of another version (DOOR=abi),
// in a process that the command does not record (DOOR=inactive), and when the command has died (DOOR=gone) or is silent
// (DOOR=silent). Used by linked_door.py.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lifespan_recorder.h"

static struct lifespan_map *map;
static struct lifespan_map *get_map(void) { return map; }
static void ignore(const void *pointer) { (void)pointer; }
static uint64_t token_born(const char *name, size_t length, uint64_t size) { return (void)name, (void)length, size * 0; }
static void token_died(uint64_t token) { (void)token; }
static uint64_t mark(const char *name, size_t length) { return (void)name, length * 0; }
static void nothing(void) {}

static struct lifespan_door_table table = {
  .abi = LIFESPAN_ABI, .size = sizeof table, .map = get_map, .track = ignore, .track_protocol = ignore, .token_born = token_born,
  .token_died = token_died, .mark = mark, .pause = nothing, .resume = nothing,
};

__attribute__((visibility("default"))) const struct lifespan_door_table *lifespan_preload_door(void) {
  const char *door = getenv("DOOR");
  if (!door || table.abi != LIFESPAN_ABI || map) return &table;
  if (!strcmp(door, "abi")) table.abi = 999;
  if (strcmp(door, "gone") && strcmp(door, "silent")) return &table;
  map = mmap(NULL, LIFESPAN_DATA_OFFSET, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  map->recording = 1;
  map->capture = LIFESPAN_CAPTURE_COMPLETE;
  map->consumer_alive = !strcmp(door, "silent");
  return &table;
}
