// What the scan must know of a type, by the recorder's kind for it and by its name. See lifespan_heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#include "lifespan_map.h"

static bool ends_in(const char *name, size_t length, const char *end) {
  size_t size = strlen(end);
  return length >= size && !memcmp(name + length - size, end, size);
}

static enum heap_kind kind_of(unsigned object_kind, const char *name, size_t length) {
  switch (object_kind) {
  case LIFESPAN_KIND_ARRAY: return HEAP_KIND_ARRAY;
  case LIFESPAN_KIND_DICTIONARY: return HEAP_KIND_DICTIONARY;
  case LIFESPAN_KIND_SET: return HEAP_KIND_SET;
  case LIFESPAN_KIND_TASK: return HEAP_KIND_TASK;
  case LIFESPAN_KIND_CLOSURE:
  case LIFESPAN_KIND_BOX: return HEAP_KIND_CONTEXT;
  case LIFESPAN_KIND_CLASS: break;
  default: return HEAP_KIND_MALLOC;
  }
  if (ends_in(name, length, "StringBreadcrumbs")) return HEAP_KIND_BREADCRUMBS;
  if (ends_in(name, length, ".__StringStorage") || ends_in(name, length, ".__SharedStringStorage")) return HEAP_KIND_STRING;
  if (ends_in(name, length, ".__NSCFType")) return HEAP_KIND_CF;
  if (length > 6 && !memcmp(name, "Swift.", 6) && memmem(name, length < 40 ? length : 40, "KeyPath<", 8)) return HEAP_KIND_KEY_PATH;
  return memmem(name, length, "DequeBuffer<", 12) ? HEAP_KIND_DEQUE : HEAP_KIND_OBJECT;
}

static bool is_toolchains(const char *name, size_t length) {
  static const char *const modules[] = {"Swift.", "_Concurrency.", "Foundation.", "FoundationEssentials.", "FoundationInternationalization.",
                                        "FoundationNetworking.", "FoundationXML.", "CoreFoundation.", "Dispatch.", "Synchronization.",
                                        "_StringProcessing.", "_RegexParser.", "Observation.", "Distributed.", "Testing.", "XCTest."};
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
    if (length > strlen(modules[i]) && !memcmp(name, modules[i], strlen(modules[i]))) return true;
  return false;
}

struct heap_type heap_type_make(unsigned object_kind, const char *name, size_t length, uint64_t metadata, uint32_t instance_size) {
  return (struct heap_type){.metadata = metadata, .kind = kind_of(object_kind, name, length), .instance_size = instance_size,
                            .toolchains = is_toolchains(name, length)};
}

#endif
