// System calls without errno, cancellation or libc state: what a hook may use. Included by CRecorder's own files only.
#ifndef LIFESPAN_RAW_H
#define LIFESPAN_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long lifespan_raw4(long number, long a, long b, long c, long d) {
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}
static inline long lifespan_raw6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
static inline long lifespan_raw6(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
static inline long lifespan_raw4(long number, long a, long b, long c, long d) { return lifespan_raw6(number, a, b, c, d, 0, 0); }
#endif

// Zeroed pages for tables of ours, touched lazily; not in the program's core file, which would be slow to write for all the holes. NULL: no memory.
static inline void *lifespan_raw_pages(size_t bytes) {
  long pages = lifespan_raw6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages < 0 && pages > -4096) return NULL;
  lifespan_raw4(SYS_madvise, pages, (long)bytes, MADV_DONTDUMP, 0);
  return (void *)pages;
}

// Reads memory that may not be there. Gives `bytes`, or -errno: -EFAULT it is not there.
static inline long lifespan_raw_read(void *into, const void *from, unsigned long bytes) {
  struct {
    const void *base;
    unsigned long length;
  } own = {into, bytes}, theirs = {from, bytes};
  return lifespan_raw6(SYS_process_vm_readv, lifespan_raw4(SYS_getpid, 0, 0, 0, 0), (long)&own, 1, (long)&theirs, 1, 0);
}

struct lifespan_raw_time {
  long seconds, nanoseconds;
};

static inline void lifespan_raw_sleep(long nanoseconds) {
  struct lifespan_raw_time time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  lifespan_raw4(SYS_nanosleep, (long)&time, 0, 0, 0);
}

#endif
