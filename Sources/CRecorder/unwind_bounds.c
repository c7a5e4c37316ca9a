// Where the calling thread's stack lies, found without pthread_getattr_np (which allocates and reads /proc). Called by
// the recorder at a thread's first event, in a hook.
//
// A thread made by pthread_create: glibc keeps the block and its size in struct pthread, which lies at the top of that
// very block. The offset moved between versions, so it is not trusted: two neighbouring words are taken only when they
// describe a block that holds both the struct itself, at its end, and the current stack pointer. The main thread: the
// kernel's mapping, read once at start; where no /proc is mounted, what the kernel put at its top.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unwind.h"
#include "unwind_bounds.h"

// glibc 2.36 has them at 0x690; the others are tried in turn below the size that every version's struct has.
#define USUAL_OFFSET 0x690u
#define FIRST_OFFSET 0x300u
#define LAST_OFFSET 0x8f0u
#define LARGEST_TAIL 65536u // struct pthread and what rounding leaves behind it

static struct {
  uintptr_t lo, hi;
} main_stack;

static uintptr_t hex(const char **at) {
  uintptr_t value = 0;
  for (;; (*at)++) {
    char c = **at;
    if (c >= '0' && c <= '9') value = value * 16 + (uintptr_t)(c - '0');
    else if (c >= 'a' && c <= 'f') value = value * 16 + (uintptr_t)(c - 'a' + 10);
    else return value;
  }
}

// One line of /proc/self/maps.
static void take_line(const char *line, size_t length, uintptr_t *previous_end) {
  static const char name[] = "[stack]";
  const char *at = line;
  uintptr_t start = hex(&at);
  if (*at++ != '-') return;
  uintptr_t end = hex(&at);
  if (length >= sizeof name - 1 && !memcmp(line + length - (sizeof name - 1), name, sizeof name - 1)) {
    main_stack.hi = end;
    main_stack.lo = *previous_end;
    struct rlimit limit;
    // It may grow down to its limit; what lies below the next mapping is never it.
    uintptr_t most = getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY ? end : limit.rlim_cur;
    if (end - start > most) most = end - start;
    if (most < end && end - most > main_stack.lo) main_stack.lo = end - most;
  }
  if (end <= start) return;
  *previous_end = end;
}

// The name that the program was started by is the last thing in the mapping. Below it the kernel leaves free what the stack may
// grow to, 128 MiB at least: no other memory of the program lies there.
static void guess(void) {
  const uintptr_t most = 128ull << 20, page = (uintptr_t)getpagesize();
  uintptr_t name = (uintptr_t)getauxval(AT_EXECFN);
  if (!name) return;
  struct rlimit limit;
  uintptr_t end = (name + strlen((const char *)name) + 1 + sizeof(void *) + page - 1) & ~(page - 1);
  uintptr_t room = getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > most ? most : limit.rlim_cur;
  if (room >= end) return;
  main_stack.hi = end;
  main_stack.lo = end - room;
}

void unwind_bounds_start(void) {
  char buffer[4096];
  size_t held = 0;
  uintptr_t previous_end = 0;
  int file = main_stack.hi ? -1 : open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0 && !main_stack.hi) guess();
  if (file < 0) return;
  for (ssize_t got; (got = read(file, buffer + held, sizeof buffer - 1 - held)) > 0;) {
    held += (size_t)got;
    buffer[held] = 0;
    char *line = buffer, *next;
    while (!main_stack.hi && (next = memchr(line, '\n', held - (size_t)(line - buffer)))) {
      take_line(line, (size_t)(next - line), &previous_end);
      line = next + 1;
    }
    held -= (size_t)(line - buffer);
    memmove(buffer, line, held);
    if (main_stack.hi || held == sizeof buffer - 1) break;
  }
  close(file);
}

static bool describes(uintptr_t self, uintptr_t here, unsigned offset, uintptr_t *lo, uintptr_t *hi) {
  uintptr_t block, size;
  memcpy(&block, (const void *)(self + offset), sizeof block);
  memcpy(&size, (const void *)(self + offset + 8), sizeof size);
  if (!block || block % 8 || size % 8 || size > (1ull << 46) || block >= here || block + size <= self) return false;
  if (block + size - self > LARGEST_TAIL || here >= self) return false;
  *lo = block;
  *hi = self & ~(uintptr_t)7; // the struct's own words are no frames
  return true;
}

bool lifespan_stack_bounds(uintptr_t *lo, uintptr_t *hi) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0), self;
  if (here >= main_stack.lo && here < main_stack.hi) {
    *lo = main_stack.lo;
    *hi = main_stack.hi;
    return true;
  }
  __asm__("movq %%fs:0x10, %0" : "=r"(self));
  if (describes(self, here, USUAL_OFFSET, lo, hi)) return true;
  for (unsigned offset = FIRST_OFFSET; offset <= LAST_OFFSET; offset += 8)
    if (describes(self, here, offset, lo, hi)) return true;
  return false;
}

#endif
