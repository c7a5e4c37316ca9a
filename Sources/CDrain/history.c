// The newest events, as they went into the trace: for one object's history and for save. Written by apply.c, read by
// ask.c and save.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

bool drain_history_create(struct drain_history *history, uint32_t room) {
  *history = (struct drain_history){.room = room};
  if (!room) return true;
  history->events = drain_pages((size_t)room * sizeof(*history->events));
  return history->events;
}

void drain_history_destroy(struct drain_history *history) {
  if (history->events) drain_pages_free(history->events, (size_t)history->room * sizeof(*history->events));
  history->events = NULL;
}

void drain_history_look(struct lifespan_drain *d) {
  bool may_be_asked = !d->options.history_when_asked || d->options.next.begin;
  d->keeps_history = d->history.room && (may_be_asked || atomic_load_explicit(&d->map->asks, memory_order_acquire));
}

void drain_history_add(struct drain_history *history, const struct drain_event *event) {
  history->events[history->next] = *event;
  history->next = history->next + 1 == history->room ? 0 : history->next + 1;
  history->total++;
}

// The strong count of an object that lives; -1 where not every retain and release of it was recorded.
static int64_t history_strong(const struct lifespan_drain *d, const struct drain_object *object) {
  uint32_t id = drain_sites(d)[object->site].type, flags = id < d->type_count ? drain_types(d)[id].flags : 0;
  bool all = flags & LIFESPAN_TYPE_COUNTED && (d->map->options.refcounts || !(flags & LIFESPAN_TYPE_TRACKED_LATE));
  if (!all || atomic_load_explicit(&d->map->counts_missed, memory_order_relaxed) || d->counts.lost) return -1;
  return object->count == DRAIN_COUNT_UNKNOWN || object->count < 0 ? -1 : object->count;
}

// The object that is asked for: the one that lives there, else the newest that the ring still knows at this address.
static bool history_subject(struct lifespan_drain *d, uint64_t address, struct lifespan_history_head *head) {
  const struct drain_history *h = &d->history;
  const struct drain_object *object = drain_living_find(&d->living, address);
  if (object) {
    *head = (struct lifespan_history_head){.serial = object->serial,
                                           .dropped = object->events,
                                           .size = object->size,
                                           .type = drain_sites(d)[object->site].type,
                                           .strong = history_strong(d, object)};
    return true;
  }
  for (uint64_t i = h->total; h->room && i-- > drain_history_first(h);) {
    const struct drain_event *event = drain_history_at(h, i);
    if (event->address != address) continue;
    *head = (struct lifespan_history_head){.serial = event->serial,
                                           .dropped = event->ordinal + 1,
                                           .size = event->size,
                                           .type = drain_sites(d)[event->site].type,
                                           .strong = -1};
    return true;
  }
  return false;
}

static struct lifespan_history_event history_answer(const struct lifespan_drain *d, const struct drain_event *event) {
  return (struct lifespan_history_event){.ticks = event->stamp - d->start,
                                         .kind = event->kind,
                                         .flavour = event->flavour,
                                         .amount = event->amount,
                                         .stack = event->stack,
                                         .thread = event->thread,
                                         .number = event->ordinal,
                                         .count_before = event->count_before,
                                         .task = event->task};
}

int64_t drain_ask_history(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room,
                          bool *more) {
  struct lifespan_history_head head;
  if (room < sizeof(head)) return -EMSGSIZE;
  if (!q->address || q->address > LIFESPAN_VALUE_MASK || !history_subject(d, q->address, &head)) return -ENOENT;
  const struct drain_history *h = &d->history;
  struct lifespan_history_event *events = (struct lifespan_history_event *)(answer + sizeof(head));
  uint64_t fit = (room - sizeof(head)) / sizeof(*events), seen = 0;
  for (uint64_t i = drain_history_first(h); h->room && i < h->total; i++) {
    const struct drain_event *event = drain_history_at(h, i);
    if (event->serial != head.serial) continue;
    if (!seen) head.dropped = event->ordinal;
    seen++;
    if (event->ordinal < q->start) continue;
    if (head.count == fit) {
      *more = true;
      break;
    }
    events[head.count++] = history_answer(d, event);
  }
  memcpy(answer, &head, sizeof(head));
  return (int64_t)(sizeof(head) + head.count * sizeof(*events));
}

#endif
