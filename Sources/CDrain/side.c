// Side records: stack nodes, types, images, threads; and the two events that concern no object (task, recording). Used
// by ring.c and apply.c. False from a side record means that it is damaged.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

static bool side_node(struct lifespan_drain *d, const struct lifespan_cell *cells) {
  uint64_t id = lifespan_cell_value(cells[0].b);
  uint64_t bound = (uint64_t)d->node_count * 2 + DRAIN_NODE_WINDOW; // ids come from a counter
  // A parent is an older node: a tree in which it is not may run in a circle.
  if (id < LIFESPAN_STACK_FIRST || id >= DRAIN_NODE_LIMIT || id > bound || cells[1].a >= id) return false;
  size_t need = (id + 1) * sizeof(struct drain_node);
  if (d->nodes.used < need) {
    if (!drain_reserve(&d->nodes, need - d->nodes.used)) {
      d->error = d->error ? d->error : ENOMEM;
      return true;
    }
    d->nodes.used = need;
    d->node_count = (uint32_t)id + 1;
  }
  struct drain_node *node = &drain_nodes(d)[id];
  if (node->known) return true; // a node never changes
  *node = (struct drain_node){.pc = cells[0].a,
                              .parent = (uint32_t)cells[1].a,
                              .epoch = (uint32_t)(cells[1].b >> 32),
                              .label = (uint32_t)(cells[1].b & 0xff),
                              .known = 1};
  if (d->encoder && !d->encoder->lazy) drain_node_row(d->encoder, (uint32_t)id, node);
  return true;
}

static bool side_type(struct lifespan_drain *d, const struct lifespan_cell *cells, unsigned count) {
  if (count < 3) return false;
  uint64_t id = lifespan_cell_value(cells[0].b);
  uint32_t kind = (uint32_t)cells[1].a, length = (uint32_t)cells[1].b, superclass = (uint32_t)(cells[1].a >> 32);
  if (!id || id >= DRAIN_TYPE_LIMIT || kind < LIFESPAN_KIND_CLASS || kind > LIFESPAN_KIND_TOKEN) return false;
  if (length > (count - 3) * sizeof(*cells) || superclass >= DRAIN_TYPE_LIMIT) return false;
  struct drain_type *type = drain_type_at(d, (uint32_t)id);
  if (!type) return true;
  uint32_t flags = (uint32_t)cells[2].b;
  if (type->kind && type->flags == flags) return true; // said before
  if (!type->kind) {
    type->metadata = cells[0].a;
    type->kind = kind;
    type->superclass = superclass;
    type->instance_size = (uint32_t)(cells[1].b >> 32);
    type->caller = cells[2].a;
    type->name = drain_name(d, cells + 3, length);
    type->name_length = type->name || !length ? length : 0;
  }
  type->flags = flags;
  if (flags & LIFESPAN_TYPE_COUNTED) d->counts_references = true;
  struct drain_encoder *encoders[] = {d->encoder, drain_next_rows(d)};
  for (int i = 0; i < 2; i++) {
    if (!encoders[i] || (encoders[i]->lazy && !drain_is_told(encoders[i], LIFESPAN_CHUNK_TYPES, (uint32_t)id))) continue;
    drain_type_row(encoders[i], (uint32_t)id, type, d->names.data);
  }
  return true;
}

static bool side_image(struct lifespan_drain *d, const struct lifespan_cell *cells, unsigned count) {
  if (count < 3 || lifespan_cell_value(cells[0].b) > UINT32_MAX) return false;
  uint32_t lengths = (uint32_t)cells[2].a, build = lengths >> 16, path = lengths & 0xffff;
  if (build + path > (count - 3) * sizeof(*cells) || cells[2].b > 1) return false;
  const uint8_t *bytes = (const uint8_t *)(cells + 3);
  struct drain_bytes *row = drain_row_begin(d);
  const uint64_t fields[] = {
      lifespan_cell_value(cells[0].b), cells[2].b, cells[2].a >> 32, cells[0].a, cells[1].a, cells[1].b};
  bool made = true;
  for (int i = 0; i < 6; i++) made = made && drain_put_varint(row, fields[i]);
  made = made && drain_put_string(row, bytes, build) && drain_put_string(row, bytes + build, path);
  if (made) drain_keep(d, LIFESPAN_CHUNK_IMAGES, row);
  return true;
}

static bool side_thread(struct lifespan_drain *d, struct drain_ring *r, const struct lifespan_cell *cells,
                        unsigned count) {
  if (count < 2 || lifespan_cell_value(cells[0].b) > UINT32_MAX) return false;
  uint32_t tid = (uint32_t)(cells[1].a >> 32), length = (uint32_t)cells[1].a;
  uint32_t thread = (uint32_t)lifespan_cell_value(cells[0].b);
  if (length > (count - 2) * sizeof(*cells)) return false;
  if (cells[1].b < LIFESPAN_THREAD_SEEN || cells[1].b > LIFESPAN_THREAD_ENDED) return false;
  // A thread writes this before all else: what follows in the ring is its own, also where it took the ring over from a
  // dead one.
  if (cells[1].b == LIFESPAN_THREAD_SEEN) {
    if (r->thread) drain_write_ring_gaps(d, (uint32_t)(r - d->rings));
    if (r->lives) drain_thread_gone(d, r->thread, tid, cells[0].a);
    r->thread = thread;
    r->task = 0;
    r->lives = true;
    r->gone_ns = 0;
    if (d->scopes) drain_scope_thread(d, tid, thread);
  } else if (cells[1].b == LIFESPAN_THREAD_ENDED && thread == r->thread) {
    r->lives = false;
  }
  drain_thread_row(d, thread, tid, (unsigned)cells[1].b, cells[0].a, cells + 2, length);
  return true;
}

static bool side_thread_origin(struct lifespan_drain *d, const struct lifespan_cell *cells) {
  struct drain_bytes *row = drain_row_begin(d);
  const uint64_t fields[] = {lifespan_cell_value(cells[0].b),
                             cells[1].a >> 32,
                             cells[1].a & UINT32_MAX,
                             cells[1].b,
                             drain_zigzag(drain_since_start(d, cells[0].a)),
                             cells[2].a};
  bool made = true;
  for (int i = 0; i < 6; i++) made = made && drain_put_varint(row, fields[i]);
  if (made) drain_keep(d, LIFESPAN_CHUNK_THREAD_ORIGINS, row);
  return true;
}

bool drain_side_record(struct lifespan_drain *d, struct drain_ring *r, unsigned kind, unsigned cells) {
  drain_ring_copy(d, r, cells);
  switch (kind) {
  case LIFESPAN_R_NODE: return side_node(d, d->scratch);
  case LIFESPAN_R_TYPE: return side_type(d, d->scratch, cells);
  case LIFESPAN_R_IMAGE: return side_image(d, d->scratch, cells);
  case LIFESPAN_R_THREAD: return side_thread(d, r, d->scratch, cells);
  case LIFESPAN_R_THREAD_ORIGIN: return side_thread_origin(d, d->scratch);
  default: return false;
  }
}

// The ring's thread runs another task from here on.
void drain_task(struct lifespan_drain *d, const struct drain_record *record) {
  d->rings[record->slot].task = record->value;
  if (record->value > d->newest_task) d->newest_task = record->value;
  if (!record->value || !record->xa) return; // no parent to tell of
  if (d->scopes) drain_scope_task(d, record->value, record->xa);
  uint64_t *told = &d->tasks_told[record->value % DRAIN_TASKS_TOLD];
  if (*told == record->value) return; // a task is switched to again and again
  *told = record->value;
  struct drain_bytes *row = drain_row_begin(d);
  if (drain_put_varint(row, record->value) && drain_put_varint(row, record->xa))
    drain_keep(d, LIFESPAN_CHUNK_TASKS, row);
}

void drain_recording(struct lifespan_drain *d, uint64_t stamp, uint64_t on) {
  struct drain_bytes *row = drain_row_begin(d);
  if (drain_put_varint(row, drain_zigzag(drain_since_start(d, stamp))) && drain_put_varint(row, on)) {
    drain_keep(d, LIFESPAN_CHUNK_RECORDING, row);
  }
}

#endif
