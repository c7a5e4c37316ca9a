// Hooks of births and deaths. Each has the signature of the function it stands before; deaths end in a tail jump, so a nested deinit costs no
// frame of ours.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "hook_table.h"
#include "record_life.h"

#define ORIGINAL(name) void *lifespan_original_##name
#define FRAME_POINTER __attribute__((noinline))

struct pair {
  void *first, *second;
};

typedef void *(*allocate)(const void *metadata, size_t size, size_t alignment_mask);
typedef struct pair (*allocate_box)(const void *type);
typedef void (*deallocate)(void *object, size_t size, size_t alignment_mask);

#define ALLOCATE_HOOK(name)                                                                                  \
  ORIGINAL(name);                                                                                            \
  FRAME_POINTER void *lifespan_hook_##name(const void *metadata, size_t size, size_t alignment_mask) {       \
    uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_OBJECT);                                              \
    void *object = ((allocate)lifespan_original_##name)(metadata, size, alignment_mask);                     \
    lifespan_quiet_end(was);                                                                                 \
    if (lifespan_on()) lifespan_birth(object, metadata, size);                                               \
    return object;                                                                                           \
  }
ALLOCATE_HOOK(allocObject)
ALLOCATE_HOOK(bufferAllocate)

// Most deaths are plain: the second function does the rest, in the first one's place on the stack.
#define DEALLOCATE_HOOK(name)                                                                                \
  ORIGINAL(name);                                                                                            \
  static FRAME_POINTER void rest_of_##name(void *object, size_t size, size_t alignment_mask) {               \
    lifespan_record_death(object, LIFESPAN_CALLER);                                                          \
    __attribute__((musttail)) return ((deallocate)lifespan_original_##name)(object, size, alignment_mask);   \
  }                                                                                                          \
  FRAME_POINTER void lifespan_hook_##name(void *object, size_t size, size_t alignment_mask) {                \
    if (lifespan_on() && UNLIKELY(!lifespan_death(object))) {                                                \
      __attribute__((musttail)) return rest_of_##name(object, size, alignment_mask);                         \
    }                                                                                                        \
    __attribute__((musttail)) return ((deallocate)lifespan_original_##name)(object, size, alignment_mask);   \
  }
DEALLOCATE_HOOK(deallocObject)
DEALLOCATE_HOOK(deallocUninitializedObject)

// The size of a box: its content behind the header. Metadata of the box: its content's offset (u32 at 8); the content's size is in its value
// witness table (word 8 of the table, which lies one word before the content's metadata).
static uint64_t box_size(const void *box_metadata) {
  uint32_t offset = ((const uint32_t *)box_metadata)[2];
  const void *content = ((const void *const *)box_metadata)[2];
  if (!content) return offset;
  const uint64_t *witnesses = ((const uint64_t *const *)content)[-1];
  return offset + witnesses[8];
}

ORIGINAL(allocBox);
FRAME_POINTER struct pair lifespan_hook_allocBox(const void *type) {
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_OBJECT);
  struct pair box = ((allocate_box)lifespan_original_allocBox)(type);
  lifespan_quiet_end(was);
  if (lifespan_on()) {
    const void *metadata = *(const void *const *)box.first;
    lifespan_record_birth(box.first, metadata, box_size(metadata), LIFESPAN_CALLER);
  }
  return box;
}

// ---- Tasks --------------------------------------------------------------------------------------------------------------

typedef __attribute__((swiftcall)) struct pair (*create_task)(size_t flags, void *options, const void *type, void *function, void *context, size_t size);

ORIGINAL(task_create_common);
FRAME_POINTER __attribute__((swiftcall)) struct pair lifespan_hook_task_create_common(size_t flags, void *options, const void *type, void *function,
                                                                                     void *context, size_t size) {
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_TASK);
  lifespan_local.creator = LIFESPAN_CALLER;
  lifespan_tasks_made();
  struct pair task = ((create_task)lifespan_original_task_create_common)(flags, options, type, function, context, size);
  lifespan_quiet_end(was);
  lifespan_local.creator.pc = 0;
  if (!lifespan_on()) return task;
  lifespan_record_held_back(task.first);
  if (task.first) lifespan_record_task_birth(task.first, LIFESPAN_CALLER);
  return task;
}

typedef __attribute__((swiftcall)) void (*destroy)(__attribute__((swift_context)) void *task);

void *lifespan_original_destroyTask;
FRAME_POINTER __attribute__((swiftcall)) void lifespan_hook_destroyTask(__attribute__((swift_context)) void *task) {
  if (lifespan_on()) lifespan_record_task_death(task, LIFESPAN_CALLER);
  __attribute__((musttail)) return ((destroy)lifespan_original_destroyTask)(task);
}

// ---- Memory ---------------------------------------------------------------------------------------------------------------

ORIGINAL(slowDealloc);
FRAME_POINTER void lifespan_hook_slowDealloc(void *address, size_t size, size_t alignment_mask) {
  if (lifespan_on()) lifespan_record_free(address);
  __attribute__((musttail)) return ((deallocate)lifespan_original_slowDealloc)(address, size, alignment_mask);
}

void *lifespan_original_free;
FRAME_POINTER void lifespan_hook_free(void *address) {
  if (lifespan_on()) lifespan_record_free(address);
  __attribute__((musttail)) return ((void (*)(void *))lifespan_original_free)(address);
}

#endif
