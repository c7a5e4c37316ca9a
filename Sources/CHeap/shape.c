// What a value holds by its type's mangled name: sizes of the types that a compiler lays out the same everywhere, and which words are weak, unowned or
// unmanaged references. A type that is not understood ends it: what follows is taken for what it looks like. Called by fields.c.
#include "heap.h"

#define MANGLED_MOST 256u
#define DEPTH_MOST 16u
#define FIELDS_MOST 256u
#define DESCRIPTOR_FIELDS 16u
#define KIND_CLASS 16u
#define KIND_STRUCT 17u

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

struct plain {
  const char *name;
  uint8_t size, alignment;
  bool skips;
};
static const struct plain plains[] = {
    {"Si", 8, 8, true},        {"Su", 8, 8, true},       {"Sd", 8, 8, true},       {"Sb", 1, 1, true},       {"Sf", 4, 4, true},        {"s4Int8V", 1, 1, true},
    {"s5UInt8V", 1, 1, true},  {"s5Int16V", 2, 2, true}, {"s6UInt16V", 2, 2, true}, {"s5Int32V", 4, 4, true}, {"s6UInt32V", 4, 4, true}, {"s5Int64V", 8, 8, true},
    {"s6UInt64V", 8, 8, true}, {"SS", 16, 8, false},     {"SV", 8, 8, false},      {"Sv", 8, 8, false},      {"yXl", 8, 8, false},      {"yp", 32, 8, false},
};

// Of references that do not keep: class references are a word, those to a protocol's objects have a second one.
static void shape_unkept(struct mangled m, struct heap_shape *shape) {
  shape->strength = ends(&m, "Xw") ? HEAP_WEAK : ends(&m, "Xo") ? HEAP_UNOWNED : HEAP_UNMANAGED;
  m.length -= 2;
  if (ends(&m, "Sg")) m.length -= 2;
  shape->size = ends(&m, "_p") ? 16 : 8;
  shape->alignment = 8;
}

// Of generic structs those of the standard library that are one word.
static bool shape_of_word(struct heap *heap, uint64_t descriptor, struct heap_shape *shape) {
  static const struct {
    const char *name;
    uint8_t strength;
  } words[] = {{"Unmanaged", HEAP_UNMANAGED}, {"UnsafePointer", HEAP_CONSERVATIVE}, {"UnsafeMutablePointer", HEAP_CONSERVATIVE}, {"Array", HEAP_STRONG},
               {"ContiguousArray", HEAP_STRONG}, {"Dictionary", HEAP_STRONG}, {"Set", HEAP_STRONG}};
  char text[32] = "";
  uint64_t name;
  if (!heap_relative(heap, descriptor + 8, &name)) return false;
  heap_text(heap, name, text, sizeof text);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(text, words[i].name)) continue;
    *shape = (struct heap_shape){.size = 8, .alignment = 8, .strength = words[i].strength};
    return true;
  }
  return false;
}

static bool shape_simple(struct heap *heap, const struct mangled *m, struct heap_shape *shape) {
  for (size_t i = 0; i < sizeof plains / sizeof *plains; i++) {
    if (!is(m, plains[i].name)) continue;
    *shape = (struct heap_shape){.size = plains[i].size, .alignment = plains[i].alignment, .skips = plains[i].skips, .strength = plains[i].skips ? HEAP_STRONG : HEAP_CONSERVATIVE};
    if (is(m, "SS") || is(m, "yXl")) shape->strength = HEAP_STRONG;
    return true;
  }
  uint32_t kind = 0;
  *shape = (struct heap_shape){.size = 8, .alignment = 8, .strength = HEAP_STRONG};
  if (ends(m, "Xw") || ends(m, "Xo") || ends(m, "Xu")) {
    shape_unkept(*m, shape);
    return true;
  }
  if (begins(m, "s9UnmanagedVy") && ends(m, "G")) {
    shape->strength = HEAP_UNMANAGED;
    return true;
  }
  bool generic = ends(m, "G");
  if ((begins(m, "Say") || begins(m, "SDy") || begins(m, "Shy")) && generic) return true;
  if ((begins(m, "Spy") || begins(m, "SPy")) && generic) {
    shape->strength = HEAP_CONSERVATIVE;
    return true;
  }
  uint64_t descriptor = descriptor_of(heap, m, &kind);
  if (descriptor && kind == KIND_CLASS && (m->length == 5 || generic)) return true;
  if (descriptor && kind == KIND_STRUCT && generic && shape_of_word(heap, descriptor, shape)) return true;
  if (ends(m, "c")) { // a function and its context
    shape->size = 16;
    return true;
  }
  return false;
}

static bool shape_of(struct heap *heap, uint64_t place, struct heap_parts *parts, uint32_t offset, const char *label, unsigned depth, struct heap_shape *shape);

static bool shape_struct(struct heap *heap, uint64_t descriptor, struct heap_parts *parts, uint32_t offset, const char *label, unsigned depth,
                         struct heap_shape *shape) {
  uint64_t fields, type, name;
  uint32_t count;
  *shape = (struct heap_shape){.alignment = 1};
  if (depth >= DEPTH_MOST || !heap_relative(heap, descriptor + DESCRIPTOR_FIELDS, &fields) || !heap_memory_small(&heap->memory, fields + 12, &count, 4)) return false;
  for (uint32_t i = 0; i < count && count <= FIELDS_MOST; i++) {
    uint64_t record = fields + 16 + 12ull * i;
    char text[128] = "", path[256];
    struct heap_shape own;
    if (!heap_relative(heap, record + 4, &type)) return false;
    if (heap_relative(heap, record + 8, &name)) heap_text(heap, name, text, sizeof text);
    snprintf(path, sizeof path, "%s%s%s", label, *label ? "." : "", text);
    // Its alignment is known when it is; each part begins at least at a byte.
    struct heap_parts trial = {.count = parts->count, .most = 0};
    if (!shape_of(heap, type, &trial, 0, path, depth + 1, &own)) return false;
    uint32_t at = (shape->size + own.alignment - 1) & -own.alignment;
    if (!shape_of(heap, type, parts, offset + at, path, depth + 1, &own)) return false;
    shape->size = at + own.size;
    if (own.alignment > shape->alignment) shape->alignment = own.alignment;
  }
  return count <= FIELDS_MOST;
}

static void add_part(struct heap *heap, struct heap_parts *parts, uint32_t offset, const struct heap_shape *shape, const char *label) {
  if (parts->count >= parts->most) return;
  parts->list[parts->count++] =
      (struct heap_field){.offset = offset, .size = shape->size, .label = heap_label_of(heap, label), .strength = shape->strength, .skips = shape->skips};
}

static bool shape_of(struct heap *heap, uint64_t place, struct heap_parts *parts, uint32_t offset, const char *label, unsigned depth, struct heap_shape *shape) {
  char text[MANGLED_MOST];
  struct mangled m = {place, text, read_mangled(heap, place, text, sizeof text)};
  uint32_t kind = 0;
  if (!m.length) return false;
  if (shape_simple(heap, &m, shape)) {
    add_part(heap, parts, offset, shape, label);
    return true;
  }
  uint64_t descriptor = descriptor_of(heap, &m, &kind);
  if (descriptor && kind == KIND_STRUCT && m.length == 5) return shape_struct(heap, descriptor, parts, offset, label, depth, shape);
  if (!ends(&m, "Sg")) return false;
  // Optional: of a reference or a string the empty value is one of its own.
  struct mangled inner = m;
  inner.length -= 2;
  if (!shape_simple(heap, &inner, shape) || shape->skips || shape->strength != HEAP_STRONG) return false;
  add_part(heap, parts, offset, shape, label);
  return true;
}

bool heap_shape_of(struct heap *heap, uint64_t type, uint32_t offset, const char *label, struct heap_parts *parts, struct heap_shape *shape) {
  return shape_of(heap, type, parts, offset, label, 0, shape);
}
