// Hooks of retain and release. Those that end in a tail jump record before the call; loads record after it, when the result is known.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "hook_table.h"
#include "record_refcount.h"

#define ORIGINAL(name) void *lifespan_original_##name
#define FRAME_POINTER __attribute__((noinline))
#define RETAINED(object, amount, flavour, known) lifespan_record_refcount(LIFESPAN_R_RETAIN, (object), (amount), (flavour), (known), LIFESPAN_CALLER)
#define RELEASED(object, amount, flavour, known) lifespan_record_refcount(LIFESPAN_R_RELEASE, (object), (amount), (flavour), (known), LIFESPAN_CALLER)

typedef void *(*one)(void *object);
typedef void *(*many)(void *object, uint32_t amount);

// Most retains and releases of a program are of nothing that is recorded: these make no frame, and pay for one look-up (lifespan_spots.h). What is recorded and
// needs neither a stack nor a task is written without a frame, too, and everything else by the third function. A task that is being made has no spot yet.
#define ONE_HOOK(name, event)                                                                                                      \
  ORIGINAL(name);                                                                                                                  \
  static FRAME_POINTER void *recorded_##name(void *object) {                                                                       \
    lifespan_record_counted(event, object, 1, LIFESPAN_REF_STRONG, true, LIFESPAN_CALLER);                                         \
    __attribute__((musttail)) return ((one)lifespan_original_##name)(object);                                                      \
  }                                                                                                                                \
  static FRAME_POINTER void *living_##name(void *object) {                                                                         \
    if (!lifespan_record_bare(event, object)) __attribute__((musttail)) return recorded_##name(object);                            \
    __attribute__((musttail)) return ((one)lifespan_original_##name)(object);                                                      \
  }                                                                                                                                \
  FRAME_POINTER void *lifespan_hook_##name(void *object) {                                                                         \
    if (lifespan_on()) {                                                                                                           \
      enum lifespan_spot spot = lifespan_spot_of_reference(object);                                                                \
      if (spot > LIFESPAN_SPOT_BLOCK) {                                                                                            \
        if (LIKELY(spot == LIFESPAN_SPOT_LIVING)) __attribute__((musttail)) return living_##name(object);                          \
        __attribute__((musttail)) return recorded_##name(object);                                                                  \
      }                                                                                                                            \
      if (UNLIKELY(lifespan_local.creator.pc)) __attribute__((musttail)) return recorded_##name(object);                           \
    }                                                                                                                              \
    __attribute__((musttail)) return ((one)lifespan_original_##name)(object);                                                      \
  }
#define MANY_HOOK(name, event)                                                                                                     \
  ORIGINAL(name);                                                                                                                  \
  FRAME_POINTER void *lifespan_hook_##name(void *object, uint32_t amount) {                                                        \
    if (lifespan_on()) event(object, amount, LIFESPAN_REF_STRONG, true);                                                           \
    __attribute__((musttail)) return ((many)lifespan_original_##name)(object, amount);                                             \
  }
ONE_HOOK(retain, LIFESPAN_R_RETAIN)
ONE_HOOK(release, LIFESPAN_R_RELEASE)
ONE_HOOK(nonatomic_retain, LIFESPAN_R_RETAIN)
ONE_HOOK(nonatomic_release, LIFESPAN_R_RELEASE)
MANY_HOOK(retain_n, RETAINED)
MANY_HOOK(release_n, RELEASED)
MANY_HOOK(nonatomic_retain_n, RETAINED)
MANY_HOOK(nonatomic_release_n, RELEASED)

// The last release of an object whose deinit the compiler calls itself.
ORIGINAL(setDeallocating);
FRAME_POINTER void lifespan_hook_setDeallocating(void *object) {
  if (lifespan_on()) RELEASED(object, 1, LIFESPAN_REF_DEVIRTUALISED, true);
  __attribute__((musttail)) return ((void (*)(void *))lifespan_original_setDeallocating)(object);
}

// Ends a class's deinit: swift_deallocObject comes below it, unless the runtime ends the program because references are left.
ORIGINAL(deallocClassInstance);
FRAME_POINTER void lifespan_hook_deallocClassInstance(void *object, size_t size, size_t alignment_mask) {
  if (lifespan_on()) lifespan_record_deallocating(object, LIFESPAN_CALLER);
  __attribute__((musttail)) return ((void (*)(void *, size_t, size_t))lifespan_original_deallocClassInstance)(object, size, alignment_mask);
}

// Loads that may give nothing: the result is what was retained.
#define LOAD_HOOK(name, flavour)                                                               \
  ORIGINAL(name);                                                                              \
  FRAME_POINTER void *lifespan_hook_##name(void *reference) {                                  \
    void *object = ((one)lifespan_original_##name)(reference);                                 \
    if (lifespan_on() && object) RETAINED(object, 1, flavour, false);                          \
    return object;                                                                             \
  }
LOAD_HOOK(tryRetain, LIFESPAN_REF_TRY)
LOAD_HOOK(weakLoadStrong, LIFESPAN_REF_WEAK_LOAD)
LOAD_HOOK(weakTakeStrong, LIFESPAN_REF_WEAK_LOAD)

// The runtime ends the program when the object is over: that is recorded before.
#define UNOWNED_HOOK(name)                                                                     \
  ORIGINAL(name);                                                                              \
  FRAME_POINTER void *lifespan_hook_##name(void *reference) {                                  \
    if (lifespan_on()) lifespan_record_unowned(reference, LIFESPAN_CALLER);                    \
    void *object = ((one)lifespan_original_##name)(reference);                                 \
    if (lifespan_on() && object) RETAINED(object, 1, LIFESPAN_REF_UNOWNED_LOAD, false);        \
    return object;                                                                             \
  }
UNOWNED_HOOK(unownedRetainStrong)
UNOWNED_HOOK(nonatomic_unownedRetainStrong)

// These return nothing: the argument is what was retained (the runtime traps when it is dead).
#define AND_RELEASE_HOOK(name)                                                                 \
  ORIGINAL(name);                                                                              \
  FRAME_POINTER void lifespan_hook_##name(void *object) {                                      \
    if (lifespan_on()) lifespan_record_unowned(object, LIFESPAN_CALLER);                       \
    ((void (*)(void *))lifespan_original_##name)(object);                                      \
    if (lifespan_on()) RETAINED(object, 1, LIFESPAN_REF_UNOWNED_LOAD, false);                  \
  }
AND_RELEASE_HOOK(unownedRetainStrongAndRelease)
AND_RELEASE_HOOK(nonatomic_unownedRetainStrongAndRelease)

// Releases the old box when it makes a new one.
struct pair {
  void *first, *second;
};
typedef struct pair (*make_unique)(void **buffer, const void *type, size_t alignment_mask);

ORIGINAL(makeBoxUnique);
FRAME_POINTER struct pair lifespan_hook_makeBoxUnique(void **buffer, const void *type, size_t alignment_mask) {
  void *old = *buffer;
  struct pair box = ((make_unique)lifespan_original_makeBoxUnique)(buffer, type, alignment_mask);
  if (lifespan_on() && box.first != old) RELEASED(old, 1, LIFESPAN_REF_STRONG, false);
  return box;
}

#endif
