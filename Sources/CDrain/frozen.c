// For a picture of the program's heap: the blocks that live at this moment, and the chunks that come of it, which stand in the trace and in every file that
// takes its place. The picture itself is made by the command (Tools/lifespan/Heap).
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

size_t lifespan_drain_blocks(const struct lifespan_drain *d, struct lifespan_block *blocks, size_t most) {
  static const uint32_t states[] = {[0] = 0, [DRAIN_STATE_KEPT] = 1, [DRAIN_STATE_MOVING] = 2};
  size_t count = 0;
  for (uint64_t i = 0; d->begun && i <= d->living.mask && count < most; i++) {
    const struct drain_object *object = &d->living.slots[i];
    // Threads, tokens, regions and what is on its way from one address to another are no blocks.
    if (!object->key || object->key >= LIFESPAN_TOKEN_ADDRESS || object->key & 1) continue;
    const struct drain_site *site = &drain_sites(d)[object->site];
    blocks[count++] = (struct lifespan_block){.address = object->key, .size = object->size, .serial = object->serial, .type = site->type,
                                              .state = object->state < 3 ? states[object->state] : 0, .stack = site->stack};
  }
  return count;
}

size_t lifespan_drain_block_limit(const struct lifespan_drain *d) { return d->begun ? (size_t)d->living.used : 0; }

uint32_t lifespan_drain_type_limit(const struct lifespan_drain *d) { return d->type_count; }

bool lifespan_drain_type(const struct lifespan_drain *d, uint32_t id, struct lifespan_type_row *row, const char **name) {
  if (id >= d->type_count || !drain_types(d)[id].kind) return false;
  const struct drain_type *type = &drain_types(d)[id];
  *row = (struct lifespan_type_row){.type = id, .kind = type->kind, .superclass = type->superclass, .flags = type->flags, .metadata = type->metadata,
                                    .instance_size = type->instance_size, .name_length = type->name_length};
  *name = d->names.data ? (const char *)d->names.data + type->name : "";
  return true;
}

uint32_t lifespan_drain_thread(const struct lifespan_drain *d, uint32_t tid) {
  const struct lifespan_ring *rings = (const struct lifespan_ring *)((const uint8_t *)d->map + LIFESPAN_RINGS_OFFSET);
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++)
    if (d->rings[slot].claimed && rings[slot].tid == tid) return d->rings[slot].thread;
  return 0;
}

int64_t lifespan_drain_elapsed_ns(const struct lifespan_drain *d) {
  return d->begun ? (int64_t)drain_to_ns(drain_now(d->clock) - d->start, d->ticks_per_second) : 0;
}

// ---- Its chunks -------------------------------------------------------------------------------------------------------------------

struct frozen_head {
  uint32_t kind, length;
};

static void frozen_write(struct drain_encoder *e, unsigned kind, const void *bytes, size_t length) {
  e->out.used = 0;
  if (!drain_reserve(&e->out, LIFESPAN_CHUNK_HEADER_BYTES + length)) {
    if (!e->error) e->error = ENOMEM;
    return;
  }
  e->out.used = LIFESPAN_CHUNK_HEADER_BYTES;
  if (drain_append(&e->out, bytes, length)) drain_encoder_write_chunk(e, kind);
}

// Nodes name types by the drain's numbers, and in such a file a type is told when it is needed.
static void frozen_tell_types(struct lifespan_drain *d, struct drain_encoder *e) {
  for (uint32_t id = 0; e->lazy && id < d->type_count; id++)
    if (drain_types(d)[id].kind) drain_tell_type(d, e, id);
  drain_encoder_write_facts(e);
}

int lifespan_drain_frozen(struct lifespan_drain *d, uint32_t kind, const void *bytes, size_t length, bool is_first) {
  if (!d->begun || d->finished) return EAGAIN;
  if (length > LIFESPAN_CHUNK_LIMIT) return EFBIG;
  if (is_first) d->frozen.used = 0;
  bool bounded = d->options.next.begin;
  if (bounded) {
    struct frozen_head head = {kind, (uint32_t)length};
    if (!drain_append(&d->frozen, &head, sizeof(head)) || !drain_append(&d->frozen, bytes, length)) return ENOMEM;
  }
  if (!d->encoder) return EFBIG; // a limit, and no room
  uint64_t limit = d->options.max_size;
  if (limit && d->encoder->bytes_written + length + limit / 8 > limit) return EFBIG;
  if (is_first) {
    int error = lifespan_drain_flush(d);
    if (error) return error;
    frozen_tell_types(d, d->encoder);
  }
  frozen_write(d->encoder, kind, bytes, length);
  if (d->encoder->error && !d->error) d->error = d->encoder->error;
  return d->error;
}

// Into a file that takes the trace's place. With a limit, where it takes at most a quarter of the room.
void drain_frozen_tell(struct lifespan_drain *d, struct drain_encoder *e) {
  if (!d->frozen.used || (d->options.max_size && d->frozen.used > d->options.max_size / 4)) return;
  drain_encoder_close_events(e);
  frozen_tell_types(d, e);
  for (size_t at = 0; at + sizeof(struct frozen_head) <= d->frozen.used;) {
    struct frozen_head head;
    memcpy(&head, d->frozen.data + at, sizeof(head));
    at += sizeof(head);
    frozen_write(e, head.kind, d->frozen.data + at, head.length);
    at += head.length;
  }
}

// ---- The end of the program -------------------------------------------------------------------------------------------------------

bool lifespan_drain_picture_wanted(const struct lifespan_drain *d) {
  return d->map->options.leaks && atomic_load_explicit(&d->map->picture_wanted, memory_order_acquire) != d->pictured;
}

void lifespan_drain_picture_done(struct lifespan_drain *d) {
  d->pictured = atomic_load_explicit(&d->map->picture_wanted, memory_order_acquire);
  atomic_store_explicit(&d->map->picture_done, d->pictured, memory_order_release);
  drain_futex_wake(&d->map->picture_done);
}

#endif
