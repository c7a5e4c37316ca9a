// mmap, munmap, mremap, shmat, shmdt, brk and sbrk as the program calls them: regions that it maps (record --vm). Interposed in the preload library; each
// passes on to the function that would have been called without us, and tells the recorder after it.
//
// What the C library and the dynamic linker map for themselves (images, stacks of threads, arenas and large blocks of malloc) doesn't come through these
// names, nor does a bare system call. What this library maps for itself is passed on.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lifespan_interpose.h"

#define EXPORTED __attribute__((visibility("default")))
#define PAGE 4096ull

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
static inline bool is_ours(const void *caller) { return (const char *)caller >= __ehdr_start && (const char *)caller < _end; }
#define OURS is_ours(__builtin_return_address(0))

static struct {
  void *(*map)(void *, size_t, int, int, int, off_t);
  int (*unmap)(void *, size_t);
  void *(*remap)(void *, size_t, size_t, int, ...);
  void *(*attach)(int, const void *, int);
  int (*detach)(const void *);
  int (*set_break)(void *);
  void *(*move_break)(intptr_t);
} next;

__attribute__((constructor(101))) static void look_up(void) {
#define FIND(member, name) __atomic_store_n((void **)&next.member, dlsym(RTLD_NEXT, name), __ATOMIC_RELEASE)
  FIND(map, "mmap");
  FIND(unmap, "munmap");
  FIND(remap, "mremap");
  FIND(attach, "shmat");
  FIND(detach, "shmdt");
  FIND(set_break, "brk");
  FIND(move_break, "sbrk");
#undef FIND
}
#define NEXT(member) __atomic_load_n(&next.member, __ATOMIC_ACQUIRE)

// Before the constructor (the dynamic linker's helpers, other libraries' constructors) these are the system calls, as the C library's are.
static void *map(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  if (NEXT(map)) return NEXT(map)(address, bytes, protection, flags, descriptor, offset);
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, descriptor, offset);
}
static int unmap(void *address, size_t bytes) {
  return NEXT(unmap) ? NEXT(unmap)(address, bytes) : (int)syscall(SYS_munmap, address, bytes);
}
static void *remap(void *address, size_t before, size_t bytes, int flags, void *to) {
  if (NEXT(remap)) return NEXT(remap)(address, before, bytes, flags, to);
  return (void *)syscall(SYS_mremap, address, before, bytes, flags, to);
}

// ---- mmap ---------------------------------------------------------------------------------------------------------------------

static void *mmap_hook(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  void *result = map(address, bytes, protection, flags, descriptor, offset);
  if (result == MAP_FAILED || OURS) return result;
  int saved = errno;
  lifespan_record_mapped(&(struct lifespan_region){(uintptr_t)result, bytes, protection, flags, descriptor, NULL}, LIFESPAN_CALLER);
  errno = saved;
  return result;
}
EXPORTED void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset) __attribute__((alias("mmap_hook")));
EXPORTED void *mmap64(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset) __attribute__((alias("mmap_hook")));

EXPORTED int munmap(void *address, size_t bytes) {
  uint64_t stamp = OURS ? 0 : lifespan_region_stamp();
  int result = unmap(address, bytes);
  if (result || !stamp || !bytes) return result;
  int saved = errno;
  lifespan_record_unmapped(stamp, (uintptr_t)address, bytes, LIFESPAN_CALLER);
  errno = saved;
  return result;
}

EXPORTED void *mremap(void *address, size_t before, size_t bytes, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  void *to = va_arg(arguments, void *); // not there without MREMAP_FIXED: then it is not looked at
  va_end(arguments);
  int saved = errno;
  uint64_t stamp = OURS ? 0 : lifespan_record_region_moving((uintptr_t)address, before);
  errno = saved;
  void *result = remap(address, before, bytes, flags, to);
  saved = errno;
  if (result == MAP_FAILED) lifespan_record_region_stayed(stamp, (uintptr_t)address, before);
  if (result == MAP_FAILED || !stamp) return errno = saved, result;
  bool stays = !before || flags & MREMAP_DONTUNMAP;
  lifespan_record_remapped(stamp, (uintptr_t)address, before, (uintptr_t)result, bytes, stays, LIFESPAN_CALLER);
  errno = saved;
  return result;
}

// ---- System V -------------------------------------------------------------------------------------------------------------------

EXPORTED void *shmat(int identifier, const void *address, int flags) {
  void *result = NEXT(attach) ? NEXT(attach)(identifier, address, flags) : (void *)syscall(SYS_shmat, identifier, address, flags);
  struct shmid_ds about;
  int saved = errno;
  if (result == (void *)-1 || !lifespan_region_stamp() || shmctl(identifier, IPC_STAT, &about)) return errno = saved, result;
  struct lifespan_region region = {(uintptr_t)result, about.shm_segsz, 0, MAP_SHARED | (flags & SHM_REMAP ? MAP_FIXED : 0), -1,
                                   "VM: System V shared memory"};
  lifespan_record_mapped(&region, LIFESPAN_CALLER);
  errno = saved;
  return result;
}

EXPORTED int shmdt(const void *address) {
  uint64_t stamp = lifespan_region_stamp();
  int result = NEXT(detach) ? NEXT(detach)(address) : (int)syscall(SYS_shmdt, address);
  if (result || !stamp) return result;
  int saved = errno;
  lifespan_record_unmapped(stamp, (uintptr_t)address, 0, LIFESPAN_CALLER);
  errno = saved;
  return result;
}

// ---- The break ------------------------------------------------------------------------------------------------------------------
// In whole pages: those are what is mapped.

static uintptr_t page_above(uintptr_t address) { return (address + PAGE - 1) & ~(PAGE - 1); }

static void break_moved(uint64_t stamp, uintptr_t from, uintptr_t to, struct lifespan_frame caller) {
  from = page_above(from);
  to = page_above(to);
  struct lifespan_region region = {from, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1, "VM: sbrk"};
  if (to > from) lifespan_record_mapped(&region, caller);
  else if (to < from) lifespan_record_unmapped(stamp, to, from - to, caller);
}

EXPORTED void *sbrk(intptr_t bytes) {
  if (!NEXT(move_break)) look_up(); // another library's constructor comes before ours
  uint64_t stamp = OURS ? 0 : lifespan_region_stamp();
  void *result = NEXT(move_break)(bytes);
  if (result == (void *)-1 || !stamp) return result;
  int saved = errno;
  break_moved(stamp, (uintptr_t)result, (uintptr_t)result + (uintptr_t)bytes, LIFESPAN_CALLER);
  errno = saved;
  return result;
}

EXPORTED int brk(void *address) {
  if (!NEXT(set_break)) look_up();
  uint64_t stamp = lifespan_region_stamp();
  uintptr_t before = stamp ? (uintptr_t)NEXT(move_break)(0) : 0;
  int result = NEXT(set_break)(address);
  if (result || !stamp) return result;
  int saved = errno;
  break_moved(stamp, before, (uintptr_t)address, LIFESPAN_CALLER);
  errno = saved;
  return result;
}
