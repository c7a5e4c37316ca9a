// Finds the preload library's recorder in this process, and tells it at load which protocol marks tracked types. Called
// by the loader, and by every file of this folder that must know whose recording it is.

#include "door.h"

#if LIFESPAN_RECORDS_HERE

#include <dlfcn.h>
#include <sys/auxv.h>

// Weak: a static executable has none unless the runtime brings it, and can't be preloaded into anyway.
extern void *dlsym(void *restrict handle, const char *restrict name) __attribute__((weak));

static const struct lifespan_door_table *table; // written before main
static bool looked;

// Once, by whoever comes first: another constructor of the program may start a recording before ours has run.
static void find_table(void) {
  if (looked) return;
  looked = true;
  if (!dlsym || !getauxval(AT_BASE)) return; // no loader: static
  const struct lifespan_door_table *(*door)(void) =
    (const struct lifespan_door_table *(*)(void))dlsym(RTLD_DEFAULT, "lifespan_preload_door");
  if (door) table = door();
}

// All that a program that merely links the library pays: one look-up.
__attribute__((constructor)) static void lifespan_linked_loaded(void) {
  find_table();
  if (!table || table->abi != LIFESPAN_ABI || !lifespan_tracked_protocol) return;
  table->track_protocol(lifespan_tracked_protocol);
}

const struct lifespan_door_table *lifespan_linked_preload(enum lifespan_linked_status *status, uint32_t *abi) {
  *status = LIFESPAN_LINKED_OK;
  find_table();
  if (!table) return NULL;
  if (abi) *abi = table->abi;
  if (table->abi != LIFESPAN_ABI) {
    *status = LIFESPAN_LINKED_ABI;
    return NULL;
  }
  if (!table->map()) *status = LIFESPAN_LINKED_INACTIVE;
  return table;
}

struct lifespan_map *lifespan_linked_map(enum lifespan_linked_status *status) {
  const struct lifespan_door_table *preload = lifespan_linked_preload(status, NULL);
  if (*status != LIFESPAN_LINKED_OK) return NULL;
  if (preload) return preload->map();
  if (atomic_load_explicit(&lifespan_linked_door.drain, memory_order_acquire)) return lifespan_linked_door.map;
  *status = LIFESPAN_LINKED_NOT_STARTED;
  return NULL;
}

#endif
