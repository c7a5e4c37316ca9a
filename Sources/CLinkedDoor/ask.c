// Questions: whole answers as of now, from our own drain or from the recording command. Called by Lifespan.

#include "door.h"

#if LIFESPAN_RECORDS_HERE

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_ROOM (64u << 10)
#define MOST_ROOM (1ull << 30)

struct lifespan_drain *lifespan_linked_lock(enum lifespan_linked_status *status) {
  struct lifespan_linked_door *door = &lifespan_linked_door;
  struct lifespan_drain *drain = atomic_load_explicit(&door->drain, memory_order_acquire);
  *status = LIFESPAN_LINKED_OK;
  if (!drain) *status = LIFESPAN_LINKED_NOT_STARTED;
  // In a fork child the lock may be held for ever by a thread that does not exist here.
  else if (door->pid != getpid()) *status = LIFESPAN_LINKED_FORKED;
  if (*status != LIFESPAN_LINKED_OK) return NULL;
  lifespan_recorder_refresh_images(); // nearly free where the dynamic linker tells of its changes
  pthread_mutex_lock(&door->lock);
  lifespan_drain_round(drain);
  return drain;
}

void lifespan_linked_unlock(void) { pthread_mutex_unlock(&lifespan_linked_door.lock); }

bool lifespan_linked_grow(struct lifespan_linked_answer *answer, size_t room) {
  if (room <= answer->room) return true;
  if (room > MOST_ROOM) return false;
  void *bytes = answer->bytes ? mremap(answer->bytes, answer->room, room, MREMAP_MAYMOVE)
                              : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return false;
  answer->bytes = bytes;
  answer->room = room;
  return true;
}

void lifespan_linked_forget(struct lifespan_linked_answer *answer) {
  if (answer->bytes) munmap(answer->bytes, answer->room);
  memset(answer, 0, sizeof *answer);
}

// Asked anew with more room until the whole answer fits: it is of one moment, as the lock is held throughout.
static enum lifespan_linked_status ask_here(uint32_t op, const struct lifespan_question *question,
                                            struct lifespan_linked_answer *answer) {
  enum lifespan_linked_status status;
  struct lifespan_drain *drain = lifespan_linked_lock(&status);
  if (!drain) return status;
  for (size_t room = FIRST_ROOM;; room *= 4) {
    if (!lifespan_linked_grow(answer, room)) {
      status = LIFESPAN_LINKED_NO_MEMORY;
      break;
    }
    bool more = false;
    int64_t length = lifespan_drain_ask(drain, op, question, sizeof *question, answer->bytes, answer->room, &more);
    if (more || length == -EMSGSIZE) continue;
    if (length < 0) status = length == -ENOENT ? LIFESPAN_LINKED_UNKNOWN : LIFESPAN_LINKED_FAILED;
    else answer->length = (size_t)length;
    break;
  }
  lifespan_linked_unlock();
  return status;
}

enum lifespan_linked_status lifespan_linked_ask(uint32_t op, const struct lifespan_question *question,
                                                struct lifespan_linked_answer *answer) {
  memset(answer, 0, sizeof *answer);
  enum lifespan_linked_status status;
  struct lifespan_map *map = lifespan_linked_map(&status);
  if (!map) return status;
  if (lifespan_linked_preload(&status, NULL)) status = lifespan_linked_request(map, op, question, answer);
  else status = ask_here(op, question, answer);
  if (status != LIFESPAN_LINKED_OK) lifespan_linked_forget(answer);
  return status;
}

#else

enum lifespan_linked_status lifespan_linked_ask(uint32_t op, const struct lifespan_question *question,
                                                struct lifespan_linked_answer *answer) {
  (void)op, (void)question;
  answer->bytes = NULL;
  answer->length = answer->room = 0;
  return LIFESPAN_LINKED_PLATFORM;
}
void lifespan_linked_forget(struct lifespan_linked_answer *answer) { answer->bytes = NULL; }

#endif
