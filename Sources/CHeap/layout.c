// Layouts by type, made when a type is met first: how large its objects are, and of storage what its elements are. See heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define METADATA_SIZE 24u    // of a class: bytes of an object, 32 bits
#define KIND_LAST_ENUMERATED 0x7ffu
#define KIND_CONTEXT 0x400u
#define ARGUMENTS 2u
#define PARTS_MOST 64u

static size_t slot_of(const struct heap *heap, uint64_t metadata) {
  size_t at = (size_t)((metadata * 0x9e3779b97f4a7c15ull) >> 32) & heap->layout_mask;
  while (heap->layouts[at] && heap->layouts[at]->metadata != metadata) at = (at + 1) & heap->layout_mask;
  return at;
}

static bool more_room(struct heap *heap) {
  struct heap_layout **before = heap->layouts;
  size_t mask = heap->layout_mask, count = before ? mask + 1 : 0;
  heap->layout_mask = before ? mask * 2 + 1 : 1023;
  heap->layouts = heap_own_cleared(heap->layout_mask + 1, sizeof *heap->layouts);
  if (!heap->layouts) {
    heap->layouts = before;
    heap->layout_mask = mask;
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (before[i]) heap->layouts[slot_of(heap, before[i]->metadata)] = before[i];
  heap_own_free(before);
  return true;
}

static void read_argument(struct heap *heap, struct heap_argument *argument, uint64_t type) {
  struct heap_size size;
  struct heap_field list[PARTS_MOST];
  struct heap_parts parts = {.list = list, .most = PARTS_MOST};
  struct heap_shape shape;
  const struct heap_place place = {0, "", 0};
  if (!heap_value_size(heap, type, &size) || !heap_value_of(heap, type, &place, &parts, &shape)) return;
  *argument = (struct heap_argument){.size = size.size, .stride = size.stride, .mask = size.mask, .skips = shape.skips};
  // One that is taken for what it looks like as a whole needs no fields.
  if (shape.skips || !parts.count || (parts.count == 1 && list[0].strength == HEAP_CONSERVATIVE)) return;
  argument->fields = heap_own(parts.count * sizeof *list);
  if (!argument->fields) return;
  memcpy(argument->fields, list, parts.count * sizeof *list);
  argument->count = parts.count;
}

static void read_arguments(struct heap *heap, struct heap_layout *layout) {
  struct heap_generic generic;
  uint64_t type;
  if (!heap_class_arguments(heap, layout->metadata, &generic)) return;
  for (unsigned i = 0; i < ARGUMENTS; i++)
    if (heap_generic_argument(heap, &generic, i, &type)) read_argument(heap, &layout->arguments[i], type);
}

static void read_layout(struct heap *heap, struct heap_layout *layout, uint32_t bytes) {
  uint64_t kind;
  uint32_t size;
  if (!heap_memory_word(&heap->memory, layout->metadata, &kind)) return;
  if (kind == KIND_CONTEXT) heap_captures_read(heap, layout, bytes);
  if (kind && kind <= KIND_LAST_ENUMERATED) return; // a context or a box: as large as its block
  if (heap_memory_small(&heap->memory, layout->metadata + METADATA_SIZE, &size, 4) && size >= 16 && size < 1u << 30) layout->instance_size = size;
  read_arguments(heap, layout);
  if (layout->instance_size) heap_fields_read(heap, layout);
}

const struct heap_layout *heap_layout_of(struct heap *heap, uint64_t metadata, uint32_t size) {
  if (heap->layout_count * 2 >= heap->layout_mask && !more_room(heap)) return NULL;
  size_t at = slot_of(heap, metadata);
  if (heap->layouts[at]) return heap->layouts[at];
  struct heap_layout *layout = heap_own_cleared(1, sizeof *layout);
  if (!layout) {
    heap->error = ENOMEM;
    return NULL;
  }
  layout->metadata = metadata;
  read_layout(heap, layout, size);
  heap->layouts[at] = layout;
  heap->layout_count++;
  return layout;
}

void heap_layouts_free(struct heap *heap) {
  for (size_t i = 0; heap->layouts && i <= heap->layout_mask; i++) {
    for (unsigned a = 0; heap->layouts[i] && a < ARGUMENTS; a++) heap_own_free(heap->layouts[i]->arguments[a].fields);
    if (heap->layouts[i]) heap_own_free(heap->layouts[i]->fields);
    heap_own_free(heap->layouts[i]);
  }
  heap_own_free(heap->layouts);
}

#endif
