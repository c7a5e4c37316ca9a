// The mappings of the frozen process (/proc/PID/maps), and the files in them. See heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#include <stdio.h>

static uint32_t file_of(struct heap_maps *maps, const char *path, uint64_t start) {
  if (path[0] != '/') return HEAP_NONE;
  for (size_t i = 0; i < maps->file_count; i++)
    if (!strcmp(maps->files[i].path, path)) return (uint32_t)i;
  if (maps->file_count == maps->file_room) {
    size_t room = maps->file_room ? maps->file_room * 2 : 64;
    struct heap_file *more = heap_own_larger(maps->files, room * sizeof *more);
    if (!more) return HEAP_NONE;
    maps->files = more;
    maps->file_room = room;
  }
  maps->files[maps->file_count] = (struct heap_file){.path = heap_own_text(path), .base = start};
  if (!maps->files[maps->file_count].path) return HEAP_NONE;
  return (uint32_t)maps->file_count++;
}

static bool add(struct heap_maps *maps, const struct heap_mapping *mapping) {
  if (maps->count == maps->room) {
    size_t room = maps->room ? maps->room * 2 : 256;
    struct heap_mapping *more = heap_own_larger(maps->list, room * sizeof *more);
    if (!more) return false;
    maps->list = more;
    maps->room = room;
  }
  maps->list[maps->count++] = *mapping;
  return true;
}

int heap_maps_read(struct heap_maps *maps, pid_t pid) {
  char path[64], *line = NULL;
  snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  FILE *file = fopen(path, "re");
  if (!file) return errno;
  size_t room = 0;
  int error = 0;
  while (!error && getline(&line, &room, file) > 0) {
    unsigned long start, end, offset, inode;
    unsigned major, minor;
    char flags[5];
    int name = 0;
    if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, flags, &offset, &major, &minor, &inode, &name) < 7) continue;
    line[strcspn(line, "\n")] = 0;
    const char *text = name ? line + name : "";
    struct heap_mapping mapping = {.start = start, .end = end, .file_offset = offset, .readable = flags[0] == 'r', .writable = flags[1] == 'w',
                                   .executable = flags[2] == 'x', .shared = flags[3] == 's', .file = file_of(maps, text, start)};
    mapping.path = heap_own_text(text);
    if (!mapping.path || !add(maps, &mapping)) error = ENOMEM;
  }
  free(line);
  fclose(file);
  return error;
}

void heap_maps_free(struct heap_maps *maps) {
  for (size_t i = 0; i < maps->count; i++) heap_own_free((char *)maps->list[i].path);
  for (size_t i = 0; i < maps->file_count; i++) {
    heap_own_free(maps->files[i].path);
    heap_symbols_close(maps->files[i].symbols);
  }
  heap_own_free(maps->list);
  heap_own_free(maps->files);
}

const struct heap_mapping *heap_maps_find(const struct heap_maps *maps, uint64_t address) {
  size_t low = 0, high = maps->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (maps->list[middle].end <= address) low = middle + 1;
    else high = middle;
  }
  return low < maps->count && maps->list[low].start <= address ? &maps->list[low] : NULL;
}

#endif
