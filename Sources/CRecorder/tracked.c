// Tracked types: the set of class descriptors that conform to the marker protocol or were named one by one. Conformance records are
// read from the images' own tables when a protocol is registered, never through the runtime in a hook.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "tracked.h"

#include "internal.h"
#include "runtime_layout.h"

#define CAPACITY 4096u

static _Atomic(const void *) descriptors[CAPACITY]; // open addressing, only grows
static _Atomic uint32_t count;

static uint32_t slot_of(const void *descriptor) { return (uint32_t)((uintptr_t)descriptor * 0x9e3779b97f4a7c15ull >> 40) % CAPACITY; }

static bool contains(const void *descriptor) {
  for (uint32_t i = slot_of(descriptor), n = 0; n < CAPACITY; i = (i + 1) % CAPACITY, n++) {
    const void *seen = atomic_load_explicit(&descriptors[i], memory_order_acquire);
    if (seen == descriptor) return true;
    if (!seen) return false;
  }
  return false;
}

static void add(const void *descriptor) {
  if (!descriptor || contains(descriptor) || atomic_load(&count) >= CAPACITY / 2) return;
  for (uint32_t i = slot_of(descriptor);; i = (i + 1) % CAPACITY) {
    const void *free = NULL;
    if (!atomic_compare_exchange_strong(&descriptors[i], &free, descriptor)) continue;
    atomic_fetch_add(&count, 1);
    return;
  }
}

bool lifespan_is_tracked(const void *metadata) {
  if (!atomic_load_explicit(&count, memory_order_relaxed)) return false;
  for (unsigned depth = 0; metadata && depth < 64 && swift_metadata_is_class(metadata); depth++) {
    if (contains(swift_class_descriptor(metadata))) return true;
    metadata = swift_class_superclass(metadata);
  }
  return false;
}

bool lifespan_tracks_anything(void) { return atomic_load(&count) != 0; }

void lifespan_recorder_track(const void *metadata) {
  if (!metadata || !swift_metadata_is_class(metadata)) return;
  add(swift_class_descriptor(metadata));
  lifespan_types_retrack();
}

// ---- Conformance records ------------------------------------------------------------------------------------------

// A relative pointer: to the target, or (lowest bit) to a pointer to it.
static const void *relative(const int32_t *field) {
  int32_t offset = *field;
  if (!offset) return NULL;
  const char *target = (const char *)field + (offset & ~1);
  return offset & 1 ? *(const void *const *)target : target;
}

struct range {
  uintptr_t start, length;
};
// What the compiler's start-up object hands to the runtime for each image (swift/shims: MetadataSections, version 2 to 5).
struct sections {
  uintptr_t version;
  _Atomic(const void *) base_address;
  const void *unused0, *unused1;
  struct range protocols, conformances;
};

struct conformance {
  int32_t protocol;
  int32_t type;
  int32_t witness_table;
  uint32_t flags; // bits 3-5: how `type` refers
};

static const void *conforming_type(const struct conformance *record) {
  switch (record->flags >> 3 & 7) {
  case 0: return (const char *)&record->type + record->type;
  case 1: return *(const void *const *)((const char *)&record->type + record->type);
  default: return NULL; // by Objective-C name: not on Linux
  }
}

static bool visit(const struct sections *sections, void *protocol) {
  if (sections->version < 2 || sections->version > 5) return true;
  const int32_t *entry = (const int32_t *)sections->conformances.start;
  for (uintptr_t i = 0; i < sections->conformances.length / sizeof *entry; i++) {
    const struct conformance *record = (const struct conformance *)((const char *)&entry[i] + entry[i]);
    if (relative(&record->protocol) == protocol) add(conforming_type(record));
  }
  return true;
}

void lifespan_recorder_track_protocol(const void *protocol_descriptor) {
  void (*enumerate)(bool (*)(const struct sections *, void *), void *) =
    (void (*)(bool (*)(const struct sections *, void *), void *))lifespan_symbol("swift_enumerateAllMetadataSections");
  if (!enumerate || !protocol_descriptor) return;
  enumerate(visit, (void *)(uintptr_t)protocol_descriptor);
  lifespan_types_retrack();
}

#endif
