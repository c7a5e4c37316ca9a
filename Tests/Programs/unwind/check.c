// Preload library of the unwinder's tests: at every malloc walks the stack and compares with other unwinders. Built by
// run.sh from the recorder's own sources; prints one line of figures at exit.
//
// UNWIND_CHECK: reference (default), local (libunwind's unw_backtrace), time (no comparison), fp, libunwind, off (no
// walks). UNWIND_CUT=1 takes two frames off the walk before comparing: the comparison must then fail.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lifespan_map.h"
#include "unwind.h"
#include "unwind_instruction.h"
#include "unwind_step.h"

extern void *__libc_malloc(size_t);

static __thread volatile int busy __attribute__((tls_model("initial-exec")));
static __thread struct lifespan_walk *walk __attribute__((tls_model("initial-exec")));
static __thread struct lifespan_walk *plain __attribute__((tls_model("initial-exec")));
static int (*unw_backtrace)(void **, int);
static int on, cut, images, unloaded, descriptors;
static const char *check;
static unsigned depth = 512;
static _Atomic unsigned long walks, equal, guessed, callers_bad, tasks[4], calls_bad, suffix_bad, kept_bad, inner, frames, stepped, ends[8];
static _Atomic unsigned long nanoseconds;

#define SHOWN 8
static struct { uint64_t pcs[2][512]; unsigned count[2], end; } shown[SHOWN];
static _Atomic unsigned shown_count;

static unsigned long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}

static void *map(size_t bytes) { return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static void keep_difference(const uint64_t *pcs, unsigned count) {
  unsigned i = shown_count++;
  if (i >= SHOWN) return;
  shown[i].count[0] = walk->count < 512 ? walk->count : 512;
  shown[i].count[1] = count < 512 ? count : 512;
  shown[i].end = walk->end;
  for (unsigned k = 0; k < shown[i].count[0]; k++) shown[i].pcs[0][k] = walk->pcs[walk->count - 1 - k];
  memcpy(shown[i].pcs[1], pcs, shown[i].count[1] * 8);
}

// Nodes stand for their frames: each is a hash of the frames from the root, so a wrong `kept` shows.
static void check_nodes(void) {
  uint32_t node = walk->kept ? walk->nodes[walk->kept - 1] : 0, from_root = 0;
  for (uint32_t i = walk->kept; i < walk->count; i++) walk->nodes[i] = node = node * 31 + (uint32_t)walk->pcs[i] + 7;
  for (uint32_t i = 0; i < walk->count; i++) from_root = from_root * 31 + (uint32_t)walk->pcs[i] + 7;
  if (from_root != node && walk->count) kept_bad++;
}

// Does a call instruction stand before the return address?
static bool follows_call(uint64_t pc) {
  const uint8_t *p = (const uint8_t *)pc;
  struct unwind_instruction instruction;
  if (p[-5] == 0xe8) return true;
  for (unsigned length = 2; length <= 7; length++)
    if (p[-(int)length] == 0xff && (p[1 - (int)length] & 0x38) == 0x10 &&
        unwind_decode(p - length, 15, &instruction) && instruction.length == length)
      return true;
  return p[-6] == 0x67 && p[-5] == 0xe8;
}

extern const void *_Unwind_Find_FDE(void *, void *) __attribute__((weak));

// The reference guesses where a function has no frame description: is there one up to where the stacks part?
static bool is_guess(const uint64_t *pcs, unsigned count) {
  void *bases[3];
  for (unsigned i = 0; i < walk->count; i++) {
    uint64_t pc = walk->pcs[walk->count - 1 - i];
    if (i >= count || pcs[i] != pc) return false;
    if (_Unwind_Find_FDE && !_Unwind_Find_FDE((void *)(pc - 1), bases)) return true;
  }
  return false;
}

// Callers that were found in the task's allocator, against the plain chain of contexts, which goes on to the runtime's function that ends a task.
static void compare_callers(void) {
  uint64_t pcs[UNWIND_CONTEXTS];
  bool whole, same;
  unsigned count = unwind_async(unwind_word(walk->context_slot), pcs, UNWIND_CONTEXTS, false, &whole);
  same = count == walk->callers + 1;
  for (unsigned i = 0; same && i < walk->callers; i++) same = pcs[i] == walk->pcs[walk->callers - 1 - i];
  if (same) return;
  callers_bad++;
  keep_difference(pcs, count);
}

static void compare(uintptr_t pc, uintptr_t sp, uintptr_t fp, unsigned mode) {
  static __thread uint64_t pcs[512] __attribute__((tls_model("initial-exec")));
  unsigned count = 0, known;
  plain->count = 0;
  lifespan_walk_stack(plain, pc, sp, fp, mode, depth);
  bool same = plain->count == walk->count && plain->end == walk->end;
  if (!same || memcmp(plain->pcs, walk->pcs, walk->count * 8)) suffix_bad++;
  if (!strcmp(check, "local")) {
    int got = unw_backtrace((void **)pcs, 512), skip = 0;
    while (skip < got && pcs[skip] != pc) skip++;
    count = (unsigned)(got - skip);
    memmove(pcs, pcs + skip, count * 8);
  } else {
    count = lifespan_walk_reference(walk, pc, sp, fp, NULL, pcs, 512, &known);
  }
  if (cut && walk->count > 2) {
    memmove(walk->pcs, walk->pcs + 2, (walk->count - 2) * 8);
    memmove(walk->opaque, walk->opaque + 16, (walk->count - 2) * 64);
    walk->count -= 2;
  }
  bool signalled = false;
  for (unsigned i = 0; i < walk->count && mode != LIFESPAN_UNWIND_FP; i++) {
    uint64_t at = walk->pcs[walk->count - 1 - i];
    bool start_of_function = walk->end == LIFESPAN_END_ASYNC || walk->task == UNWIND_TASK_CUT || i == walk->count - 1;
    bool restorer = *(const uint8_t *)at == 0x48 && ((const uint8_t *)at)[1] == 0xc7; // __restore_rt
    if (!signalled && !restorer && !start_of_function && !follows_call(at)) calls_bad++;
    signalled = restorer;
  }
  if (mode == LIFESPAN_UNWIND_FP) return; // without a frame pointer everywhere it has nothing to agree with
  if (lifespan_walk_agrees(walk, pcs, count)) equal++;
  else if (is_guess(pcs, count)) {
    guessed++;
    if (getenv("UNWIND_SHOW_GUESSED")) keep_difference(pcs, count);
  }
  else keep_difference(pcs, count);
  if (cut) walk->count = 0;
}

static __attribute__((noinline)) void hook(uintptr_t pc, uintptr_t sp, uintptr_t fp) {
  if (busy) {
    inner++;
    return;
  }
  busy = 1;
  if (!walk) {
    walk = map(sizeof *walk);
    plain = map(sizeof *plain);
    if (lifespan_stack_bounds(&walk->lo, &walk->hi)) plain->lo = walk->lo, plain->hi = walk->hi;
  }
  unsigned mode = LIFESPAN_UNWIND_AUTO;
  if (!strcmp(check, "fp")) mode = LIFESPAN_UNWIND_FP;
  if (!strcmp(check, "libunwind")) mode = LIFESPAN_UNWIND_LIBUNWIND;
  unsigned long before = now();
  lifespan_walk_stack(walk, pc, sp, fp, mode, depth);
  nanoseconds += now() - before;
  walks++;
  frames += walk->count;
  stepped += walk->count - walk->kept;
  ends[walk->end & 7]++;
  check_nodes();
  tasks[walk->task]++;
  if (walk->task == UNWIND_TASK_FOLLOWED) compare_callers();
  if (strcmp(check, "time")) compare(pc, sp, fp, mode);
  busy = 0;
}

void *malloc(size_t size) {
  uintptr_t *frame = __builtin_frame_address(0);
  if (on) hook(frame[1], (uintptr_t)(frame + 2), frame[0]);
  return __libc_malloc(size);
}

static void image(void *context, uint32_t id, int op, uint32_t epoch, uintptr_t bias, uintptr_t start, uintptr_t end,
                  const uint8_t *build_id, size_t length, const char *path) {
  (void)context, (void)build_id;
  if (op) images++; else unloaded++;
  if (getenv("UNWIND_IMAGES"))
    fprintf(stderr, "image %u %s epoch %u bias %lx [%lx, %lx) id %zu %s\n", id, op ? "in" : "out", epoch,
            bias, start, end, length, path);
}

static int open_descriptors(void) {
  int count = 0;
  DIR *dir = opendir("/proc/self/fd");
  while (dir && readdir(dir)) count++;
  if (dir) closedir(dir);
  return count;
}

static void print_frame(uint64_t pc) {
  Dl_info info = {0};
  dladdr((void *)(pc - 1), &info);
  fprintf(stderr, "    %lx %s+%lx %s\n", pc, info.dli_fname ? strrchr(info.dli_fname, '/') : "?",
          pc - (uintptr_t)info.dli_fbase, info.dli_sname ? info.dli_sname : "");
}

__attribute__((constructor)) static void start(void) {
  check = getenv("UNWIND_CHECK") ? getenv("UNWIND_CHECK") : "reference";
  cut = getenv("UNWIND_CUT") != NULL;
  if (getenv("UNWIND_DEPTH")) depth = (unsigned)atoi(getenv("UNWIND_DEPTH"));
  unsigned long before = now();
  bool rows = lifespan_images_start(!getenv("UNWIND_NO_FOLLOW"), image, NULL);
  unsigned long after = now();
  const char *why = lifespan_reference_start();
  if (!rows || why) fprintf(stderr, "unwind: rows %d, libunwind: %s\n", rows, why ? why : "there");
  if (getenv("UNWIND_START"))
    fprintf(stderr, "unwind: start %.2f ms, %d images\n", (double)(after - before) / 1e6, images);
  if (!strcmp(check, "local")) {
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    unw_backtrace = library ? (int (*)(void **, int))dlsym(library, "unw_backtrace") : NULL;
  }
  lifespan_images_refresh();
  void *(*current)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "swift_task_getCurrent");
  bool followed = !getenv("UNWIND_NO_TASKS") &&
               lifespan_walk_tasks_start(dlsym(RTLD_DEFAULT, "swift_job_run"), dlsym(RTLD_DEFAULT, "swift_task_alloc"), dlsym(RTLD_DEFAULT, "swift_task_dealloc"), current);
  if (current && !followed && !getenv("UNWIND_NO_TASKS")) fprintf(stderr, "unwind: tasks are not followed\n");
  descriptors = open_descriptors();
  on = strcmp(check, "off") != 0;
}

__attribute__((destructor)) static void finish(void) {
  on = 0;
  int open = open_descriptors() - descriptors;
  double each = (double)(walks ? walks : 1);
  fprintf(stderr, "unwind: walks %lu equal %lu guessed %lu calls_bad %lu suffix_bad %lu kept_bad %lu inner %lu "
          "descriptors %d unloaded %d "
          "depth %.1f stepped %.2f ns %lu "
          "callers_bad %lu unknown_task %lu followed %lu cut_task %lu "
          "ends whole %lu cut %lu norow %lu noimage %lu range %lu foreign %lu async %lu\n",
          walks, equal, guessed, calls_bad, suffix_bad, kept_bad, inner, open, unloaded, (double)frames / each,
          (double)stepped / each, nanoseconds / (walks ? walks : 1), callers_bad, tasks[1], tasks[2], tasks[3], ends[0], ends[1], ends[2],
          ends[3], ends[4], ends[5], ends[6]);
  if (!getenv("UNWIND_SHOW")) return;
  for (unsigned i = 0; i < shown_count && i < SHOWN; i++)
    for (unsigned side = 0; side < 2; side++) {
      fprintf(stderr, "  %s, %u frames, end %u\n", side ? "other" : "walk", shown[i].count[side], shown[i].end);
      for (unsigned k = 0; k < shown[i].count[side]; k++) print_frame(shown[i].pcs[side][k]);
    }
}
