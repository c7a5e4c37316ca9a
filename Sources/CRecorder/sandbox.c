// See sandbox.h. The filter is a program of classic BPF, run here for each of our calls as the kernel would: what does not end in "allow" or in an error
// number is left undone from then on. Called by the interposed prctl and syscall, before the filter is in force.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "raw.h"

_Atomic uint32_t lifespan_forbidden;

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#define UNKNOWN SECCOMP_RET_KILL_PROCESS

static const struct {
  enum lifespan_call call;
  int number;
  uint64_t arguments[4];
} ours[] = {
  {LIFESPAN_CALL_FUTEX, SYS_futex, {0, 1, 1, 0}},
  {LIFESPAN_CALL_NANOSLEEP, SYS_nanosleep, {0}},
  {LIFESPAN_CALL_GETTID, SYS_gettid, {0}},
  {LIFESPAN_CALL_PRCTL, SYS_prctl, {16 /* PR_GET_NAME */, 0, 0, 0}},
  {LIFESPAN_CALL_SIGALTSTACK, SYS_sigaltstack, {0}},
  {LIFESPAN_CALL_SIGPROCMASK, SYS_rt_sigprocmask, {0, 0, 0, 8}},
  {LIFESPAN_CALL_MMAP, SYS_mmap, {0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}},
  {LIFESPAN_CALL_MMAP, SYS_madvise, {0, 1 << 20, MADV_DONTDUMP, 0}},
  {LIFESPAN_CALL_MMAP, SYS_munmap, {0, 1 << 20, 0, 0}},
  {LIFESPAN_CALL_MMAP, SYS_mprotect, {0, 4096, PROT_NONE, 0}},
  {LIFESPAN_CALL_READLINK, SYS_readlinkat, {(uint64_t)-100 /* AT_FDCWD */, 0, 0, 4096}},
  {LIFESPAN_CALL_CLOCK, SYS_clock_gettime, {1, 0, 0, 0}},
};

static bool calculate(const struct sock_filter *i, uint32_t *a, uint32_t x) {
  uint32_t k = BPF_SRC(i->code) == BPF_X ? x : i->k;
  switch (BPF_OP(i->code)) {
  case BPF_ADD: *a += k; return true;
  case BPF_SUB: *a -= k; return true;
  case BPF_MUL: *a *= k; return true;
  case BPF_DIV: return k && (*a /= k, true);
  case BPF_OR: *a |= k; return true;
  case BPF_AND: *a &= k; return true;
  case BPF_XOR: *a ^= k; return true;
  case BPF_LSH: *a = k < 32 ? *a << k : 0; return true;
  case BPF_RSH: *a = k < 32 ? *a >> k : 0; return true;
  case BPF_NEG: *a = -*a; return true;
  default: return false;
  }
}

static bool holds(const struct sock_filter *i, uint32_t a, uint32_t x) {
  uint32_t k = BPF_SRC(i->code) == BPF_X ? x : i->k;
  switch (BPF_OP(i->code)) {
  case BPF_JEQ: return a == k;
  case BPF_JGT: return a > k;
  case BPF_JGE: return a >= k;
  default: return a & k; // BPF_JSET
  }
}

struct machine {
  uint32_t a, x, memory[BPF_MEMWORDS];
};

// A load or a store; false: not one that the kernel takes.
static bool move_word(const struct sock_filter *i, struct machine *m, const struct seccomp_data *data) {
  uint32_t *to = BPF_CLASS(i->code) == BPF_LDX ? &m->x : &m->a;
  switch (BPF_MODE(i->code)) {
  case BPF_IMM: *to = i->k; return true;
  case BPF_LEN: *to = sizeof *data; return true;
  case BPF_MEM: return i->k < BPF_MEMWORDS && (*to = m->memory[i->k], true);
  case BPF_ABS: return i->k % 4 == 0 && i->k < sizeof *data && (memcpy(to, (const char *)data + i->k, 4), true);
  default: return false;
  }
}

// What the filter answers, as the kernel would find it.
static uint32_t run(const struct sock_fprog *filter, const struct seccomp_data *data) {
  struct machine m = {0};
  for (uint32_t at = 0; at < filter->len; at++) {
    const struct sock_filter *i = &filter->filter[at];
    switch (BPF_CLASS(i->code)) {
    case BPF_LD:
    case BPF_LDX:
      if (!move_word(i, &m, data)) return UNKNOWN;
      break;
    case BPF_ST:
    case BPF_STX:
      if (i->k >= BPF_MEMWORDS) return UNKNOWN;
      m.memory[i->k] = BPF_CLASS(i->code) == BPF_ST ? m.a : m.x;
      break;
    case BPF_ALU:
      if (!calculate(i, &m.a, m.x)) return UNKNOWN;
      break;
    case BPF_JMP:
      if (BPF_OP(i->code) == BPF_JA) at += i->k;
      else at += holds(i, m.a, m.x) ? i->jt : i->jf;
      break;
    case BPF_RET: return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
    default: // BPF_MISC
      if (BPF_MISCOP(i->code) == BPF_TAX) m.x = m.a;
      else m.a = m.x;
    }
  }
  return UNKNOWN;
}

static bool harmless(uint32_t answer) {
  uint32_t action = answer & SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || action == SECCOMP_RET_ERRNO;
}

void lifespan_recorder_without_clock(void) {
  if (!lifespan_on()) return;
  lifespan_say_partial("", "the program forbade the reading of the time stamp counter: nothing was recorded from then on");
  lifespan_switch_page->on = 0;
}

void lifespan_recorder_sandboxed(const void *program) {
  if (!lifespan_on()) return;
  // Strict mode takes the time stamp counter away as well, and with it every clock: this thread's events are counted as lost.
  if (!program) lifespan_local.inside = LIFESPAN_LEVELS_MOST * LIFESPAN_LEVEL;
  uint32_t forbidden = 0;
  const struct sock_fprog *filter = program;
  for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++) {
    struct seccomp_data data = {.nr = ours[i].number, .arch = ARCHITECTURE};
    for (unsigned k = 0; k < 4; k++) data.args[k] = ours[i].arguments[k];
    if (!filter || !harmless(run(filter, &data))) forbidden |= 1u << ours[i].call;
  }
  atomic_fetch_or(&lifespan_forbidden, forbidden);
}

#endif
