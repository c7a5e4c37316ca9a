// Messages of the session socket. See session.h and "Session socket" in lifespan_map.h.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "session.h"

#define PATIENCE_SECONDS 3
#define TRIES 5u

int session_send(int socket, const struct lifespan_message *message, int descriptor) {
  struct iovec part = {(void *)message, sizeof *message};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  if (descriptor >= 0) {
    memset(&control, 0, sizeof control);
    header.msg_control = control.room;
    header.msg_controllen = sizeof control.room;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do sent = sendmsg(socket, &header, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : 0;
}

int session_receive(int socket, struct lifespan_message *message) {
  ssize_t got;
  do got = recv(socket, message, sizeof *message, 0);
  while (got < 0 && errno == EINTR);
  if (got < 0) return -errno;
  if (got == 0) return -ECONNRESET;
  if (got != (ssize_t)sizeof *message || message->abi != LIFESPAN_ABI) return -EPROTO;
  if (message->length > sizeof message->text) return -EPROTO;
  return 0;
}

static int address(const char *path, struct sockaddr_un *name) {
  memset(name, 0, sizeof *name);
  name->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof name->sun_path) return -ENAMETOOLONG;
  strcpy(name->sun_path, path);
  return 0;
}

int session_listen(const char *path) {
  struct sockaddr_un name;
  int error = address(path, &name);
  if (error) return error;
  int socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return -errno;
  mode_t before = umask(0177);
  int bound = bind(socket_, (struct sockaddr *)&name, sizeof name);
  error = bound == 0 ? 0 : -errno;
  umask(before);
  if (!error && listen(socket_, 64) != 0) error = -errno;
  if (!error) return socket_;
  close(socket_);
  return error;
}

int session_accept(int socket, pid_t *pid) {
  int peer = accept4(socket, NULL, NULL, SOCK_CLOEXEC);
  if (peer < 0) return -errno;
  struct ucred who;
  socklen_t length = sizeof who;
  int error = getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 ? 0 : -errno;
  if (!error && who.uid != geteuid() && who.uid != 0) error = -EPERM;
  // A peer that connects and says nothing must not stop the session.
  struct timeval limit = {.tv_sec = 1};
  if (!error && setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) error = -errno;
  if (!error && setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) error = -errno;
  if (error) {
    close(peer);
    return error;
  }
  *pid = who.pid;
  return peer;
}

static int connect_to(const char *path) {
  struct sockaddr_un name;
  int error = address(path, &name);
  if (error) return error;
  int peer = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (peer < 0) return -errno;
  struct timeval limit = {.tv_sec = PATIENCE_SECONDS};
  setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(peer, (struct sockaddr *)&name, sizeof name) != 0) {
    error = -errno;
    close(peer);
    return error;
  }
  return peer;
}

// Its state, and the processor time that it has had. False: it cannot be seen.
static bool life_of(pid_t pid, char *state, unsigned long *time) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = pid > 0 ? fopen(path, "re") : NULL;
  if (!file) return false;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  const char *name = strrchr(text, ')'); // a name may hold anything
  unsigned long user = 0, system = 0;
  if (!name || sscanf(name + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", state, &user, &system) != 3) return false;
  *time = user + system;
  return true;
}

// A command that is at work, or waits for a processor or a disk, will answer, however long that takes on this machine. One that sleeps will not.
static int receive_patiently(int peer, struct lifespan_message *message) {
  struct ucred who = {0};
  socklen_t length = sizeof who;
  char state = 0;
  unsigned long before = 0, now = 0;
  if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) who.pid = 0;
  bool is_seen = life_of(who.pid, &state, &before);
  for (;;) {
    int error = session_receive(peer, message);
    if (error != -EAGAIN || !is_seen || !life_of(who.pid, &state, &now)) return error;
    if (now == before && state != 'R' && state != 'D') return error;
    before = now;
  }
}

int session_ask(const char *path, struct lifespan_message *message) {
  const struct lifespan_message question = *message;
  int error = 0;
  for (unsigned tries = 0; tries < TRIES; tries++) {
    int peer = connect_to(path);
    if (peer < 0) return peer;
    *message = question;
    error = session_send(peer, message, -1);
    if (!error) error = receive_patiently(peer, message);
    close(peer);
    // It waits a second for what a peer has to say: on a machine that starves us that was too short, and nothing was read.
    if (error != -EPIPE && error != -ECONNRESET) break;
  }
  return error;
}
