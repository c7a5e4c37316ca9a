// Layouts of the Swift runtime's own structures that the recorder reads (Swift 6.3, 64-bit Linux). What a new Swift release may change
// stands here and in hook_table.h, nowhere else; SupportingANewSwiftVersion.md is the checklist.
#ifndef LIFESPAN_RUNTIME_LAYOUT_H
#define LIFESPAN_RUNTIME_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

// Heap object: metadata, then the reference count word.
#define SWIFT_REFCOUNT_SLOW (1ull << 63)      // a side table holds the counts
#define SWIFT_REFCOUNT_PURE_SWIFT 1ull        // no Objective-C deallocation: set in every object of this platform
#define SWIFT_REFCOUNT_IMMORTAL 0xffffffffu   // low half of the word of a static object
static inline uint64_t swift_refcount_word(const void *object) { return ((const uint64_t *)object)[1]; }
#define SWIFT_REFCOUNT_DEINITING (1ull << 32)
static inline uint64_t swift_refcount_extra(uint64_t word) { return word >> 33 & 0x3fffffff; } // strong references beside the first
static inline uint64_t swift_refcount_unowned(uint64_t word) { return word >> 1 & 0x7fffffff; }
static inline uint64_t swift_refcount_strong(uint64_t word) { return swift_refcount_extra(word) + (word & SWIFT_REFCOUNT_DEINITING ? 0 : 1); }
// The word of an object that lives, in its header or its side table.
static inline uint64_t swift_refcount_bits(const void *object) {
  uint64_t word = swift_refcount_word(object);
  return word & SWIFT_REFCOUNT_SLOW ? *(const uint64_t *)((word << 3) + 16) : word;
}

// Metadata kinds (word 0). Classes: 0, or an isa pointer above the last enumerated kind.
#define SWIFT_KIND_LAST_ENUMERATED 0x7ffu
#define SWIFT_KIND_HEAP_LOCAL 0x400u         // closure contexts, captured variables
#define SWIFT_KIND_HEAP_GENERIC_LOCAL 0x500u // swift_allocBox
#define SWIFT_KIND_ERROR_OBJECT 0x501u
static inline uint64_t swift_metadata_kind(const void *metadata) { return *(const uint64_t *)metadata; }
static inline bool swift_metadata_is_class(const void *metadata) {
  uint64_t kind = swift_metadata_kind(metadata);
  return kind == 0 || kind > SWIFT_KIND_LAST_ENUMERATED;
}
static inline const void *swift_class_superclass(const void *metadata) { return ((const void *const *)metadata)[1]; }
static inline uint32_t swift_class_instance_size(const void *metadata) { return ((const uint32_t *)metadata)[6]; }
static inline const void *swift_class_descriptor(const void *metadata) { return ((const void *const *)metadata)[5]; }
static inline const void *swift_box_content(const void *metadata) { return ((const void *const *)metadata)[2]; }

// What a closure context or compiler-made box holds: number of captured types, then sources, then bindings; then the types' mangled names,
// relative to their own field. NULL: no description.
struct swift_captures {
  uint32_t types, sources, bindings;
  int32_t first_type;
};
static inline const struct swift_captures *swift_context_captures(const void *metadata) { return ((const void *const *)metadata)[2]; }

// swift_getTypeName's result: not zero terminated by contract, kept for ever by the runtime.
struct swift_type_name {
  const char *data;
  uintptr_t length;
};

// Job of a task (swift_task_getCurrent's result): the low half of the task's id.
static inline uint32_t swift_job_id(const void *job) { return ((const uint32_t *)job)[9]; }

#endif
