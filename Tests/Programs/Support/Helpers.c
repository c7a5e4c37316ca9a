// See Helpers.h. Called by the behaviour programs.
#define _GNU_SOURCE
#include "Helpers.h"

#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

struct call {
  void (*inside)(void *);
  void *context;
};

static int first_image(struct dl_phdr_info *info, size_t size, void *data) {
  (void)info;
  (void)size;
  struct call *call = data;
  call->inside(call->context);
  return 1;
}

void while_loader_is_locked(void (*inside)(void *), void *context) {
  struct call call = {inside, context};
  dl_iterate_phdr(first_image, &call);
}

pid_t plain_fork(void) { return fork(); }

static volatile sig_atomic_t counted;
static void on_signal(int signal) {
  (void)signal;
  counted++;
}

void count_signal(int signal) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(signal, &action, NULL);
}

int counted_signals(void) { return counted; }
