// Writing to a thread's ring: the slow paths behind internal.h's inline ones. A full ring grows once, then waits for the consumer
// or counts what it loses, as the recording's options say. Called in hooks: no allocation, no libc but inline code.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include "internal.h"
#include "raw.h"
#include "sandbox.h"

#define CHUNK 65536ull              // unit of the mapping's bump allocation
#define PATIENCE_NS 1000000000ull   // how long a full ring waits for a consumer that shows no life
#define OWNER_DIED 0x40000000u      // FUTEX_OWNER_DIED in the robust mutex's word

// A buffer of 2^log2 cells from the mapping; 0 when its file has not grown enough yet.
static uint64_t take_buffer(struct lifespan_map *map, unsigned log2) {
  uint64_t bytes = 16ull << log2;
  uint64_t free = atomic_load_explicit(&map->next_free, memory_order_relaxed);
  do {
    if (free + bytes > atomic_load_explicit(&map->allocated, memory_order_acquire)) return 0;
  } while (!atomic_compare_exchange_weak_explicit(&map->next_free, &free, (free + bytes + CHUNK - 1) & ~(CHUNK - 1), memory_order_relaxed,
                                                  memory_order_relaxed));
  return free | log2;
}

static void use_buffer(struct lifespan_thread *thread, uint64_t buffer) {
  thread->cells = (struct lifespan_cell *)((char *)lifespan_process.map + lifespan_buffer_offset(buffer));
  thread->mask = (1ull << lifespan_buffer_log2(buffer)) - 1;
}

static void look_at_consumer(struct lifespan_thread *thread) {
  uint64_t tail = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
  thread->limit = (tail > thread->switch_at ? tail : thread->switch_at) + thread->mask + 1;
}

void lifespan_ring_bind(struct lifespan_thread *thread) {
  struct lifespan_ring *ring = thread->ring;
  thread->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  thread->switch_at = 0;
  thread->limit = thread->head; // the first record comes by make_room
  thread->cells = NULL;
  uint64_t next = atomic_load_explicit(&ring->next, memory_order_acquire);
  uint64_t data = next ? next : atomic_load_explicit(&ring->data, memory_order_acquire);
  if (next) thread->switch_at = atomic_load_explicit(&ring->switch_at, memory_order_relaxed);
  if (data) use_buffer(thread, data);
}

// The first buffer of a slot, or a larger one when the present one is full and no other change is under way.
static bool grow(struct lifespan_thread *thread) {
  struct lifespan_ring *ring = thread->ring;
  struct lifespan_map *map = lifespan_process.map;
  if (!thread->cells) {
    uint64_t buffer = take_buffer(map, LIFESPAN_RING_SMALL_LOG2);
    if (!buffer) return false;
    use_buffer(thread, buffer);
    atomic_store_explicit(&ring->data, buffer, memory_order_release);
    look_at_consumer(thread);
    return true;
  }
  if (thread->mask + 1 >= 1ull << LIFESPAN_RING_LARGE_LOG2) return false;
  if (atomic_load_explicit(&ring->next, memory_order_acquire)) return false;
  uint64_t buffer = take_buffer(map, LIFESPAN_RING_LARGE_LOG2);
  if (!buffer) return false;
  thread->switch_at = thread->head;
  atomic_store_explicit(&ring->switch_at, thread->head, memory_order_relaxed);
  atomic_store_explicit(&ring->next, buffer, memory_order_release);
  use_buffer(thread, buffer);
  look_at_consumer(thread);
  return true;
}

static void count_loss(struct lifespan_thread *thread, enum lifespan_loss loss) {
  struct lifespan_ring *ring = thread->ring;
  _Atomic uint64_t *counter = loss == LIFESPAN_LOSS_BIRTH   ? &ring->lost_births
                              : loss == LIFESPAN_LOSS_DEATH ? &ring->lost_deaths
                                                            : &ring->lost_other;
  uint64_t now = lifespan_stamp();
  if (!atomic_load_explicit(&ring->lost_from, memory_order_relaxed)) atomic_store_explicit(&ring->lost_from, now, memory_order_relaxed);
  atomic_store_explicit(&ring->lost_to, now, memory_order_relaxed);
  atomic_fetch_add_explicit(counter, 1, memory_order_release);
}

bool lifespan_consumer_died(const struct lifespan_map *map) {
  const _Atomic uint32_t *word = (const _Atomic uint32_t *)map->consumer_mutex; // glibc's __lock is the first word
  return atomic_load_explicit(word, memory_order_relaxed) & OWNER_DIED || !atomic_load_explicit(&map->consumer_alive, memory_order_relaxed);
}

static void wake_consumer(struct lifespan_map *map) {
  atomic_fetch_add_explicit(&map->consumer_wake, 1, memory_order_release);
  if (lifespan_may(LIFESPAN_CALL_FUTEX)) lifespan_raw4(SYS_futex, (long)&map->consumer_wake, 1 /* FUTEX_WAKE, shared */, 1, 0);
}

// Some 50 us, without a system call where the program has forbidden them. Gives the time, or something like it.
static uint64_t pause_a_little(void) {
  static __thread uint64_t counted INITIAL_EXEC;
  bool may_sleep = lifespan_may(LIFESPAN_CALL_NANOSLEEP);
  if (may_sleep) lifespan_raw_sleep(50000);
  else
    for (unsigned i = 0; i < 1000; i++) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  if (may_sleep && lifespan_may(LIFESPAN_CALL_CLOCK)) return lifespan_monotonic_ns();
  return counted += 50000;
}

// Waits until there is room; false when the consumer shows no life for a second.
static bool wait_for_room(struct lifespan_thread *thread, unsigned cells) {
  struct lifespan_map *map = lifespan_process.map;
  uint64_t beat = atomic_load_explicit(&map->consumer_beat, memory_order_relaxed);
  if (thread->dead_beat == beat + 1) return false; // found dead before, and nothing moved since
  uint64_t silent_since = pause_a_little();
  uint64_t began_ticks = lifespan_stamp();
  bool room = false;
  for (;;) {
    if (lifespan_process.on_full) lifespan_process.on_full(lifespan_process.on_full_context);
    else wake_consumer(map);
    look_at_consumer(thread);
    room = (thread->cells || grow(thread)) && thread->head + cells <= thread->limit;
    if (room || map != lifespan_process.map) break; // a signal handler has forked: this ring is nobody's
    // With a rings file nothing is given up at once: who kills the consumer is perhaps about to kill us, too.
    bool left = !atomic_load_explicit(&map->consumer_alive, memory_order_relaxed);
    if (left || (lifespan_consumer_died(map) && !map->options.rings_file)) break;
    uint64_t now = pause_a_little(), moved = atomic_load_explicit(&map->consumer_beat, memory_order_relaxed);
    if (moved != beat) {
      beat = moved;
      silent_since = now;
    }
    if (now - silent_since > PATIENCE_NS) break;
  }
  if (!room) thread->dead_beat = beat + 1;
  atomic_fetch_add_explicit(&thread->ring->waited, lifespan_stamp() - began_ticks, memory_order_relaxed);
  atomic_fetch_add_explicit(&thread->ring->waits, 1, memory_order_relaxed);
  return room;
}

bool lifespan_ring_make_room(struct lifespan_thread *thread, unsigned cells, enum lifespan_loss loss) {
  if (thread->cells) look_at_consumer(thread);
  if (thread->cells && thread->head + cells <= thread->limit) return true;
  if (grow(thread) && thread->head + cells <= thread->limit) return true;
  struct lifespan_map *map = lifespan_process.map;
  if (map->options.when_full == LIFESPAN_FULL_WAIT && wait_for_room(thread, cells)) return true;
  count_loss(thread, loss);
  return false;
}

bool lifespan_ring_text(struct lifespan_thread *thread, const struct lifespan_cell *fixed, unsigned fixed_cells, const char *text, size_t length,
                        enum lifespan_loss loss) {
  size_t most = (255u - fixed_cells) * sizeof(struct lifespan_cell);
  if (length > most) length = most;
  unsigned cells = fixed_cells + (unsigned)((length + 15) / 16);
  if (!lifespan_ring_reserve(thread, cells, loss)) return false;
  for (unsigned i = 0; i < fixed_cells; i++) lifespan_ring_put(thread, i, fixed[i].a, fixed[i].b);
  for (unsigned i = fixed_cells; i < cells; i++) {
    uint64_t words[2] = {0, 0};
    size_t at = (size_t)(i - fixed_cells) * 16, part = length - at < 16 ? length - at : 16;
    __builtin_memcpy(words, text + at, part);
    lifespan_ring_put(thread, i, words[0], words[1]);
  }
  uint64_t b = fixed[0].b;
  lifespan_ring_put(thread, 0, fixed[0].a, lifespan_head_word(lifespan_cell_kind(b), cells, lifespan_cell_value(b)));
  lifespan_ring_publish(thread, cells);
  return true;
}

#endif
