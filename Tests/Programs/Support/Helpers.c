// See Helpers.h. Called by the behaviour programs.
#define _GNU_SOURCE
#include "Helpers.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

pid_t fork_by(const char *way) {
  if (!strcmp(way, "_Fork")) return _Fork();
  if (!strcmp(way, "clone")) return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  return fork();
}

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

static void run_on_small_stack(long bytes, void *(*start)(void *), void *context) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, (size_t)bytes) || pthread_create(&thread, &attributes, start, context)) abort();
  pthread_join(thread, NULL);
}

static void *call_inside(void *context) {
  (*(void (**)(void))context)();
  return NULL;
}

void on_small_stack(long bytes, void (*inside)(void)) { run_on_small_stack(bytes, call_inside, &inside); }

static void *execute(void *path) {
  char *arguments[] = {path, NULL};
  execv(path, arguments);
  return NULL;
}

void execute_on_small_stack(long bytes, const char *path) { run_on_small_stack(bytes, execute, (void *)path); }

void free_without_access(void) {
  size_t page = 4096, bytes = 256 * page;
  char *block = aligned_alloc(page, bytes);
  if (!block || mprotect(memset(block, 1, bytes), page, PROT_NONE)) abort();
  free(block);
}

#if defined(__x86_64__)
__asm__(".text\n"
        "with_frame:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "push $0x454d4f48\n" // no address
        "sub $8, %rsp\n"
        "call *%rdi\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".globl with_number_in_rbp\n"
        "with_number_in_rbp:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "movabs $0x1000000000000014, %rbp\n"
        "call with_frame\n"
        "pop %rbp\n"
        ".cfi_def_cfa_offset 8\n"
        ".cfi_restore %rbp\n"
        "ret\n"
        ".cfi_endproc\n");
#else
void with_number_in_rbp(void (*inside)(void)) { inside(); }
#endif
