// A terminal with somebody who types: terminal CUE KEYS [CUE KEYS …] -- PROGRAM [ARG…]. Each time the output since the last
// keys holds the next cue, the keys are typed. Prints the output and ends with the program's status. Built by FakeRecorder.swift.
#define _GNU_SOURCE
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
  int next = 1, end = 1, terminal = -1;
  while (end < count && strcmp(words[end], "--")) end++;
  pid_t child = forkpty(&terminal, NULL, NULL, NULL);
  if (child == 0) {
    execvp(words[end + 1], words + end + 1);
    _exit(127);
  }
  static char seen[1 << 16];
  size_t length = 0;
  for (;;) {
    char part[512];
    ssize_t got = read(terminal, part, sizeof part);
    if (got <= 0) break;
    if (write(1, part, (size_t)got) != got) break;
    if (length + (size_t)got >= sizeof seen) length = 0;
    memcpy(seen + length, part, (size_t)got);
    seen[length += (size_t)got] = 0;
    if (next + 1 >= end || !strstr(seen, words[next])) continue;
    if (write(terminal, words[next + 1], strlen(words[next + 1])) < 0) break;
    next += 2;
    seen[length = 0] = 0;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
