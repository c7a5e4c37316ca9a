// Messages of the session socket. See session.h and "Session socket" in lifespan_map.h.
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "session.h"

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

int session_connect(const char *path, int milliseconds) {
  struct sockaddr_un name;
  int error = address(path, &name);
  if (error) return error;
  int peer = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (peer < 0) return -errno;
  struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
  setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(peer, (struct sockaddr *)&name, sizeof name) != 0) {
    error = -errno;
    close(peer);
    return error;
  }
  return peer;
}
