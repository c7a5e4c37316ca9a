// A program that another process has under ptrace while its heap is wanted, as a debugger would: until its input ends, or (`stay`) to its own end. Ends
// with 3 when it has noticed nothing of it. Run by Tests/Behaviour/heap.py.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
  int ready[2], done[2];
  char byte = 0;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  if (pipe(ready) || pipe(done)) return 1;
  pid_t tracer = fork();
  if (tracer == 0) {
    close(done[1]);
    char result = ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0;
    if (write(ready[1], &result, 1) != 1) _exit(1);
    while (read(done[0], &byte, 1) > 0) {}
    _exit(0); // which lets it go
  }
  close(done[0]);
  void *kept = malloc(1000);
  if (read(ready[0], &byte, 1) != 1 || !byte) return 1;
  printf("pid %d\ntraced\n", (int)getpid());
  fflush(stdout);
  while (getchar() != EOF) {}
  if (count > 1 && !strcmp(arguments[1], "stay")) return kept ? 3 : 1;
  close(done[1]);
  int status = 0;
  if (waitpid(tracer, &status, 0) != tracer || status) return 1;
  return kept ? 3 : 1;
}
