// Cost of one walk at 27 frames, side by side: prints nanoseconds, of CPU time, the least of 31 interleaved rounds.
// Built twice by run.sh, with and without frame pointers below the hook.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lifespan_map.h"
#include "unwind.h"

enum { ROUNDS = 31, WALKS = 5000, KINDS = 6 };
static const char *names[KINDS] = {"fp kept", "fp plain", "rows kept", "rows plain", "unw_backtrace", "reference"};
static double times[KINDS][ROUNDS];
static struct lifespan_walk *walk;
static int (*unw_backtrace)(void **, int);
static unsigned frames[KINDS];
static volatile int sink;

// What a hook does; compiled with frame pointers like the recorder.
__attribute__((noinline)) void hook(int kind, int number) {
  uintptr_t *frame = __builtin_frame_address(0), pc = frame[1], sp = (uintptr_t)(frame + 2), fp = frame[0];
  static uint64_t pcs[512];
  unsigned known;
  (void)number;
  if (kind == 1 || kind == 3) walk->count = 0;
  switch (kind) {
    case 0: case 1: frames[kind] = lifespan_walk_stack(walk, pc, sp, fp, LIFESPAN_UNWIND_FP, 256); break;
    case 2: case 3: frames[kind] = lifespan_walk_stack(walk, pc, sp, fp, LIFESPAN_UNWIND_AUTO, 256); break;
    case 4: frames[kind] = (unsigned)unw_backtrace((void **)pcs, 256); break;
    default: frames[kind] = lifespan_walk_reference(walk, pc, sp, fp, NULL, pcs, 256, &known);
  }
}

extern void bench_descend(int depth, void (*bottom)(void));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int round_number;
static void measure(void) {
  for (int round = 0; round < ROUNDS; round++) {
    for (int kind = 0; kind < KINDS; kind++) {
      int walks = kind == 5 ? WALKS / 100 : WALKS;
      double before = now();
      for (int i = 0; i < walks; i++) hook(kind, i);
      times[kind][round] = (now() - before) / walks;
    }
  }
  sink = round_number;
}

static int order(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

int main(void) {
  lifespan_images_start(true, NULL, NULL);
  if (lifespan_reference_start()) return 1;
  void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  unw_backtrace = library ? (int (*)(void **, int))dlsym(library, "unw_backtrace") : NULL;
  walk = mmap(NULL, sizeof *walk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!unw_backtrace || !lifespan_stack_bounds(&walk->lo, &walk->hi)) return 1;
  bench_descend(21, measure);
  for (int kind = 0; kind < KINDS; kind++) {
    qsort(times[kind], ROUNDS, sizeof times[kind][0], order);
    printf("%-14s %8.1f ns  %2u frames\n", names[kind], times[kind][0], frames[kind]);
  }
  return 0;
}
