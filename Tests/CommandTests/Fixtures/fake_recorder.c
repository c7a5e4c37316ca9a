// A stand-in for the preload library: speaks the session's protocol and writes one type, three births and one death, then nothing.
// Built by FakeRecorder.swift, so that the command is tested without a Swift runtime below it. The program whose file has the name
// in FAKE_RUNTIME counts as one with a Swift runtime; FAKE_REASON makes it one that cannot be hooked.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "lifespan_map.h"

struct door {
  uint32_t abi;
};
static const struct door own_door = {LIFESPAN_ABI};
const struct door *lifespan_preload_door(void) { return &own_door; }

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int ask(const char *path, struct lifespan_message *message, int *descriptor) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  strncpy(name.sun_path, path, sizeof name.sun_path - 1);
  int session = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connect(session, (struct sockaddr *)&name, sizeof name) || send(session, message, sizeof *message, 0) < 0) {
    close(session);
    return -1;
  }
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {message, sizeof *message};
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control};
  ssize_t got = recvmsg(session, &header, MSG_CMSG_CLOEXEC);
  close(session);
  struct cmsghdr *rights = got > 0 ? CMSG_FIRSTHDR(&header) : NULL;
  if (rights) memcpy(descriptor, CMSG_DATA(rights), sizeof *descriptor);
  return got > 0 ? 0 : -1;
}

static void write_events(struct lifespan_map *map) {
  uint64_t buffer = atomic_fetch_add(&map->next_free, 65536);
  struct lifespan_ring *ring = (void *)((char *)map + LIFESPAN_RINGS_OFFSET);
  struct lifespan_cell *cell = (void *)((char *)map + buffer), *first = cell;
  *cell++ = (struct lifespan_cell){0x1000, lifespan_head_word(LIFESPAN_R_TYPE, 4, 1)};
  *cell++ = (struct lifespan_cell){LIFESPAN_KIND_CLASS, 24ull << 32 | 8};
  *cell++ = (struct lifespan_cell){0, 0};
  memcpy(cell++, "App.Node\0\0\0\0\0\0\0", 16);
  for (uint64_t i = 0; i < 3; i++) {
    *cell++ = (struct lifespan_cell){__rdtsc(), lifespan_head_word(LIFESPAN_R_BIRTH, 2, 0x5000 + i * 64)};
    *cell++ = (struct lifespan_cell){1ull << 32, 24};
  }
  *cell++ = (struct lifespan_cell){__rdtsc(), lifespan_head_word(LIFESPAN_R_DEATH, 1, 0x5000)};
  ring->tid = (uint32_t)getpid();
  ring->thread_number = 1;
  atomic_store(&map->next_thread, 1);
  atomic_store(&ring->data, buffer | LIFESPAN_RING_SMALL_LOG2);
  atomic_store(&ring->head, (uint64_t)(cell - first));
  atomic_store(&ring->state, LIFESPAN_RING_CLAIMED);
}

static void record_into(int descriptor) {
  void *at = mmap(NULL, LIFESPAN_MAP_VIRTUAL, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  close(descriptor);
  if (at == MAP_FAILED) return;
  struct lifespan_map *map = at;
  map->pid = (uint32_t)getpid();
  map->parent_pid = (uint32_t)getppid();
  map->clock = LIFESPAN_CLOCK_TSC;
  map->page_size = 4096;
  map->start_stamp = __rdtsc();
  map->start_monotonic_ns = nanoseconds(CLOCK_MONOTONIC);
  map->start_realtime_ns = nanoseconds(CLOCK_REALTIME);
  strcpy(map->program, "fake");
  atomic_store(&map->capture, LIFESPAN_CAPTURE_COMPLETE);
  write_events(map);
  atomic_store(&map->state, LIFESPAN_PROGRAM_RUNNING);
}

__attribute__((constructor)) static void hello(void) {
  const char *path = getenv("LIFESPAN_SESSION");
  if (!path) return;
  static struct lifespan_message message;
  message = (struct lifespan_message){.abi = LIFESPAN_ABI, .op = LIFESPAN_OP_HELLO, .pid = (uint32_t)getpid()};
  ssize_t length = readlink("/proc/self/exe", message.text, sizeof message.text - 1);
  message.length = length > 0 ? (uint32_t)length : 0;
  const char *wanted = getenv("FAKE_RUNTIME"), *reason = getenv("FAKE_REASON"), *name = strrchr(message.text, '/');
  if (wanted && name && strcmp(name + 1, wanted) == 0) message.runtime = reason ? 2 : 1;
  if (message.runtime == 2) message.length = (uint32_t)snprintf(message.text, sizeof message.text, "%s", reason);
  int descriptor = -1;
  if (ask(path, &message, &descriptor)) return;
  if (message.status == LIFESPAN_VERDICT_OFF) {
    unsetenv("LIFESPAN_SESSION");
    unsetenv("LD_PRELOAD");
  }
  if (message.status == LIFESPAN_VERDICT_RECORD && descriptor >= 0) record_into(descriptor);
}
