// A fork under `record --children`: the child's trace begins with what lives in its memory. The parent's thread puts a FORK record into its
// ring before the fork; the drain holds at it. The child's first act is to say how much of each ring its memory holds (struct lifespan_fork),
// whatever the other threads did between the record and the fork; the drain takes every ring exactly so far, and the state then is the
// child's. Used by merge.c and apply.c; the copy is taken by lifespan_drain_take_fork and goes on in lifespan_drain_create.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <time.h>

#define HOLD_NS 1000000000ull // a fork that failed, or a child that was killed at once, says nothing
#define HELD_MOST_NS 5000000000ull // for all of these together, and a tenth of the time that has passed: whatever a program writes, its drain goes on
#define FORKS_KEPT 64u             // copies that nobody has asked for
#define FORK_ASKED_NS 10000000000ull // by then a child has said hello, or never will

static struct lifespan_fork *fork_slot(const struct lifespan_drain *d) {
  return (struct lifespan_fork *)((uint8_t *)d->map + LIFESPAN_DATA_OFFSET);
}

void drain_fork_seen(struct lifespan_drain *d, uint64_t number) {
  if (!d->map->options.children || d->allocated < LIFESPAN_DATA_OFFSET + LIFESPAN_FORK_BYTES) return;
  d->fork = number;
  d->fork_ns = drain_monotonic_ns();
}

static bool copy_bytes(struct drain_bytes *to, const struct drain_bytes *from) { return drain_append(to, from->data, from->used); }

static bool copy_index(struct drain_index *to, const struct drain_index *from) {
  *to = *from;
  to->slots = drain_pages((from->mask + 1) * sizeof(*from->slots));
  if (to->slots) memcpy(to->slots, from->slots, (from->mask + 1) * sizeof(*from->slots));
  return to->slots;
}

static bool copy_living(struct drain_living *to, const struct drain_living *from) {
  *to = *from;
  to->slots = drain_pages((from->mask + 1) * sizeof(*from->slots));
  if (to->slots) memcpy(to->slots, from->slots, (from->mask + 1) * sizeof(*from->slots));
  return to->slots;
}

static bool copy_state(struct lifespan_drain *to, const struct lifespan_drain *d) {
  bool made = copy_bytes(&to->types, &d->types) && copy_bytes(&to->nodes, &d->nodes) && copy_bytes(&to->names, &d->names) &&
              copy_bytes(&to->sites, &d->sites) && copy_bytes(&to->marks, &d->marks) && copy_index(&to->site_index, &d->site_index) &&
              copy_index(&to->class_index, &d->class_index) && drain_index_create(&to->row_index) && copy_living(&to->living, &d->living);
  for (int chunk = 0; chunk < (int)LIFESPAN_CHUNK_KINDS && made; chunk++) {
    // What the parent told of itself is the child's to tell anew.
    if (chunk == LIFESPAN_CHUNK_INFO || chunk == LIFESPAN_CHUNK_GAPS || chunk == LIFESPAN_CHUNK_TOTALS) continue;
    made = copy_bytes(&to->kept[chunk], &d->kept[chunk]);
    to->kept_rows[chunk] = d->kept_rows[chunk];
  }
  to->type_count = d->type_count;
  to->node_count = d->node_count;
  to->mark_count = d->mark_count;
  to->start = d->start;
  to->start_realtime_ns = d->start_realtime_ns;
  to->clock = d->clock;
  to->ticks_per_second = d->ticks_per_second;
  to->microsecond = d->microsecond;
  to->newest = d->newest;
  memcpy(to->waiting, d->waiting, sizeof(d->waiting));
  to->waiting_count = d->waiting_count;
  return made;
}

// A copy costs as much as lives. Of children that have not said hello there are so many at most, and old ones give way.
static bool fork_has_room(struct lifespan_drain *d, uint64_t now) {
  unsigned fresh = 0, aged = 0;
  struct lifespan_drain **old = &d->forks; // newest first
  for (; *old && now - (*old)->forked_ns < FORK_ASKED_NS; old = &(*old)->forked_next) fresh++;
  for (const struct lifespan_drain *one = *old; one; one = one->forked_next) aged++;
  if (fresh + aged < FORKS_KEPT) return true;
  while (*old) {
    struct lifespan_drain *gone = *old;
    *old = gone->forked_next;
    gone->forked_next = NULL;
    lifespan_drain_destroy(gone);
  }
  return fresh < FORKS_KEPT;
}

static void fork_keep(struct lifespan_drain *d) {
  uint64_t now = drain_monotonic_ns();
  if (!fork_has_room(d, now)) return;
  struct lifespan_drain *copy = drain_pages(sizeof(*copy));
  if (copy && !copy_state(copy, d)) {
    lifespan_drain_destroy(copy);
    copy = NULL;
  }
  if (!copy) return; // the child's trace begins without them, and says so
  copy->forked_number = d->fork;
  copy->forked_pid = d->map->pid;
  copy->forked_ns = now;
  copy->forked_next = d->forks;
  d->forks = copy;
}

// How long a fork is waited for of which nobody says anything.
static uint64_t fork_patience(const struct lifespan_drain *d, uint64_t now) {
  uint64_t most = HELD_MOST_NS + (now - d->pair_ns) / 10;
  uint64_t left = most > d->fork_held_ns ? most - d->fork_held_ns : 0;
  return left < HOLD_NS ? left : HOLD_NS;
}

// Takes every ring as far as the child's memory holds it. True: the drain goes on; false: it waits for the child's word.
bool drain_fork_settle(struct lifespan_drain *d) {
  struct lifespan_fork *slot = fork_slot(d);
  uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
  bool ours = __atomic_load_n(&slot->number, __ATOMIC_RELAXED) == d->fork;
  if (ours && state == LIFESPAN_FORK_PREPARED) {
    uint64_t now = drain_monotonic_ns();
    if (now - d->fork_ns < fork_patience(d, now)) return false;
    d->fork_held_ns += now - d->fork_ns;
    atomic_compare_exchange_strong(&slot->state, &state, LIFESPAN_FORK_FREE);
  } else if (ours && state == LIFESPAN_FORK_TOLD) {
    memcpy(d->fork_heads, slot->heads, sizeof(d->fork_heads)); // the slot is the program's to change
    uint64_t number = d->fork;
    d->fork = 0;
    d->fork_limits = true;
    drain_merge(d, UINT64_MAX);
    d->fork_limits = false;
    d->fork = number;
    fork_keep(d);
    atomic_store_explicit(&slot->state, LIFESPAN_FORK_FREE, memory_order_release);
  }
  d->fork = 0;
  return true;
}

// The parent has ended: its child may not have come to its first act yet.
void drain_fork_last(struct lifespan_drain *d) {
  const struct timespec pause = {.tv_nsec = 1000000};
  while (d->fork && !drain_fork_settle(d)) nanosleep(&pause, NULL);
}

// The newest copy that nobody has asked for; there must be one.
struct lifespan_drain *drain_fork_pop(struct lifespan_drain *d) {
  struct lifespan_drain *copy = d->forks;
  d->forks = copy->forked_next;
  copy->forked_next = NULL;
  return copy;
}

struct lifespan_drain *lifespan_drain_left_fork(struct lifespan_drain *d, uint64_t *number) {
  if (!d->forks) return NULL;
  *number = d->forks->forked_number;
  return drain_fork_pop(d);
}

struct lifespan_drain *lifespan_drain_take_fork(struct lifespan_drain *d, uint64_t number) {
  // To the record, then to what the child has told.
  for (int round = 0; round < 4 && !d->finished; round++) lifespan_drain_round(d);
  for (struct lifespan_drain **at = &d->forks; *at; at = &(*at)->forked_next) {
    if ((*at)->forked_number != number) continue;
    struct lifespan_drain *found = *at;
    *at = found->forked_next;
    found->forked_next = NULL;
    return found;
  }
  return NULL;
}

// ---- The child's drain ----------------------------------------------------------------------------------------------

// Moves what a copy holds into a drain that is being made.
void drain_fork_inherit(struct lifespan_drain *d, struct lifespan_drain *from) {
  struct drain_bytes *to_bytes[] = {&d->types, &d->nodes, &d->names, &d->sites, &d->marks};
  struct drain_bytes *from_bytes[] = {&from->types, &from->nodes, &from->names, &from->sites, &from->marks};
  for (int i = 0; i < 5; i++) {
    *to_bytes[i] = *from_bytes[i];
    *from_bytes[i] = (struct drain_bytes){0};
  }
  for (int chunk = 0; chunk < (int)LIFESPAN_CHUNK_KINDS; chunk++) {
    if (!from->kept_rows[chunk]) continue;
    d->kept[chunk] = from->kept[chunk];
    d->kept_rows[chunk] = from->kept_rows[chunk];
    from->kept[chunk] = (struct drain_bytes){0};
  }
  drain_living_destroy(&d->living);
  drain_index_destroy(&d->site_index);
  drain_index_destroy(&d->class_index);
  d->counts_references = from->counts_references;
  d->living = from->living;
  d->site_index = from->site_index;
  d->class_index = from->class_index;
  from->living.slots = NULL;
  from->site_index.slots = from->class_index.slots = NULL;
  d->type_count = from->type_count;
  d->node_count = from->node_count;
  d->mark_count = from->mark_count;
  d->counts.marks = from->mark_count;
  d->inherited_start = from->start;
  d->inherited_realtime_ns = from->start_realtime_ns;
  d->newest = from->newest;
  d->inherits = true;
  memcpy(d->waiting, from->waiting, sizeof(d->waiting));
  d->waiting_count = from->waiting_count;
  // Rows of totals are made anew from what lives: see drain_fork_begin.
  struct drain_type *types = drain_types(d);
  for (uint32_t i = 0; i < d->type_count; i++) types[i].rows = types[i].newest_row = 0;
  drain_regions_inherit(d);
  if (from->resumes) drain_resume(d, from);
  lifespan_drain_destroy(from);
}

static void begin_facts(struct lifespan_drain *d) {
  struct drain_encoder *e = d->encoder;
  if (!e) return;
  for (unsigned chunk = 0; chunk < LIFESPAN_CHUNK_KINDS; chunk++)
    if (chunk != LIFESPAN_CHUNK_INFO) drain_encoder_add_rows(e, chunk, &d->kept[chunk], d->kept_rows[chunk]);
  for (uint32_t id = 0; id < d->type_count; id++)
    if (drain_types(d)[id].kind) drain_type_row(e, id, &drain_types(d)[id], d->names.data);
  for (uint32_t id = 0; id < d->node_count; id++)
    if (drain_nodes(d)[id].known) drain_node_row(e, id, &drain_nodes(d)[id]);
  for (uint32_t i = 0; i < d->site_index.count; i++) drain_site_row(e, &drain_sites(d)[i]);
  drain_encoder_write_facts(e);
}

static void emit_born(struct lifespan_drain *d, struct drain_object *object) {
  const struct drain_site site = drain_sites(d)[object->site];
  struct drain_row *row = drain_row_of(d, site.type, object->generation);
  object->serial = ++d->counts.births;
  object->events = 0;
  struct drain_event event = {.stamp = object->stamp,
                              .address = drain_address(object->key),
                              .serial = object->serial,
                              .size = site.size,
                              .count_before = -1,
                              .site = object->site,
                              .stack = site.stack,
                              .class = site.class,
                              .thread = object->thread,
                              .generation = object->generation,
                              .ordinal = object->events++,
                              .kind = LIFESPAN_EVENT_BIRTH};
  if (row) row->births++, row->bytes += object->size;
  drain_emit(d, &event);
  if (!(object->state & DRAIN_STATE_KEPT)) return;
  event.kind = LIFESPAN_EVENT_DEINIT;
  event.ordinal = object->events++;
  event.stack = 0;
  d->counts.deaths++;
  if (row) row->deaths++;
  drain_emit(d, &event);
}

static void sift(uint64_t (*pairs)[2], size_t count, size_t at) {
  uint64_t a = pairs[at][0], b = pairs[at][1];
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && pairs[child + 1][0] > pairs[child][0]) child++;
    if (pairs[child][0] <= a) break;
    pairs[at][0] = pairs[child][0], pairs[at][1] = pairs[child][1];
    at = child;
  }
  pairs[at][0] = a, pairs[at][1] = b;
}

// By the first word. Heap sort: libc's qsort may call malloc.
static void sort(uint64_t (*pairs)[2], size_t count) {
  for (size_t i = count / 2; i-- > 0;) sift(pairs, count, i);
  for (size_t end = count; end-- > 1;) {
    uint64_t a = pairs[end][0], b = pairs[end][1];
    pairs[end][0] = pairs[0][0], pairs[end][1] = pairs[0][1];
    pairs[0][0] = a, pairs[0][1] = b;
    sift(pairs, end, 0);
  }
}

// Serial in the parent and key of all that lives. A block whose move had begun lives where it was; where its address was given to another
// meanwhile it is gone.
static size_t begin_order(struct lifespan_drain *d, uint64_t (*order)[2]) {
  size_t count = 0, gone = 0, room = d->living.used;
  for (uint64_t i = 0; i <= d->living.mask; i++) {
    struct drain_object *object = &d->living.slots[i];
    if (!object->key) continue;
    object->state &= DRAIN_STATE_KEPT;
    if (object->key & DRAIN_LIMBO) {
      order[room - ++gone][1] = object->key;
      continue;
    }
    order[count][0] = object->serial;
    order[count++][1] = object->key;
  }
  for (size_t i = 1; i <= gone; i++) drain_living_remove(&d->living, drain_living_find(&d->living, order[room - i][1]));
  sort(order, count);
  return count;
}

// In the order of their births, marks between them: the child's numbering is its own.
static void begin_objects(struct lifespan_drain *d) {
  size_t bytes = (d->living.used + 1) * sizeof(uint64_t[2]);
  uint64_t(*order)[2] = drain_pages(bytes);
  if (!order) {
    d->error = ENOMEM;
    return;
  }
  size_t count = begin_order(d, order);
  uint32_t mark = 0;
  for (size_t i = 0; i < count; i++) {
    struct drain_object *object = drain_living_find(&d->living, order[i][1]);
    for (; mark < d->mark_count && mark < object->generation; mark++)
      if (d->encoder) drain_mark_row(d, d->encoder, mark);
    emit_born(d, object);
  }
  for (; mark < d->mark_count; mark++)
    if (d->encoder) drain_mark_row(d, d->encoder, mark);
  for (uint32_t i = 0; i < d->mark_count; i++) // what save needs of them, in this drain's own numbers
    drain_marks(d)[i].serial_before = d->counts.births, drain_marks(d)[i].events_before = d->counts.events;
  drain_pages_free(order, bytes);
}

// The trace of a fork child begins: the parent's time goes on, and everything that lives is born.
void drain_fork_begin(struct lifespan_drain *d, uint64_t forked) {
  begin_facts(d);
  begin_objects(d);
  drain_info_number(d, "inherited", d->living.used);
  drain_info_number(d, "forked_from", d->map->parent_pid);
  drain_info_number(d, "forked_at_ns", drain_to_ns(forked - d->start, d->ticks_per_second));
}

#endif
