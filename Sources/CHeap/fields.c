// The fields of a class, as its own field descriptor and its metadata tell: names, offsets, and whether a reference is weak, unowned or unmanaged. Needs
// nothing but the program's memory, and works where a field's type is beyond reflection. Called by layout.c; layouts of Swift 5.9 to 6.3.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define CLASS_SUPER 8u
#define CLASS_DESCRIPTOR 40u
#define CLASSES_MOST 64u      // above each other
#define FIELDS_MOST 4096u
#define NAME_MOST 256u

#define DESCRIPTOR_CLASS 16u
#define DESCRIPTOR_FIELDS 16u   // relative
#define DESCRIPTOR_BOUNDS 24u   // negative size, or relative: the bounds where a superclass is resilient
#define DESCRIPTOR_POSITIVE 28u // words of the metadata behind its address, and those of them that are the class's own: first its generic arguments
#define DESCRIPTOR_COUNT 36u
#define IS_GENERIC 0x80u
#define WORDS_MOST (1u << 16)
#define DESCRIPTOR_VECTOR 40u   // words from the metadata to the offsets
#define RESILIENT_SUPER (1u << (16 + 13))

#define PARTS_MOST 128u
#define CONTEXT_FIRST 8u     // of a closure's context: where what it captures begins
#define CONTEXT_CAPTURES 16u // how it is described

size_t heap_text(struct heap *heap, uint64_t place, char *text, size_t room) {
  for (size_t i = 0; i + 1 < room; i++) {
    if (!heap_memory_small(&heap->memory, place + i, &text[i], 1)) break;
    if (!text[i]) return i;
  }
  text[room - 1] = 0;
  return strnlen(text, room);
}

// Where the class's own words begin: below a resilient superclass behind what that has at run time.
static bool own_words(struct heap *heap, uint64_t metadata, uint64_t descriptor, struct heap_generic *own) {
  uint64_t bounds, before;
  uint32_t flags, words[2];
  if (!heap_memory_small(&heap->memory, descriptor, &flags, 4) || (flags & 31) != DESCRIPTOR_CLASS) return false;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_POSITIVE, words, sizeof words) || words[1] > WORDS_MOST || words[0] > WORDS_MOST) return false;
  *own = (struct heap_generic){metadata + 8ull * (words[0] - words[1]), words[1]};
  if (!(flags & RESILIENT_SUPER)) return words[1] <= words[0];
  if (!heap_relative(heap, descriptor + DESCRIPTOR_BOUNDS, &bounds) || !heap_memory_word(&heap->memory, bounds, &before)) return false;
  own->place = metadata + before;
  return true;
}

bool heap_class_arguments(struct heap *heap, uint64_t metadata, struct heap_generic *generic) {
  uint64_t descriptor;
  uint32_t flags;
  if (!heap_memory_word(&heap->memory, metadata + CLASS_DESCRIPTOR, &descriptor) || !descriptor) return false;
  if (!own_words(heap, metadata, descriptor, generic)) return false;
  return heap_memory_small(&heap->memory, descriptor, &flags, 4) && flags & IS_GENERIC;
}

// Where the offsets of its own fields stand.
static bool vector_of(struct heap *heap, uint64_t metadata, uint64_t descriptor, uint64_t *vector) {
  uint32_t flags, words;
  struct heap_generic own;
  if (!heap_memory_small(&heap->memory, descriptor, &flags, 4) || !own_words(heap, metadata, descriptor, &own)) return false;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_VECTOR, &words, 4) || words > WORDS_MOST) return false;
  *vector = (flags & RESILIENT_SUPER ? own.place : metadata) + 8ull * words;
  return true;
}

struct property {
  uint32_t offset, end;
  uint64_t type, name; // places of the two texts, 0 none
  struct heap_generic generic;
};
struct properties {
  struct property list[FIELDS_MOST];
  uint32_t count;
};

static void read_field(struct heap *heap, const struct heap_layout *layout, struct properties *all, uint64_t record, uint64_t offset,
                       const struct heap_generic *generic) {
  struct property property = {.offset = (uint32_t)offset, .generic = *generic};
  if (offset < 16 || offset >= layout->instance_size || all->count == FIELDS_MOST) return;
  if (!heap_relative(heap, record + 8, &property.name)) property.name = 0;
  if (!heap_relative(heap, record + 4, &property.type)) property.type = 0;
  all->list[all->count++] = property;
}

// The fields that this class itself has.
static void read_own(struct heap *heap, const struct heap_layout *layout, struct properties *all, uint64_t metadata) {
  uint64_t descriptor, fields, vector, offset;
  uint32_t count, records;
  struct heap_generic generic;
  if (!heap_memory_word(&heap->memory, metadata + CLASS_DESCRIPTOR, &descriptor) || !descriptor) return;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_COUNT, &count, 4) || !count || count > FIELDS_MOST) return;
  if (!vector_of(heap, metadata, descriptor, &vector) || !heap_relative(heap, descriptor + DESCRIPTOR_FIELDS, &fields)) return;
  if (!heap_memory_small(&heap->memory, fields + 12, &records, 4) || records != count) return;
  if (!heap_class_arguments(heap, metadata, &generic)) generic.count = 0;
  for (uint32_t i = 0; i < count; i++)
    if (heap_memory_word(&heap->memory, vector + 8ull * i, &offset)) read_field(heap, layout, all, heap_field_record(fields, i), offset, &generic);
}

static int by_offset(const void *a, const void *b) {
  uint32_t left = ((const struct property *)a)->offset, right = ((const struct property *)b)->offset;
  return left < right ? -1 : left > right;
}

static void add_fields(struct heap_layout *layout, const struct heap_field *list, uint32_t count) {
  struct heap_field *fields = count ? heap_own_larger(layout->fields, (layout->count + count) * sizeof *fields) : NULL;
  if (!fields) return;
  layout->fields = fields;
  memcpy(fields + layout->count, list, count * sizeof *fields);
  layout->count += count;
}

static void add_value(struct heap *heap, struct heap_layout *layout, uint64_t type, const struct heap_generic *generic, uint32_t offset, uint32_t end,
                      const char *label) {
  struct heap_field list[PARTS_MOST];
  struct heap_parts parts = {.list = list, .most = PARTS_MOST};
  heap_field_parts(heap, type, generic, &(struct heap_place){offset, label, 0}, end, &parts);
  add_fields(layout, list, parts.count);
}

static void add_property(struct heap *heap, struct heap_layout *layout, const struct property *property) {
  char name[NAME_MOST] = "";
  if (property->name) heap_text(heap, property->name, name, sizeof name);
  const char *shown = strncmp(name, "$__lazy_storage_$_", 18) ? name : name + 18;
  // The ends of its lists are left as they were when the lists have become empty: what lies there now is no job.
  if (!strcmp(name, "$defaultActor") && property->end > property->offset) {
    struct heap_field queue = {property->offset, property->end - property->offset, heap_label_of(heap, name), HEAP_CONSERVATIVE, .jobs = true};
    return add_fields(layout, &queue, 1);
  }
  add_value(heap, layout, property->type, &property->generic, property->offset, property->end, shown);
}

void heap_fields_read(struct heap *heap, struct heap_layout *layout) {
  uint64_t metadata = layout->metadata, kind;
  struct properties *all = heap_own(sizeof *all);
  if (!all) return;
  all->count = 0;
  for (unsigned i = 0; i < CLASSES_MOST && metadata; i++) {
    if (!heap_memory_word(&heap->memory, metadata, &kind) || (kind && kind <= 0x7ff)) break;
    read_own(heap, layout, all, metadata);
    if (!heap_memory_word(&heap->memory, metadata + CLASS_SUPER, &metadata)) break;
  }
  qsort(all->list, all->count, sizeof *all->list, by_offset);
  for (uint32_t i = 0; i < all->count; i++) {
    all->list[i].end = i + 1 < all->count ? all->list[i + 1].offset : layout->instance_size;
    if (all->list[i].end > all->list[i].offset) add_property(heap, layout, &all->list[i]);
  }
  layout->known = all->count > 0;
  heap_own_free(all);
}

// A closure's context: how many types it has captured, then their names; no names of its own. Where it is generic, other things come first.
void heap_captures_read(struct heap *heap, struct heap_layout *layout, uint32_t size) {
  uint64_t captures, type;
  uint32_t first, counts[3];
  static const struct heap_generic none;
  if (!heap_memory_small(&heap->memory, layout->metadata + CONTEXT_FIRST, &first, 4) || first < 16 || first > size) return;
  if (!heap_memory_word(&heap->memory, layout->metadata + CONTEXT_CAPTURES, &captures) || !captures) return;
  if (!heap_memory_small(&heap->memory, captures, counts, sizeof counts) || counts[0] > PARTS_MOST) return;
  uint32_t at = first;
  for (uint32_t i = 0; i < counts[0]; i++) {
    struct heap_shape shape;
    struct heap_parts trial = {.most = 0};
    const struct heap_place place = {0, "", 0};
    if (!heap_relative(heap, captures + 12 + 4ull * i, &type) || !heap_shape_of(heap, type, &none, &place, &trial, &shape)) break;
    at = (at + shape.alignment - 1) & -shape.alignment;
    if (at + shape.size > size) break;
    add_value(heap, layout, type, &none, at, at + shape.size, "capture");
    at += shape.size;
  }
  layout->known = layout->count > 0;
}

#endif
