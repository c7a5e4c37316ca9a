// The fields of a class, as its own field descriptor and its metadata tell: names, offsets, and whether a reference is weak, unowned or unmanaged. Needs
// nothing but the program's memory, and works where a field's type is beyond reflection. Called by layout.c; layouts of Swift 5.9 to 6.3.
#include "heap.h"

#define CLASS_SUPER 8u
#define CLASS_DESCRIPTOR 40u
#define CLASSES_MOST 64u      // above each other
#define FIELDS_MOST 4096u
#define NAME_MOST 256u

#define DESCRIPTOR_CLASS 16u
#define DESCRIPTOR_FIELDS 16u   // relative
#define DESCRIPTOR_BOUNDS 24u   // negative size, or relative: the bounds where a superclass is resilient
#define DESCRIPTOR_COUNT 36u
#define DESCRIPTOR_VECTOR 40u   // words from the metadata to the offsets
#define RESILIENT_SUPER (1u << (16 + 13))

#define RECORDS 16u
#define RECORD_BYTES 12u

static bool relative(struct heap *heap, uint64_t place, uint64_t *target) {
  int32_t distance;
  if (!heap_memory_small(&heap->memory, place, &distance, 4) || !distance) return false;
  *target = place + (uint64_t)(int64_t)distance;
  return true;
}

static size_t read_text(struct heap *heap, uint64_t place, char *text, size_t room) {
  for (size_t i = 0; i + 1 < room; i++) {
    if (!heap_memory_small(&heap->memory, place + i, &text[i], 1)) break;
    if (!text[i]) return i;
  }
  text[room - 1] = 0;
  return strnlen(text, room);
}

// A mangled name holds references to descriptors: a byte below 0x20 and the 4 or 8 that follow it.
static size_t read_mangled(struct heap *heap, uint64_t place, char *text, size_t room) {
  size_t length = 0;
  while (length + 9 < room) {
    uint8_t byte;
    if (!heap_memory_small(&heap->memory, place + length, &byte, 1)) return 0;
    text[length++] = (char)byte;
    if (!byte) return length - 1;
    size_t more = byte <= 0x17 ? 4 : byte <= 0x1f ? 8 : 0;
    if (more && !heap_memory_small(&heap->memory, place + length, text + length, more)) return 0;
    length += more;
  }
  return 0;
}

static bool ends_with(const char *text, size_t length, const char *end) {
  size_t size = strlen(end);
  return length > size && !memcmp(text + length - size, end, size);
}

// What is in the type's own name: ownership at its end, plain numbers as the whole of it; a struct or an enum may be anything.
static void judge(struct heap *heap, struct heap_field *field, uint64_t place) {
  char text[NAME_MOST];
  size_t length = read_mangled(heap, place, text, sizeof text);
  static const char *const numbers[] = {"Si", "Su", "Sb", "Sd", "Sf", "s4Int8V", "s5UInt8V", "s5Int16V", "s6UInt16V", "s5Int32V", "s6UInt32V", "s5Int64V", "s6UInt64V"};
  field->strength = HEAP_STRONG;
  if (!length) {
    field->strength = HEAP_CONSERVATIVE;
  } else if (ends_with(text, length, "Xw")) {
    field->strength = HEAP_WEAK; // of the object; its side table is what the word refers to
  } else if (ends_with(text, length, "Xo")) {
    field->strength = HEAP_UNOWNED;
  } else if (ends_with(text, length, "Xu")) {
    field->strength = HEAP_UNMANAGED;
  } else if (text[0] == 1 || text[0] == 2) {
    uint64_t descriptor = place + 1 + (uint64_t)(int64_t)(*(const int32_t *)(const void *)(text + 1));
    uint32_t flags = 0;
    if (text[0] == 2 && !heap_memory_word(&heap->memory, descriptor, &descriptor)) descriptor = 0;
    bool known = descriptor && heap_memory_small(&heap->memory, descriptor, &flags, 4);
    if (!known || (flags & 31) != DESCRIPTOR_CLASS) field->strength = HEAP_CONSERVATIVE;
  } else if (text[0] == 'S' && strchr("pPvV", text[1])) {
    field->strength = HEAP_CONSERVATIVE; // pointers to memory of the program's own
  }
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!strcmp(text, numbers[i]) && length) field->skips = true;
}

// Where the offsets of the class's own fields stand: below a resilient superclass behind what that has at run time.
static bool vector_of(struct heap *heap, uint64_t metadata, uint64_t descriptor, uint32_t flags, uint64_t *vector) {
  uint32_t words;
  uint64_t bounds, before = 0;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_VECTOR, &words, 4) || words > 1u << 16) return false;
  if (flags & RESILIENT_SUPER && (!relative(heap, descriptor + DESCRIPTOR_BOUNDS, &bounds) || !heap_memory_word(&heap->memory, bounds, &before))) return false;
  *vector = metadata + before + 8ull * words;
  return true;
}

static bool add_field(struct heap *heap, struct heap_layout *layout, const struct heap_field *field) {
  struct heap_field *fields = realloc(layout->fields, (layout->count + 1) * sizeof *fields);
  if (!fields) {
    heap->error = ENOMEM;
    return false;
  }
  layout->fields = fields;
  fields[layout->count++] = *field;
  return true;
}

static void read_field(struct heap *heap, struct heap_layout *layout, uint64_t record, uint64_t offset) {
  struct heap_field field = {.offset = (uint32_t)offset};
  char name[NAME_MOST] = "";
  uint64_t type, text;
  if (offset < 16 || offset >= layout->instance_size) return;
  if (relative(heap, record + 8, &text)) read_text(heap, text, name, sizeof name);
  const char *shown = strncmp(name, "$__lazy_storage_$_", 18) ? name : name + 18;
  field.label = heap_label_of(heap, shown);
  if (relative(heap, record + 4, &type)) judge(heap, &field, type);
  else field.strength = HEAP_CONSERVATIVE;
  add_field(heap, layout, &field);
}

// The fields that this class itself has.
static void read_own(struct heap *heap, struct heap_layout *layout, uint64_t metadata) {
  uint64_t descriptor, fields, vector, offset;
  uint32_t flags, count, records;
  if (!heap_memory_word(&heap->memory, metadata + CLASS_DESCRIPTOR, &descriptor) || !descriptor) return;
  if (!heap_memory_small(&heap->memory, descriptor, &flags, 4) || (flags & 31) != DESCRIPTOR_CLASS) return;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_COUNT, &count, 4) || !count || count > FIELDS_MOST) return;
  if (!vector_of(heap, metadata, descriptor, flags, &vector) || !relative(heap, descriptor + DESCRIPTOR_FIELDS, &fields)) return;
  if (!heap_memory_small(&heap->memory, fields + 12, &records, 4) || records != count) return;
  for (uint32_t i = 0; i < count; i++)
    if (heap_memory_word(&heap->memory, vector + 8ull * i, &offset)) read_field(heap, layout, fields + RECORDS + (uint64_t)i * RECORD_BYTES, offset);
}

static int by_offset(const void *a, const void *b) {
  uint32_t left = ((const struct heap_field *)a)->offset, right = ((const struct heap_field *)b)->offset;
  return left < right ? -1 : left > right;
}

void heap_fields_read(struct heap *heap, struct heap_layout *layout) {
  uint64_t metadata = layout->metadata, kind;
  for (unsigned i = 0; i < CLASSES_MOST && metadata; i++) {
    if (!heap_memory_word(&heap->memory, metadata, &kind) || (kind && kind <= 0x7ff)) break;
    read_own(heap, layout, metadata);
    if (!heap_memory_word(&heap->memory, metadata + CLASS_SUPER, &metadata)) break;
  }
  if (!layout->count) return;
  qsort(layout->fields, layout->count, sizeof *layout->fields, by_offset);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < layout->count; i++) {
    uint32_t end = i + 1 < layout->count ? layout->fields[i + 1].offset : layout->instance_size;
    if (end == layout->fields[i].offset) continue; // of no size
    layout->fields[kept] = layout->fields[i];
    layout->fields[kept++].size = end - layout->fields[i].offset;
  }
  layout->count = kept;
  layout->known = true;
}
