// The functions of an allocator that is linked into the executable, as hooks of detours: each calls the original's copy and tells the recorder, as those of
// malloc_hooks.c and new_hooks.c do for what comes through the dynamic linker. What such a function calls of its own kind inside is its own affair.
//
// operator new may throw through these functions: nothing here needs to be undone then.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_interpose.h"
#include "preload.h"

#define POINTER(name) static void *original_##name;
LIFESPAN_ALLOCATOR_FUNCTIONS(POINTER)
#undef POINTER

// Within the allocator: the word's lowest bits say so, the others which frame. What lies above that frame has left it by siglongjmp.
#define SP ((uintptr_t)__builtin_frame_address(0))
#define INSIDE ((lifespan_quiet & 15) == LIFESPAN_QUIET_ALLOCATOR && SP < lifespan_quiet)
// A signal handler's call lies beyond a signal's frame: nobody's own affair, so it is counted.
#define SIGNAL_FRAME_LEAST 1024u
#define IS_OWN (lifespan_quiet - SP < SIGNAL_FRAME_LEAST)
#define CALL(name, result, types, ...) ((result(*) types)original_##name)(__VA_ARGS__)

// ---- malloc and its like --------------------------------------------------------------------------------------------------------

#define BIRTH(name, parameters, types, bytes, ...)                              \
  static void *linked_##name parameters {                                       \
    if (INSIDE && IS_OWN) return CALL(name, void *, types, __VA_ARGS__);         \
    uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);               \
    void *block = CALL(name, void *, types, __VA_ARGS__);                        \
    lifespan_quiet_end(was);                                                     \
    lifespan_record_block(block, bytes, LIFESPAN_CALLER);                        \
    return block;                                                                \
  }

BIRTH(malloc, (size_t size), (size_t), size, size)
BIRTH(calloc, (size_t count, size_t size), (size_t, size_t), count *size, count, size)
BIRTH(aligned_alloc, (size_t alignment, size_t size), (size_t, size_t), size, alignment, size)
BIRTH(memalign, (size_t alignment, size_t size), (size_t, size_t), size, alignment, size)
BIRTH(valloc, (size_t size), (size_t), size, size)
BIRTH(pvalloc, (size_t size), (size_t), size, size)

static int linked_posix_memalign(void **out, size_t alignment, size_t size) {
  if (INSIDE && IS_OWN) return CALL(posix_memalign, int, (void **, size_t, size_t), out, alignment, size);
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);
  int failure = CALL(posix_memalign, int, (void **, size_t, size_t), out, alignment, size);
  lifespan_quiet_end(was);
  if (!failure) lifespan_record_block(*out, size, LIFESPAN_CALLER);
  return failure;
}

static void linked_free(void *block) {
  lifespan_record_free(block);
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);
  CALL(free, void, (void *), block);
  lifespan_quiet_end(was);
}

// What realloc is called with decides whether it is a birth, an end or a move. `call` is an expression of the original.
#define MOVE(block, size, call)                                              \
  if (INSIDE && IS_OWN) return call;                                                   \
  uint32_t recorded = 0;                                                     \
  if (block && !(size)) lifespan_record_free(block);                         \
  else if (block) recorded = lifespan_record_moving(block);                  \
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);             \
  void *moved = call;                                                        \
  lifespan_quiet_end(was);                                                   \
  if (block && (size)) lifespan_record_moved(recorded, block, moved, size, LIFESPAN_CALLER); \
  else lifespan_record_block(moved, size, LIFESPAN_CALLER);                  \
  return moved;

static void *linked_realloc(void *block, size_t size) { MOVE(block, size, CALL(realloc, void *, (void *, size_t), block, size)) }

static void *linked_reallocarray(void *block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return CALL(reallocarray, void *, (void *, size_t, size_t), block, count, size); // fails
  MOVE(block, bytes, CALL(reallocarray, void *, (void *, size_t, size_t), block, count, size))
}

// ---- operator new and delete ------------------------------------------------------------------------------------------------------
// They may come to malloc and free or not.

#define NEW(name, parameters, types, ...)                                     \
  static void *linked_##name parameters {                                     \
    void *block = CALL(name, void *, types, __VA_ARGS__);                      \
    if (!(INSIDE && IS_OWN)) lifespan_record_block_unless_known(block, size, LIFESPAN_CALLER); \
    return block;                                                              \
  }
#define DELETE(name, parameters, types, ...)                                  \
  static void linked_##name parameters {                                      \
    lifespan_record_free(block);                                               \
    CALL(name, void, types, __VA_ARGS__);                                      \
  }

#include "operators.h"

// A sanitizer's malloc is its own affair: it looks at the stack of who calls it, and at what it has given.
static bool is_sanitizers(void) {
  static const char *const names[] = {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init", "__lsan_init"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (dlsym(RTLD_DEFAULT, names[i])) return true;
  return false;
}

void lifespan_preload_linked_allocator(void) {
  if (is_sanitizers()) return;
#define FUNCTION(name) {#name, (void *)linked_##name, &original_##name, NULL},
  static struct lifespan_linked_function functions[] = {LIFESPAN_ALLOCATOR_FUNCTIONS(FUNCTION)};
#undef FUNCTION
  unsigned count = sizeof functions / sizeof *functions;
  for (unsigned i = 0; i < count; i++) functions[i].entry = lifespan_preload_foreign(functions[i].name);
  lifespan_recorder_linked_allocator(functions, count);
}
