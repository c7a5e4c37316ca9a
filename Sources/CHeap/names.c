// Better names for blocks than their types have: what CoreFoundation's objects are by its own table of classes, what C++'s objects and libdispatch's are by
// the table of functions that their first word refers to. See heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define CF_INFO 16u            // of an object: the number of its class in bits 8 to 17
#define CF_CLASS_NAME 8u       // of a class
#define CF_CLASSES_MOST 1024u
#define CF_STRING 7u           // its number
#define CACHE_LOG2 10u

struct heap_names {
  bool looked;
  uint64_t cf_classes, cf_stride; // where the table is, 0 none
  uint32_t cf_labels[CF_CLASSES_MOST];
  uint64_t tables[1u << CACHE_LOG2];
  uint32_t labels[1u << CACHE_LOG2]; // of them, 0 none
};

// Fields of CoreFoundation's structures that lead from a run loop to what it calls; of Swift 6.3.
static const struct {
  const char *name, *field;
  uint32_t offset;
} cf_fields[] = {
    {"CFRunLoop", "commonModes", 96},  {"CFRunLoop", "commonModeItems", 104}, {"CFRunLoop", "currentMode", 112}, {"CFRunLoop", "modes", 120},
    {"CFRunLoop", "firstBlock", 128},  {"CFRunLoop", "lastBlock", 136},       {"CFRunLoopMode", "name", 64},     {"CFRunLoopMode", "sources0", 80},
    {"CFRunLoopMode", "sources1", 88}, {"CFRunLoopMode", "observers", 96},    {"CFRunLoopMode", "timers", 104},  {"CFRunLoopTimer", "runLoop", 72},
    {"CFRunLoopTimer", "modes", 80},   {"CFRunLoopTimer", "context", 144},    {"CFSet", "values", 48},           {"CFBag", "values", 48},
    {"CFDictionary", "values", 48},    {"CFDictionary", "keys", 56},          {"CFArray", "storage", 48},
};

void heap_names_begin(struct heap *heap) { heap->own_names = heap_own_cleared(1, sizeof *heap->own_names); }

static bool cf_class_name(struct heap *heap, uint64_t place, char *name, size_t room) {
  uint64_t class, text;
  if (!heap_memory_word(&heap->memory, place, &class) || !class || !heap_memory_word(&heap->memory, class + CF_CLASS_NAME, &text) || !text) return false;
  return heap_text(heap, text, name, room) > 0;
}

static uint64_t classes_place(struct heap *heap) {
  for (uint32_t i = 0; i < heap->maps.file_count; i++) {
    const char *path = heap->maps.files[i].path;
    uint64_t place;
    if (!strstr(path, "Foundation.so")) continue;
    const struct heap_symbol_table *table = heap_symbols_of(heap, i);
    if (table && heap_symbols_named(table, "__CFRuntimeClassTables", &place)) return heap->maps.files[i].base + place - heap_symbols_first(table);
  }
  return 0;
}

// A word for each class, or two: told by one that is always there.
static void find_classes(struct heap *heap) {
  struct heap_names *names = heap->own_names;
  char name[16];
  names->looked = true;
  uint64_t table = classes_place(heap);
  for (uint64_t stride = 8; table && stride <= 16 && !names->cf_classes; stride += 8) {
    if (!cf_class_name(heap, table + CF_STRING * stride, name, sizeof name) || strcmp(name, "CFString")) continue;
    names->cf_classes = table;
    names->cf_stride = stride;
  }
}

void heap_name_cf(struct heap *heap, const uint8_t *bytes, size_t size) {
  struct heap_names *names = heap->own_names;
  uint64_t info;
  char name[64] = "";
  if (!names || size < CF_INFO + 8) return;
  if (!names->looked) find_classes(heap);
  memcpy(&info, bytes + CF_INFO, 8);
  uint32_t number = info >> 8 & (CF_CLASSES_MOST - 1);
  if (!names->cf_classes || !number) return;
  if (!names->cf_labels[number] && cf_class_name(heap, names->cf_classes + number * names->cf_stride, name, sizeof name))
    names->cf_labels[number] = heap_label_of(heap, name);
  heap->names[heap->node] = names->cf_labels[number];
}

uint32_t heap_label_cf(struct heap *heap, uint64_t offset) {
  const char *name = heap_label(heap, heap->names[heap->node]);
  for (size_t i = 0; i < sizeof cf_fields / sizeof *cf_fields; i++)
    if (cf_fields[i].offset == offset && !strcmp(cf_fields[i].name, name)) return heap_label_of(heap, cf_fields[i].field);
  return 0;
}

// A table of virtual functions begins 16 bytes into its symbol (C++); libdispatch's tables end in _vtable.
static uint32_t table_label(struct heap *heap, uint64_t table) {
  struct heap_symbol symbol;
  char text[512];
  if (!heap_variable(heap, table, &symbol)) return 0;
  size_t length = strlen(symbol.name);
  if (!strncmp(symbol.name, "_ZTV", 4) && symbol.offset == 16) {
    snprintf(text, sizeof text, "%c_ZTI%s", HEAP_CLOSURE, symbol.name + 4);
    return heap_label_of(heap, text);
  }
  const char *dispatch = strstr(symbol.name, "dispatch_");
  if (!dispatch || symbol.offset > 64 || length < 8 || strcmp(symbol.name + length - 7, "_vtable")) return 0;
  snprintf(text, sizeof text, "%.*s", (int)(symbol.name + length - 7 - dispatch), dispatch);
  return heap_label_of(heap, text);
}

void heap_name_table(struct heap *heap, uint64_t table) {
  struct heap_names *names = heap->own_names;
  if (!names || table < heap->images_start || table >= heap->images_end) return;
  size_t slot = (table * 0x9e3779b97f4a7c15ull) >> (64 - CACHE_LOG2);
  if (names->tables[slot] != table) {
    names->tables[slot] = table;
    names->labels[slot] = table_label(heap, table);
  }
  if (names->labels[slot]) heap->names[heap->node] = names->labels[slot];
}

#endif
