// An allocator inside the executable comes before any preload: its functions are detoured, so that every block is recorded. Called by lifecycle.c, before
// there is a second thread. Blocks from before that are not known, and their ends are no events.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include <string.h>

#include "detour.h"
#include "internal.h"

#define MOST 64u

static const struct lifespan_linked_function *functions;
static unsigned function_count;

void lifespan_recorder_linked_allocator(const struct lifespan_linked_function *list, unsigned count) {
  functions = list;
  function_count = count < MOST ? count : MOST;
}

// Whether that function's calls are seen: there is none, or its entry (it may be another's too) was changed.
static bool is_seen(const struct lifespan_detour *list, const char *name) {
  for (unsigned i = 0; i < function_count; i++)
    if (!strcmp(functions[i].name, name)) return !functions[i].entry || list[i].installed;
  return false;
}

bool lifespan_linked_allocator_start(void) {
  static struct lifespan_detour list[MOST];
  for (unsigned i = 0; i < function_count; i++)
    list[i] = (struct lifespan_detour){functions[i].name, functions[i].entry, functions[i].hook, functions[i].original, NULL, false};
  if (!function_count || !lifespan_detours_install(list, function_count, true)) return false;
  lifespan_process.free_elsewhere = !is_seen(list, "free");
  if (!lifespan_process.free_elsewhere) lifespan_process.free_entry = NULL;
  if (lifespan_process.free_elsewhere || !is_seen(list, "malloc") || !is_seen(list, "realloc")) return false;
  for (unsigned i = 0; i < function_count; i++)
    if (list[i].refused) lifespan_say_partial(list[i].name, list[i].refused);
  return true;
}

#endif
