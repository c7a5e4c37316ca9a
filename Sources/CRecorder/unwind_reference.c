// Stacks by nongnu libunwind, the second opinion: its address-space interface over our load map and bounded reads, so
// that neither its dl_iterate_phdr (a deadlock in a malloc hook) nor its pipe (descriptors of the program) is ever
// used. Its declarations are written here: a machine without its headers builds the recorder all the same. Called by
// the walk's libunwind mode and by the recorder's checks.
//
// Left over inside libunwind: short mutexes of its own pools around a list operation, with signals blocked.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind.h"
#include "unwind_library.h"
#include "unwind_step.h"

extern char __libc_single_threaded __attribute__((weak));

// dlopen is missing in static executables.
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror

// ---- libunwind 1.3 to 1.8, x86-64 ---------------------------------------------------------------------------------
typedef struct space *space_t;
struct cursor { uint64_t words[127]; };
struct proc_info {
  uint64_t start, end, lsda, handler, gp, flags;
  int format, size;
  void *info;
  uint64_t extra[4]; // one char in truth; room for versions to come
};
struct dynamic_info {
  struct dynamic_info *next, *previous;
  uint64_t start, end, gp;
  int32_t format, padding;
  uint64_t load_offset; // since 1.4
  uint64_t name, segment, length, data;
};
struct accessors {
  int (*find_proc_info)(space_t, uint64_t, struct proc_info *, int, void *);
  void (*put_unwind_info)(space_t, struct proc_info *, void *);
  int (*get_dyn_info_list_addr)(space_t, uint64_t *, void *);
  int (*access_mem)(space_t, uint64_t, uint64_t *, int, void *);
  int (*access_reg)(space_t, int, uint64_t *, int, void *);
  int (*access_fpreg)(space_t, int, long double *, int, void *);
  int (*resume)(space_t, struct cursor *, void *);
  int (*get_proc_name)(space_t, uint64_t, char *, size_t, uint64_t *, void *);
  void *later[8]; // versions to come add members
};
enum { ENOINFO_ = -10, EBADREG_ = -3, EINVAL_ = -8, REMOTE_TABLE = 2, RBP = 6, RSP = 7, RIP = 16 };

static struct {
  space_t space;
  space_t (*create)(struct accessors *, int);
  int (*set_caching)(space_t, int);
  int (*init)(struct cursor *, space_t, void *);
  int (*step)(struct cursor *);
  int (*get)(struct cursor *, int, uint64_t *);
  int (*search)(space_t, uint64_t, struct dynamic_info *, struct proc_info *, int, void *);
} unwinder;

// ---- Accessors ----------------------------------------------------------------------------------------------------

struct walker {
  uintptr_t pc, sp, fp, hi;
  const uint64_t *registers;   // 17 words in DWARF's order, or NULL
  struct images_entry image;   // the last one used
  bool without_information;    // what is asked for the frame that is being left
  bool in_table;               // libunwind reads unwind tables, whose personality pointers may be written; else
                               // it guesses, and must not take data for code
};

static bool in_image(struct walker *w, uintptr_t address) {
  return address >= w->image.start && address < w->image.end;
}

static bool readable(struct walker *w, uintptr_t address) {
  if (address >= w->sp && address < w->hi && w->hi - address >= 8) return true;
  if (!in_image(w, address) && !images_entry_at(address, &w->image)) {
    w->image = (struct images_entry){0};
    return false;
  }
  for (unsigned i = 0; i < ROWS_READS; i++) {
    const struct rows_span *span = &w->image.source.reads[i];
    // Words at the end of a segment may reach beyond it: into the rest of its page.
    if (span->writable && !w->in_table) continue;
    if (address >= span->start && address < ((span->end + 4095) & ~4095ull)) return true;
  }
  return false;
}

static int access_mem(space_t space, uint64_t address, uint64_t *value, int write, void *context) {
  struct walker *w = context;
  (void)space;
  if (write || address % 8 || !readable(w, address)) return EINVAL_;
  *value = unwind_word(address);
  // A frame pointer saved by an async function: libunwind knows nothing of the mark.
  uintptr_t clean = unwind_clean(*value);
  if (*value >> 60 == 1 && clean >= w->sp && clean < w->hi) *value = clean;
  return 0;
}

static int access_reg(space_t space, int reg, uint64_t *value, int write, void *context) {
  struct walker *w = context;
  (void)space;
  if (write || reg < 0 || reg > RIP) return EBADREG_;
  // The call itself, not the instruction behind it: that can belong to another function.
  *value = reg == RIP ? w->pc - 1 : reg == RSP ? w->sp : reg == RBP ? w->fp : w->registers ? w->registers[reg] : 0;
  return 0;
}

static int find_proc_info(space_t space, uint64_t pc, struct proc_info *info, int need, void *context) {
  struct walker *w = context;
  w->without_information = true;
  if (!in_image(w, pc) && !images_entry_at(pc, &w->image)) {
    w->image = (struct images_entry){0};
    return ENOINFO_;
  }
  struct rows_table frames;
  if (!rows_open_table(&w->image.source, &frames)) return ENOINFO_;
  struct dynamic_info table = {.start = w->image.start, .end = w->image.end, .format = REMOTE_TABLE,
                               .segment = frames.header, .length = frames.count, .data = (uint64_t)frames.entries};
  w->in_table = true;
  int result = unwinder.search(space, pc, &table, info, need, context);
  w->in_table = false;
  w->without_information = result < 0;
  return result;
}

static void put_unwind_info(space_t space, struct proc_info *info, void *context) {
  (void)space, (void)info, (void)context;
}
static int get_dyn_info_list_addr(space_t space, uint64_t *address, void *context) {
  (void)space, (void)address, (void)context;
  return ENOINFO_;
}
static int access_fpreg(space_t space, int reg, long double *value, int write, void *context) {
  (void)space, (void)reg, (void)value, (void)write, (void)context;
  return EBADREG_;
}
static int resume(space_t space, struct cursor *cursor, void *context) {
  (void)space, (void)cursor, (void)context;
  return EINVAL_;
}
static int get_proc_name(space_t space, uint64_t pc, char *name, size_t room, uint64_t *offset, void *context) {
  (void)space, (void)pc, (void)name, (void)room, (void)offset, (void)context;
  return ENOINFO_;
}

static struct accessors accessors = {
    .find_proc_info = find_proc_info, .put_unwind_info = put_unwind_info,
    .get_dyn_info_list_addr = get_dyn_info_list_addr, .access_mem = access_mem, .access_reg = access_reg,
    .access_fpreg = access_fpreg, .resume = resume, .get_proc_name = get_proc_name};

// ---- Walk ---------------------------------------------------------------------------------------------------------

static bool all_found(void *library) {
#define FIND(member, name) (*(void **)&unwinder.member = dlsym(library, "_Ux86_64_" name)) != NULL
  return FIND(create, "create_addr_space") && FIND(set_caching, "set_caching_policy") && FIND(init, "init_remote") &&
         FIND(step, "step") && FIND(get, "get_reg") && FIND(search, "dwarf_search_unwind_table");
#undef FIND
}

// libunwind makes itself a pipe for checking addresses, which our accessors never use, and which a program that closes and reopens
// descriptors would write its own data into. The two lowest free descriptors before its first walk are its pipe after it.
struct two {
  int low, high;
};
static struct two free_descriptors(void) {
  struct two two = {open("/dev/null", O_RDONLY | O_CLOEXEC), open("/dev/null", O_RDONLY | O_CLOEXEC)};
  close(two.low);
  close(two.high);
  return two;
}
static void close_pipe(struct two two) {
  struct stat low, high;
  bool pipe = !fstat(two.low, &low) && !fstat(two.high, &high) && S_ISFIFO(low.st_mode) && S_ISFIFO(high.st_mode);
  bool alone = &__libc_single_threaded && __libc_single_threaded; // else it may be another thread's
  if (!pipe || !alone || low.st_ino != high.st_ino) return;
  close(two.low);
  close(two.high);
}

const char *lifespan_reference_start(void) {
  static char reason[256];
  if (unwinder.space) return NULL;
  if (!dlopen || !dlsym || !dlerror) return "no dynamic loader in this program";
  void *library = unwind_open_library();
  if (!library) {
    const char *error = dlerror();
    snprintf(reason, sizeof reason, "%s", error ? error : UNWIND_LIBRARY " can't be opened");
    return reason;
  }
  if (!all_found(library)) return UNWIND_LIBRARY " lacks its address-space interface";
  struct two descriptors = free_descriptors();
  space_t space = unwinder.create(&accessors, 0);
  if (!space) return "libunwind makes no address space";
  unwinder.set_caching(space, 0); // none: the cache knows nothing of dlclose, and has a lock
  unwinder.space = space;
  // The first walk sets up libunwind's pools: here, not in a hook.
  uintptr_t lo = 0, hi = 0, *frame = __builtin_frame_address(0);
  if (lifespan_stack_bounds(&lo, &hi)) {
    struct walker w = {.pc = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0], .hi = hi};
    struct cursor cursor;
    for (int go = unwinder.init(&cursor, space, &w); go >= 0 && (go = unwinder.step(&cursor)) > 0;) continue;
  }
  close_pipe(descriptors);
  return NULL;
}

unsigned unwind_by_reference(const struct lifespan_walk *bounds, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                             const void *registers, uint64_t *pcs, unsigned room, uint32_t *end, unsigned *known) {
  struct cursor cursor;
  *end = LIFESPAN_END_NO_ROW;
  *known = UINT_MAX;
  if (!unwinder.space || !room) return 0;
  pcs[0] = pc;
  if (!bounds->hi || sp < bounds->lo || sp >= bounds->hi) {
    *end = LIFESPAN_END_FOREIGN;
    return 1;
  }
  struct walker w = {.pc = pc, .sp = sp, .fp = unwind_clean(fp), .hi = bounds->hi, .registers = registers};
  unsigned count = 1;
  if (unwinder.init(&cursor, unwinder.space, &w) < 0) return count;
  for (;;) {
    w.without_information = false;
    int step = unwinder.step(&cursor);
    uint64_t next = 0;
    if (w.without_information && *known == UINT_MAX) *known = count;
    if (step > 0 && unwinder.get(&cursor, RIP, &next)) step = EINVAL_;
    if (step <= 0 || !next) {
      *end = step == ENOINFO_ ? LIFESPAN_END_NO_ROW : step < 0 ? LIFESPAN_END_RANGE : LIFESPAN_END_WHOLE;
      return count;
    }
    if (count == room) {
      *end = LIFESPAN_END_CUT;
      return count;
    }
    pcs[count++] = next;
  }
}

unsigned lifespan_walk_reference(const struct lifespan_walk *bounds, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                                 const void *registers, uint64_t *pcs, unsigned room, unsigned *known) {
  uint32_t end;
  return unwind_by_reference(bounds, pc, sp, fp, registers, pcs, room, &end, known);
}

#endif
