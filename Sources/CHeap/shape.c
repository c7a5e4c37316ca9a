// What a value holds by its type's mangled name: sizes of the types that a compiler lays out the same everywhere, and which words are weak, unowned or
// unmanaged references. A generic parameter is what the metadata of the type around it says (value.c). A type that is not understood ends it: what follows
// is taken for what it looks like. Called by fields.c and value.c.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define MANGLED_MOST 256u
#define FIELDS_MOST 256u
#define CONTEXTS_MOST 16u
#define DESCRIPTOR_PARENT 4u    // relative; its lowest bit: by way of a pointer
#define DESCRIPTOR_NAME 8u
#define DESCRIPTOR_FIELDS 16u
#define DESCRIPTOR_PAYLOADS 20u // of an enumeration: cases with a payload, 24 bits
#define DESCRIPTOR_EMPTIES 24u  // cases without one
#define KIND_MODULE 0u
#define KIND_CLASS 16u
#define KIND_STRUCT 17u
#define KIND_ENUM 18u

bool heap_relative(struct heap *heap, uint64_t place, uint64_t *target) {
  int32_t distance;
  if (!heap_memory_small(&heap->memory, place, &distance, 4) || !distance) return false;
  *target = place + (uint64_t)(int64_t)distance;
  return true;
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

struct mangled {
  uint64_t place;
  const char *text;
  size_t length;
};

static bool ends(const struct mangled *m, const char *end) {
  size_t size = strlen(end);
  return m->length >= size && !memcmp(m->text + m->length - size, end, size);
}
static bool begins(const struct mangled *m, const char *text) { return m->length >= strlen(text) && !memcmp(m->text, text, strlen(text)); }
static bool is(const struct mangled *m, const char *text) { return m->length == strlen(text) && begins(m, text); }

// The descriptor that the name begins with a reference to, and what kind it is.
static uint64_t descriptor_of(struct heap *heap, const struct mangled *m, uint32_t *kind) {
  uint64_t descriptor = 0;
  uint32_t flags = 0;
  if (m->length < 5 || (m->text[0] != 1 && m->text[0] != 2) || !heap_relative(heap, m->place + 1, &descriptor)) return 0;
  if (m->text[0] == 2 && !heap_memory_word(&heap->memory, descriptor, &descriptor)) return 0;
  if (!heap_memory_small(&heap->memory, descriptor, &flags, 4)) return 0;
  *kind = flags & 31;
  return descriptor;
}

#define SPARE_REFERENCE 4095u // no reference is as small as that
struct plain {
  const char *name;
  uint8_t size, alignment, strength;
  bool skips;
  uint16_t spare;
};
#define NUMBER(name, size) {name, size, size, HEAP_STRONG, true, 0}
static const struct plain plains[] = {
    NUMBER("Si", 8),
    NUMBER("Su", 8),
    NUMBER("Sd", 8),
    NUMBER("Sf", 4),
    NUMBER("s4Int8V", 1),
    NUMBER("s5UInt8V", 1),
    NUMBER("s5Int16V", 2),
    NUMBER("s6UInt16V", 2),
    NUMBER("s5Int32V", 4),
    NUMBER("s6UInt32V", 4),
    NUMBER("s5Int64V", 8),
    NUMBER("s6UInt64V", 8),
    NUMBER("Bi8_", 1),
    NUMBER("Bi16_", 2),
    NUMBER("Bi32_", 4),
    NUMBER("Bi64_", 8),
    NUMBER("Bf32_", 4),
    NUMBER("Bf64_", 8),
    {"Sb", 1, 1, HEAP_STRONG, true, 254},
    {"Bi1_", 1, 1, HEAP_STRONG, true, 254},
    {"SS", 16, 8, HEAP_STRONG, false, SPARE_REFERENCE},
    {"yXl", 8, 8, HEAP_STRONG, false, SPARE_REFERENCE},
    {"Bo", 8, 8, HEAP_STRONG, false, SPARE_REFERENCE},
    {"Bb", 8, 8, HEAP_STRONG, false, SPARE_REFERENCE},
    {"yp", 32, 8, HEAP_CONSERVATIVE, false, SPARE_REFERENCE},
    {"SV", 8, 8, HEAP_CONSERVATIVE, false, 1},
    {"Sv", 8, 8, HEAP_CONSERVATIVE, false, 1},
    {"Bp", 8, 8, HEAP_CONSERVATIVE, false, 1},
};

static bool context_parent(struct heap *heap, uint64_t descriptor, uint64_t *parent) {
  uint64_t target;
  if (!heap_relative(heap, descriptor + DESCRIPTOR_PARENT, &target)) return false;
  if (!(target & 1)) return *parent = target, true;
  return heap_memory_word(&heap->memory, target & ~1ull, parent) && *parent;
}

// Whether the type is of that module.
static bool is_of_module(struct heap *heap, uint64_t descriptor, const char *module) {
  uint64_t name;
  uint32_t flags;
  char text[16] = "";
  for (unsigned i = 0; i < CONTEXTS_MOST; i++) {
    if (!heap_memory_small(&heap->memory, descriptor, &flags, 4)) return false;
    if ((flags & 31) == KIND_MODULE) break;
    if (!context_parent(heap, descriptor, &descriptor)) return false;
  }
  if (!heap_relative(heap, descriptor + DESCRIPTOR_NAME, &name)) return false;
  heap_text(heap, name, text, sizeof text);
  return !strcmp(text, module);
}

// Of references that do not keep: class references are a word, those to a protocol's objects have a second one.
static void shape_unkept(struct mangled m, struct heap_shape *shape) {
  shape->strength = ends(&m, "Xw") ? HEAP_WEAK : ends(&m, "Xo") ? HEAP_UNOWNED : HEAP_UNMANAGED;
  m.length -= 2;
  if (ends(&m, "Sg")) m.length -= 2;
  shape->size = ends(&m, "_p") ? 16 : 8;
  shape->alignment = 8;
  if (shape->strength == HEAP_WEAK) shape->spare = 0;
}

bool heap_shape_of_word(struct heap *heap, uint64_t descriptor, struct heap_shape *shape) {
  static const struct {
    const char *name;
    uint8_t strength;
  } words[] = {{"Unmanaged", HEAP_PERHAPS}, {"UnsafePointer", HEAP_CONSERVATIVE}, {"UnsafeMutablePointer", HEAP_CONSERVATIVE}, {"Array", HEAP_STRONG},
               {"ContiguousArray", HEAP_STRONG}, {"Dictionary", HEAP_STRONG}, {"Set", HEAP_STRONG}};
  char text[32] = "";
  uint64_t name;
  if (!heap_relative(heap, descriptor + DESCRIPTOR_NAME, &name)) return false;
  heap_text(heap, name, text, sizeof text);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(text, words[i].name) || !is_of_module(heap, descriptor, "Swift")) continue;
    bool is_pointer = words[i].strength == HEAP_CONSERVATIVE;
    *shape = (struct heap_shape){.size = 8, .alignment = 8, .strength = words[i].strength, .spare = is_pointer ? 1 : SPARE_REFERENCE};
    return true;
  }
  return false;
}

static bool shape_simple(struct heap *heap, const struct mangled *m, struct heap_shape *shape) {
  for (size_t i = 0; i < sizeof plains / sizeof *plains; i++) {
    if (!is(m, plains[i].name)) continue;
    const struct plain *plain = &plains[i];
    *shape = (struct heap_shape){.size = plain->size, .alignment = plain->alignment, .strength = plain->strength, .skips = plain->skips, .spare = plain->spare};
    return true;
  }
  uint32_t kind = 0;
  *shape = (struct heap_shape){.size = 8, .alignment = 8, .strength = HEAP_STRONG, .spare = SPARE_REFERENCE};
  if (ends(m, "Xw") || ends(m, "Xo") || ends(m, "Xu")) {
    shape_unkept(*m, shape);
    return true;
  }
  if (begins(m, "s9UnmanagedVy") && ends(m, "G")) {
    shape->strength = HEAP_PERHAPS;
    return true;
  }
  bool generic = ends(m, "G");
  if ((begins(m, "Say") || begins(m, "SDy") || begins(m, "Shy")) && generic) return true;
  if ((begins(m, "Spy") || begins(m, "SPy")) && generic) {
    shape->strength = HEAP_CONSERVATIVE;
    shape->spare = 1;
    return true;
  }
  uint64_t descriptor = descriptor_of(heap, m, &kind);
  if (descriptor && kind == KIND_CLASS && (m->length == 5 || generic)) return true;
  if (descriptor && kind == KIND_STRUCT && generic && heap_shape_of_word(heap, descriptor, shape)) return true;
  if (ends(m, "c")) { // a function and its context
    shape->size = 16;
    return true;
  }
  return false;
}

// Cases without payloads are numbers. Those of C are as large as C has them.
static bool shape_enum(struct heap *heap, uint64_t descriptor, struct heap_shape *shape) {
  uint32_t payloads, empties;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_PAYLOADS, &payloads, 4) || payloads & 0xffffff) return false;
  if (!heap_memory_small(&heap->memory, descriptor + DESCRIPTOR_EMPTIES, &empties, 4) || is_of_module(heap, descriptor, "__C")) return false;
  uint32_t size = empties <= 1 ? 0 : empties <= 1u << 8 ? 1 : empties <= 1u << 16 ? 2 : 4;
  *shape = (struct heap_shape){.size = size, .alignment = size ? size : 1, .skips = true};
  if (size) shape->spare = size == 1 ? (1u << 8) - empties : size == 2 ? (1u << 16) - empties : SPARE_REFERENCE;
  return true;
}

// Which generic parameter of the type around it this is; -1: none.
static int parameter_of(const struct mangled *m) {
  unsigned number = 0;
  if (is(m, "x")) return 0;
  if (is(m, "q_")) return 1;
  if (m->length < 3 || m->length > 4 || m->text[0] != 'q' || !ends(m, "_")) return -1;
  for (size_t i = 1; i + 1 < m->length; i++) {
    if (m->text[i] < '0' || m->text[i] > '9') return -1;
    number = number * 10 + (unsigned)(m->text[i] - '0');
  }
  return (int)number + 2;
}

static void add_part(struct heap *heap, const struct heap_place *at, const struct heap_shape *shape, struct heap_parts *parts) {
  if (parts->count >= parts->most || !shape->size) return;
  parts->list[parts->count++] =
      (struct heap_field){.offset = at->offset, .size = shape->size, .label = heap_label_of(heap, at->label), .strength = shape->strength, .skips = shape->skips};
}

static bool shape_struct(struct heap *heap, uint64_t descriptor, const struct heap_place *at, struct heap_parts *parts, struct heap_shape *shape) {
  static const struct heap_generic none;
  uint64_t fields, type;
  uint32_t count;
  *shape = (struct heap_shape){.alignment = 1};
  if (!heap_relative(heap, descriptor + DESCRIPTOR_FIELDS, &fields) || !heap_memory_small(&heap->memory, fields + 12, &count, 4)) return false;
  for (uint32_t i = 0; i < count && count <= FIELDS_MOST; i++) {
    char path[HEAP_PATH_MOST];
    struct heap_shape own;
    if (!heap_relative(heap, heap_field_record(fields, i) + 4, &type)) return false;
    // Where it lies is known when its alignment is.
    struct heap_place inner = {0, heap_field_path(heap, fields, i, at->label, path), at->depth + 1};
    uint32_t first = parts->count;
    if (!heap_shape_of(heap, type, &none, &inner, parts, &own)) {
      parts->count = first;
      return false;
    }
    uint32_t offset = (shape->size + own.alignment - 1) & -own.alignment;
    for (uint32_t j = first; j < parts->count; j++) parts->list[j].offset += at->offset + offset;
    shape->size = offset + own.size;
    if (own.alignment > shape->alignment) shape->alignment = own.alignment;
    if (own.spare > shape->spare) shape->spare = own.spare;
  }
  return count <= FIELDS_MOST;
}

static bool shape_mangled(struct heap *heap, const struct mangled *m, const struct heap_generic *generic, const struct heap_place *at, struct heap_parts *parts,
                          struct heap_shape *shape);

// Where its type has values of no use the empty one is one of those, else it has a byte more.
static bool shape_optional(struct heap *heap, struct mangled m, const struct heap_generic *generic, const struct heap_place *at, struct heap_parts *parts,
                           struct heap_shape *shape) {
  uint32_t first = parts->count;
  m.length -= 2;
  if (!shape_mangled(heap, &m, generic, at, parts, shape)) {
    parts->count = first;
    return false;
  }
  heap_make_optional(parts, first, shape);
  return true;
}

void heap_make_optional(struct heap_parts *parts, uint32_t first, struct heap_shape *shape) {
  if (shape->spare) {
    shape->spare--;
    return;
  }
  shape->size++;
  shape->spare = 254;
  // Where it is empty anything may stand there: what a weak reference refers to is then no side table.
  for (uint32_t i = first; i < parts->count; i++)
    if (parts->list[i].strength == HEAP_WEAK) parts->list[i].strength = HEAP_CONSERVATIVE;
}

static bool shape_mangled(struct heap *heap, const struct mangled *m, const struct heap_generic *generic, const struct heap_place *at, struct heap_parts *parts,
                          struct heap_shape *shape) {
  uint32_t kind = 0;
  uint64_t type;
  int parameter = parameter_of(m);
  if (parameter >= 0) return heap_generic_argument(heap, generic, (unsigned)parameter, &type) && heap_value_of(heap, type, at, parts, shape);
  if (shape_simple(heap, m, shape)) {
    add_part(heap, at, shape, parts);
    return true;
  }
  uint64_t descriptor = descriptor_of(heap, m, &kind);
  if (descriptor && kind == KIND_STRUCT && m->length == 5) return shape_struct(heap, descriptor, at, parts, shape);
  if (descriptor && kind == KIND_ENUM && m->length == 5) {
    if (!shape_enum(heap, descriptor, shape)) return false;
    add_part(heap, at, shape, parts);
    return true;
  }
  return ends(m, "Sg") && shape_optional(heap, *m, generic, at, parts, shape);
}

bool heap_shape_of(struct heap *heap, uint64_t place, const struct heap_generic *generic, const struct heap_place *at, struct heap_parts *parts,
                   struct heap_shape *shape) {
  char text[MANGLED_MOST];
  const struct mangled m = {place, text, read_mangled(heap, place, text, sizeof text)};
  return m.length && at->depth < HEAP_DEPTH_MOST && shape_mangled(heap, &m, generic, at, parts, shape);
}

#endif
