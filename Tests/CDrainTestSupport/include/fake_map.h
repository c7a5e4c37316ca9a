// A mapping as a recorder would fill it, written by hand: what CDrainTests drive the drain with. Stamps are nanoseconds
// since the start of the recording, which lies ten seconds back, so that tests need no clock.
#ifndef FAKE_MAP_H
#define FAKE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_map.h"

struct fake_map;

// `rings` claimed rings (thread numbers 1, 2, …), each with a buffer of 2^log2 cells. With `file` it is a memfd that
// may grow.
struct fake_map *fake_create(uint32_t rings, uint32_t log2, bool file);
void fake_destroy(struct fake_map *fake);
struct lifespan_map *fake_mapping(struct fake_map *fake);
void fake_counts_missed(struct fake_map *fake, bool missed); // a hook of retains and releases is missing
int fake_file(const struct fake_map *fake);
uint64_t fake_start(const struct fake_map *fake);
uint64_t fake_now(const struct fake_map *fake); // since the start

// Writes cells and publishes them. False: the ring is full.
bool fake_cells(struct fake_map *fake, uint32_t ring, const struct lifespan_cell *cells, size_t count);
// Publishes only the first `shown` of the cells, as no honest recorder would.
void fake_cut(struct fake_map *fake, uint32_t ring, const struct lifespan_cell *cells, size_t count, size_t shown);
// The producer goes on in a buffer of 2^log2 cells.
void fake_switch(struct fake_map *fake, uint32_t ring, uint32_t log2);

bool fake_birth(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t address, uint32_t type, uint32_t stack,
                uint64_t size);
// Any event without further cells: DEATH, DEINIT, FREE, DEINIT_START, MOVING, MOVE_FAILED, RECORDING.
bool fake_event(struct fake_map *fake, uint32_t ring, uint32_t kind, int64_t stamp, uint64_t value);
bool fake_event_with_stack(struct fake_map *fake, uint32_t ring, uint32_t kind, int64_t stamp, uint64_t value,
                           uint32_t stack);
bool fake_refcount(struct fake_map *fake, uint32_t ring, uint32_t kind, int64_t stamp, uint64_t address,
                   uint32_t amount, uint32_t stack, uint8_t flavour, uint64_t before);
bool fake_moved(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t from, uint64_t to, uint64_t size);
bool fake_moved_as(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t from, uint64_t to, uint64_t size,
                   uint32_t type, uint32_t stack);
// mmap (type 0: only what was there ends), mremap (`op`: enum lifespan_mapped; MOVING, STAYED: of [to, + bytes)) and munmap.
bool fake_mapped(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t start, uint64_t bytes, uint32_t type, uint32_t stack);
bool fake_remapped(struct fake_map *fake, uint32_t ring, int64_t before, int64_t after, uint32_t op, uint64_t from, uint64_t from_bytes,
                   uint64_t to, uint64_t bytes, uint32_t type, uint32_t stack);
bool fake_unmapped(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t start, uint64_t bytes, uint32_t stack);
bool fake_task(struct fake_map *fake, uint32_t ring, int64_t stamp, uint64_t task, uint64_t parent);
bool fake_mark(struct fake_map *fake, uint32_t ring, int64_t stamp, const char *name);
bool fake_node(struct fake_map *fake, uint32_t ring, uint32_t id, uint32_t parent, uint64_t pc, uint32_t epoch,
               uint8_t label);
bool fake_type(struct fake_map *fake, uint32_t ring, uint32_t id, uint32_t kind, uint32_t superclass, const char *name);
// As the recorder does when the program ends: it wants to be looked at, with its counts compared (`verify`); whether it may end now.
void fake_wants_to_end(struct fake_map *fake, bool verify);
bool fake_may_end(struct fake_map *fake);
bool fake_image(struct fake_map *fake, uint32_t ring, uint32_t id, uint64_t start, uint64_t end, const char *path);
bool fake_thread(struct fake_map *fake, uint32_t ring, uint32_t number, uint32_t tid, const char *name);
// Renamed, or ended.
bool fake_thread_op(struct fake_map *fake, uint32_t ring, int64_t stamp, uint32_t number, uint32_t tid, uint32_t op,
                    const char *name);
bool fake_thread_origin(struct fake_map *fake, uint32_t ring, int64_t stamp, uint32_t number, uint32_t creator,
                        uint32_t stack, uint64_t start, uint64_t stack_bytes);
// As a program that ends: wants its memory to be looked at; whether that is done.
void fake_want_sample(struct fake_map *fake);
bool fake_sample_done(const struct fake_map *fake);
uint64_t fake_beat(const struct fake_map *fake); // of the consumer
// Private pages of which only the first `touched` bytes are there.
uint64_t fake_pages(size_t bytes, size_t touched);
void fake_pages_free(uint64_t address, size_t bytes);

void fake_lose(struct fake_map *fake, uint32_t ring, uint64_t births, uint64_t deaths, uint64_t others, int64_t from,
               int64_t to);
void fake_suppress(struct fake_map *fake, uint32_t ring, uint64_t count);
void fake_refuse(struct fake_map *fake, uint64_t count);
uint64_t fake_left(const struct fake_map *fake, uint32_t ring); // cells not consumed
bool fake_switch_done(const struct fake_map *fake, uint32_t ring);
bool fake_claimed(const struct fake_map *fake, uint32_t ring);
void fake_set_pid(struct fake_map *fake, uint32_t pid);
void fake_owner(struct fake_map *fake, uint32_t ring, uint32_t tid);
uint64_t fake_allocated(const struct fake_map *fake);
void fake_take(struct fake_map *fake, uint64_t bytes); // moves the bump pointer
void fake_set_state(struct fake_map *fake, uint32_t state);
void fake_set_capture(struct fake_map *fake, uint32_t capture, const char *reason);

// The request slot: posts a question; takes an answer (bytes, or -1 as long as there is none).
void fake_post(struct fake_map *fake, uint32_t op, const void *question, uint32_t length);
int64_t fake_answer(struct fake_map *fake, void *target, size_t room, uint32_t *status, bool *more);

// Fills rings, buffers and counters with random bytes (all of them, or some), leaving alone what maps memory.
void fake_scramble(struct fake_map *fake, uint64_t seed, bool plausible);

// Fills ring 0 (and 1, when rings are two) with `pairs` births and deaths, as a program that allocates in batches
// would.
uint64_t fake_load(struct fake_map *fake, uint32_t rings, uint64_t pairs, uint64_t first_stamp);

// Compares CRC of the drain's table with a bitwise one: a reference that shares no code.
uint32_t fake_crc32c(const void *bytes, size_t length);

// Runs the loop of the drain on this thread; Swift has no word for an atomic flag.
struct lifespan_drain;
int fake_run(struct lifespan_drain *drain, int *stop);
void fake_stop(int *stop);
// Waits until the ring is empty and a consumer is attached; false after `milliseconds`.
bool fake_wait_empty(const struct fake_map *fake, uint32_t ring, uint32_t milliseconds);
bool fake_consumer_alive(const struct fake_map *fake);

// Plays a program's thread: `pairs` births and deaths with stamps of now, that waits while its ring is full, and grows
// its buffer to 2^larger cells the first time. Every fourth object is handed to the other ring's thread (0 and 1),
// which ends it.
void fake_produce(struct fake_map *fake, uint32_t ring, uint64_t pairs, uint32_t larger);

// The recording is stamped by the time stamp counter, and starts now.
void fake_use_counter(struct fake_map *fake);
void fake_set_realtime(struct fake_map *fake, uint64_t ns);

#endif
