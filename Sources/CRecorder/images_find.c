// Rows found in an image when a walk first meets an address of it, in a hook. Called by images_table.c.
//
// Why reading the image cannot fault: what asks has a frame in it, so it stays mapped. Should the address be none of a
// frame (a stack that was read wrongly), the dynamic linker is asked first whether the image is still there:
// `_dl_find_object` (glibc 2.35) takes no lock, and knows of an unloading before anything is unmapped. Where it is missing,
// all rows are compiled when an image is loaded.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/mman.h>

#include "images.h"

#pragma weak dlsym // static executables have none

// As many threads may look into images at once; more of them wait a moment, and cut their stack if it was in vain.
#define SLOTS 16u
#define PATIENCE 20000u

struct slot {
  _Atomic uintptr_t taken; // the thread's pointer, which is a multiple of 16, and how many of its own were taken before; 0: free
  struct images_entry entry;
  uint8_t places[ROWS_LARGE * ROWS_SCRATCH] __attribute__((aligned(16))); // touched as far as the largest gap met goes
};

static struct slot *slots;
static int (*find_object)(void *address, void *result);

bool images_find_there(void) { return slots != NULL; }

bool images_find_start(void) {
  find_object = dlsym ? (int (*)(void *, void *))dlsym(RTLD_DEFAULT, "_dl_find_object") : NULL;
  if (!find_object || slots) return slots != NULL;
  void *memory = mmap(NULL, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) slots = memory;
  return slots != NULL;
}

#define NESTED_MOST 15u

static uintptr_t own_word(void) { return (uintptr_t)__builtin_thread_pointer() & ~(uintptr_t)NESTED_MOST; }

unsigned images_find_depth(void) {
  unsigned depth = 0;
  for (unsigned i = 0; slots && i < SLOTS; i++)
    depth += (atomic_load_explicit(&slots[i].taken, memory_order_relaxed) & ~(uintptr_t)NESTED_MOST) == own_word();
  return depth;
}

void images_find_left(unsigned depth) {
  for (unsigned i = 0; slots && i < SLOTS; i++) {
    uintptr_t taken = atomic_load_explicit(&slots[i].taken, memory_order_relaxed);
    if ((taken & ~(uintptr_t)NESTED_MOST) == own_word() && (taken & NESTED_MOST) >= depth)
      atomic_store_explicit(&slots[i].taken, 0, memory_order_release);
  }
}

// What this thread had taken it goes back to.
void images_find_forked(void) {
  for (unsigned i = 0; slots && i < SLOTS; i++)
    if ((atomic_load_explicit(&slots[i].taken, memory_order_relaxed) & ~(uintptr_t)NESTED_MOST) != own_word())
      atomic_store_explicit(&slots[i].taken, 0, memory_order_relaxed);
}

bool images_loaded(uintptr_t pc, uintptr_t *header) {
  // struct dl_find_object: flags, start, end, link map, .eh_frame_hdr, and room for what later versions add
  uintptr_t result[16] = {0};
  if (!find_object || find_object((void *)pc, result)) return false;
  *header = result[4];
  return true;
}

static struct slot *take(void) {
  unsigned depth = images_find_depth();
  if (depth > NESTED_MOST) return NULL;
  for (unsigned tries = 0; tries < PATIENCE; tries++) {
    struct slot *slot = &slots[tries % SLOTS];
    uintptr_t free = 0, own = own_word() | depth;
    if (atomic_compare_exchange_weak_explicit(&slot->taken, &free, own, memory_order_acquire, memory_order_relaxed)) return slot;
  }
  return NULL;
}

static void remember(void *context, uintptr_t pc, struct rows_row row) {
  images_remember(pc, *(const uint32_t *)context, row);
}

bool images_find(uintptr_t pc, uint32_t generation, struct rows_row *row) {
  uintptr_t header = 0;
  *row = (struct rows_row){.kind = ROWS_NONE};
  struct slot *slot = slots ? take() : NULL;
  if (!slot) return false;
  const struct rows_source *source = &slot->entry.source;
  bool there = images_entry_at(pc, &slot->entry) && images_loaded(pc, &header) && header == source->header;
  if (there) {
    *row = rows_find(source, pc, slot->places, remember, &generation);
    images_remember(pc, generation, *row);
  }
  atomic_store_explicit(&slot->taken, 0, memory_order_release);
  return there;
}

#endif
