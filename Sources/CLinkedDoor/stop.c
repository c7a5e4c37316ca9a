// Stops the other threads of this process for a moment: each waits in a handler of SIGPROF, which all threads let through that Swift and libdispatch
// make. Only where nobody else uses that signal. Called by picture.c, which holds the lock of pictures: one stop at a time.
//
// Nothing here allocates or takes a lock of libc: a thread may be stopped while it holds it.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SIGNAL SIGPROF
#define TRIES 5u             // one that blocks all signals for a moment, as it begins or ends, may wait for one that stands still
#define LOOK_AGAIN_NS 20000000ull
#define BLOCKED_LOOKS 25u    // so often it ran with the signal blocked: it stays so
#define PATIENCE_NS 10000000000ull
#define VECTORS_AT 160u      // in what the kernel saves: behind the head and the old floating-point registers
#define XSTATE_MAGIC 0x46505853u

#define OUTSIDE_NS 100000000ull // so long threads are let out of malloc, one moment after the other
#define MOMENT_NS 50000

// WANTED: signalled. ARRIVED: stands until it is let go. LEAVING, LEFT: is let go, has left the handler. GONE: has ended.
enum { STATE_WANTED = 0, STATE_ARRIVING = 1, STATE_ARRIVED = 2, STATE_LEAVING = 3, STATE_LEFT = 4, STATE_GONE = 5 };

static struct stop_thread *slots; // made once: a handler that comes late may still look at them
static _Atomic uint32_t slot_count, active, arrived, inside;

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *time) {
  return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, time, NULL, 0);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

// ---- In the handler ---------------------------------------------------------------------------------------------------------------

static void keep_vectors(struct stop_thread *thread, const void *state) {
  uint32_t magic, size, whole = 512;
  memcpy(&magic, (const uint8_t *)state + 464, 4);
  memcpy(&size, (const uint8_t *)state + 480, 4);
  if (magic == XSTATE_MAGIC && size > whole && size < 1u << 16) whole = size;
  size_t room = (STOP_WORDS_MOST - thread->count) * 8, bytes = whole - VECTORS_AT < room ? whole - VECTORS_AT : room;
  memcpy(thread->words + thread->count, (const uint8_t *)state + VECTORS_AT, bytes);
  thread->count += (uint32_t)(bytes / 8);
}

static void keep_registers(struct stop_thread *thread, const ucontext_t *context) {
  static const uint8_t general[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8,
                                    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  thread->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
  thread->sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
  thread->thread_pointer = (uint64_t)(uintptr_t)__builtin_thread_pointer();
  thread->in_kernel = false; // picture.c looks
  thread->count = 0;
  for (size_t i = 0; i < sizeof general; i++) thread->words[thread->count++] = (uint64_t)context->uc_mcontext.gregs[general[i]];
  if (context->uc_mcontext.fpregs) keep_vectors(thread, context->uc_mcontext.fpregs);
}

static struct stop_thread *own_slot(void) {
  pid_t tid = (pid_t)syscall(SYS_gettid);
  uint32_t count = atomic_load(&slot_count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t wanted = STATE_WANTED;
    if (slots[i].tid == tid) return atomic_compare_exchange_strong(&slots[i].state, &wanted, STATE_ARRIVING) ? &slots[i] : NULL;
  }
  return NULL;
}

static void stand_still(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  int error = errno;
  atomic_fetch_add(&inside, 1);
  struct stop_thread *thread = atomic_load(&active) ? own_slot() : NULL;
  if (thread) {
    keep_registers(thread, context);
    atomic_store(&thread->state, STATE_ARRIVED);
    atomic_fetch_add(&arrived, 1);
    futex(&arrived, FUTEX_WAKE, 1, NULL);
    while (atomic_load(&active) && atomic_load(&thread->state) == STATE_ARRIVED) futex(&thread->state, FUTEX_WAIT, STATE_ARRIVED, NULL);
    uint32_t leaving = STATE_LEAVING;
    if (atomic_compare_exchange_strong(&thread->state, &leaving, STATE_LEFT)) futex(&thread->state, FUTEX_WAKE, 1, NULL);
  }
  atomic_fetch_sub(&inside, 1);
  errno = error;
}

// ---- Which threads there are -------------------------------------------------------------------------------------------------------

static bool is_known(pid_t tid) {
  uint32_t count = atomic_load(&slot_count);
  for (uint32_t i = 0; i < count; i++)
    if (slots[i].tid == tid && atomic_load(&slots[i].state) != STATE_GONE) return true;
  return false;
}

static void call(struct stop_thread *thread) {
  thread->sp = 0; // until it stands: it may end
  atomic_store(&thread->state, STATE_WANTED);
  if (syscall(SYS_tgkill, getpid(), thread->tid, SIGNAL) != 0) atomic_store(&thread->state, STATE_GONE);
}

static bool add(pid_t tid) {
  uint32_t count = atomic_load(&slot_count);
  if (count == STOP_THREADS_MOST) return false;
  slots[count].tid = tid;
  atomic_store(&slots[count].state, STATE_GONE);
  atomic_store(&slot_count, count + 1);
  call(&slots[count]);
  return true;
}

// Signals those that have none yet. < 0: -errno.
static int signal_new(void) {
  uint8_t entries[4096];
  int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
  if (folder < 0) return -errno;
  for (long got; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < got;) {
      const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
      at += entry->d_reclen;
      pid_t tid = 0;
      for (const char *c = entry->d_name; *c >= '0' && *c <= '9'; c++) tid = tid * 10 + (*c - '0');
      // A main thread that has ended by itself stays in the list.
      if (tid <= 0 || is_known(tid) || lifespan_linked_stop_is_dead(tid)) continue;
      if (!add(tid)) {
        close(folder);
        return -EMFILE;
      }
      found++;
    }
  }
  close(folder);
  return found;
}

// ---- Stop -------------------------------------------------------------------------------------------------------------------------

// The first that is awaited, after those that have ended are struck off; NULL: all stand.
static struct stop_thread *awaited(bool look) {
  uint32_t count = atomic_load(&slot_count);
  for (uint32_t i = 1; i < count; i++) {
    if (atomic_load(&slots[i].state) > STATE_ARRIVING) continue;
    uint32_t wanted = STATE_WANTED;
    if (look && lifespan_linked_stop_is_dead(slots[i].tid) && atomic_compare_exchange_strong(&slots[i].state, &wanted, STATE_GONE)) continue;
    return &slots[i];
  }
  return NULL;
}

// 0: all stand; else the thread that does not. *ever: it is of no use to try again.
static pid_t wait_for_all(bool *ever) {
  uint64_t begin = now_ns(), looked = begin;
  unsigned blocked = 0;
  struct stop_thread *thread;
  while ((thread = awaited(false))) {
    uint32_t seen = atomic_load(&arrived);
    if (!awaited(false)) return 0;
    struct timespec wait = {0, 2000000};
    futex(&arrived, FUTEX_WAIT, seen, &wait);
    uint64_t now = now_ns();
    if (now - looked < LOOK_AGAIN_NS) continue;
    looked = now;
    if (!(thread = awaited(true))) return 0;
    unsigned more = lifespan_linked_stop_blocked(thread->tid, SIGNAL);
    blocked = more ? blocked + more : 0;
    *ever = now - begin > PATIENCE_NS;
    if (blocked >= BLOCKED_LOOKS || *ever) return thread->tid;
  }
  return 0;
}

static void wake(struct stop_thread *thread) {
  uint32_t standing = STATE_ARRIVED;
  if (atomic_compare_exchange_strong(&thread->state, &standing, STATE_LEAVING)) futex(&thread->state, FUTEX_WAKE, 1, NULL);
}

static void let_go(void) {
  atomic_store(&active, 0);
  uint32_t count = atomic_load(&slot_count);
  for (uint32_t i = 1; i < count; i++) wake(&slots[i]);
}

// What was sent and is held back by a mask would end the program later: to ignore a signal takes it from every queue. While all threads stand, so that none
// executes a program meanwhile, which would ignore the signal, too.
static void give_signal_back(void) {
  struct sigaction none = {.sa_handler = SIG_IGN}, before = {.sa_handler = SIG_DFL};
  sigaction(SIGNAL, &none, NULL);
  sigaction(SIGNAL, &before, NULL);
}

// The registers that matter stand on its stack (heap.c).
static void keep_caller(uint64_t sp) {
  slots[0].tid = (pid_t)syscall(SYS_gettid);
  slots[0].pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
  slots[0].sp = sp;
  slots[0].thread_pointer = (uint64_t)(uintptr_t)__builtin_thread_pointer();
  slots[0].in_kernel = true; // nothing of the caller's lies below
  slots[0].count = 0;
  atomic_store(&slots[0].state, STATE_ARRIVED);
  atomic_store(&slot_count, 1);
}

// 0: all stand; a thread that does not; or -errno.
static int64_t gather(bool *ever) {
  for (;;) {
    int found = signal_new();
    if (found < 0) return found;
    pid_t late = wait_for_all(ever);
    if (late || !found) return late;
  }
}

static int64_t try_once(uint64_t sp, bool *ever) {
  // Of the time before: whoever has not left yet may look at its place.
  struct timespec pause = {0, 100000};
  while (atomic_load(&inside)) nanosleep(&pause, NULL);
  keep_caller(sp);
  atomic_store(&arrived, 0);
  atomic_store(&active, 1);
  return gather(ever);
}

// Those that stand within malloc run on for a moment. One of them may wait for another's lock: then it stands outside. How many there were.
static unsigned let_out(void) {
  struct timespec moment = {0, MOMENT_NS};
  uint32_t count = atomic_load(&slot_count);
  unsigned out = 0;
  for (uint32_t i = 1; i < count; i++) {
    if (atomic_load(&slots[i].state) != STATE_ARRIVED || !lifespan_linked_allocator_runs(slots[i].pc)) continue;
    wake(&slots[i]);
    out++;
  }
  if (out) nanosleep(&moment, NULL);
  for (uint32_t i = 1; i < count; i++) {
    uint32_t state = atomic_load(&slots[i].state);
    if (state != STATE_LEAVING && state != STATE_LEFT) continue;
    // A signal that comes before it has left the handler would find it at the same place.
    for (; state == STATE_LEAVING; state = atomic_load(&slots[i].state)) futex(&slots[i].state, FUTEX_WAIT, STATE_LEAVING, &moment);
    call(&slots[i]);
  }
  return out;
}

// Until nobody stands within malloc; false: somebody does, each time.
static int64_t empty_malloc(bool *outside, bool *ever) {
  uint64_t begin = now_ns();
  *outside = false;
  while (lifespan_linked_allocator_known() && now_ns() - begin < OUTSIDE_NS) {
    if (!let_out()) {
      *outside = true;
      return 0;
    }
    int64_t result = gather(ever);
    if (result) return result;
  }
  return 0;
}

static bool make_slots(void) {
  if (slots) return true;
  void *memory = mmap(NULL, STOP_THREADS_MOST * sizeof *slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  slots = memory;
  return true;
}

static bool take_signal(char *reason, size_t room) {
  struct sigaction before, own = {.sa_sigaction = stand_still, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  sigfillset(&own.sa_mask);
  if (sigaction(SIGNAL, NULL, &before) != 0 || before.sa_handler != SIG_DFL) {
    snprintf(reason, room, "the program itself uses SIGPROF, by which its threads would be stopped");
    return false;
  }
  return sigaction(SIGNAL, &own, NULL) == 0;
}

bool lifespan_linked_stop_begin(struct stop *stop, uint64_t sp, char *reason, size_t room) {
  if (!make_slots()) {
    snprintf(reason, room, "no memory for the registers of its threads");
    return false;
  }
  if (!take_signal(reason, room)) return false;
  int64_t result = -1;
  bool ever = false, outside = false;
  for (unsigned i = 0; i < TRIES && !ever; i++) {
    result = try_once(sp, &ever);
    if (result == 0) result = empty_malloc(&outside, &ever);
    if (result == 0) break;
    let_go();
    ever |= result < 0;
  }
  if (result == 0) {
    *stop = (struct stop){slots, atomic_load(&slot_count), outside};
    return true;
  }
  give_signal_back();
  if (result > 0) snprintf(reason, room, "thread %lld does not stop: it %s", (long long)result, ever ? "waits in the kernel" : "blocks SIGPROF");
  else snprintf(reason, room, "its threads cannot be listed (/proc/self/task): %s", strerror((int)-result));
  return false;
}

void lifespan_linked_stop_end(struct stop *stop) {
  (void)stop;
  give_signal_back();
  let_go();
}

#endif
