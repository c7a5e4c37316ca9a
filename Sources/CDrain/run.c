// The loop of the recording command, and the request slot through which the program under it asks. The loop holds the
// robust mutex whose word tells the program at once when the consumer dies, and sleeps on a futex that a producer with
// a full ring wakes.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A ring is looked at when an eighth of it should be full: measured, a fixed pause of 10 ms makes a busy program wait,
// one of 0.1 ms costs a tenth of a core when it is idle.
#define PAUSE_LEAST_NS 200000ull
#define PAUSE_MOST_NS 10000000ull
#define PAUSE_SILENT_NS 50000000ull
#define SILENCE_NS 1000000000ull
#define PAUSE_FILL 0.125
// What is drained goes to the file at least so often: if the command is killed together with the program, the last 50 ms
// are missing and no more (up to 10 ms in a ring, these, and the round that ends them).
#define WRITE_EVERY_NS 25000000ull

void drain_futex_wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); }

static void run_sleep(struct lifespan_drain *d, uint32_t seen, uint64_t ns) {
  struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  // A wake during the round has changed the word: then this returns at once. Every other return is as good as a
  // time-out.
  syscall(SYS_futex, &d->map->consumer_wake, FUTEX_WAIT, seen, &pause, NULL, 0);
}

// The time until the fullest ring is filled to an eighth again, at the rate of the last interval.
static uint64_t run_pause(const struct lifespan_drain *d, uint64_t silent_ns) {
  if (drain_next_busy(d)) return PAUSE_LEAST_NS;
  if (d->fill <= 0) return silent_ns >= SILENCE_NS ? PAUSE_SILENT_NS : PAUSE_MOST_NS;
  double ns = (double)d->interval_ns * PAUSE_FILL / d->fill;
  if (ns < (double)PAUSE_LEAST_NS) return PAUSE_LEAST_NS;
  return ns > (double)PAUSE_MOST_NS ? PAUSE_MOST_NS : (uint64_t)ns;
}

// Robust: when this process is killed, the program sees FUTEX_OWNER_DIED at once and stops waiting for it.
static int run_lock_mutex(struct lifespan_drain *d) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t *mutex = (pthread_mutex_t *)(void *)d->map->consumer_mutex;
  _Static_assert(sizeof(pthread_mutex_t) <= sizeof(d->map->consumer_mutex), "consumer_mutex");
  int error = pthread_mutexattr_init(&attributes);
  if (!error) error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (!error) error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  if (!error) error = pthread_mutex_init(mutex, &attributes);
  return error ? error : pthread_mutex_lock(mutex);
}

int lifespan_drain_run(struct lifespan_drain *d, const _Atomic int *stop, void (*lock)(void *), void (*unlock)(void *),
                       void *context) {
  int error = run_lock_mutex(d);
  if (error) return error;
  atomic_store_explicit(&d->map->consumer_alive, 1, memory_order_release);
  uint64_t heard = drain_monotonic_ns(), written = heard;
  while (!atomic_load_explicit(stop, memory_order_acquire)) {
    uint32_t seen = atomic_load_explicit(&d->map->consumer_wake, memory_order_acquire);
    if (lock) lock(context);
    int64_t consumed = lifespan_drain_round(d);
    uint64_t now = drain_monotonic_ns();
    if (consumed > 0) heard = now;
    if (consumed >= 0 && now - written >= WRITE_EVERY_NS) {
      int broken = lifespan_drain_flush(d);
      if (broken) consumed = -broken;
      written = now;
    }
    uint64_t pause = run_pause(d, now - heard);
    if (unlock) unlock(context);
    if (consumed < 0) {
      error = (int)-consumed;
      break;
    }
    run_sleep(d, seen, pause);
  }
  atomic_store_explicit(&d->map->consumer_alive, 0, memory_order_release);
  pthread_mutex_unlock((pthread_mutex_t *)(void *)d->map->consumer_mutex);
  return error;
}

static struct lifespan_request *run_request(const struct lifespan_drain *d) {
  return (struct lifespan_request *)((uint8_t *)d->map + LIFESPAN_REQUEST_OFFSET);
}

bool drain_request_posted(const struct lifespan_drain *d) {
  return atomic_load_explicit(&run_request(d)->state, memory_order_acquire) == LIFESPAN_REQUEST_POSTED;
}

// Answers what was posted before the round began, so that the answer holds all that the asker did before it asked.
void drain_answer_request(struct lifespan_drain *d) {
  struct lifespan_request *request = run_request(d);
  uint32_t op = __atomic_load_n(&request->op, __ATOMIC_RELAXED),
           length = __atomic_load_n(&request->length, __ATOMIC_RELAXED);
  bool more = false;
  uint32_t error = 0;
  int64_t result = -EINVAL;
  if (length <= sizeof(d->question)) {
    memcpy(d->question, request->data, length); // a copy: the slot is the program's to change
    bool looks = (op == LIFESPAN_ASK_LEAKS || op == LIFESPAN_ASK_HOLDERS) && length >= sizeof(struct lifespan_question);
    if (looks) result = drain_look(d, op, (const struct lifespan_question *)d->question, request->data, sizeof(request->data), &more, &error);
    else result = lifespan_drain_ask(d, op, d->question, length, request->data, sizeof(request->data), &more);
    if (looks && result == -EAGAIN) return; // it stays posted
  }
  request->status = result < 0 ? (uint32_t)-result : error;
  request->length = result < 0 ? 0 : (uint32_t)result;
  request->more = more;
  atomic_store_explicit(&request->state, LIFESPAN_REQUEST_ANSWERED, memory_order_release);
  drain_futex_wake(&request->state);
}

#endif
