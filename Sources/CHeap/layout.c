// Layouts by type, made when a type is met first: how large its objects are, and of storage what its elements are. See heap.h.
#include "heap.h"

#define METADATA_SIZE 24u    // of a class: bytes of an object, 32 bits
#define METADATA_DESCRIPTOR 40u
#define DESCRIPTOR_POSITIVE 28u // words of the metadata behind its address
#define DESCRIPTOR_MEMBERS 32u  // those of them that are the class's own: first its generic arguments
#define KIND_LAST_ENUMERATED 0x7ffu
#define KIND_CONTEXT 0x400u
#define WITNESS_STRIDE 72u
#define WITNESS_FLAGS 80u
#define FLAG_IS_NOT_POD 0x10000u

static size_t slot_of(const struct heap *heap, uint64_t metadata) {
  size_t at = (size_t)((metadata * 0x9e3779b97f4a7c15ull) >> 32) & heap->layout_mask;
  while (heap->layouts[at] && heap->layouts[at]->metadata != metadata) at = (at + 1) & heap->layout_mask;
  return at;
}

static bool more_room(struct heap *heap) {
  struct heap_layout **before = heap->layouts;
  size_t mask = heap->layout_mask, count = before ? mask + 1 : 0;
  heap->layout_mask = before ? mask * 2 + 1 : 1023;
  heap->layouts = calloc(heap->layout_mask + 1, sizeof *heap->layouts);
  if (!heap->layouts) {
    heap->layouts = before;
    heap->layout_mask = mask;
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (before[i]) heap->layouts[slot_of(heap, before[i]->metadata)] = before[i];
  free(before);
  return true;
}

// Of plain numbers nothing is looked at; anything else without references (a pointer to memory of malloc, an unowned(unsafe) one) is.
static bool is_number(struct heap *heap, uint64_t type) {
  uint64_t kind, descriptor;
  int32_t name;
  char text[16] = "";
  static const char *const numbers[] = {"Int", "UInt", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "Bool"};
  if (!heap_memory_word(&heap->memory, type, &kind) || kind != 0x200 || !heap_memory_word(&heap->memory, type + 8, &descriptor)) return false;
  if (!heap_memory_small(&heap->memory, descriptor + 8, &name, 4)) return false;
  heap_memory_small(&heap->memory, descriptor + 8 + (uint64_t)(int64_t)name, text, sizeof text - 1);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!strcmp(text, numbers[i])) return true;
  return false;
}

static void read_argument(struct heap *heap, struct heap_layout *layout, unsigned index, uint64_t type) {
  uint64_t witnesses, stride, flags;
  if (!heap_memory_word(&heap->memory, type - 8, &witnesses)) return;
  if (!heap_memory_word(&heap->memory, witnesses + WITNESS_STRIDE, &stride) || !heap_memory_word(&heap->memory, witnesses + WITNESS_FLAGS, &flags)) return;
  if (!stride || stride > 1u << 24) return;
  layout->strides[index] = (uint32_t)stride;
  layout->masks[index] = (uint32_t)(flags & 0xff);
  layout->skips[index] = !(flags & FLAG_IS_NOT_POD) && (stride < 8 || is_number(heap, type));
}

// The generic arguments of a class that inherits none: the first of its own words.
static void read_arguments(struct heap *heap, struct heap_layout *layout) {
  uint64_t descriptor, type;
  uint32_t words[2];
  if (!heap_memory_word(&heap->memory, layout->metadata + METADATA_DESCRIPTOR, &descriptor)) return;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_POSITIVE, words, sizeof words) || words[1] > words[0] || words[0] > 4096) return;
  for (unsigned i = 0; i < 2 && i < words[1]; i++)
    if (heap_memory_word(&heap->memory, layout->metadata + 8ull * (words[0] - words[1] + i), &type) && type > HEAP_PAGE && !(type >> 47))
      read_argument(heap, layout, i, type);
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
  struct heap_layout *layout = calloc(1, sizeof *layout);
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
    if (heap->layouts[i]) free(heap->layouts[i]->fields);
    free(heap->layouts[i]);
  }
  free(heap->layouts);
}
