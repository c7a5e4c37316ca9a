// pthread_create, thrd_create and the functions that name threads, as the program calls them: a thread is known from its creation on. Interposed in the
// preload library; each passes on to the function that would have been called without us.
//
// The new thread begins in a function of ours that ends in a jump to its start routine: no frame of ours lies on its stack, and a return, pthread_exit,
// a cancellation or an exception go their way as without us. Its end is seen by the destructor of a key of thread-specific data, which glibc runs in each
// of these cases, after the destructors of thread_local variables and before those of the program's keys (ours is the first key).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "lifespan_interpose.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

// ---- Notes ------------------------------------------------------------------------------------------------------------------
// What a new thread gets instead of its argument, in pages of our own. A note is free again before the start routine runs: there are more of them than
// threads that a program can make without one of them coming to run.

#define NOTES 16384u
#define TRIES 64u

struct note {
  _Atomic uint32_t taken;
  void *routine, *argument;
  struct lifespan_thread_note about;
};

static struct note *notes; // NULL: nothing is recorded, or no memory
static _Atomic uint32_t next_note;

// NULL: the thread is made as without us.
static struct note *take(void *routine, void *argument, uintptr_t pc, uintptr_t sp, uintptr_t fp) {
  struct lifespan_thread_note about;
  if (!notes || !lifespan_thread_creating(&about, (uintptr_t)routine, pc, sp, fp)) return NULL;
  for (unsigned i = 0; i < TRIES; i++) {
    struct note *note = &notes[atomic_fetch_add_explicit(&next_note, 1, memory_order_relaxed) % NOTES];
    uint32_t free = 0;
    if (!atomic_compare_exchange_strong(&note->taken, &free, 1)) continue;
    note->routine = routine;
    note->argument = argument;
    note->about = about;
    return note;
  }
  return NULL;
}

static void give_back(struct note *note) { atomic_store_explicit(&note->taken, 0, memory_order_release); }

// ---- The new thread -----------------------------------------------------------------------------------------------------------

static pthread_key_t end_key;
static bool end_is_seen;

static void ended(void *unused) {
  (void)unused;
  int saved_errno = errno;
  lifespan_thread_ended();
  errno = saved_errno;
}

static void *opened(struct note *note, void **argument) {
  void *routine = note->routine;
  *argument = note->argument;
  struct lifespan_thread_note about = note->about;
  note->argument = NULL; // who looks for what is still held would find it here
  give_back(note);
  lifespan_thread_began(&about);
  if (end_is_seen) pthread_setspecific(end_key, &end_key);
  return routine;
}

static void *begin(void *note) {
  void *argument;
  void *(*routine)(void *) = (void *(*)(void *))opened(note, &argument);
  __attribute__((musttail)) return routine(argument);
}
static int begin_c11(void *note) {
  void *argument;
  thrd_start_t routine = (thrd_start_t)opened(note, &argument);
  __attribute__((musttail)) return routine(argument);
}

// ---- The functions ----------------------------------------------------------------------------------------------------------

typedef int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int (*create_c11)(thrd_t *, thrd_start_t, void *);
typedef int (*set_name)(pthread_t, const char *);
static create next_create;
static create_c11 next_create_c11;
static set_name next_set_name;

__attribute__((constructor(101))) static void look_up(void) {
  next_create = (create)dlsym(RTLD_NEXT, "pthread_create");
  next_create_c11 = (create_c11)dlsym(RTLD_NEXT, "thrd_create");
  next_set_name = (set_name)dlsym(RTLD_NEXT, "pthread_setname_np");
}

// The caller's registers.
#define CALLER                                                                                                                    \
  (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_frame_address(0) + 16, *(uintptr_t *)__builtin_frame_address(0)

EXPORTED int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*start)(void *), void *restrict argument) {
  if (!next_create) look_up(); // another library's constructor comes before ours
  if (!next_create) return EAGAIN;
  struct note *note = take((void *)start, argument, CALLER);
  if (!note) return next_create(thread, attributes, start, argument);
  int result = next_create(thread, attributes, begin, note);
  if (result) give_back(note); // it has never run
  return result;
}

EXPORTED int thrd_create(thrd_t *thread, thrd_start_t start, void *argument) {
  if (!next_create_c11) look_up();
  if (!next_create_c11) return thrd_error;
  struct note *note = take((void *)start, argument, CALLER);
  if (!note) return next_create_c11(thread, start, argument);
  int result = next_create_c11(thread, begin_c11, note);
  if (result != thrd_success) give_back(note);
  return result;
}

static void renamed(pthread_t thread, const char *name) {
  int saved_errno = errno;
  lifespan_thread_renamed((uintptr_t)thread, name);
  errno = saved_errno;
}

EXPORTED int pthread_setname_np(pthread_t thread, const char *name) {
  if (!next_set_name) look_up();
  if (!next_set_name) return ENOSYS;
  int result = next_set_name(thread, name);
  if (!result) renamed(thread, name);
  return result;
}

// The C library's is nothing but the system call.
EXPORTED int prctl(int option, ...) {
  va_list arguments;
  va_start(arguments, option);
  unsigned long given[4];
  for (int i = 0; i < 4; i++) given[i] = va_arg(arguments, unsigned long);
  va_end(arguments);
  int result = (int)syscall(SYS_prctl, option, given[0], given[1], given[2], given[3]);
  if (!result && option == PR_SET_NAME) {
    char name[16] = {0}; // as the kernel has cut it
    syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
    renamed(pthread_self(), name);
  }
  return result;
}

// ---- Start ------------------------------------------------------------------------------------------------------------------

// A key of the first block: setting it in a thread needs no memory.
#define KEYS_WITHOUT_MEMORY 32u

void lifespan_preload_threads_start(void) {
  void *memory = mmap(NULL, NOTES * sizeof(struct note), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  lifespan_recorder_owns(memory, NOTES * sizeof(struct note));
  if (!pthread_key_create(&end_key, ended)) {
    if (end_key < KEYS_WITHOUT_MEMORY) end_is_seen = true;
    else pthread_key_delete(end_key); // ends are then found by the consumer
  }
  if (end_is_seen) pthread_setspecific(end_key, &end_key); // main may end by pthread_exit
  notes = memory;
}
