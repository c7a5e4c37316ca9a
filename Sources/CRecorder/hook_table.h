// The hooks: every function of the Swift runtime that is detoured by its name, once. Declarations, resolution, installation and tests come
// from this table. Two more have no name to look up and stand in hooks.c: destroyTask (in a task's metadata) and free of an executable. Facts (what reaches what, what is inline): swift 6.3, see ARCHITECTURE.md "The hooks".
#ifndef LIFESPAN_HOOK_TABLE_H
#define LIFESPAN_HOOK_TABLE_H

// When a hook is installed.
enum lifespan_hook_group {
  LIFESPAN_HOOK_LIFE,      // births and deaths: always
  LIFESPAN_HOOK_REFCOUNT,  // retain and release: when refcounts are recorded, or something is tracked
  LIFESPAN_HOOK_TASK,      // libswift_Concurrency, where it is loaded
  LIFESPAN_HOOK_MEMORY,    // memory of kept objects goes: where no free() is interposed
};

// X(name, symbol, group, needed): `needed` hooks make the capture partial when they are missing.
#define LIFESPAN_HOOKS(X)                                                                                  \
  X(allocObject, swift_allocObject, LIFESPAN_HOOK_LIFE, 1)                                                 \
  X(bufferAllocate, swift_bufferAllocate, LIFESPAN_HOOK_LIFE, 0)                                           \
  X(allocBox, swift_allocBox, LIFESPAN_HOOK_LIFE, 1)                                                       \
  X(deallocObject, swift_deallocObject, LIFESPAN_HOOK_LIFE, 1)                                             \
  X(deallocUninitializedObject, swift_deallocUninitializedObject, LIFESPAN_HOOK_LIFE, 0)                   \
  X(retain, swift_retain, LIFESPAN_HOOK_REFCOUNT, 1)                                                       \
  X(retain_n, swift_retain_n, LIFESPAN_HOOK_REFCOUNT, 1)                                                   \
  X(release, swift_release, LIFESPAN_HOOK_REFCOUNT, 1)                                                     \
  X(release_n, swift_release_n, LIFESPAN_HOOK_REFCOUNT, 1)                                                 \
  X(tryRetain, swift_tryRetain, LIFESPAN_HOOK_REFCOUNT, 0)                                                 \
  X(setDeallocating, swift_setDeallocating, LIFESPAN_HOOK_REFCOUNT, 1)                                     \
  X(deallocClassInstance, swift_deallocClassInstance, LIFESPAN_HOOK_REFCOUNT, 0)                           \
  X(weakLoadStrong, swift_weakLoadStrong, LIFESPAN_HOOK_REFCOUNT, 1)                                       \
  X(weakTakeStrong, swift_weakTakeStrong, LIFESPAN_HOOK_REFCOUNT, 0)                                       \
  X(unownedRetainStrong, swift_unownedRetainStrong, LIFESPAN_HOOK_REFCOUNT, 1)                             \
  X(unownedRetainStrongAndRelease, swift_unownedRetainStrongAndRelease, LIFESPAN_HOOK_REFCOUNT, 0)         \
  X(makeBoxUnique, swift_makeBoxUnique, LIFESPAN_HOOK_REFCOUNT, 0)                                         \
  X(nonatomic_retain, swift_nonatomic_retain, LIFESPAN_HOOK_REFCOUNT, 0)                                   \
  X(nonatomic_retain_n, swift_nonatomic_retain_n, LIFESPAN_HOOK_REFCOUNT, 0)                               \
  X(nonatomic_release, swift_nonatomic_release, LIFESPAN_HOOK_REFCOUNT, 0)                                 \
  X(nonatomic_release_n, swift_nonatomic_release_n, LIFESPAN_HOOK_REFCOUNT, 0)                             \
  X(nonatomic_unownedRetainStrong, swift_nonatomic_unownedRetainStrong, LIFESPAN_HOOK_REFCOUNT, 0)         \
  X(nonatomic_unownedRetainStrongAndRelease, swift_nonatomic_unownedRetainStrongAndRelease,                \
    LIFESPAN_HOOK_REFCOUNT, 0)                                                                             \
  X(task_create_common, swift_task_create_common, LIFESPAN_HOOK_TASK, 1)                                   \
  X(slowDealloc, swift_slowDealloc, LIFESPAN_HOOK_MEMORY, 1)

// Functions and variables of the runtime that are used, not hooked.
#define LIFESPAN_RUNTIME_SYMBOLS(X)                \
  X(swift_getTypeName)                             \
  X(swift_unownedRetainCount)                      \
  X(swift_enumerateAllMetadataSections)            \
  X(swift_task_getCurrent)                         \
  X(swift_task_getJobTaskId)                       \
  X(swift_job_run)                                 \
  X(swift_task_alloc)                              \
  X(swift_task_dealloc)                            \
  X(_swift_concurrency_debug_asyncTaskMetadata)    \
  X(_swift_allocObject)                            \
  X(_swift_retain)

#endif
