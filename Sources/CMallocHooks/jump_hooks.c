// longjmp and its kind: a signal handler that has interrupted a hook of ours may leave by it, and the hook never ends. The recorder is told where the jump
// goes before it is made. Everything else about it is libc's.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include "lifespan_interpose.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default"), noreturn))

// The stack pointer in a jmp_buf, which glibc keeps mangled: word 6, turned left by 17 bits after it was combined with the thread's guard.
static uintptr_t target_of(const struct __jmp_buf_tag *buffer) {
#if defined(__x86_64__)
  uintptr_t guard, mangled = (uintptr_t)buffer->__jmpbuf[6];
  __asm__("movq %%fs:0x30, %0" : "=r"(guard));
  return (mangled >> 17 | mangled << 47) ^ guard;
#else
  (void)buffer;
  return UINTPTR_MAX;
#endif
}

typedef void (*jump)(struct __jmp_buf_tag *, int) __attribute__((noreturn));

static jump next_jump(jump *known, const char *name) {
  if (!*known) *known = (jump)dlsym(RTLD_NEXT, name);
  return *known;
}

#define JUMP(name)                                                                                  \
  static jump next_##name;                                                                          \
  EXPORTED void name(struct __jmp_buf_tag *buffer, int value) {                                     \
    lifespan_recorder_jumps((uintptr_t)__builtin_frame_address(0), target_of(buffer));              \
    next_jump(&next_##name, #name)(buffer, value);                                                  \
  }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

// Looked up before the program runs: a handler may not ask the dynamic linker.
__attribute__((constructor(101))) static void look_up(void) {
  next_jump(&next_longjmp, "longjmp");
  next_jump(&next__longjmp, "_longjmp");
  next_jump(&next_siglongjmp, "siglongjmp");
  next_jump(&next___longjmp_chk, "__longjmp_chk");
}
