// Questions to the recording command through the request slot of the mapping. One asker at a time; the command runs a
// drain round, answers, and the answers come in pieces when they are long. Called by ask.c.

#include "door.h"

#if LIFESPAN_RECORDS_HERE

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 2000000000ull
#define LAST_PATIENCE_NS 60000000000ull
#define OWNER_DIED 0x40000000u // FUTEX_OWNER_DIED in the robust mutex's word: the command was killed

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static bool command_died(struct lifespan_map *map) {
  const _Atomic uint32_t *word = (const _Atomic uint32_t *)map->consumer_mutex; // glibc's __lock is the first word
  return atomic_load(word) & OWNER_DIED || !atomic_load(&map->consumer_alive);
}

static void wake(struct lifespan_map *map) {
  atomic_fetch_add(&map->consumer_wake, 1);
  syscall(SYS_futex, &map->consumer_wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// Waits until the slot is no longer POSTED; false when the command is gone or silent. While its beat moves it is at work.
static bool wait_for_answer(struct lifespan_map *map, struct lifespan_request *slot) {
  uint64_t until = now_ns() + PATIENCE_NS, last = now_ns() + LAST_PATIENCE_NS, beat = atomic_load(&map->consumer_beat);
  for (long pause = 20000; atomic_load(&slot->state) == LIFESPAN_REQUEST_POSTED;) {
    uint64_t now = now_ns(), beats = atomic_load(&map->consumer_beat);
    if (beats != beat) until = now + PATIENCE_NS;
    beat = beats;
    if (command_died(map) || now > until || now > last) return false;
    struct timespec t = {0, pause};
    nanosleep(&t, NULL);
    if (pause < 1000000) pause *= 2;
  }
  return true;
}

static bool post(struct lifespan_map *map, struct lifespan_request *slot, uint32_t op,
                 const struct lifespan_question *question, size_t length) {
  // A question that nobody waited for any longer is left to its answer: two in the slot would be mixed up.
  if (!wait_for_answer(map, slot)) return false;
  slot->op = op;
  slot->status = 0;
  slot->more = 0;
  slot->length = (uint32_t)length;
  memcpy(slot->data, question, length);
  atomic_store(&slot->state, LIFESPAN_REQUEST_POSTED);
  wake(map);
  return wait_for_answer(map, slot);
}

static size_t padded(uint32_t length) { return ((size_t)length + 7) & ~(size_t)7; }

static bool is_history(const uint8_t *bytes, size_t length) {
  const struct lifespan_history_head *head = (const void *)bytes;
  return length >= sizeof *head && head->count <= (length - sizeof *head) / sizeof(struct lifespan_history_event);
}
static const struct lifespan_history_event *last_event(const uint8_t *bytes) {
  const struct lifespan_history_head *head = (const void *)bytes;
  return head->count ? (const struct lifespan_history_event *)(const void *)(bytes + sizeof *head) + head->count - 1 : NULL;
}

// How many items a piece of an answer holds: the continuation begins after them. Of a history, the number of the next event: older ones may
// leave the ring between two pieces.
static uint32_t items_of(uint32_t op, const uint8_t *bytes, size_t length) {
  uint32_t count = 0;
  size_t at = 0;
  switch (op) {
  case LIFESPAN_ASK_ROWS: return (uint32_t)(length / sizeof(struct lifespan_row));
  case LIFESPAN_ASK_STACK: return (uint32_t)(length / sizeof(uint64_t));
  case LIFESPAN_ASK_SCOPE_ROWS: return (uint32_t)(length / sizeof(struct lifespan_scope_row));
  case LIFESPAN_ASK_SCOPE_LIVING: return (uint32_t)(length / sizeof(struct lifespan_scope_object));
  case LIFESPAN_ASK_HISTORY: return last_event(bytes) ? last_event(bytes)->number + 1 : 0;
  case LIFESPAN_ASK_SAVE:
  case LIFESPAN_ASK_LEAKS:
  case LIFESPAN_ASK_HOLDERS: return (uint32_t)((length + LIFESPAN_SAVE_UNIT - 1) / LIFESPAN_SAVE_UNIT);
  case LIFESPAN_ASK_TYPES:
    for (; length - at >= sizeof(struct lifespan_type_row); count++) {
      const struct lifespan_type_row *row = (const void *)(bytes + at);
      at += sizeof *row + padded(row->name_length);
      if (at > length) return count;
    }
    return count;
  case LIFESPAN_ASK_MARKS:
    for (; length - at >= sizeof(struct lifespan_mark_row); count++) {
      const struct lifespan_mark_row *row = (const void *)(bytes + at);
      at += sizeof *row + padded(row->name_length);
      if (at > length) return count;
    }
    return count;
  default: return 0;
  }
}

// A history's head stands once: the newest, with the sum of the events. Where some have left the ring between two pieces, or another object lies
// there now, the answer begins anew with this piece.
static size_t join_history(struct lifespan_linked_answer *answer, const uint8_t *bytes, uint32_t start) {
  struct lifespan_history_head head = *(const struct lifespan_history_head *)(const void *)bytes, *whole = answer->bytes;
  if (!answer->length) return 0;
  if (head.serial != whole->serial || head.dropped > start) {
    answer->length = 0;
    return 0;
  }
  head.dropped = whole->dropped;
  head.count += whole->count;
  *whole = head;
  return sizeof head;
}

// Puts a piece behind what is there.
static bool append(uint32_t op, struct lifespan_linked_answer *answer, const uint8_t *bytes, size_t length, uint32_t start) {
  if (!lifespan_linked_grow(answer, (answer->length + length + 0xffff) & ~(size_t)0xffff)) return false;
  size_t skip = op == LIFESPAN_ASK_HISTORY ? join_history(answer, bytes, start) : 0;
  memcpy((char *)answer->bytes + answer->length, bytes + skip, length - skip);
  answer->length += length - skip;
  return true;
}

static enum lifespan_linked_status take(struct lifespan_request *slot, uint32_t op,
                                        struct lifespan_linked_answer *answer, uint32_t start, uint32_t *items) {
  uint32_t length = slot->length;
  bool looks = op == LIFESPAN_ASK_LEAKS || op == LIFESPAN_ASK_HOLDERS;
  if (looks && slot->status && slot->status != ENOENT) {
    // Why not, in words, where there are some.
    *items = 0;
    bool told = length <= sizeof slot->data && append(op, answer, slot->data, length, start);
    return slot->status == ENOTSUP ? LIFESPAN_LINKED_NO_EYES : told ? LIFESPAN_LINKED_FORBIDDEN : LIFESPAN_LINKED_FAILED;
  }
  if (slot->status) return slot->status == ENOENT ? LIFESPAN_LINKED_UNKNOWN : LIFESPAN_LINKED_FAILED;
  if (length > sizeof slot->data || (op == LIFESPAN_ASK_HISTORY && !is_history(slot->data, length))) return LIFESPAN_LINKED_FAILED;
  *items = items_of(op, slot->data, length);
  return append(op, answer, slot->data, length, start) ? LIFESPAN_LINKED_OK : LIFESPAN_LINKED_NO_MEMORY;
}

enum lifespan_linked_status lifespan_linked_request(struct lifespan_map *map, uint32_t op,
                                                    const struct lifespan_question *question,
                                                    struct lifespan_linked_answer *answer) {
  struct lifespan_request *slot = (struct lifespan_request *)((char *)map + LIFESPAN_REQUEST_OFFSET);
  struct lifespan_question next = *question;
  enum lifespan_linked_status status;
  bool more;
  pthread_mutex_lock(&asking);
  do {
    uint32_t items = 0;
    if (!post(map, slot, op, &next, sizeof next)) {
      status = LIFESPAN_LINKED_GONE;
      break;
    }
    status = take(slot, op, answer, next.start, &items);
    more = slot->more && status == LIFESPAN_LINKED_OK;
    atomic_store(&slot->state, LIFESPAN_REQUEST_IDLE);
    if (more && !items) status = LIFESPAN_LINKED_FAILED; // would never end
    next.start = op == LIFESPAN_ASK_HISTORY ? items : next.start + items;
  } while (more && status == LIFESPAN_LINKED_OK);
  pthread_mutex_unlock(&asking);
  return status;
}

#endif
