// The way to the recording command: connect, hello, answer, mapping. See preload.h. Everything has a time limit: a command that is stopped
// must not stop the program.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lifespan_recorder.h"
#include "preload.h"

#define PATIENCE_SECONDS 5

// Of our user, or root: nobody else may be given what the program does, or give it memory to write into.
static bool is_trusted(int session) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(session, SOL_SOCKET, SO_PEERCRED, &peer, &length)) return false;
  return peer.uid == 0 || peer.uid == geteuid() || peer.uid == getuid();
}

static int connect_to(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -1;
  strcpy(address.sun_path, path);
  int session = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (session < 0) return -1;
  struct timeval limit = {.tv_sec = PATIENCE_SECONDS};
  setsockopt(session, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(session, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int result;
  do result = connect(session, (struct sockaddr *)&address, sizeof address);
  while (result && errno == EINTR);
  if (!result && is_trusted(session)) return session;
  close(session);
  return -1;
}

// Receives the answer and the mapping's descriptor, where one comes with it. False: the session is gone.
static bool receive(int session, struct lifespan_message *answer, int *mapping) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {answer, sizeof *answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t length;
  do length = recvmsg(session, &message, MSG_CMSG_CLOEXEC);
  while (length < 0 && errno == EINTR);
  *mapping = -1;
  if (length < (ssize_t)offsetof(struct lifespan_message, text)) return false;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) memcpy(mapping, CMSG_DATA(header), sizeof *mapping);
  return answer->abi == LIFESPAN_ABI;
}

static bool say_hello(int session, const struct lifespan_hello *words) {
  static struct lifespan_message hello;
  hello = (struct lifespan_message){.abi = LIFESPAN_ABI, .op = LIFESPAN_OP_HELLO, .pid = (uint32_t)getpid(), .runtime = (uint32_t)words->runtime};
  hello.length = (uint32_t)lifespan_recorder_executable(hello.text, sizeof hello.text);
  hello.number = words->fork;
  hello.status = words->recording;
  if (words->runtime == 2 && words->reason) hello.length = (uint32_t)snprintf(hello.text, sizeof hello.text, "%s", words->reason);
  ssize_t sent;
  do sent = send(session, &hello, sizeof hello, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)sizeof hello;
}

// Far from where libraries are mapped: a library that is loaded later must find room for its detours' islands within 2 GiB above it.
#define FAR_AWAY (64ull << 30)

static struct lifespan_map *map_recording(int descriptor) {
  void *place = (void *)(((uintptr_t)map_recording - FAR_AWAY) & ~((2ull << 20) - 1));
  struct stat status;
  void *memory = MAP_FAILED;
  uint64_t size = LIFESPAN_MAP_VIRTUAL;
  if (!fstat(descriptor, &status) && (uint64_t)status.st_size >= LIFESPAN_DATA_OFFSET)
    for (; memory == MAP_FAILED && size >= 256ull << 20; size /= 2)
      memory = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) return NULL;
  struct lifespan_map *map = memory;
  madvise(memory, size * 2, MADV_DONTDUMP); // not in a core file
  if (map->magic == LIFESPAN_MAP_MAGIC && map->abi == LIFESPAN_ABI) return map;
  munmap(memory, size * 2);
  return NULL;
}

uint32_t lifespan_session_greet(const char *path, const struct lifespan_hello *hello, struct lifespan_map **map) {
  static struct lifespan_message answer;
  *map = NULL;
  int session = connect_to(path), descriptor = -1;
  if (session < 0) return 0;
  bool answered = say_hello(session, hello) && receive(session, &answer, &descriptor);
  close(session);
  if (answered && descriptor >= 0) {
    *map = map_recording(descriptor);
    if (!*map) lifespan_preload_say("nothing recorded", "the recording's memory can't be mapped");
  } else if (descriptor >= 0) {
    close(descriptor);
  }
  return answered ? answer.status : 0;
}
