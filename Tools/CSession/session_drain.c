// The thread that drains a recording while the main thread serves the session. See session.h.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "session.h"

struct session_drain {
  struct lifespan_drain *drain;
  struct lifespan_map *map;
  pthread_t thread;
  pthread_mutex_t lock;
  _Atomic int stop;
  int result;
};

static void take(void *context) { pthread_mutex_lock(&((struct session_drain *)context)->lock); }
static void give(void *context) { pthread_mutex_unlock(&((struct session_drain *)context)->lock); }

static void *loop(void *context) {
  struct session_drain *self = context;
  self->result = lifespan_drain_run(self->drain, &self->stop, take, give, self);
  if (self->result) session_map_leave(self->map);
  return NULL;
}

struct session_drain *session_drain_start(struct lifespan_drain *drain, struct lifespan_map *map) {
  struct session_drain *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->drain = drain;
  self->map = map;
  pthread_mutex_init(&self->lock, NULL);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&self->thread, NULL, loop, self);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) {
    free(self);
    errno = error;
    return NULL;
  }
  return self;
}

void session_drain_lock(struct session_drain *thread) { take(thread); }
void session_drain_unlock(struct session_drain *thread) { give(thread); }

int session_drain_stop(struct session_drain *thread) {
  atomic_store(&thread->stop, 1);
  pthread_join(thread->thread, NULL);
  int result = thread->result;
  pthread_mutex_destroy(&thread->lock);
  free(thread);
  return result;
}
