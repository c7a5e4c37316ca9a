// Types: from an object's metadata to a type id, by a lock-free table. A new type is classified and named once, at its first birth, and its
// record is published in the ring before the id can be seen by anyone, so that names survive a SIGKILL. Called in hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "levels.h"
#include "raw.h"
#include "sandbox.h"
#include "runtime_layout.h"
#include "tracked.h"
#include "type_names.h"

#define NAME_ROOM 4096u
#define KEYED_BY_CALLER (1ull << 62) // of a slot's value: closures, told apart by the function that makes them
#define IGNORED (1ull << 61)
#define TRACKED (1ull << 60)
#define NAMED (1ull << 59) // its key is no metadata, or that of an image that was unloaded

struct slot {
  _Atomic uint64_t key;   // metadata, or a mix of metadata and caller; 0 free
  _Atomic uint64_t value; // 0 while its maker is at work; flags and type id
};

static struct lifespan_levels levels = {.first_log2 = 12, .slot_bytes = sizeof(struct slot)};
static _Atomic uint32_t next_type = 1;
static struct swift_type_name (*get_type_name)(const void *metadata, bool qualified);

// The runtime's naming recurses with the depth of a type: on a small stack it gets one of our own.
#define NAMING_STACK (1u << 20)
#define NAMING_NEEDS (256u << 10)

#if defined(__x86_64__)
// Calls get_type_name with its frames below `top`.
static __attribute__((noinline)) struct swift_type_name name_below(char *top, const void *metadata) {
  struct swift_type_name name;
  uint64_t qualified = 1;
  __asm__ volatile("movq %%rsp, %%rbx\n\t"
                   "movq %[top], %%rsp\n\t"
                   "call *%[function]\n\t"
                   "movq %%rbx, %%rsp"
                   : "=a"(name.data), "=d"(name.length), "+D"(metadata), "+S"(qualified)
                   : [top] "r"(top), [function] "r"(get_type_name)
                   : "rbx", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
  return name;
}

static bool stack_is_small(const struct lifespan_thread *thread) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  return here < thread->walk.lo || here >= thread->walk.hi || here - thread->walk.lo < NAMING_NEEDS; // a coroutine's: not known
}

static struct swift_type_name runtime_name(const struct lifespan_thread *thread, const void *metadata) {
  if (LIKELY(!stack_is_small(thread)) || !lifespan_may(LIFESPAN_CALL_MMAP)) return get_type_name(metadata, true);
  char *stack = mmap(NULL, NAMING_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return get_type_name(metadata, true);
  mprotect(stack, 4096, PROT_NONE);
  struct swift_type_name name = name_below(stack + NAMING_STACK, metadata);
  munmap(stack, NAMING_STACK);
  return name;
}
#else
static struct swift_type_name runtime_name(const struct lifespan_thread *thread, const void *metadata) {
  (void)thread;
  return get_type_name(metadata, true);
}
#endif

// The runtime takes locks while it names a type, and the program has not called it: a handler that left by siglongjmp, or a cancelled thread, would keep
// them for ever. So signals wait meanwhile, but those that tell of a fault.
static struct swift_type_name name_of(const struct lifespan_thread *thread, const void *metadata) {
  uint64_t mask = 0;
  bool held = lifespan_hold_signals(&mask);
  uintptr_t was = lifespan_local.inside;
  lifespan_local.inside = was | LIFESPAN_NAMING;
  __asm__ volatile("" ::: "memory");
  struct swift_type_name name = runtime_name(thread, metadata);
  __asm__ volatile("" ::: "memory");
  lifespan_local.inside = was;
  if (held) lifespan_raw4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask);
  return name;
}

bool lifespan_types_start(void) {
  get_type_name = (struct swift_type_name(*)(const void *, bool))lifespan_symbol("swift_getTypeName");
  return lifespan_level(&levels, 0, 1) != NULL;
}

// Where the value of a key stands, NULL when it has none yet.
static inline _Atomic uint64_t *find_place(uint64_t key) {
  for (unsigned level = 0; level < LIFESPAN_LEVELS; level++) {
    struct slot *slots = lifespan_level(&levels, level, 0);
    if (!slots) return NULL;
    uint64_t mask = (1ull << lifespan_level_log2(&levels, level)) - 1;
    for (uint64_t i = lifespan_mix(key) & mask;; i = (i + 1) & mask) {
      uint64_t seen = atomic_load_explicit(&slots[i].key, memory_order_acquire);
      if (seen == key) {
        if (atomic_load_explicit(&slots[i].value, memory_order_acquire)) return &slots[i].value;
        break; // its maker is at work: the caller makes a second one, later levels decide nothing
      }
      if (!seen) break;
    }
  }
  return NULL;
}

static inline uint64_t find(uint64_t key) {
  const _Atomic uint64_t *place = find_place(key);
  return place ? atomic_load_explicit(place, memory_order_acquire) : 0;
}

// A place stays a key's own for ever; what stands there may change.
static inline uint64_t find_known(struct lifespan_thread *thread, const void *metadata) {
  struct lifespan_known_type *known = lifespan_known_type(thread, metadata);
  if (UNLIKELY(known->metadata != metadata)) {
    _Atomic uint64_t *place = find_place((uint64_t)metadata);
    if (!place) return 0;
    *known = (struct lifespan_known_type){metadata, place};
  }
  return atomic_load_explicit(known->value, memory_order_acquire);
}

// Stores a value whose record is in the ring. When two threads meet, both values stay valid (two ids of one type); reports merge them by name.
static void insert(uint64_t key, uint64_t value) {
  unsigned level = 0;
  struct slot *slots = lifespan_level_for_insert(&levels, &level);
  if (!slots) return;
  uint64_t mask = (1ull << lifespan_level_log2(&levels, level)) - 1;
  for (uint64_t i = lifespan_mix(key) & mask;; i = (i + 1) & mask) {
    uint64_t free = 0;
    if (atomic_compare_exchange_strong(&slots[i].key, &free, key)) {
      atomic_store_explicit(&slots[i].value, value, memory_order_release);
      return;
    }
    if (free != key) continue;
    uint64_t none = 0; // its maker never came back to it: a signal handler has left by siglongjmp
    atomic_compare_exchange_strong_explicit(&slots[i].value, &none, value, memory_order_release, memory_order_relaxed);
    return;
  }
}

static inline struct lifespan_type unpack(uint64_t value) {
  struct lifespan_type type = {(uint32_t)value, 0};
  if (value & TRACKED) type.flags = LIFESPAN_TYPE_TRACKED;
  if (value & IGNORED) type = (struct lifespan_type){0, LIFESPAN_TYPE_IGNORED};
  return type;
}

struct description {
  const void *metadata;
  uint32_t kind, superclass, instance_size, flags;
  uintptr_t caller;
};

// Writes a type's record, its first or one with other flags. False: lost.
static bool write_record(struct lifespan_thread *thread, uint32_t id, const struct description *type, const char *name, size_t length) {
  char *cut = thread->scratch[1];
  if (length > 3900) { // longer than a record holds: its end is replaced by a hash of the whole, so that it stays unique
    uint64_t hash = 1469598103934665603ull;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)name[i]) * 1099511628211ull;
    memcpy(cut, name, 3880);
    memcpy(cut + 3880, "...#", 4);
    for (int i = 0; i < 16; i++) cut[3884 + i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    name = cut;
    length = 3900;
  }
  bool counted = (lifespan_process.refcounts || type->flags & LIFESPAN_TYPE_TRACKED) && type->kind != LIFESPAN_KIND_TOKEN &&
                 type->kind != LIFESPAN_KIND_THREAD;
  struct lifespan_cell fixed[3] = {
    {(uint64_t)type->metadata, lifespan_head_word(LIFESPAN_R_TYPE, 0, id)},
    {(uint64_t)type->superclass << 32 | type->kind, (uint64_t)type->instance_size << 32 | (uint32_t)length},
    {type->caller, type->flags | (counted ? LIFESPAN_TYPE_COUNTED : 0)},
  };
  return lifespan_ring_text(thread, fixed, 3, name, length, LIFESPAN_LOSS_OTHER);
}

// A new type's id, once its record is in the ring. 0: lost.
static uint32_t publish(struct lifespan_thread *thread, const struct description *type, const char *name, size_t length) {
  uint32_t id = atomic_fetch_add_explicit(&next_type, 1, memory_order_relaxed);
  return write_record(thread, id, type, name, length) ? id : 0;
}

#define TOKEN_CLASS "Lifespan.Allocations.Token" // counted by its token's name, not once more as an object

static bool allowed(struct lifespan_thread *thread, const char *name, size_t length) {
  if (length == sizeof TOKEN_CLASS - 1 && !memcmp(name, TOKEN_CLASS, length)) return false;
  const struct lifespan_options *options = &lifespan_process.map->options;
  uint32_t rules = options->rules_length;
  if (!rules || rules > sizeof options->rules) return true;
  char *plain = thread->scratch[1];
  size_t plain_length = lifespan_plain_name(name, length, plain, NAME_ROOM);
  return lifespan_rules_allow(options->rules, rules, plain, plain_length);
}

static uint64_t make_class(struct lifespan_thread *thread, const void *metadata, unsigned depth);

// A superclass's id: found, or made (a superclass has a record even without an instance of its own).
static uint32_t superclass_of(struct lifespan_thread *thread, const void *metadata, unsigned depth) {
  const void *super = swift_class_superclass(metadata);
  if (!super || depth > 64 || !swift_metadata_is_class(super) || !swift_class_descriptor(super)) return 0;
  uint64_t value = find((uint64_t)super);
  if (!value) value = make_class(thread, super, depth + 1);
  return (uint32_t)value;
}

static struct description describe_class(const void *metadata, struct swift_type_name name, uint32_t superclass, bool tracked) {
  return (struct description){
    .metadata = metadata,
    .kind = lifespan_class_kind(name.data, name.length),
    .superclass = superclass,
    .instance_size = swift_class_instance_size(metadata),
    .flags = tracked ? LIFESPAN_TYPE_TRACKED : 0,
  };
}

static uint64_t make_class(struct lifespan_thread *thread, const void *metadata, unsigned depth) {
  if (!swift_class_descriptor(metadata) || !get_type_name) return IGNORED | (1ull << 32); // the runtime would crash naming it
  uint32_t superclass = superclass_of(thread, metadata, depth);
  struct swift_type_name name = name_of(thread, metadata);
  bool tracked = lifespan_is_tracked(metadata);
  struct description type = describe_class(metadata, name, superclass, tracked);
  uint32_t id = publish(thread, &type, name.data, name.length);
  if (!id) return 0;
  bool left_out = !allowed(thread, name.data, name.length) || (lifespan_process.scope == LIFESPAN_SCOPE_TRACKED && !tracked);
  uint64_t value = id | (left_out ? IGNORED : 0) | (tracked ? TRACKED : 0);
  insert((uint64_t)metadata, value);
  return value;
}

static uint64_t make_box(struct lifespan_thread *thread, const void *metadata) {
  char *text = thread->scratch[0];
  size_t length = 7;
  memcpy(text, "box of ", length);
  const void *content = swift_metadata_kind(metadata) == SWIFT_KIND_ERROR_OBJECT ? NULL : swift_box_content(metadata);
  struct swift_type_name name = {"Swift.Error", 11};
  if (content && get_type_name) name = name_of(thread, content);
  size_t part = name.length < NAME_ROOM - length ? name.length : NAME_ROOM - length;
  memcpy(text + length, name.data, part);
  struct description type = {.metadata = metadata, .kind = LIFESPAN_KIND_BOX};
  uint32_t id = publish(thread, &type, text, length + part);
  if (!id) return 0;
  bool left_out = lifespan_process.scope == LIFESPAN_SCOPE_TRACKED || !allowed(thread, text, length + part);
  uint64_t value = id | (left_out ? IGNORED : 0);
  insert((uint64_t)metadata, value);
  return value;
}

// Closure contexts have no name: the function that makes them tells them apart and names them in the report.
static uint64_t closure_key(const void *metadata, uintptr_t caller) { return ((uint64_t)metadata ^ lifespan_mix(caller)) | 1ull << 63; }

// Whether a mangled type name is a function's: its last operator. Symbolic references in it are 1 + 4 bytes, or 1 + 8.
static bool names_function(const uint8_t *name) {
  uint8_t last = 0;
  while (*name) {
    last = *name;
    name += *name > 0x1f ? 1 : *name >= 0x18 ? 9 : 5;
  }
  return last == 'c' || last == 'C' || last == 'B' || last == 'E'; // escaping, C, block, not escaping
}

// The compiler lays the box of an indirect enum case, a captured variable or a value in an existential out like the context of a closure that
// captures one value. More captures, or one that is a function (a thunk's), are a closure's.
static bool holds_one_value(const void *metadata) {
  if (swift_metadata_kind(metadata) != SWIFT_KIND_HEAP_LOCAL) return false;
  const struct swift_captures *captures = swift_context_captures(metadata);
  if (!captures || captures->types != 1 || captures->bindings) return false;
  return !captures->first_type || !names_function((const uint8_t *)&captures->first_type + captures->first_type);
}

static uint64_t make_closure(struct lifespan_thread *thread, const void *metadata, uintptr_t caller) {
  if (!find((uint64_t)metadata)) insert((uint64_t)metadata, KEYED_BY_CALLER);
  uint64_t key = closure_key(metadata, caller), value = find(key);
  if (value) return value;
  struct description type = {.metadata = metadata, .kind = LIFESPAN_KIND_CLOSURE, .caller = caller};
  if (holds_one_value(metadata)) type.flags = LIFESPAN_TYPE_ONE_VALUE;
  uint32_t id = publish(thread, &type, "", 0);
  if (!id) return 0;
  bool left_out = lifespan_process.scope == LIFESPAN_SCOPE_TRACKED || !allowed(thread, "closure", 7);
  value = id | (left_out ? IGNORED : 0);
  insert(key, value);
  return value;
}

static uint64_t make(struct lifespan_thread *thread, const void *metadata, uintptr_t caller) {
  if (swift_metadata_is_class(metadata)) return make_class(thread, metadata, 0);
  switch (swift_metadata_kind(metadata)) {
  case SWIFT_KIND_HEAP_GENERIC_LOCAL:
  case SWIFT_KIND_ERROR_OBJECT: return make_box(thread, metadata);
  default: return make_closure(thread, metadata, caller);
  }
}

struct lifespan_type lifespan_type_at_birth(struct lifespan_thread *thread, const void *metadata, uintptr_t caller) {
  uint64_t value = find_known(thread, metadata);
  if (UNLIKELY(value & KEYED_BY_CALLER)) value = find(closure_key(metadata, caller));
  if (UNLIKELY(!value)) value = make(thread, metadata, caller);
  return unpack(value);
}

struct lifespan_type lifespan_type_known(const void *metadata) {
  uint64_t value = find((uint64_t)metadata);
  if (value & KEYED_BY_CALLER) return (struct lifespan_type){UINT32_MAX, 0}; // recorded or not: the caller is not known here
  return unpack(value);
}

// Told apart and named by what they run, as closures are by what makes them.
uint32_t lifespan_type_of_threads(struct lifespan_thread *thread, uintptr_t start) {
  if (!start) return lifespan_type_named(thread, (const void *)1, LIFESPAN_KIND_THREAD, "thread", 6);
  uint64_t key = closure_key((const void *)1, start), value = find(key);
  if (value) return unpack(value).id;
  struct description type = {.metadata = (const void *)start, .kind = LIFESPAN_KIND_THREAD, .caller = start + 1};
  uint32_t id = publish(thread, &type, "", 0);
  if (!id) return 0;
  bool left_out = lifespan_process.scope == LIFESPAN_SCOPE_TRACKED || !allowed(thread, "thread", 6);
  value = id | NAMED | (left_out ? IGNORED : 0);
  insert(key, value);
  return unpack(value).id;
}

uint32_t lifespan_type_named(struct lifespan_thread *thread, const void *key, uint32_t kind, const char *name, size_t length) {
  uint64_t value = find((uint64_t)key);
  if (value) return unpack(value).id;
  struct description type = {.metadata = key, .kind = kind};
  uint32_t id = publish(thread, &type, name, length);
  if (!id) return 0;
  bool left_out = !allowed(thread, name, length) || (lifespan_process.scope == LIFESPAN_SCOPE_TRACKED && kind != LIFESPAN_KIND_TOKEN);
  value = id | NAMED | (left_out ? IGNORED : 0);
  insert((uint64_t)key, value);
  return unpack(value).id;
}

uint32_t lifespan_types_unloaded(uintptr_t start, uintptr_t end, bool gone) {
  uint32_t seen = 0;
  for (unsigned level = 0; level < LIFESPAN_LEVELS; level++) {
    struct slot *slots = lifespan_level(&levels, level, 0);
    if (!slots) break;
    for (uint64_t i = 0; i < 1ull << lifespan_level_log2(&levels, level); i++) {
      uint64_t key = atomic_load_explicit(&slots[i].key, memory_order_relaxed);
      if (key < start || key >= end) continue;
      if (gone) atomic_fetch_or(&slots[i].value, NAMED);
      else atomic_fetch_and(&slots[i].value, ~NAMED);
      seen++;
    }
  }
  return seen;
}

void lifespan_types_retrack(void) {
  if (!lifespan_on()) return;
  struct lifespan_thread *thread = lifespan_enter();
  if (!thread) return;
  for (unsigned level = 0; level < LIFESPAN_LEVELS; level++) {
    struct slot *slots = lifespan_level(&levels, level, 0);
    if (!slots) break;
    for (uint64_t i = 0; i < 1ull << lifespan_level_log2(&levels, level); i++) {
      uint64_t key = atomic_load(&slots[i].key), value = atomic_load(&slots[i].value);
      bool is_class = key && !(key >> 63) && value && !(value & (KEYED_BY_CALLER | TRACKED | NAMED));
      if (!is_class || !swift_metadata_is_class((const void *)key) || !lifespan_is_tracked((const void *)key)) continue;
      struct swift_type_name name = name_of(thread, (const void *)key);
      if (!allowed(thread, name.data, name.length)) continue;
      struct description type = describe_class((const void *)key, name, superclass_of(thread, (const void *)key, 0), true);
      type.flags |= LIFESPAN_TYPE_TRACKED_LATE;
      if (write_record(thread, (uint32_t)value, &type, name.data, name.length)) atomic_store(&slots[i].value, (value & ~IGNORED) | TRACKED);
    }
  }
  lifespan_leave(thread);
}

#endif
