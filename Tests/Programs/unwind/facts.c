// Small facts of the unwinder, one a line as `name value`; UnwindTests.swift says what each must be. Argument: the
// paths of two plugins (plugin.c).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lifespan_map.h"
#include "unwind.h"
#include "unwind_instruction.h"

static int loads, unloads, with_build_id;
static char last_path[512];
static void sink(void *context, uint32_t id, int op, uint32_t epoch, uintptr_t bias, uintptr_t start, uintptr_t end,
                 const uint8_t *build_id, size_t length, const char *path) {
  (void)context, (void)id, (void)epoch, (void)bias, (void)build_id;
  if (op) loads++; else unloads++;
  if (op && length) with_build_id++;
  if (op && start < end) snprintf(last_path, sizeof last_path, "%s", path);
}

static int bounds_agree(void) {
  pthread_attr_t attributes;
  void *address;
  size_t size;
  uintptr_t lo = 0, hi = 0, here = (uintptr_t)&address;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &address, &size);
  if (!lifespan_stack_bounds(&lo, &hi)) return 0;
  if (getenv("FACTS_BOUNDS")) fprintf(stderr, "%lx %lx, C library %p %zx\n", lo, hi, address, size);
  // The top of a thread's block belongs to the C library, the bottom may be its guard, and of the main thread's last
  // pages it knows as little as we do.
  uintptr_t top = (uintptr_t)address + size, apart = top > hi ? top - hi : hi - top;
  return lo < here && here < hi && apart < 65536 && lo <= (uintptr_t)address + (64u << 10);
}
static void *thread(void *result) {
  *(int *)result = bounds_agree();
  return NULL;
}

static struct lifespan_walk *walk;
static __attribute__((noinline)) unsigned here(unsigned mode, unsigned depth) {
  uintptr_t *frame = __builtin_frame_address(0);
  unsigned count = lifespan_walk_stack(walk, frame[1], (uintptr_t)(frame + 2), frame[0], mode, depth);
  __asm__ volatile("" ::: "memory");
  return count;
}

static unsigned whole_here(void) { return here(LIFESPAN_UNWIND_AUTO, 100); }

// Code that no image holds: a copy of `call *rdi; ret` behind a push, as a just-in-time compiler would make.
static unsigned from_jit(void) {
  static const uint8_t code[] = {0x50, 0xff, 0xd7, 0x58, 0xc3}; // push rax; call *rdi; pop rax; ret
  uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, code, sizeof code);
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  ((void (*)(unsigned (*)(void)))page)(whole_here);
  return walk->end;
}

static void lengths(void) {
  static const struct { uint8_t bytes[16]; unsigned length; } cases[] = {
      {{0x55}, 1}, {{0x48, 0x89, 0xe5}, 3}, {{0x0f, 0xb6, 0x05, 1, 2, 3, 4}, 7},
      {{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10},
      {{0x66, 0xc7, 0x44, 0x24, 8, 1, 2}, 7}, {{0xf7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8}, 10}, {{0xf6, 0xd0}, 2},
      {{0xf3, 0x0f, 0x1e, 0xfa}, 4}, {{0xc5, 0xf8, 0x77}, 3}, {{0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1}, 6},
      {{0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x00}, 6}, {{0x62, 0xf3, 0xfd, 0x48, 0x3b, 0xc1, 1}, 7},
      {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, 10}, {{0xe8, 1, 2, 3, 4}, 5}, {{0xff, 0x14, 0xc1}, 3},
      {{0x8b, 0x04, 0x25, 1, 2, 3, 4}, 7}, {{0xc8, 1, 2, 3}, 4}, {{0x48, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, 10},
      {{0x06}, 0}, {{0x0f, 0x04}, 0}};
  unsigned wrong = 0;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct unwind_instruction one = {0};
    wrong += (unwind_decode(cases[i].bytes, 15, &one) ? one.length : 0) != cases[i].length;
  }
  printf("lengths_wrong %u\n", wrong);
}

int main(int count, char **paths) {
  int in_thread = 0;
  pthread_t id;
  bool rows = lifespan_images_start(true, sink, NULL);
  printf("rows %d\nloads %d\nbuild_ids %d\nepoch %u\n", rows, loads, with_build_id, lifespan_images_epoch());
  walk = mmap(NULL, sizeof *walk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  here(LIFESPAN_UNWIND_AUTO, 100);
  printf("unknown_bounds %u %u\n", walk->end, walk->count);
  lifespan_stack_bounds(&walk->lo, &walk->hi);
  printf("whole %u\n", here(LIFESPAN_UNWIND_AUTO, 100) >= 4 && walk->end == LIFESPAN_END_WHOLE);
  here(LIFESPAN_UNWIND_AUTO, 2);
  printf("cut %u %u\n", walk->end, walk->count);
  printf("none %u\n", here(LIFESPAN_UNWIND_NONE, 100));
  printf("jit %u\n", from_jit());
  printf("main_bounds %d\n", bounds_agree());
  pthread_create(&id, NULL, thread, &in_thread);
  pthread_join(id, NULL);
  printf("thread_bounds %d\n", in_thread);
  int before = loads;
  void *library = count > 1 ? dlopen(paths[1], RTLD_NOW) : NULL;
  printf("loaded %d %d\nloaded_path %d\n", library != NULL, loads - before, count > 1 && !strcmp(last_path, paths[1]));
  if (library) dlclose(library);
  printf("unloaded %d\n", unloads);
  library = count > 2 ? dlmopen(LM_ID_NEWLM, paths[2], RTLD_NOW) : NULL;
  int elsewhere = loads - before - 1;
  lifespan_images_refresh();
  printf("namespace %d %d\n", library != NULL && elsewhere > 0, unloads);
  lengths();
  return 0;
}
