// One ring, record by record. Used by merge.c. Everything in the mapping is hostile: words are read once, checked, then
// used; a record that makes no sense ends the ring's part in this round, and the cells that are left count as a gap.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define RING_AHEAD 48u // cells
#define RING_SOON 12u
#define FUTURE_SECONDS 1u // a stamp further ahead than this is damage, not another core's clock

static inline uint64_t ring_load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

static struct lifespan_ring *ring_shared(const struct lifespan_drain *d, uint32_t slot) {
  return (struct lifespan_ring *)((uint8_t *)d->map + LIFESPAN_RINGS_OFFSET) + slot;
}

// Cells of a packed buffer, 0 when it doesn't lie whole in what exists.
static uint64_t ring_capacity(const struct lifespan_drain *d, uint64_t buffer) {
  uint64_t offset = lifespan_buffer_offset(buffer);
  unsigned log2 = lifespan_buffer_log2(buffer);
  if (log2 < 1 || log2 > 26 || offset < LIFESPAN_DATA_OFFSET || offset % 65536) return 0;
  uint64_t cells = 1ull << log2;
  if (offset > d->allocated || cells * sizeof(struct lifespan_cell) > d->allocated - offset) return 0;
  return cells;
}

static void ring_use(const struct lifespan_drain *d, struct drain_ring *r, uint64_t buffer) {
  r->cells = (const struct lifespan_cell *)((const uint8_t *)d->map + lifespan_buffer_offset(buffer));
  r->mask = (1ull << lifespan_buffer_log2(buffer)) - 1;
}

// The cells up to head can't be read: skipped, counted.
static void ring_damaged(struct lifespan_drain *d, struct drain_ring *r) {
  d->counts.damaged++;
  uint64_t now = drain_now(d->clock);
  drain_add_gap(r, DRAIN_GAP_DAMAGED, d->newest ? d->newest : d->start, now);
  uint64_t left = r->head - r->position;
  r->gaps[DRAIN_GAP_DAMAGED].others += left > UINT32_MAX ? 1 : left;
  r->position = r->head;
}

static bool ring_geometry(struct lifespan_drain *d, struct drain_ring *r, uint64_t data) {
  uint64_t capacity = ring_capacity(d, data);
  if (!capacity) return false;
  if (!r->next) {
    r->segment_end = r->head;
    if (r->head - r->tail > capacity) return false;
  } else {
    uint64_t second = ring_capacity(d, r->next);
    if (!second || r->switch_at - r->tail > capacity || r->head - r->switch_at > second) return false;
    r->segment_end = r->switch_at;
  }
  ring_use(d, r, data);
  return true;
}

static void ring_new_owner(struct drain_ring *r, struct lifespan_ring *shared) {
  r->claimed = true;
  r->lives = false;
  r->gone_ns = 0;
  r->tail = atomic_load_explicit(&shared->tail, memory_order_relaxed);
  r->task = r->resumed_task;
  r->resumed_task = 0;
  r->thread = 0;
}

// Begins a round: takes head, then the buffers. True when there are cells.
bool drain_ring_open(struct lifespan_drain *d, uint32_t slot) {
  struct lifespan_ring *shared = ring_shared(d, slot);
  if (atomic_load_explicit(&shared->state, memory_order_acquire) != LIFESPAN_RING_CLAIMED) return false;
  struct drain_ring *r = &d->rings[slot];
  if (!r->claimed) ring_new_owner(r, shared);
  r->head = atomic_load_explicit(&shared->head, memory_order_acquire);
  if (d->fork_limits && d->fork_heads[slot] < r->head) r->head = d->fork_heads[slot] < r->tail ? r->tail : d->fork_heads[slot];
  r->open = true;
  r->start = r->position = r->tail;
  uint64_t data = atomic_load_explicit(&shared->data, memory_order_relaxed);
  r->next = atomic_load_explicit(&shared->next, memory_order_acquire);
  if (r->passed) data = r->passed, r->next = 0; // no other switch begins before this one is told
  r->switch_at = atomic_load_explicit(&shared->switch_at, memory_order_relaxed);
  // `next` of a switch that head does not show yet may stand beside the switch_at of the one before.
  if (r->next && r->switched && r->switch_at == r->last_switch) r->next = 0;
  // A switch beyond head is none yet for what we read.
  if (r->next && (int64_t)(r->head - r->switch_at) < 0) r->next = 0;
  if (r->head == r->tail && !r->next) return false;
  if (!r->thread) r->thread = __atomic_load_n(&shared->thread_number, __ATOMIC_RELAXED);
  if (!ring_geometry(d, r, data)) {
    ring_damaged(d, r);
    return false;
  }
  r->held = (double)(r->head - atomic_load_explicit(&shared->tail, memory_order_relaxed)) / (double)(r->mask + 1);
  return r->head != r->tail;
}

// By kind: the numbers of cells that it may have, as bits; bit 7: any from there on.
#define ONE (1u << 1)
#define TWO (1u << 2)
#define THREE (1u << 3)
#define FOUR (1u << 4)
#define ANY 0xfeu
static const uint8_t ring_cells[LIFESPAN_R_THREAD_ORIGIN + 1] = {
    [LIFESPAN_R_BIRTH] = TWO,         [LIFESPAN_R_RETAIN] = TWO,          [LIFESPAN_R_RELEASE] = TWO,
    [LIFESPAN_R_MISUSE] = TWO,        [LIFESPAN_R_TASK] = TWO,            [LIFESPAN_R_NODE] = TWO,
    [LIFESPAN_R_DEATH] = ONE | TWO,   [LIFESPAN_R_DEINIT] = ONE | TWO,    [LIFESPAN_R_DEINIT_START] = ONE | TWO,
    [LIFESPAN_R_MOVED] = THREE,       [LIFESPAN_R_MAPPED] = TWO | FOUR,   [LIFESPAN_R_UNMAPPED] = TWO,
    [LIFESPAN_R_FREE] = ONE,          [LIFESPAN_R_MOVING] = ONE,          [LIFESPAN_R_MOVE_FAILED] = ONE,
    [LIFESPAN_R_FORK] = ONE,          [LIFESPAN_R_RECORDING] = ONE,       [LIFESPAN_R_MARK] = ANY,
    [LIFESPAN_R_TYPE] = ANY,          [LIFESPAN_R_IMAGE] = ANY,           [LIFESPAN_R_THREAD] = ANY,
    [LIFESPAN_R_THREAD_ORIGIN] = THREE,
};

static inline bool ring_kind_fits(unsigned kind, unsigned cells) {
  return kind <= LIFESPAN_R_THREAD_ORIGIN && ring_cells[kind] >> (cells < 7 ? cells : 7) & 1;
}

// Whole pages of a program's address space.
static bool ring_range_valid(uint64_t start, uint64_t bytes) {
  return start && !((start | bytes) & 4095) && bytes <= LIFESPAN_TOKEN_ADDRESS && start <= LIFESPAN_TOKEN_ADDRESS - bytes;
}

static bool ring_mapped_valid(const struct drain_record *record) {
  uint64_t bytes = record->xb & LIFESPAN_VALUE_MASK, op = record->xb >> 48;
  if (record->xa >> 32 >= DRAIN_TYPE_LIMIT || op > LIFESPAN_MAPPED_STAYED) return false;
  if (!bytes || !ring_range_valid(record->value, bytes)) return false;
  bool moves = op == LIFESPAN_MAPPED_MOVED || op == LIFESPAN_MAPPED_COPY;
  return moves ? record->cells == 4 && ring_range_valid(record->xc, record->xd) : record->cells == 2;
}

static inline bool ring_event_valid(const struct drain_record *record) {
  switch (record->kind) {
  case LIFESPAN_R_BIRTH: {
    uint64_t type = record->xa >> 32;
    return record->value && type && type < DRAIN_TYPE_LIMIT;
  }
  case LIFESPAN_R_TASK: return true;
  case LIFESPAN_R_MARK: return record->value <= ((uint64_t)record->cells - 1) * sizeof(struct lifespan_cell);
  case LIFESPAN_R_RECORDING: return record->value <= 1;
  case LIFESPAN_R_MOVED:
    return record->value && record->xa && record->xa <= LIFESPAN_VALUE_MASK && record->xc >> 32 < DRAIN_TYPE_LIMIT;
  case LIFESPAN_R_MAPPED: return ring_mapped_valid(record);
  case LIFESPAN_R_UNMAPPED: return ring_range_valid(record->value, record->xb);
  default: return record->value;
  }
}

void drain_ring_copy(struct lifespan_drain *d, const struct drain_ring *r, unsigned cells) {
  for (unsigned i = 0; i < cells; i++) {
    const struct lifespan_cell *cell = &r->cells[(r->position + i) & r->mask];
    d->scratch[i].a = ring_load(&cell->a);
    d->scratch[i].b = ring_load(&cell->b);
  }
}

static void ring_switch(struct lifespan_drain *d, struct drain_ring *r) {
  ring_use(d, r, r->next);
  r->segment_end = r->head;
}

// Reads the event at the ring's position into r->record. False: it can't be one.
static inline bool ring_read_event(struct drain_ring *r, uint32_t slot, uint64_t a, uint64_t b, unsigned kind,
                            unsigned cells) {
  struct drain_record *record = &r->record; // field by field: what a kind has no cell for is never looked at
  record->stamp = a;
  record->value = lifespan_cell_value(b);
  record->task = r->task;
  record->thread = r->thread;
  record->slot = slot;
  record->kind = (uint8_t)kind;
  record->cells = (uint8_t)cells;
  if (cells == 1) {
    record->xa = record->xb = 0;
  } else {
    const struct lifespan_cell *further = &r->cells[(r->position + 1) & r->mask];
    record->xa = ring_load(&further->a);
    record->xb = ring_load(&further->b);
  }
  record->xc = record->xd = record->xe = 0;
  if (cells > 2) {
    const struct lifespan_cell *further = &r->cells[(r->position + 2) & r->mask];
    record->xc = ring_load(&further->a);
    record->xd = ring_load(&further->b);
  }
  if (cells > 3 && kind == LIFESPAN_R_MAPPED) record->xe = ring_load(&r->cells[(r->position + 3) & r->mask].a);
  return ring_event_valid(record);
}

// What is needed next lies in other processors' caches, or in none: the ring's cells, and the object that an event soon to come is about. Beyond the head the
// program may be writing: nothing is read there.
static inline void ring_look_ahead(const struct lifespan_drain *d, const struct drain_ring *r) {
  __builtin_prefetch(&r->cells[(r->position + RING_AHEAD) & r->mask]);
  if (r->head - r->position <= RING_SOON) return;
  uint64_t b = ring_load(&r->cells[(r->position + RING_SOON) & r->mask].b);
  if (lifespan_cell_kind(b) <= LIFESPAN_R_FREE) __builtin_prefetch(&d->living.slots[drain_living_home(&d->living, lifespan_cell_value(b))]);
}

#define HEAD(kind, cells) ((kind) << 8 | (cells))

// A birth or an end as nearly all of them are, read as the next function would. False: look closer, nothing is decided.
static inline bool ring_read_plain(struct drain_ring *r, uint32_t slot, uint64_t a, uint64_t b) {
  unsigned head = (unsigned)(b >> 48);
  uint64_t value = lifespan_cell_value(b), xa = 0, xb = 0;
  if (head == HEAD(LIFESPAN_R_BIRTH, 2)) {
    if (r->segment_end - r->position < 2) return false;
    const struct lifespan_cell *further = &r->cells[(r->position + 1) & r->mask];
    xa = ring_load(&further->a);
    xb = ring_load(&further->b);
    if ((xa >> 32) - 1 >= DRAIN_TYPE_LIMIT - 1) return false;
  } else if (head != HEAD(LIFESPAN_R_DEATH, 1) && head != HEAD(LIFESPAN_R_FREE, 1)) {
    return false;
  }
  if (!value) return false;
  struct drain_record *record = &r->record;
  record->stamp = a;
  record->value = value;
  record->xa = xa;
  record->xb = xb;
  record->task = r->task;
  record->thread = r->thread;
  record->slot = slot;
  record->kind = (uint8_t)(head >> 8);
  record->cells = (uint8_t)head;
  return true;
}

static bool ring_from_the_future(const struct lifespan_drain *d, uint64_t stamp) {
  if (d->resumes) return false; // perhaps another boot's clock
  uint64_t now = drain_now(d->clock);
  return stamp > now && stamp - now > d->ticks_per_second * FUTURE_SECONDS;
}

// Goes on to the next event that is stamped not later than the cut; side records before it take effect on the way.
// NONE: the ring has no more for this round, or the event is held back.
enum drain_next drain_ring_next(struct lifespan_drain *d, uint32_t slot, uint64_t cut) {
  struct drain_ring *r = &d->rings[slot];
  while (r->position != r->head) {
    if (r->position == r->segment_end) ring_switch(d, r);
    const struct lifespan_cell *cell = &r->cells[r->position & r->mask];
    ring_look_ahead(d, r);
    uint64_t a = ring_load(&cell->a), b = ring_load(&cell->b);
    if (a <= cut && ring_read_plain(r, slot, a, b)) return DRAIN_NEXT_EVENT;
    unsigned kind = lifespan_cell_kind(b), cells = lifespan_cell_count(b);
    bool whole = ring_kind_fits(kind, cells) && cells <= r->segment_end - r->position;
    if (whole && kind < LIFESPAN_RECORD_SIDE) {
      if (ring_read_event(r, slot, a, b, kind, cells)) {
        if (a <= cut) return DRAIN_NEXT_EVENT;
        if (!ring_from_the_future(d, a)) return DRAIN_NEXT_NONE;
      }
      whole = false;
    }
    if (!whole || !drain_side_record(d, r, kind, cells)) {
      ring_damaged(d, r);
      break;
    }
    r->position += cells;
  }
  return DRAIN_NEXT_NONE;
}

// Ends a round: gives the consumed cells back, completes a switch of buffers.
void drain_ring_close(struct lifespan_drain *d, uint32_t slot) {
  struct drain_ring *r = &d->rings[slot];
  struct lifespan_ring *shared = ring_shared(d, slot);
  if (!r->open) return;
  r->open = false;
  bool passes = r->next && (int64_t)(r->position - r->switch_at) >= 0;
  if (d->commits) { // given back by a commit
    if (passes) r->passed = r->next, r->last_switch = r->switch_at, r->switched = true;
    d->uncommitted |= r->position != r->start;
    r->tail = r->position;
    return;
  }
  if (passes) {
    atomic_store_explicit(&shared->data, r->next, memory_order_relaxed);
    atomic_store_explicit(&shared->next, 0, memory_order_release);
    r->last_switch = r->switch_at;
    r->switched = true;
  }
  r->tail = r->position;
  if (r->position != r->start) atomic_store_explicit(&shared->tail, r->tail, memory_order_release);
}

#endif
