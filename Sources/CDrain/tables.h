// Types, sites, totals, generations and the heap's sums: tables.c's functions, and what every event needs of them. The last part of drain.h.
#ifndef DRAIN_TABLES_H
#define DRAIN_TABLES_H

struct drain_type *drain_type_at(struct lifespan_drain *d, uint32_t id); // made when new; NULL: no memory
uint32_t drain_site_made(struct lifespan_drain *d, uint32_t type, uint32_t stack, uint64_t size);
// The number of the (type, stack, size), made when new. UINT32_MAX: no memory.
static inline uint32_t drain_site_of(struct lifespan_drain *d, uint32_t type, uint32_t stack, uint64_t size) {
  uint32_t site = drain_index_find(&d->site_index, (uint64_t)type << 32 | stack, size);
  return site == UINT32_MAX ? drain_site_made(d, type, stack, size) : site;
}
struct drain_row *drain_row_made(struct lifespan_drain *d, uint32_t type, uint32_t generation);
// The totals of a type's objects of a generation, made when new. NULL: no memory.
static inline struct drain_row *drain_row_of(struct lifespan_drain *d, uint32_t type, uint32_t generation) {
  uint32_t newest = type < d->type_count ? drain_types(d)[type].newest_row : 0;
  struct drain_row *row = newest ? &drain_rows(d)[newest - 1] : NULL;
  return row && row->generation == generation ? row : drain_row_made(d, type, generation);
}
uint32_t drain_name(struct lifespan_drain *d, const void *bytes, size_t length); // offset, 0 with no room
uint32_t drain_generation_at(const struct lifespan_drain *d, uint64_t stamp); // of one that a mark may have closed
static inline uint32_t drain_generation_of(const struct lifespan_drain *d, uint64_t stamp) {
  uint32_t marks = d->mark_count;
  return !marks || stamp > drain_marks(d)[marks - 1].stamp ? marks : drain_generation_at(d, stamp);
}
int64_t drain_place_mark(struct lifespan_drain *d, uint64_t stamp, const void *name, size_t length);

// An object's memory comes and goes; with its size, site and address as they are then.
static inline void drain_heap_born(struct lifespan_drain *d, const struct drain_object *object) {
  if (!drain_sites(d)[object->site].elsewhere) drain_heap_came(&d->memory, object->key & LIFESPAN_VALUE_MASK, object->size);
}
static inline void drain_heap_freed(struct lifespan_drain *d, const struct drain_object *object) {
  if (!drain_sites(d)[object->site].elsewhere) drain_heap_went(&d->memory, object->size);
}

#endif
