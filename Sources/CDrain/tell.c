// What a trace that was begun in the middle of a recording is told: a type, a stack, a site only when an event needs it,
// and sites by numbers of its own. So a file that follows what lives names nothing that is gone. Used by apply.c and
// picture.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

static struct drain_bytes *tell_bits(struct drain_encoder *e, unsigned chunk) {
  return chunk == LIFESPAN_CHUNK_TYPES ? &e->told_types : &e->told_nodes;
}

bool drain_is_told(const struct drain_encoder *e, unsigned chunk, uint32_t id) {
  const struct drain_bytes *bits = chunk == LIFESPAN_CHUNK_TYPES ? &e->told_types : &e->told_nodes;
  return id / 8 < bits->used && bits->data[id / 8] >> id % 8 & 1;
}

// True the first time.
static bool tell_first(struct drain_encoder *e, unsigned chunk, uint32_t id) {
  if (drain_is_told(e, chunk, id)) return false;
  struct drain_bytes *bits = tell_bits(e, chunk);
  size_t need = (size_t)id / 8 + 1;
  if (bits->used < need) {
    if (!drain_reserve(bits, need - bits->used)) {
      if (!e->error) e->error = ENOMEM;
      return false;
    }
    bits->used = need;
  }
  bits->data[id / 8] |= (uint8_t)(1u << id % 8);
  return true;
}

void drain_tell_type(struct lifespan_drain *d, struct drain_encoder *e, uint32_t id) {
  if (!e->lazy) return;
  while (id && id < d->type_count && drain_types(d)[id].kind && tell_first(e, LIFESPAN_CHUNK_TYPES, id)) {
    drain_type_row(e, id, &drain_types(d)[id], d->names.data);
    id = drain_types(d)[id].superclass;
  }
}

static void tell_stack(struct lifespan_drain *d, struct drain_encoder *e, uint32_t id) {
  while (id >= LIFESPAN_STACK_FIRST && id < d->node_count && drain_nodes(d)[id].known &&
         tell_first(e, LIFESPAN_CHUNK_STACKS, id)) {
    drain_node_row(e, id, &drain_nodes(d)[id]);
    id = drain_nodes(d)[id].parent;
  }
}

// UINT32_MAX: no memory.
uint32_t drain_tell_site(struct lifespan_drain *d, struct drain_encoder *e, uint32_t site) {
  uint32_t *numbers = (uint32_t *)e->told_sites.data;
  size_t need = ((size_t)site + 1) * sizeof(*numbers);
  if (e->told_sites.used >= need && numbers[site]) return numbers[site] - 1;
  if (e->told_sites.used < need) {
    if (!drain_reserve(&e->told_sites, need - e->told_sites.used)) {
      if (!e->error) e->error = ENOMEM;
      return UINT32_MAX;
    }
    e->told_sites.used = need;
    numbers = (uint32_t *)e->told_sites.data;
  }
  const struct drain_site *told = &drain_sites(d)[site];
  drain_tell_type(d, e, told->type);
  tell_stack(d, e, told->stack);
  drain_site_row(e, told);
  numbers[site] = ++e->site_count;
  return e->site_count - 1;
}

void drain_put(struct lifespan_drain *d, struct drain_encoder *e, struct drain_event *event) {
  if (!e->lazy) return drain_encode(e, event);
  if (event->died && event->died <= e->since) return; // of an object that the file knows no more
  uint32_t site = event->site;
  if (event->kind == LIFESPAN_EVENT_BIRTH || event->kind == LIFESPAN_EVENT_MOVED) {
    event->site = drain_tell_site(d, e, site);
    if (event->site == UINT32_MAX) return;
  }
  if (event->kind != LIFESPAN_EVENT_BIRTH && event->stack) tell_stack(d, e, event->stack);
  drain_encode(e, event);
  event->site = site;
}

#endif
