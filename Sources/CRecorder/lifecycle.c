// The recording's life in this process: start, pause, marks, the door to the linked library. Called by the two doors.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hook_table.h"
#include "internal.h"
#include "late.h"
#include "raw.h"
#include "record.h"
#include "tracked.h"

static struct lifespan_switch off_page;
struct lifespan_switch *lifespan_switch_page = &off_page;
struct lifespan_process lifespan_process;

void lifespan_say_partial(const char *what, const char *why) {
  struct lifespan_map *map = lifespan_process.map;
  if (atomic_load(&map->capture) == LIFESPAN_CAPTURE_PARTIAL) return;
  snprintf(map->capture_reason, sizeof map->capture_reason, "%s%s%s", what, *what ? ": " : "", why);
  atomic_store(&map->capture, LIFESPAN_CAPTURE_PARTIAL);
}

// ---- Images -----------------------------------------------------------------------------------------------------------------

// Places of unloaded images whose types were seen. The recorder and the runtime itself know a type by the address of its metadata: another
// image's types there go by the old ones' names. Under the lock of images.c.
static struct {
  uintptr_t start, end;
  uint64_t build;
} left[64];
static unsigned left_count;

#define ADDRESS_REUSED "a library was unloaded and another one came to its address: types of the two can't be told apart"

static uint64_t build_of(const uint8_t *build_id, size_t length) {
  uint64_t hash = 1469598103934665603ull;
  for (size_t i = 0; i < length; i++) hash = (hash ^ build_id[i]) * 1099511628211ull;
  return length ? hash : 0; // 0: not known
}

static void types_left(uintptr_t start, uintptr_t end, uint64_t build) {
  if (!lifespan_types_unloaded(start, end, true)) return;
  if (left_count == sizeof left / sizeof *left) return lifespan_say_partial("", ADDRESS_REUSED); // it may have
  left[left_count].start = start;
  left[left_count].end = end;
  left[left_count++].build = build;
}

static void types_came(uintptr_t start, uintptr_t end, uint64_t build) {
  for (unsigned i = 0; i < left_count;) {
    if (end <= left[i].start || start >= left[i].end) {
      i++;
      continue;
    }
    if (build && build == left[i].build && start == left[i].start) lifespan_types_unloaded(start, end, false);
    else lifespan_say_partial("", ADDRESS_REUSED);
    left[i] = left[--left_count];
  }
}

// The load map's changes go into the ring of whichever thread makes them.
static void image_changed(void *context, uint32_t image_id, int op, uint32_t epoch, uintptr_t bias, uintptr_t start, uintptr_t end,
                          const uint8_t *build_id, size_t build_id_length, const char *path) {
  (void)context;
  if (!op) atomic_store(&lifespan_process.unload_epoch, epoch);
  if (op) types_came(start, end, build_of(build_id, build_id_length));
  if (op) lifespan_late_image(path, bias, start, end);
  else types_left(start, end, build_of(build_id, build_id_length));
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  size_t path_length = strlen(path);
  if (build_id_length > 64) build_id_length = 64;
  if (path_length > 3700) path_length = 3700;
  char *text = thread->scratch[0];
  memcpy(text, build_id, build_id_length);
  memcpy(text + build_id_length, path, path_length);
  struct lifespan_cell fixed[3] = {
    {bias, lifespan_head_word(LIFESPAN_R_IMAGE, 0, image_id)},
    {start, end},
    {(uint64_t)epoch << 32 | (uint64_t)build_id_length << 16 | (uint16_t)path_length, (uint64_t)op},
  };
  lifespan_ring_text(thread, fixed, 3, text, build_id_length + path_length, LIFESPAN_LOSS_OTHER);
  lifespan_leave(thread);
}

// A page that the kernel wipes in a child: hooks there find 0.
static bool make_switch(void) {
  if (lifespan_switch_page != &off_page) return true;
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  if (madvise(page, 4096, MADV_WIPEONFORK)) {
    munmap(page, 4096);
    return false;
  }
  lifespan_switch_page = page;
  return true;
}

static bool asked; // lifespan_recorder_is_asked, perhaps before there was a mapping

static void take_options(struct lifespan_map *map) {
  struct lifespan_process *process = &lifespan_process;
  process->map = map;
  process->tsc = map->clock == LIFESPAN_CLOCK_TSC;
  process->unwind = map->options.unwind;
  process->depth = map->options.depth ? map->options.depth : 256;
  process->scope = map->options.scope;
  process->blocks = map->options.malloc_blocks && map->door == LIFESPAN_DOOR_PRELOAD && process->scope == LIFESPAN_SCOPE_SWIFT;
  process->vm = map->options.vm && map->door == LIFESPAN_DOOR_PRELOAD;
  process->refcounts = map->options.refcounts;
  process->death_stacks = map->options.death_stacks;
  process->check_every = map->options.check_every;
  process->plain_deaths = process->tsc && !process->death_stacks;
}

void lifespan_recorder_fill_header(struct lifespan_map *map) {
  map->pid = (uint32_t)getpid();
  map->parent_pid = (uint32_t)getppid();
  map->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
  atomic_store(&map->asks, asked);
  struct timespec now;
  map->clock = lifespan_recorder_tsc_usable() ? LIFESPAN_CLOCK_TSC : LIFESPAN_CLOCK_MONOTONIC;
  map->start_stamp = lifespan_recorder_now(map);
  map->start_monotonic_ns = lifespan_monotonic_ns();
  clock_gettime(CLOCK_REALTIME, &now);
  map->start_realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  lifespan_recorder_executable(map->program, sizeof map->program);
}

void lifespan_recorder_owns(const void *memory, size_t bytes) {
  struct lifespan_map *map = lifespan_process.map;
  for (unsigned i = 0; map && i < LIFESPAN_OWN_RANGES; i++) {
    if (atomic_load(&map->own[i].start)) continue;
    atomic_store(&map->own[i].end, (uint64_t)memory + bytes);
    atomic_store(&map->own[i].start, (uint64_t)memory);
    return;
  }
}

static bool prepare_tables(void) {
  return make_switch() && lifespan_threads_start() && lifespan_types_start() && lifespan_stacks_start();
}

// The hooks must see an object of our own. Where they don't (another tool changed the entries back), the next way is tried.
void lifespan_hooks_test(void) {
  bool refcounts = lifespan_process.refcounts || lifespan_tracks_anything();
  if (lifespan_self_test(refcounts)) return;
  if (!lifespan_self_test_counts.births && lifespan_hooks_fall_back() && lifespan_self_test(refcounts)) return;
  lifespan_say_partial("self-test", "its own object was not seen");
}

static bool one_thread(void) { return &__libc_single_threaded && __libc_single_threaded; }

enum lifespan_start_status lifespan_recorder_start(struct lifespan_map *map, bool (*on_full)(void *), void *context) {
  if (lifespan_process.map) return LIFESPAN_START_RUNNING;
  int runtime = lifespan_recorder_runtime(map->capture_reason, sizeof map->capture_reason);
  bool blocks_alone = runtime != 1 && map->options.malloc_blocks && map->door == LIFESPAN_DOOR_PRELOAD;
  if (runtime != 1 && !blocks_alone) return runtime == 0 ? LIFESPAN_START_NO_RUNTIME : LIFESPAN_START_UNHOOKABLE;
  lifespan_recorder_fill_header(map);
  take_options(map);
  if (map->door == LIFESPAN_DOOR_LINKED && map->options.scope == LIFESPAN_SCOPE_SWIFT) lifespan_process.free_entry = (void *)free;
  lifespan_process.on_full = on_full;
  lifespan_process.on_full_context = context;
  if (!prepare_tables()) {
    lifespan_process.map = NULL;
    return LIFESPAN_START_NO_MEMORY;
  }
  atomic_store(&map->capture, LIFESPAN_CAPTURE_COMPLETE);
  if (lifespan_process.blocks && lifespan_process.free_elsewhere && !lifespan_linked_allocator_start()) {
    lifespan_process.blocks = map->options.malloc_blocks = 0;
    lifespan_say_partial("", "the executable brings an allocator of its own: of its memory only Swift objects are seen");
  }
  atomic_store(&map->runtime, runtime ? LIFESPAN_RUNTIME_THERE : LIFESPAN_RUNTIME_NONE);
  lifespan_tasks_start();
  atomic_store_explicit(&map->state, LIFESPAN_PROGRAM_RUNNING, memory_order_release);
  lifespan_images_start(true, image_changed, NULL);
  if (map->options.unwind == LIFESPAN_UNWIND_LIBUNWIND || map->options.check_every) {
    const char *why = lifespan_reference_start();
    if (why && map->options.unwind == LIFESPAN_UNWIND_LIBUNWIND) {
      lifespan_say_partial("--unwind libunwind", why);
      lifespan_process.unwind = LIFESPAN_UNWIND_AUTO;
    }
  }
  if (blocks_alone && runtime) atomic_store(&map->capture, LIFESPAN_CAPTURE_PARTIAL); // the reason stands there
  if (!blocks_alone && !lifespan_hooks_start(one_thread())) {
    lifespan_process.map = NULL;
    atomic_store(&map->capture, LIFESPAN_CAPTURE_NONE);
    return LIFESPAN_START_UNHOOKABLE;
  }
  lifespan_wait_for_trace(map);
  lifespan_leave_start(one_thread());
  lifespan_switch_page->on = 1;
  lifespan_record_early_blocks();
  if (!blocks_alone) lifespan_hooks_test();
  return LIFESPAN_START_OK;
}

void lifespan_recorder_foreign_free(void *entry) {
  lifespan_process.free_entry = entry;
  lifespan_process.free_elsewhere = entry != NULL;
}

struct lifespan_map *lifespan_recorder_map(void) { return lifespan_on() ? lifespan_process.map : NULL; }

void lifespan_recorder_refresh_images(void) {
  if (lifespan_on()) lifespan_images_refresh();
}

static void set_recording(uint32_t on) {
  if (!lifespan_on()) return;
  struct lifespan_map *map = lifespan_process.map;
  uint32_t was = !on; // not ENDED: that is for good
  if (!atomic_compare_exchange_strong(&map->recording, &was, on)) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  struct lifespan_cell cell = {lifespan_stamp_ordered(), lifespan_head_word(LIFESPAN_R_RECORDING, 1, on)};
  lifespan_ring_text(thread, &cell, 1, "", 0, LIFESPAN_LOSS_OTHER);
  lifespan_leave(thread);
}
void lifespan_recorder_pause(void) { set_recording(0); }
void lifespan_recorder_resume(void) { set_recording(1); }

// ---- Marks ------------------------------------------------------------------------------------------------------------

uint64_t lifespan_recorder_mark(const char *name, size_t length) {
  if (!lifespan_on()) return 0;
  struct lifespan_local *local = &lifespan_local;
  if (local->inside & LIFESPAN_NAMING) { // a signal where nothing can be written: set when the hook leaves
    if (local->thread) local->thread->pending_mark = 1;
    return 0;
  }
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return 0;
  uint64_t stamp = lifespan_stamp_ordered();
  if (length > 1024) length = 1024;
  struct lifespan_cell mark = {stamp, lifespan_head_word(LIFESPAN_R_MARK, 0, length)};
  bool written = lifespan_ring_text(thread, &mark, 1, name, length, LIFESPAN_LOSS_OTHER);
  lifespan_leave(thread);
  return written ? stamp : 0;
}

// ---- The door of the preload library -------------------------------------------------------------------------------------

static void track_and_hook(void) {
  if (!lifespan_on() || !lifespan_tracks_anything() || lifespan_process.refcounts) return;
  lifespan_hooks_start(one_thread()); // retain and release, if not there yet
}
static void door_track(const void *metadata) {
  lifespan_recorder_track(metadata);
  track_and_hook();
}
static void door_track_protocol(const void *descriptor) {
  lifespan_recorder_track_protocol(descriptor);
  track_and_hook();
}

static const struct lifespan_door_table own_door = {
  .abi = LIFESPAN_ABI,
  .size = sizeof(struct lifespan_door_table),
  .map = lifespan_recorder_map,
  .track = door_track,
  .track_protocol = door_track_protocol,
  .token_born = lifespan_recorder_token_born,
  .token_died = lifespan_recorder_token_died,
  .mark = lifespan_recorder_mark,
  .pause = lifespan_recorder_pause,
  .resume = lifespan_recorder_resume,
};

// The door of this process: the preload library's where it is loaded, else our own.
const struct lifespan_door_table *lifespan_recorder_door(void) {
  static const struct lifespan_door_table *found;
  if (found) return found;
  const struct lifespan_door_table *(*preload)(void) = (const struct lifespan_door_table *(*)(void))dlsym(RTLD_DEFAULT, "lifespan_preload_door");
  found = preload ? preload() : &own_door;
  return found;
}
const struct lifespan_door_table *lifespan_recorder_own_door(void) { return &own_door; }

void lifespan_recorder_is_asked(void) {
  asked = true;
  if (lifespan_process.map) atomic_store(&lifespan_process.map->asks, 1);
}

__attribute__((visibility("default"))) void lifespan_mark_generation(const char *name) {
  const struct lifespan_door_table *door = lifespan_recorder_door();
  if (door->abi != LIFESPAN_ABI) return;
  door->mark(name ? name : "", name ? strlen(name) : 0);
  lifespan_recorder_marked();
}

#endif
