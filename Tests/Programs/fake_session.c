// A `lifespan record` that takes its time: listens as one does (argument: the socket's folder), and answers a mark after five seconds, in which it is
// at work (`busy`), or sleeps for ever (`asleep`). Prints `ready`, then how often it was asked to mark when stdin ends. CSession's own code carries the messages.
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void answer(struct lifespan_message *message, const char *text) {
  message->status = 0;
  message->number = 1;
  message->length = (uint32_t)strlen(text);
  memcpy(message->text, text, message->length);
}

int main(int count, char **words) {
  if (count != 3) return 64;
  char path[200], status[300];
  mkdir(words[1], 0700);
  snprintf(path, sizeof path, "%s/%d.sock", words[1], (int)getpid());
  snprintf(status, sizeof status,
           "{\"pid\":%d,\"record_pid\":%d,\"program\":\"fake\",\"elapsed_ns\":1,\"events\":1,\"living\":1,\"lost\":0,\"recording\":true,\"trace\":\"/t\"}",
           (int)getpid(), (int)getpid());
  int socket = session_listen(path), marks = 0;
  if (socket < 0) return 70;
  printf("ready %d\n", (int)getpid());
  fflush(stdout);
  for (;;) {
    struct pollfd ready[] = {{socket, POLLIN, 0}, {0, POLLIN, 0}};
    poll(ready, 2, -1);
    if (ready[1].revents) break;
    pid_t pid;
    struct lifespan_message message;
    int peer = session_accept(socket, &pid);
    if (peer < 0) continue;
    if (session_receive(peer, &message) == 0) {
      double begin = now();
      if (message.op == LIFESPAN_OP_MARK) {
        marks++;
        while (!strcmp(words[2], "busy") && now() < begin + 5) {}
        if (!strcmp(words[2], "asleep")) poll(&ready[1], 1, -1);
        answer(&message, "12345 after a while");
      } else {
        answer(&message, status);
      }
      session_send(peer, &message, -1);
    }
    close(peer);
  }
  unlink(path);
  printf("marks %d\n", marks);
  return 0;
}
