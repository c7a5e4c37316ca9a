// Blocks whose inside is known: storage of arrays, dictionaries and sets, strings, key paths, stacks of tasks, and memory that a cache keeps
// free. What lies in their unused parts is what was there before, and holds nothing. Layouts of Swift 6.3's standard library and of libdispatch.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define COUNT 16u          // of an array's storage
#define ELEMENTS 32u
#define CLASS_SUPER 8u     // in a class
#define DEQUE_HEAD 40u
#define SCALE 32u          // of a dictionary's or set's: log2 of its places
#define RAW_KEYS 48u
#define RAW_VALUES 56u
#define SET_BITMAP 56u
#define DICTIONARY_BITMAP 64u
#define KEY_PATH_HEAD 24u
#define KEY_PATH_LENGTH 0xffffffu
#define KEY_PATH_PARTS 32u
#define SLAB_OF_TASK 120u
#define SLAB_HEAD 32u
#define SLABS_MOST 4096u
#define SLAB_MOST (1u << 24)
#define CACHE_OF_THREAD 24u // in __dispatch_tsd
#define CACHE_NEXT 16u
#define CACHE_ITEM 64u
#define CACHE_MOST 4096u

// Values of one type that lie behind each other.
struct piece {
  uint64_t start;
  uint32_t label;
  const struct heap_argument *type;
};

static uint64_t word_of(const uint8_t *bytes, size_t at) { return *(const uint64_t *)(const void *)(bytes + at); }

static void scan_unknown(struct heap *heap, const uint8_t *bytes, uint64_t from, uint64_t to, uint32_t label) {
  for (uint64_t at = (from + 7) & ~7ull; at + 8 <= to; at += 8) heap_word(heap, word_of(bytes, at), at, label, HEAP_CONSERVATIVE);
}

static void scan_element(struct heap *heap, const uint8_t *bytes, const struct piece *piece, uint64_t index, size_t end) {
  const struct heap_argument *type = piece->type;
  uint64_t start = piece->start + index * type->stride, at = start, last = start + type->stride < end ? start + type->stride : end;
  for (uint32_t i = 0; i < type->count; i++) {
    struct heap_field field = type->fields[i];
    uint64_t begin = start + field.offset, end = begin + field.size < last ? begin + field.size : last;
    field.label = piece->label;
    scan_unknown(heap, bytes, at, begin < last ? begin : last, piece->label);
    for (at = (begin + 7) & ~7ull; !field.skips && at + 8 <= end; at += 8) heap_field_word(heap, word_of(bytes, at), 0, at, &field);
    at = begin + field.size;
  }
  // What lies between it and the next one was there before.
  if (type->count && start + type->size < last) last = start + type->size;
  scan_unknown(heap, bytes, at, last, piece->label);
}

static bool decode_array(struct heap *heap, const uint8_t *bytes, size_t size, size_t usable) {
  const struct heap_layout *layout = heap_layout_of(heap, word_of(bytes, 0), (uint32_t)size);
  const struct heap_argument *type = layout ? &layout->arguments[0] : NULL;
  if (!type || !type->stride || size < ELEMENTS) return false;
  if (type->skips) return true;
  uint64_t count = word_of(bytes, COUNT), start = (ELEMENTS + type->mask) & ~(uint64_t)type->mask;
  if (count > usable / type->stride || start + count * type->stride > usable) return false;
  for (uint64_t i = 0; i < count; i++) {
    struct piece piece = {start, HEAP_ELEMENT | (i < HEAP_ELEMENT ? (uint32_t)i : 0), type};
    scan_element(heap, bytes, &piece, i, usable);
  }
  return true;
}

// Keys and values lie in the same block, and which places are taken is told by a bitmap in it.
static bool decode_table(struct heap *heap, const uint8_t *bytes, size_t size, size_t usable, bool is_set) {
  const struct heap_layout *layout = heap_layout_of(heap, word_of(bytes, 0), (uint32_t)size);
  const struct heap_argument *types = layout ? layout->arguments : NULL;
  uint64_t bitmap = is_set ? SET_BITMAP : DICTIONARY_BITMAP, own = heap->blocks[heap->node].address;
  if (!types || !types[0].stride || (!is_set && !types[1].stride) || size < bitmap + 8) return false;
  uint8_t scale = bytes[SCALE];
  if (scale > 40) return false;
  uint64_t places = 1ull << scale;
  struct piece pieces[2] = {{word_of(bytes, RAW_KEYS) - own, heap_label_of(heap, is_set ? "member" : "key"), &types[0]},
                            {is_set ? 0 : word_of(bytes, RAW_VALUES) - own, heap_label_of(heap, "value"), &types[1]}};
  unsigned count = is_set ? 1 : 2;
  if (bitmap + (places + 63) / 64 * 8 > usable) return false;
  for (unsigned p = 0; p < count; p++)
    if (pieces[p].start >= usable || places > usable / types[p].stride || pieces[p].start + places * types[p].stride > usable) return false;
  for (uint64_t i = 0; i < places; i++) {
    if (!(word_of(bytes, bitmap + i / 64 * 8) >> (i % 64) & 1)) continue;
    for (unsigned p = 0; p < count; p++)
      if (!types[p].skips) scan_element(heap, bytes, &pieces[p], i, usable);
  }
  return true;
}

// A ring of places behind capacity, count and first place. What its elements are is told by its superclass, ManagedBuffer<Header, Element>: of a class
// below a resilient one the arguments do not stand where others have them.
static bool decode_deque(struct heap *heap, const uint8_t *bytes, size_t size, size_t usable) {
  uint64_t super;
  if (size < DEQUE_HEAD || !heap_memory_word(&heap->memory, word_of(bytes, 0) + CLASS_SUPER, &super) || !super) return false;
  const struct heap_layout *layout = heap_layout_of(heap, super, (uint32_t)size);
  const struct heap_argument *type = layout ? &layout->arguments[1] : NULL;
  if (!type || !type->stride) return false;
  uint64_t capacity = word_of(bytes, 16), count = word_of(bytes, 24), first = word_of(bytes, 32);
  uint64_t start = (DEQUE_HEAD + type->mask) & ~(uint64_t)type->mask;
  if (count > capacity || (capacity && first >= capacity) || capacity > usable / type->stride || start + capacity * type->stride > usable) return false;
  for (uint64_t i = 0; i < count && !type->skips; i++) {
    struct piece piece = {start, HEAP_ELEMENT | (i < HEAP_ELEMENT ? (uint32_t)i : 0), type};
    scan_element(heap, bytes, &piece, (first + i) % capacity, usable);
  }
  return true;
}

// Text alone, and behind it perhaps a reference to what finds places in it.
static bool decode_string(struct heap *heap, const uint8_t *bytes, size_t usable) {
  for (size_t at = 16; at + 8 <= usable; at += 8) {
    uint64_t word = word_of(bytes, at);
    uint32_t target = heap_index_find(&heap->index, heap->blocks, word);
    if (target == HEAP_NONE || heap->blocks[target].address != word || heap_type_of(heap, target)->kind != HEAP_KIND_BREADCRUMBS) continue;
    heap_add_edge(heap, target, at, 0, HEAP_STRONG);
  }
  return true;
}

// Its components lie behind a head that has their length; arguments of subscripts are among them, as values of types that are not known.
static bool decode_key_path(struct heap *heap, const uint8_t *bytes, size_t size, size_t usable) {
  if (size < KEY_PATH_PARTS) return false;
  uint64_t end = KEY_PATH_PARTS + (word_of(bytes, KEY_PATH_HEAD) & KEY_PATH_LENGTH);
  scan_unknown(heap, bytes, KEY_PATH_PARTS, end < usable ? end : usable, 0);
  return true;
}

bool heap_decode(struct heap *heap, const uint8_t *bytes, size_t size, size_t usable) {
  switch ((enum heap_kind)heap_type_of(heap, heap->node)->kind) {
  case HEAP_KIND_ARRAY: return decode_array(heap, bytes, size, usable);
  case HEAP_KIND_DICTIONARY: return decode_table(heap, bytes, size, usable, false);
  case HEAP_KIND_SET: return decode_table(heap, bytes, size, usable, true);
  case HEAP_KIND_DEQUE: return decode_deque(heap, bytes, size, usable);
  case HEAP_KIND_KEY_PATH: return decode_key_path(heap, bytes, size, usable);
  case HEAP_KIND_STRING: return decode_string(heap, bytes, usable);
  default: return false;
  }
}

// ---- Before the scan --------------------------------------------------------------------------------------------------------------

// What a task's functions have given back on its stack is still there, as on a thread's.
static void note_slabs(struct heap *heap, uint64_t task) {
  uint64_t slab = 0;
  if (!heap_memory_word(&heap->memory, task + SLAB_OF_TASK, &slab)) return;
  for (unsigned i = 0; i < SLABS_MOST && slab; i++) {
    uint32_t node = heap_index_find(&heap->index, heap->blocks, slab);
    uint64_t head[3];
    if (!heap_memory_small(&heap->memory, slab, head, sizeof head)) return;
    uint32_t capacity = (uint32_t)head[2], used = (uint32_t)(head[2] >> 32);
    if (used > capacity) return;
    if (node == HEAP_NONE) {
      // A block that is not known, all of which would count as held.
      if (heap->input->knows_all || slab % 16 || capacity > SLAB_MOST) return;
      heap_hole(heap, slab + SLAB_HEAD + used, slab + SLAB_HEAD + capacity);
    } else {
      if (heap->blocks[node].address != slab || capacity + SLAB_HEAD > heap->blocks[node].size + 64) return;
      heap->slab_ends[node] = used + SLAB_HEAD;
      heap->names[node] = heap_label_of(heap, "task's stack");
    }
    slab = head[1];
  }
}

// libdispatch keeps what it has used for work items in a list of each thread; they still hold what they held.
static void note_cache(struct heap *heap, uint64_t place) {
  uint64_t item = 0;
  if (!heap_memory_word(&heap->memory, place + CACHE_OF_THREAD, &item)) return;
  for (unsigned i = 0; i < CACHE_MOST && item; i++) {
    uint32_t node = heap_index_find(&heap->index, heap->blocks, item);
    if (node == HEAP_NONE && !heap->input->knows_all) {
      heap_hole(heap, item, item + CACHE_NEXT);
      heap_hole(heap, item + CACHE_NEXT + 8, item + CACHE_ITEM);
      if (item % 16 || !heap_memory_word(&heap->memory, item + CACHE_NEXT, &item)) return;
      continue;
    }
    if (node == HEAP_NONE || heap->blocks[node].address != item || heap_type_of(heap, node)->kind != HEAP_KIND_MALLOC) return;
    if (heap->flags[node] & HEAP_FLAG_FREE) return;
    heap->flags[node] |= HEAP_FLAG_FREE;
    heap->names[node] = heap_label_of(heap, "free work item");
    if (!heap_memory_word(&heap->memory, item + CACHE_NEXT, &item)) return;
  }
}

// Of what such an item holds only the next one of its list counts.
void heap_free_item(struct heap *heap, const uint8_t *bytes, size_t size) {
  if (size >= CACHE_NEXT + 8) heap_word(heap, word_of(bytes, CACHE_NEXT), CACHE_NEXT, heap_label_of(heap, "next"), HEAP_STRONG);
}

void heap_find_special(struct heap *heap) {
  heap->slab_ends = heap_own_cleared(heap->count + 1, sizeof *heap->slab_ends);
  if (!heap->slab_ends) {
    heap->error = ENOMEM;
    return;
  }
  heap_find_thread_locals(heap);
  for (uint32_t i = 0; i < heap->count; i++)
    if (heap_type_of(heap, i)->kind == HEAP_KIND_TASK) note_slabs(heap, heap->blocks[i].address);
  for (size_t i = 0; i < heap->input->thread_count; i++) {
    uint64_t place = heap_thread_local_named(heap, "libdispatch.so", "__dispatch_tsd", (uint32_t)i);
    if (place) note_cache(heap, place);
  }
}

#endif
