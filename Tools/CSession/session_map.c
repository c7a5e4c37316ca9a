// The mapping of one recording: made by the command, handed to the program. See session.h.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session.h"

// What the command owns of the header; the consumer makes its mutex when it begins to drain (CDrain/run.c).
static void fill(struct lifespan_map *map, const struct lifespan_options *options, uint64_t bytes) {
  map->magic = LIFESPAN_MAP_MAGIC;
  map->abi = LIFESPAN_ABI;
  map->door = LIFESPAN_DOOR_PRELOAD;
  map->options = *options;
  atomic_store_explicit(&map->allocated, bytes, memory_order_relaxed);
  atomic_store_explicit(&map->next_free, LIFESPAN_DATA_OFFSET, memory_order_relaxed);
  atomic_store_explicit(&map->recording, options->paused ? 0 : 1, memory_order_relaxed);
  atomic_store_explicit(&map->consumer_alive, 1, memory_order_release);
}

int session_map_create(const struct lifespan_options *options, uint64_t data_bytes, struct lifespan_map **map) {
  *map = NULL;
  int file = memfd_create("lifespan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -errno;
  uint64_t bytes = (LIFESPAN_DATA_OFFSET + data_bytes + 65535) & ~65535ull;
  if (bytes > LIFESPAN_MAP_VIRTUAL) bytes = LIFESPAN_MAP_VIRTUAL;
  // Allocated in full before use: a full disk or memory limit shows here, not as SIGBUS in the program.
  int error = posix_fallocate(file, 0, (off_t)bytes);
  if (!error && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) error = errno;
  if (!error) {
    void *at = mmap(NULL, LIFESPAN_MAP_VIRTUAL, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (at == MAP_FAILED) error = errno;
    else *map = at;
  }
  if (!error) {
    fill(*map, options, bytes);
    return file;
  }
  session_map_close(*map, file);
  *map = NULL;
  return -error;
}

void session_map_close(struct lifespan_map *map, int file) {
  if (map) munmap(map, LIFESPAN_MAP_VIRTUAL);
  if (file >= 0) close(file);
}

bool session_map_recording(const struct lifespan_map *map) {
  return atomic_load_explicit(&((struct lifespan_map *)map)->recording, memory_order_acquire) != 0;
}

uint32_t session_map_state(const struct lifespan_map *map) {
  return atomic_load_explicit(&((struct lifespan_map *)map)->state, memory_order_acquire);
}

uint32_t session_map_capture(const struct lifespan_map *map) {
  return atomic_load_explicit(&((struct lifespan_map *)map)->capture, memory_order_acquire);
}

void session_map_reason(const struct lifespan_map *map, char *room, size_t length) {
  size_t most = sizeof map->capture_reason < length ? sizeof map->capture_reason : length;
  if (most == 0) return;
  memcpy(room, map->capture_reason, most);
  room[most - 1] = 0;
}

uint64_t session_map_checked(const struct lifespan_map *map, uint64_t *equal) {
  *equal = atomic_load_explicit(&map->stacks_equal, memory_order_relaxed);
  return atomic_load_explicit(&map->stacks_checked, memory_order_relaxed);
}

void session_map_leave(struct lifespan_map *map) {
  atomic_store_explicit(&map->consumer_alive, 0, memory_order_release);
}
