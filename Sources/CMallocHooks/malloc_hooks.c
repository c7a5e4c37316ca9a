// The malloc family as the program calls it. Each function passes on to the one that would have been called without us and tells the recorder: a birth after
// the block was obtained, an end before it is given back. C++'s operator new comes through malloc.
//
// A static executable may hide its own allocator from the shared C++ library. The runtime names types with C++ strings, which that library allocates and the
// executable frees; while a type is named for us, the executable's own malloc and free serve them.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lifespan_interpose.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

// glibc's own, for calls that come before the next definitions are known (dlsym itself may allocate).
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void *__libc_realloc(void *address, size_t size);
extern void __libc_free(void *address);

static int libc_posix_memalign(void **out, size_t alignment, size_t size) {
  int saved = errno;
  void *block = __libc_memalign(alignment, size);
  errno = saved;
  if (!block) return ENOMEM;
  *out = block;
  return 0;
}
static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static void *libc_valloc(size_t size) { return __libc_memalign(page_size(), size); }
static void *libc_pvalloc(size_t size) { return __libc_memalign(page_size(), (size + page_size() - 1) & ~(page_size() - 1)); }

static struct {
  void *(*malloc)(size_t);
  void *(*calloc)(size_t, size_t);
  void *(*realloc)(void *, size_t);
  void (*free)(void *);
  int (*posix_memalign)(void **, size_t, size_t);
  void *(*aligned_alloc)(size_t, size_t);
  void *(*memalign)(size_t, size_t);
  void *(*valloc)(size_t);
  void *(*pvalloc)(size_t);
  size_t (*malloc_usable_size)(void *);
} next = {__libc_malloc, __libc_calloc, __libc_realloc, __libc_free, libc_posix_memalign, __libc_memalign, __libc_memalign, libc_valloc, libc_pvalloc, NULL};
static uint32_t looked; // 0 not yet, 1 somebody looks, 2 done

// The definitions behind ours in the order of symbol lookup. By whichever call comes first, long before there is a second thread.
static void look_up(void) {
  uint32_t none = 0;
  if (!__atomic_compare_exchange_n(&looked, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
#define FIND(name)                                                                       \
  do {                                                                                   \
    void *found = dlsym(RTLD_NEXT, #name);                                               \
    if (found) __atomic_store_n((void **)&next.name, found, __ATOMIC_RELAXED);           \
  } while (0)
  FIND(malloc);
  FIND(calloc);
  FIND(realloc);
  FIND(posix_memalign);
  FIND(aligned_alloc);
  FIND(memalign);
  FIND(valloc);
  FIND(pvalloc);
  FIND(free);
  FIND(malloc_usable_size);
#undef FIND
  __atomic_store_n(&looked, 2, __ATOMIC_RELEASE);
}

#define NEXT(name) (__builtin_expect(__atomic_load_n(&looked, __ATOMIC_ACQUIRE) != 2, 0) ? (look_up(), next.name) : next.name)
#define NAMING (__builtin_expect(executable_malloc != NULL, 0) && lifespan_recorder_is_naming())

static void *(*executable_malloc)(size_t);
void lifespan_preload_name_with(void *function) { executable_malloc = (void *(*)(size_t))function; }

// ---- Zeros ----------------------------------------------------------------------------------------------------------------
// With --leaks new memory holds no addresses of blocks that lay there before: a search for whatever is still held would find those, and miss leaks
// (measured: 3 to 21 of 21 found without, 21 of 21 with it). The whole block, as arrays use what the allocator has rounded up to.

static bool fills;
void lifespan_preload_fill(void) { fills = true; }

// The allocator's own word before a block of glibc's: its pages are fresh from the kernel, and touching them would cost memory.
#define FRESH_LEAST (128u << 10)
static bool is_fresh(const void *block, size_t usable) {
  return usable >= FRESH_LEAST && next.malloc == __libc_malloc && ((const size_t *)block)[-1] & 2;
}

static inline size_t usable_size(void *block, size_t size) {
  size_t usable = block && next.malloc_usable_size ? next.malloc_usable_size(block) : 0;
  return usable > size ? usable : size;
}

static inline void fill(void *block, size_t size) {
  if (__builtin_expect(!fills, 1) || !block) return;
  size_t usable = usable_size(block, size);
  if (!is_fresh(block, usable)) memset(block, 0, usable);
}

// What a block has got more by realloc. `before`: its usable size.
static inline void fill_growth(void *block, size_t before, size_t size) {
  if (__builtin_expect(!fills, 1) || !block) return;
  size_t usable = usable_size(block, size);
  if (usable > before && !is_fresh(block, usable)) memset((char *)block + before, 0, usable - before);
}

// ---- Births ---------------------------------------------------------------------------------------------------------------

// A call of the next definition, then a birth of its result.
#define ALLOCATE(size, call) ALLOCATE_BELOW(__builtin_frame_address(0), size, call)
#define ALLOCATE_BELOW(hook, size, call)                         \
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR); \
  void *block = call;                                            \
  lifespan_quiet_end(was);                                       \
  fill(block, size);                                             \
  if (__builtin_expect(block && lifespan_quiet_is_objects(was, (uintptr_t)(hook) + 16), 1)) lifespan_quiet = LIFESPAN_QUIET_NO; \
  else lifespan_record_block_below(block, size, hook);           \
  return block;

static void *malloc_hook(size_t size) {
  if (NAMING) return executable_malloc(size);
  ALLOCATE(size, NEXT(malloc)(size))
}

static void *calloc_hook(size_t count, size_t size) {
  if (NAMING) { // not large: a name's text
    void *block = executable_malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
  }
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);
  void *block = NEXT(calloc)(count, size); // a product that overflows fails there; glibc's clears the whole block
  lifespan_quiet_end(was);
  lifespan_record_block(block, count * size, LIFESPAN_CALLER);
  return block;
}

static void *aligned_alloc_hook(size_t alignment, size_t size) { ALLOCATE(size, NEXT(aligned_alloc)(alignment, size)) }
static void *memalign_hook(size_t alignment, size_t size) { ALLOCATE(size, NEXT(memalign)(alignment, size)) }
static void *valloc_hook(size_t size) { ALLOCATE(size, NEXT(valloc)(size)) }
static void *pvalloc_hook(size_t size) { ALLOCATE(size, NEXT(pvalloc)(size)) }

static int posix_memalign_hook(void **out, size_t alignment, size_t size) {
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);
  int failure = NEXT(posix_memalign)(out, alignment, size);
  lifespan_quiet_end(was);
  if (!failure) {
    fill(*out, size);
    lifespan_record_block(*out, size, LIFESPAN_CALLER);
  }
  return failure;
}

// ---- Ends -----------------------------------------------------------------------------------------------------------------

static void free_hook(void *address) {
  if (NAMING) {
    ((void (*)(void *))lifespan_executable_free())(address);
    return;
  }
  if (lifespan_free_matters(address)) lifespan_record_free(address);
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);
  NEXT(free)(address);
  lifespan_quiet_end(was);
}

// ---- Moves ----------------------------------------------------------------------------------------------------------------

static inline __attribute__((always_inline)) void *move(void *address, size_t size, const void *hook) {
  if (!address || !size) { // a new block, or one that is given back (glibc), or one for another
    if (address) lifespan_record_free(address);
    ALLOCATE_BELOW(hook, size, NEXT(realloc)(address, size))
  }
  uint32_t recorded = lifespan_record_moving(address);
  size_t before = fills ? usable_size(address, 0) : 0;
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_ALLOCATOR);
  void *moved = NEXT(realloc)(address, size);
  lifespan_quiet_end(was);
  if (before) fill_growth(moved, before, size);
  lifespan_record_moved(recorded, address, moved, size, lifespan_frame_above(hook));
  return moved;
}

static void *realloc_hook(void *address, size_t size) { return move(address, size, __builtin_frame_address(0)); }

static void *reallocarray_hook(void *address, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return move(address, bytes, __builtin_frame_address(0));
}

EXPORTED void *malloc(size_t size) __attribute__((alias("malloc_hook")));
EXPORTED void *calloc(size_t count, size_t size) __attribute__((alias("calloc_hook")));
EXPORTED void *realloc(void *address, size_t size) __attribute__((alias("realloc_hook")));
EXPORTED void *reallocarray(void *address, size_t count, size_t size) __attribute__((alias("reallocarray_hook")));
EXPORTED void free(void *address) __attribute__((alias("free_hook")));
EXPORTED int posix_memalign(void **out, size_t alignment, size_t size) __attribute__((alias("posix_memalign_hook")));
EXPORTED void *aligned_alloc(size_t alignment, size_t size) __attribute__((alias("aligned_alloc_hook")));
EXPORTED void *memalign(size_t alignment, size_t size) __attribute__((alias("memalign_hook")));
EXPORTED void *valloc(size_t size) __attribute__((alias("valloc_hook")));
EXPORTED void *pvalloc(size_t size) __attribute__((alias("pvalloc_hook")));

// An executable that is not position-independent and takes the address of free() has a place in its own code stand for it, which jumps to ours.
static bool is_a_jump_to_ours(void *function) {
  Dl_info info;
  ElfW(Sym) *symbol = NULL;
  return dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol && symbol->st_shndx == SHN_UNDEF;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
static bool is_ours(const void *function) { return (const char *)function >= __ehdr_start && (const char *)function < _end; }

void *lifespan_preload_foreign(const char *name) {
  void *used = dlsym(RTLD_DEFAULT, name);
  if (used && !is_ours(used) && !is_a_jump_to_ours(used)) return used;
  return lifespan_executable_function(name);
}
void *lifespan_preload_foreign_free(void) { return lifespan_preload_foreign("free"); }
