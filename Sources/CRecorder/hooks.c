// Installs the hooks of hook_table.h and tests them on the thread that installs. Called by lifecycle.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "detour.h"
#include "hook_table.h"
#include "record.h"
#include "runtime_layout.h"
#include "tracked.h"

#define DECLARE(name, symbol, group, needed) \
  extern void *lifespan_original_##name;     \
  extern char lifespan_hook_##name[];
#pragma GCC visibility push(hidden)
LIFESPAN_HOOKS(DECLARE)
DECLARE(destroyTask, , , )
DECLARE(free, , , )
#pragma GCC visibility pop

struct hook {
  const char *name;
  const char *symbol;
  void *replacement;
  void **original;
  enum lifespan_hook_group group;
  bool needed;
  bool installed;
};
#define ENTRY(name, symbol, group, needed) {#name, #symbol, lifespan_hook_##name, &lifespan_original_##name, group, needed, false},
static struct hook hooks[] = {LIFESPAN_HOOKS(ENTRY)};
#define COUNT (sizeof hooks / sizeof *hooks)
#define EXTRA 2u // destroyTask, free

// Destroys a task; local in libswift_Concurrency, found in the metadata of tasks.
static void *destroy_task_entry(void) {
  void **metadata = lifespan_symbol("_swift_concurrency_debug_asyncTaskMetadata");
  return metadata && *metadata ? ((void **)*metadata)[-2] : NULL;
}

static bool wanted(const struct hook *hook, bool refcounts, bool memory) {
  if (hook->installed) return false;
  if (hook->group == LIFESPAN_HOOK_REFCOUNT) return refcounts;
  if (hook->group == LIFESPAN_HOOK_MEMORY) return memory;
  return true;
}

// No code could be changed: the runtime's data pointers, where free() is interposed and shows the deaths.
bool lifespan_hooks_fall_back(void) {
  struct lifespan_map *map = lifespan_process.map;
  if (map->door != LIFESPAN_DOOR_PRELOAD || lifespan_process.free_elsewhere || !lifespan_pointers_start()) return false;
  // In place of any reason before: each entry that could not be changed has said the same of itself.
  atomic_store(&map->capture, LIFESPAN_CAPTURE_PARTIAL);
  snprintf(map->capture_reason, sizeof map->capture_reason,
           "this system forbids changing code: objects die when their memory is freed, tasks and reference counts are not seen");
  atomic_store(&map->counts_missed, 1);
  lifespan_process.pointer_mode = true;
  return true;
}

bool lifespan_hooks_start(bool one_thread) {
  static bool destroy_installed, free_installed;
  struct lifespan_detour list[COUNT + EXTRA] = {0};
  struct hook *of[COUNT + EXTRA] = {0};
  unsigned count = 0;
  bool refcounts = lifespan_process.refcounts || lifespan_tracks_anything();
  lifespan_process.keeps_dead = refcounts && lifespan_process.blocks;
  if (lifespan_process.keeps_dead) lifespan_quiet_reach = 0; // every block's place is looked at
  bool linked = lifespan_process.map->door == LIFESPAN_DOOR_LINKED;
  for (unsigned i = 0; i < COUNT; i++) {
    if (!wanted(&hooks[i], refcounts, linked || lifespan_process.free_elsewhere)) continue;
    of[count] = &hooks[i];
    list[count++] = (struct lifespan_detour){hooks[i].name, lifespan_symbol(hooks[i].symbol), hooks[i].replacement, hooks[i].original, NULL, false};
  }
  unsigned destroy = count;
  if (!destroy_installed)
    list[count++] = (struct lifespan_detour){"destroyTask", destroy_task_entry(), lifespan_hook_destroyTask, &lifespan_original_destroyTask, NULL, false};
  unsigned release = count;
  if (!free_installed && lifespan_process.free_entry)
    list[count++] = (struct lifespan_detour){"free", lifespan_process.free_entry, lifespan_hook_free, &lifespan_original_free, NULL, false};
  if (!count) return true;
  bool any = lifespan_detours_install(list, count, one_thread) != 0;
  for (unsigned i = 0; i < count; i++) {
    struct hook *hook = of[i];
    if (hook) hook->installed = list[i].installed;
    bool tasks = hook && hook->replacement == (void *)lifespan_hook_task_create_common && hook->installed;
    if (tasks && one_thread && !linked) lifespan_tasks_none_made();
    bool missing = list[i].refused || (hook && hook->needed && !lifespan_symbol(hook->symbol)); // not one that was folded into another
    if (hook && hook->group == LIFESPAN_HOOK_REFCOUNT && missing) atomic_store(&lifespan_process.map->counts_missed, 1);
    if (list[i].refused) lifespan_say_partial(list[i].name, list[i].refused);
    else if (hook && hook->needed && !list[i].installed && !lifespan_symbol(hook->symbol) && hook->group == LIFESPAN_HOOK_LIFE)
      lifespan_say_partial(hook->symbol, "not found in this runtime");
  }
  lifespan_process.bare_counts = lifespan_process.refcounts && lifespan_process.tsc && lifespan_process.unwind == LIFESPAN_UNWIND_NONE;
  if (destroy < count && destroy < release) destroy_installed = list[destroy].installed;
  if (release < count) free_installed = list[release].installed;
  return any || hooks[0].installed || lifespan_hooks_fall_back();
}

// ---- Self-test ------------------------------------------------------------------------------------------------------------

static __attribute__((swiftcall)) void destroy_probe(__attribute__((swift_context)) void *object) {
  void (*deallocate)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))lifespan_symbol("swift_deallocObject");
  deallocate(object, 32, 15);
}

// A heap object of a metadata of our own goes through the runtime's entries once; the hooks must see it.
bool lifespan_self_test(bool refcounts) {
  static struct {
    void *destroy;
    void *witnesses;
    uint64_t kind;
    uint64_t offset;
  } metadata = {.kind = SWIFT_KIND_HEAP_LOCAL};
  metadata.destroy = (void *)destroy_probe;
  void *(*allocate)(const void *, size_t, size_t) = (void *(*)(const void *, size_t, size_t))lifespan_symbol("swift_allocObject");
  void *(*retain)(void *) = (void *(*)(void *))lifespan_symbol("swift_retain");
  void (*release)(void *) = (void (*)(void *))lifespan_symbol("swift_release");
  if (!allocate || !retain || !release) return false;
  lifespan_self_test_counts = (struct lifespan_self_test){0};
  uintptr_t was = lifespan_local.inside;
  lifespan_local.inside = LIFESPAN_TESTING;
  lifespan_local.creator.pc = 1; // as a task's, the object's references pass the filter, though nothing is recorded of it
  void *object = allocate(&metadata.kind, 32, 15);
  retain(object);
  release(object);
  release(object);
  lifespan_local.inside = was;
  lifespan_local.creator.pc = 0;
  const struct lifespan_self_test *seen = &lifespan_self_test_counts;
  if (lifespan_process.pointer_mode) return seen->births == 1; // deaths come by free()
  if (seen->births != 1 || seen->deaths != 1) return false;
  return !refcounts || (seen->retains == 1 && seen->releases == 2);
}

#endif
