// What a value holds by its type's metadata, where the type is known at run time only: the elements of an array, the generic parameters of a class. How large
// it is stands there, where its fields lie too; what each of them is, its mangled name says (shape.c). Called by layout.c and shape.c; layouts of Swift 5.9 to 6.3.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define WITNESS_SIZE 64u
#define WITNESS_STRIDE 72u
#define WITNESS_FLAGS 80u
#define FLAG_IS_NOT_POD 0x10000u
#define SIZE_MOST (1u << 24)

#define KIND_STRUCT 0x200u
#define KIND_OPTIONAL 0x202u
#define KIND_TUPLE 0x301u
#define KIND_FUNCTION 0x302u
#define KIND_LAST_ENUMERATED 0x7ffu
#define ARGUMENTS 16u        // of a struct or an enumeration: where they begin
#define DESCRIPTOR_FIELDS 16u
#define DESCRIPTOR_COUNT 20u
#define DESCRIPTOR_VECTOR 24u // words from the metadata to the offsets of the fields, 32 bits each
#define TUPLE_COUNT 8u
#define TUPLE_ELEMENTS 24u   // a type and an offset each
#define FIELDS_MOST 256u

static bool witnesses_of(struct heap *heap, uint64_t type, uint64_t *witnesses) {
  return type > HEAP_PAGE && !(type >> 47) && heap_memory_word(&heap->memory, type - 8, witnesses) && *witnesses > HEAP_PAGE;
}

bool heap_value_size(struct heap *heap, uint64_t type, struct heap_size *size) {
  uint64_t witnesses, bytes, stride;
  uint32_t flags[2]; // and how many values are of no use
  if (!witnesses_of(heap, type, &witnesses) || !heap_memory_small(&heap->memory, witnesses + WITNESS_FLAGS, flags, sizeof flags)) return false;
  if (!heap_memory_word(&heap->memory, witnesses + WITNESS_SIZE, &bytes) || !heap_memory_word(&heap->memory, witnesses + WITNESS_STRIDE, &stride)) return false;
  if (!stride || stride > SIZE_MOST || bytes > stride) return false;
  *size = (struct heap_size){(uint32_t)bytes, (uint32_t)stride, flags[0] & 0xff, flags[1], !(flags[0] & FLAG_IS_NOT_POD)};
  return true;
}

bool heap_generic_argument(struct heap *heap, const struct heap_generic *generic, unsigned index, uint64_t *type) {
  return index < generic->count && heap_memory_word(&heap->memory, generic->place + 8ull * index, type);
}

// Of plain numbers nothing is looked at; anything else without references (a pointer to memory of malloc, an unowned(unsafe) one) is.
static bool is_number(struct heap *heap, uint64_t type) {
  uint64_t kind, descriptor, name;
  char text[16] = "";
  static const char *const numbers[] = {"Int", "UInt", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "Bool"};
  if (!heap_memory_word(&heap->memory, type, &kind) || kind != KIND_STRUCT || !heap_memory_word(&heap->memory, type + 8, &descriptor)) return false;
  if (!heap_relative(heap, descriptor + 8, &name)) return false;
  heap_text(heap, name, text, sizeof text);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!strcmp(text, numbers[i])) return true;
  return false;
}

uint64_t heap_field_record(uint64_t fields, uint32_t index) { return fields + 16 + 12ull * index; }

const char *heap_field_path(struct heap *heap, uint64_t fields, uint32_t index, const char *before, char path[HEAP_PATH_MOST]) {
  uint64_t name, type;
  char text[128] = "", first = 0;
  // What the compiler builds a type from has no name of its own that somebody knows.
  if (heap_relative(heap, heap_field_record(fields, index) + 4, &type) && heap_memory_small(&heap->memory, type, &first, 1) && first == 'B') return before;
  if (heap_relative(heap, heap_field_record(fields, index) + 8, &name)) heap_text(heap, name, text, sizeof text);
  snprintf(path, HEAP_PATH_MOST, "%s%s%s", before, *before ? "." : "", text);
  return path;
}

static void add_unknown(struct heap *heap, uint32_t offset, uint32_t end, const char *label, struct heap_parts *parts) {
  if (offset >= end || parts->count >= parts->most) return;
  parts->list[parts->count++] = (struct heap_field){.offset = offset, .size = end - offset, .label = heap_label_of(heap, label), .strength = HEAP_CONSERVATIVE};
}

void heap_field_parts(struct heap *heap, uint64_t type, const struct heap_generic *generic, const struct heap_place *at, uint32_t end, struct heap_parts *parts) {
  struct heap_shape shape;
  uint32_t first = parts->count;
  bool whole = type && heap_shape_of(heap, type, generic, at, parts, &shape);
  // Nothing beyond the value, whatever its type was taken for.
  if (whole && at->offset + shape.size > end) whole = false, parts->count = first;
  const struct heap_field *last = parts->count > first ? &parts->list[parts->count - 1] : NULL;
  if (!whole) add_unknown(heap, last ? last->offset + last->size : at->offset, end, at->label, parts);
}

static bool value_struct(struct heap *heap, uint64_t type, const struct heap_place *at, uint32_t size, struct heap_parts *parts) {
  uint64_t descriptor, fields, mangled;
  uint32_t count, words, offset, next;
  struct heap_shape word;
  if (!heap_memory_word(&heap->memory, type + 8, &descriptor) || !heap_relative(heap, descriptor + DESCRIPTOR_FIELDS, &fields)) return false;
  if (size == 8 && heap_shape_of_word(heap, descriptor, &word)) {
    if (parts->count < parts->most)
      parts->list[parts->count++] = (struct heap_field){.offset = at->offset, .size = 8, .label = heap_label_of(heap, at->label), .strength = word.strength};
    return true;
  }
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_COUNT, &count, 4) || !count || count > FIELDS_MOST) return false;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_VECTOR, &words, 4) || words < 2 || words > 1u << 12) return false;
  const struct heap_generic generic = {type + ARGUMENTS, words - 2};
  uint64_t vector = type + 8ull * words;
  for (uint32_t i = 0; i < count; i++) {
    char path[HEAP_PATH_MOST];
    if (!heap_memory_small(&heap->memory, vector + 4ull * i, &offset, 4)) return false;
    if (i + 1 == count || !heap_memory_small(&heap->memory, vector + 4ull * (i + 1), &next, 4)) next = size;
    if (offset > next || next > size) return false;
    if (!heap_relative(heap, heap_field_record(fields, i) + 4, &mangled)) mangled = 0;
    struct heap_place inner = {at->offset + offset, heap_field_path(heap, fields, i, at->label, path), at->depth + 1};
    heap_field_parts(heap, mangled, &generic, &inner, at->offset + next, parts);
  }
  return true;
}

static bool value_tuple(struct heap *heap, uint64_t type, const struct heap_place *at, uint32_t size, struct heap_parts *parts) {
  uint64_t count, element, offset;
  struct heap_shape shape;
  if (!heap_memory_word(&heap->memory, type + TUPLE_COUNT, &count) || count > FIELDS_MOST) return false;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t place = type + TUPLE_ELEMENTS + 16 * i;
    if (!heap_memory_word(&heap->memory, place, &element) || !heap_memory_word(&heap->memory, place + 8, &offset) || (uint32_t)offset > size) return false;
    struct heap_place inner = {at->offset + (uint32_t)offset, at->label, at->depth + 1};
    if (!heap_value_of(heap, element, &inner, parts, &shape)) return false;
  }
  return true;
}

// What is known of it; false: nothing.
static bool value_parts(struct heap *heap, uint64_t type, uint64_t kind, const struct heap_place *at, uint32_t size, struct heap_parts *parts) {
  uint64_t payload;
  struct heap_shape shape;
  switch (kind) {
  case KIND_STRUCT: return value_struct(heap, type, at, size, parts);
  case KIND_TUPLE: return value_tuple(heap, type, at, size, parts);
  case KIND_OPTIONAL: {
    struct heap_place inner = {at->offset, at->label, at->depth + 1};
    uint32_t first = parts->count;
    if (!heap_memory_word(&heap->memory, type + ARGUMENTS, &payload) || !heap_value_of(heap, payload, &inner, parts, &shape)) return false;
    heap_make_optional(parts, first, &shape);
    return true;
  }
  default: return false;
  }
}

bool heap_value_of(struct heap *heap, uint64_t type, const struct heap_place *at, struct heap_parts *parts, struct heap_shape *shape) {
  struct heap_size size;
  uint64_t kind;
  if (at->depth >= HEAP_DEPTH_MOST || !heap_value_size(heap, type, &size) || !heap_memory_word(&heap->memory, type, &kind)) return false;
  *shape = (struct heap_shape){.size = size.size, .alignment = size.mask + 1, .strength = HEAP_STRONG, .spare = size.spare};
  shape->skips = size.is_plain && (size.stride < 8 || is_number(heap, type));
  bool is_class = !kind || kind > KIND_LAST_ENUMERATED;
  uint32_t first = parts->count;
  if (!shape->skips && !is_class && kind != KIND_FUNCTION) {
    if (value_parts(heap, type, kind, at, size.size, parts)) return true;
    parts->count = first;
    shape->strength = HEAP_CONSERVATIVE;
  }
  if (size.size && parts->count < parts->most)
    parts->list[parts->count++] =
        (struct heap_field){.offset = at->offset, .size = size.size, .label = heap_label_of(heap, at->label), .strength = shape->strength, .skips = shape->skips};
  return true;
}

#endif
