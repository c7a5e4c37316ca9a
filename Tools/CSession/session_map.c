// The mapping of one recording: made by the command, handed to the program. See session.h.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session.h"

// What the command owns of the header; the consumer makes its mutex when it begins to drain (CDrain/run.c).
static void fill(struct lifespan_map *map, const struct lifespan_options *options, uint64_t bytes) {
  map->magic = LIFESPAN_MAP_MAGIC;
  map->abi = LIFESPAN_ABI;
  map->door = LIFESPAN_DOOR_PRELOAD;
  map->options = *options;
  atomic_store_explicit(&map->allocated, bytes, memory_order_relaxed);
  uint64_t first = lifespan_first_buffer(options->children != 0, options->rings_file != 0);
  atomic_store_explicit(&map->next_free, first, memory_order_relaxed);
  atomic_store_explicit(&map->recording, options->paused ? 0 : 1, memory_order_relaxed);
  atomic_store_explicit(&map->consumer_alive, 1, memory_order_release);
}

// The file takes its place in memory. Gives its descriptor, or -errno with the file closed.
static int map_file(int file, bool memory, const struct lifespan_options *options, uint64_t data_bytes, struct lifespan_map **map) {
  *map = NULL;
  uint64_t first = lifespan_first_buffer(options->children != 0, options->rings_file != 0);
  uint64_t bytes = (first + data_bytes + 65535) & ~65535ull;
  if (bytes > LIFESPAN_MAP_VIRTUAL) bytes = LIFESPAN_MAP_VIRTUAL;
  // Allocated in full before use: a full disk or memory limit shows here, not as SIGBUS in the program.
  int error = posix_fallocate(file, 0, (off_t)bytes);
  if (!error && memory && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) error = errno;
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

int session_map_create(const struct lifespan_options *options, uint64_t data_bytes, struct lifespan_map **map) {
  int file = memfd_create("lifespan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return file < 0 ? -errno : map_file(file, true, options, data_bytes, map);
}

// A file of ours alone: nobody else may see what a program does, and none that is there, nor what a link points to, is written over.
int session_map_create_at(const char *path, const struct lifespan_options *options, uint64_t data_bytes, struct lifespan_map **map) {
  int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return -errno;
  int made = map_file(file, false, options, data_bytes, map);
  if (made < 0) unlink(path);
  return made;
}

// Read, not mapped: a mapping would end us where somebody cuts the file.
static bool read_whole(int file, uint8_t *target, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes;) {
    ssize_t got = pread(file, target + at, bytes - at > 1u << 30 ? 1u << 30 : bytes - at, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += (uint64_t)got;
  }
  return true;
}

int session_map_read(const char *path, struct lifespan_map **map) {
  *map = NULL;
  int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return -errno;
  struct stat status;
  int error = fstat(file, &status) ? errno : 0;
  uint64_t bytes = error ? 0 : (uint64_t)status.st_size;
  bool fits = bytes >= LIFESPAN_COMMIT_OFFSET + LIFESPAN_COMMIT_BYTES && bytes <= LIFESPAN_MAP_VIRTUAL;
  if (!error && (!S_ISREG(status.st_mode) || (status.st_uid != geteuid() && status.st_uid != 0) || !fits)) error = EPROTO;
  void *memory = MAP_FAILED;
  if (!error) memory = mmap(NULL, LIFESPAN_MAP_VIRTUAL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!error && memory == MAP_FAILED) error = errno;
  if (!error && !read_whole(file, memory, bytes)) error = EIO;
  close(file);
  struct lifespan_map *read = memory == MAP_FAILED ? NULL : memory;
  if (!error && (read->magic != LIFESPAN_MAP_MAGIC || read->abi != LIFESPAN_ABI || !read->options.rings_file)) error = EPROTO;
  if (!error && atomic_load_explicit(&read->allocated, memory_order_relaxed) > bytes) error = EPROTO;
  if (!error) {
    *map = read;
    return 0;
  }
  session_map_close(read, -1);
  return -error;
}

uint32_t session_map_pid(const struct lifespan_map *map) { return map->pid; }

void session_map_close(struct lifespan_map *map, int file) {
  if (map) munmap(map, LIFESPAN_MAP_VIRTUAL);
  if (file >= 0) close(file);
}

void session_map_set_number(struct lifespan_map *map, uint32_t number) { map->number = number; }

bool session_map_recording(const struct lifespan_map *map) {
  return atomic_load_explicit(&((struct lifespan_map *)map)->recording, memory_order_acquire) == LIFESPAN_RECORDING_ON;
}

uint32_t session_map_state(const struct lifespan_map *map) {
  return atomic_load_explicit(&((struct lifespan_map *)map)->state, memory_order_acquire);
}

uint32_t session_map_runtime(const struct lifespan_map *map) {
  return atomic_load_explicit(&((struct lifespan_map *)map)->runtime, memory_order_acquire);
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

uint64_t session_map_checked(const struct lifespan_map *map, uint64_t *equal, uint64_t *guessed) {
  *guessed = atomic_load_explicit(&map->stacks_guessed, memory_order_relaxed);
  *equal = atomic_load_explicit(&map->stacks_equal, memory_order_relaxed);
  return atomic_load_explicit(&map->stacks_checked, memory_order_relaxed);
}

void session_map_leave(struct lifespan_map *map) {
  atomic_store_explicit(&map->consumer_alive, 0, memory_order_release);
}

// The word first: whoever sees the consumer gone then knows that it is for good.
void session_map_dismiss(struct lifespan_map *map) {
  atomic_store_explicit(&map->recording, LIFESPAN_RECORDING_ENDED, memory_order_release);
  session_map_leave(map);
}

void session_map_release(struct lifespan_map *map, int file) {
  uint64_t bytes = atomic_load_explicit(&map->allocated, memory_order_relaxed);
  if (bytes <= LIFESPAN_DATA_OFFSET || bytes > LIFESPAN_MAP_VIRTUAL) return;
  fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)LIFESPAN_DATA_OFFSET, (off_t)(bytes - LIFESPAN_DATA_OFFSET));
}
