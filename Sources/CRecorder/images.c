// The load map kept: start, refresh, and what the dynamic linker's notification leads to. Compares what the loader
// shows with what is known, tells the sink, compiles rows and publishes a new table. Called by the recorder outside
// hooks, and by the notification (images_notify.c) under the dynamic linker's lock; no malloc in either.
//
// Locks: `writer` is the innermost. Nothing of the dynamic linker is called while it is held, so the order is always
// the linker's own locks, then ours, whoever begins.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "images.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind.h"
#include "unwind_bounds.h"

struct image {
  bool used, seen, elsewhere;
  uint32_t id;
  struct images_elf elf;
  const void *headers;
  size_t header_count;
  struct rows_builder rows; // rows NULL: none
};

static struct {
  struct image *images; // IMAGES_MAX
  uint32_t used, next_id, epoch;
  lifespan_image_sink sink;
  void *context;
  struct images_look notified; // the notification's own list
  pid_t pid;
  bool follows;
  char path[PATH_MAX + 64];
} map;

static _Atomic int writer;               // process id of the holder
static _Atomic uint64_t notifications;   // so that a refresh sees that its list is older than the table
static _Atomic uint32_t missed;

static void lock(void) {
  int me = getpid(), holder = 0;
  // In a fork child a holder of the parent is gone for good; its tables were never shown half done.
  while (!atomic_compare_exchange_strong(&writer, &holder, me)) {
    if (holder && holder != me && atomic_compare_exchange_strong(&writer, &holder, me)) return;
    holder = 0;
    sched_yield();
  }
}
static void unlock(void) { atomic_store_explicit(&writer, 0, memory_order_release); }

// ---- Reconcile ----------------------------------------------------------------------------------------------------

static void tell(const struct image *image, int op, const char *path) {
  if (!map.sink) return;
  const struct images_elf *elf = &image->elf;
  map.sink(map.context, image->id, op, map.epoch, elf->bias, elf->start, elf->end, elf->build_id, elf->build_id_length,
           path);
}

static struct image *find(const struct images_elf *elf) {
  for (uint32_t i = 0; i < map.used; i++) {
    struct image *image = &map.images[i];
    if (image->used && image->elf.start == elf->start && image->elf.fingerprint == elf->fingerprint) return image;
  }
  return NULL;
}

static struct image *add(void) {
  uint32_t i = 0;
  while (i < map.used && map.images[i].used) i++;
  if (i == IMAGES_MAX) return NULL;
  if (i == map.used) map.used++;
  return &map.images[i];
}

static void publish(bool unloaded) {
  struct images_entry *entries = images_table_hidden();
  uint32_t count = 0;
  for (uint32_t i = 0; i < map.used; i++) {
    const struct image *image = &map.images[i];
    if (!image->used) continue;
    uint32_t at = count++;
    for (; at && entries[at - 1].start > image->elf.start; at--) entries[at] = entries[at - 1];
    entries[at] = (struct images_entry){.start = image->elf.start, .end = image->elf.end, .rows = image->rows.rows,
                                        .row_count = (uint32_t)image->rows.count, .id = image->id,
                                        .source = image->elf.source};
  }
  images_table_publish(count, map.epoch, unloaded);
}

// Marks what is still there, removes the rest. Gives the number of images removed.
static uint32_t sweep(const struct images_look *look, uint32_t *fresh) {
  uint32_t gone = 0;
  struct images_elf elf;
  for (uint32_t i = 0; i < map.used; i++) map.images[i].seen = map.images[i].elsewhere && !look->everywhere;
  for (uint32_t i = 0; i < look->count; i++) {
    const struct images_found *f = &look->found[i];
    struct image *image = images_read_elf(f->bias, f->headers, f->header_count, &elf) ? find(&elf) : NULL;
    if (image) image->seen = true;
    else *fresh += 1;
  }
  for (uint32_t i = 0; i < map.used; i++) gone += map.images[i].used && !map.images[i].seen;
  return gone;
}

// The whole comparison. With `writer` held. The sink hears of a change before the table shows its epoch.
static void reconcile(const struct images_look *look) {
  uint32_t fresh = 0, gone = sweep(look, &fresh);
  struct images_elf elf;
  if (!fresh && !gone) return;
  map.epoch++;
  for (uint32_t i = 0; i < map.used; i++) {
    struct image *image = &map.images[i];
    if (!image->used || image->seen) continue;
    tell(image, 0, "");
    image->used = false;
  }
  if (gone) {
    publish(true); // before their rows can be given to anybody
    for (uint32_t i = 0; i < map.used; i++) {
      if (!map.images[i].used && map.images[i].rows.rows) images_retire_rows(&map.images[i].elf, map.images[i].rows);
      if (!map.images[i].used) map.images[i].rows = (struct rows_builder){0};
    }
  }
  bool added = false;
  for (uint32_t i = 0; i < look->count; i++) {
    const struct images_found *f = &look->found[i];
    if (!images_read_elf(f->bias, f->headers, f->header_count, &elf) || find(&elf)) continue;
    struct image *image = add();
    if (!image) break;
    images_path(f->name, f->executable, elf.start, map.path, sizeof map.path);
    images_read_sections(map.path, &elf);
    *image = (struct image){.used = true, .seen = true, .elsewhere = f->elsewhere, .id = ++map.next_id, .elf = elf,
                            .headers = f->headers, .header_count = f->header_count, .rows = images_take_rows(&elf)};
    tell(image, 1, map.path);
    added = true;
  }
  rows_release();
  if (added) publish(false);
}

// ---- Looks --------------------------------------------------------------------------------------------------------

static int collect(struct dl_phdr_info *info, size_t size, void *context) {
  struct images_look *look = context;
  (void)size;
  if (look->count == IMAGES_MAX) return 1;
  bool executable = look->count == 0; // the dynamic linker shows the program first
  look->found[look->count++] = (struct images_found){info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum,
                                                     info->dlpi_name, executable, false};
  return 0;
}

// The kernel's own image: some static programs do not list it.
static void collect_vdso(struct images_look *look) {
  uintptr_t start = getauxval(AT_SYSINFO_EHDR);
  size_t count = 0;
  const ElfW(Phdr) *headers = start ? images_probe_headers(start, &count) : NULL;
  for (uint32_t i = 0; i < look->count; i++)
    if (look->found[i].headers == headers) return;
  uintptr_t bias = start;
  for (size_t i = 0; headers && i < count; i++)
    if (headers[i].p_type == PT_LOAD) bias = start - headers[i].p_vaddr;
  if (headers && look->count < IMAGES_MAX)
    look->found[look->count++] = (struct images_found){bias, headers, count, "", false, false};
}

static bool make_look(struct images_look *look) {
  size_t bytes = IMAGES_MAX * sizeof *look->found;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *look = (struct images_look){memory == MAP_FAILED ? NULL : memory, 0, false};
  return look->found != NULL;
}

static void look_again(void) {
  struct images_look look;
  if (!map.images || !make_look(&look)) return;
  for (unsigned tries = 0; tries < 16; tries++) {
    uint64_t before = atomic_load(&notifications);
    look.count = 0;
    dl_iterate_phdr(collect, &look);
    collect_vdso(&look);
    lock();
    bool current = atomic_load(&notifications) == before;
    if (current) reconcile(&look);
    unlock();
    if (current) break;
  }
  munmap(look.found, IMAGES_MAX * sizeof *look.found);
}

static bool known(uintptr_t bias, uintptr_t dynamic, struct images_found *found) {
  for (uint32_t i = 0; i < map.used; i++) {
    const struct image *image = &map.images[i];
    if (!image->used || image->elf.bias != bias || dynamic < image->elf.start || dynamic >= image->elf.end) continue;
    *found = (struct images_found){.bias = bias, .headers = image->headers, .header_count = image->header_count,
                                   .executable = image->id == 1};
    return true;
  }
  return false;
}

// In place of the dynamic linker's r_brk, under its lock. Fork children are followed once they are recorded.
static void notified(void) {
  int saved = errno;
  if (images_notify_consistent() && getpid() == map.pid) {
    lock();
    atomic_fetch_add(&notifications, 1);
    map.notified.count = 0;
    map.notified.everywhere = true;
    images_notify_look(&map.notified, known);
    collect_vdso(&map.notified);
    reconcile(&map.notified);
    unlock();
  }
  errno = saved;
}

bool lifespan_images_start(bool follow, lifespan_image_sink sink, void *context) {
  if (map.images) return images_have_rows;
  unwind_bounds_start();
  size_t bytes = IMAGES_MAX * sizeof(struct image);
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || !images_table_start() || !make_look(&map.notified)) return false;
  map.sink = sink;
  map.context = context;
  map.pid = getpid();
  map.images = memory;
  images_find_start();
  look_again();
  map.follows = follow && images_notify_install(notified);
  for (uint32_t i = 0; i < map.used; i++) images_have_rows |= map.images[i].rows.rows != NULL;
  return images_have_rows;
}

void lifespan_images_forked(void) {
  map.pid = getpid();
  images_find_forked();
}

// glibc 2.35 and later answer from a hook which image an address lies in; so code that is in none (JIT) asks for
// nothing.
void images_missed(uintptr_t pc) {
  uintptr_t header;
  if (!map.images || atomic_load_explicit(&missed, memory_order_relaxed)) return;
  if (images_find_there() && !images_loaded(pc, &header)) return;
  atomic_store_explicit(&missed, 1, memory_order_relaxed);
}

void lifespan_images_refresh(void) {
  bool needed = atomic_exchange_explicit(&missed, 0, memory_order_relaxed);
  if (needed || !map.follows) look_again();
}

#endif
