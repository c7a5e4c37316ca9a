// The scan: every block's words, in the order of addresses, each tested whether it is the address of (or into) a block. See lifespan_heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#define WINDOW (4u << 20)
#define WINDOW_GAP (64u << 10)
#define HEADER 16u // glibc's own words before a block
#define SIDE_TABLE 32u // bytes of what the runtime keeps beside an object
#define ROOTS_MOST 16u // of one block: more would say nothing new

void *heap_more(struct heap *heap, void *list, size_t *room, size_t used, size_t size) {
  if (used < *room) return list;
  size_t more = *room ? *room + *room / 2 : 4096;
  void *larger = heap_own_larger(list, more * size);
  if (!larger) {
    heap->error = ENOMEM;
    return NULL;
  }
  *room = more;
  return larger;
}

// ---- Labels -----------------------------------------------------------------------------------------------------------------------

static uint64_t text_hash(const char *text) {
  uint64_t hash = 14695981039346656037ull;
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 1099511628211ull;
  return hash;
}

static bool labels_double(struct heap *heap) {
  size_t mask = heap->label_mask ? heap->label_mask * 2 + 1 : 1023;
  uint32_t *hash = heap_own_cleared(mask + 1, sizeof *hash);
  if (!hash) return false;
  for (size_t i = 1; i < heap->label_count; i++) {
    size_t at = text_hash(heap->labels[i]) & mask;
    while (hash[at]) at = (at + 1) & mask;
    hash[at] = (uint32_t)i;
  }
  heap_own_free(heap->label_hash);
  heap->label_hash = hash;
  heap->label_mask = mask;
  return true;
}

uint32_t heap_label_of(struct heap *heap, const char *text) {
  if (!*text) return 0;
  if (heap->label_count * 2 > heap->label_mask && !labels_double(heap)) return 0;
  size_t at = text_hash(text) & heap->label_mask;
  for (; heap->label_hash[at]; at = (at + 1) & heap->label_mask)
    if (!strcmp(heap->labels[heap->label_hash[at]], text)) return heap->label_hash[at];
  char **labels = heap_more(heap, heap->labels, &heap->label_room, heap->label_count, sizeof *labels);
  if (!labels) return 0;
  heap->labels = labels;
  if (!(labels[heap->label_count] = heap_own_text(text))) return 0;
  heap->label_hash[at] = (uint32_t)heap->label_count;
  return (uint32_t)heap->label_count++;
}

size_t heap_label_limit(const struct heap *heap) { return heap->label_count; }
const char *heap_label(const struct heap *heap, uint32_t label) { return label && label < heap->label_count ? heap->labels[label] : ""; }

// ---- Edges and roots --------------------------------------------------------------------------------------------------------------

void heap_add_edge(struct heap *heap, uint32_t target, uint64_t offset, uint32_t label, unsigned strength) {
  struct heap_edge *edges = heap_more(heap, heap->edges, &heap->edge_room, heap->edge_count, sizeof *edges);
  if (!edges) return;
  heap->edges = edges;
  edges[heap->edge_count++] = (struct heap_edge){target, offset > UINT32_MAX ? UINT32_MAX : (uint32_t)offset, label, strength};
}

void heap_word(struct heap *heap, uint64_t word, uint64_t offset, uint32_t label, unsigned strength) {
  uint32_t target = heap_index_find(&heap->index, heap->blocks, word);
  if (target == HEAP_NONE || (target == heap->node && strength == HEAP_CONSERVATIVE)) return;
  heap_add_edge(heap, target, offset, label, strength);
}

// A reference behind the address of a function is the context of a closure: often the object itself that it captures. The function names it.
static uint32_t closure_label(struct heap *heap, uint64_t before, uint32_t label) {
  struct heap_symbol symbol;
  char text[512];
  if (before < heap->code_start || before >= heap->code_end) return label;
  const struct heap_mapping *mapping = heap_maps_find(&heap->maps, before);
  if (!mapping || !mapping->executable || !heap_function(heap, before, &symbol) || symbol.offset) return label;
  snprintf(text, sizeof text, "%s%c%s", heap_label(heap, label), HEAP_CLOSURE, symbol.name);
  return heap_label_of(heap, text);
}

static void find_code(struct heap *heap) {
  heap->code_start = UINT64_MAX;
  for (size_t i = 0; i < heap->maps.count; i++) {
    const struct heap_mapping *mapping = &heap->maps.list[i];
    if (mapping->file == HEAP_NONE) continue;
    if (!heap->images_start) heap->images_start = mapping->start;
    heap->images_end = mapping->end;
    if (!mapping->executable) continue;
    if (mapping->start < heap->code_start) heap->code_start = mapping->start;
    if (mapping->end > heap->code_end) heap->code_end = mapping->end;
  }
}

void heap_words(struct heap *heap, const uint64_t *words, size_t count, uint64_t offset) {
  const struct heap_block *blocks = heap->blocks;
  for (size_t i = 0; i < count; i++) {
    // Most words are small numbers.
    if (words[i] < 4096) continue;
    uint32_t target = heap_index_find(&heap->index, blocks, words[i]);
    if (target == HEAP_NONE || target == heap->node) continue;
    uint32_t label = i ? closure_label(heap, words[i - 1], 0) : 0;
    if (!label && heap->names[heap->node] && heap_type_of(heap, heap->node)->kind == HEAP_KIND_CF) label = heap_label_cf(heap, offset + i * 8);
    heap_add_edge(heap, target, offset + i * 8, label, HEAP_CONSERVATIVE);
  }
}

void heap_add_root(struct heap *heap, uint64_t word, unsigned kind, bool maybe, uint64_t place, uint32_t thread) {
  uint32_t target = heap_index_find(&heap->index, heap->blocks, word);
  if (target == HEAP_NONE) return;
  // One that is sure is always kept.
  uint8_t *rooted = &heap->rooted[target];
  if ((*rooted & 127) >= ROOTS_MOST && (maybe || *rooted & 128)) return;
  struct heap_root *roots = heap_more(heap, heap->roots, &heap->root_room, heap->root_count, sizeof *roots);
  if (!roots) return;
  heap->roots = roots;
  if ((*rooted & 127) < ROOTS_MOST) ++*rooted;
  if (!maybe) *rooted |= 128;
  uint64_t offset = (word & HEAP_ADDRESS_MASK) - heap->blocks[target].address;
  roots[heap->root_count++] = (struct heap_root){.place = place, .target = target, .thread = thread, .kind = (uint8_t)kind, .maybe = maybe,
                                                 .offset = offset > UINT32_MAX ? UINT32_MAX : (uint32_t)offset};
}

const struct heap_type *heap_type_of(const struct heap *heap, uint32_t node) {
  static const struct heap_type none = {.kind = HEAP_KIND_MALLOC};
  uint32_t type = heap->blocks[node].type;
  return type < heap->input->type_count ? &heap->input->types[type] : &none;
}

// ---- A block ----------------------------------------------------------------------------------------------------------------------

// As glibc has it in the word before a block; where something else stands there, what was asked for.
static uint64_t usable_size(uint64_t size, uint64_t header) {
  bool mapped = header & 2;
  uint64_t usable = (header & ~7ull) - (mapped ? 16 : 8);
  return usable >= size && usable - size <= (mapped ? 2 * HEAP_PAGE : 64) ? usable : size;
}

static void note_side_table(struct heap *heap, uint32_t table) {
  heap->flags[table] |= HEAP_FLAG_SIDE_TABLE;
  heap->names[table] = heap_label_of(heap, "side table");
}

// Bits 63 and 62 of the count word: the rest is a side table's address. That block's own first word is the object, and keeps nothing alive.
static void look_at_counts(struct heap *heap, uint64_t word) {
  if (word >> 62 != 3 || (uint32_t)word == UINT32_MAX) return;
  uint32_t table = heap_index_find(&heap->index, heap->blocks, word << 3);
  uint64_t owner = 0;
  if (table != HEAP_NONE && heap->blocks[table].address != word << 3) return;
  if (!heap_memory_word(&heap->memory, word << 3, &owner) || owner != heap->blocks[heap->node].address) return;
  if (table == HEAP_NONE) return heap_hole(heap, word << 3, (word << 3) + SIDE_TABLE); // a block that is not known: it holds nothing
  note_side_table(heap, table);
  heap_add_edge(heap, table, 8, heap->names[table], HEAP_STRONG);
}

static void scan_plain(struct heap *heap, const uint8_t *bytes, size_t from, size_t to) {
  if (to > from) heap_words(heap, (const uint64_t *)(const void *)(bytes + from), (to - from) / 8, from);
}

void heap_field_word(struct heap *heap, uint64_t word, uint64_t before, uint64_t at, const struct heap_field *field) {
  uint32_t target = word < HEAP_PAGE ? HEAP_NONE : heap_index_find(&heap->index, heap->blocks, word);
  if (target == HEAP_NONE || (target == heap->node && field->strength == HEAP_CONSERVATIVE)) return;
  unsigned kind = heap_type_of(heap, target)->kind;
  if (field->jobs && kind != HEAP_KIND_TASK && kind != HEAP_KIND_MALLOC) return;
  uint32_t label = before ? closure_label(heap, before, field->label) : field->label;
  // A weak reference is one to a side table, though its object may be gone, and may not tell.
  if (field->strength == HEAP_WEAK && heap->blocks[target].address == word && kind == HEAP_KIND_MALLOC) note_side_table(heap, target);
  heap_add_edge(heap, target, at, label, field->strength);
}

static void scan_field(struct heap *heap, const uint8_t *bytes, const struct heap_field *field, size_t end) {
  if (field->skips) return;
  for (uint64_t at = (field->offset + 7u) & ~7ull; at + 8 <= field->offset + (uint64_t)field->size && at + 8 <= end; at += 8)
    heap_field_word(heap, *(const uint64_t *)(const void *)(bytes + at), *(const uint64_t *)(const void *)(bytes + at - 8), at, field);
}

static void scan_object(struct heap *heap, const uint8_t *bytes, size_t size, size_t usable) {
  const struct heap_layout *layout = heap_layout_of(heap, *(const uint64_t *)(const void *)bytes, (uint32_t)size);
  size_t own = layout && layout->instance_size ? layout->instance_size : size;
  size_t end = own > size ? size : size >= own + 8 ? usable : own;
  size_t at = 16;
  for (uint32_t i = 0; layout && i < layout->count; i++) {
    const struct heap_field *field = &layout->fields[i];
    if (field->offset > at) scan_plain(heap, bytes, at, field->offset < end ? field->offset & ~7u : end);
    scan_field(heap, bytes, field, end);
    at = (field->offset + field->size + 7u) & ~7u;
  }
  scan_plain(heap, bytes, at, end);
}

// The whole block is in `bytes`.
static void scan_block(struct heap *heap, const uint8_t *bytes, size_t size, size_t usable) {
  uint32_t node = heap->node;
  if (heap->blocks[node].state == HEAP_ZOMBIE) {
    heap->flags[node] |= HEAP_FLAG_ZOMBIE;
    if (size >= 16) look_at_counts(heap, ((const uint64_t *)(const void *)bytes)[1]);
    return; // its fields are what they were
  }
  if (heap->flags[node] & HEAP_FLAG_FREE) return heap_free_item(heap, bytes, size);
  const struct heap_type *type = heap_type_of(heap, node);
  if (type->kind == HEAP_KIND_MALLOC || size < 16) {
    if (size >= 16 && !heap->names[node]) heap_name_table(heap, *(const uint64_t *)(const void *)bytes);
    size_t end = heap->slab_ends && heap->slab_ends[node] ? heap->slab_ends[node] : size;
    return scan_plain(heap, bytes, 0, end < size ? end : size);
  }
  look_at_counts(heap, ((const uint64_t *)(const void *)bytes)[1]);
  if (type->kind == HEAP_KIND_CF) heap_name_cf(heap, bytes, size);
  if (type->kind == HEAP_KIND_TASK) heap->flags[node] |= HEAP_FLAG_TASK;
  if (!heap_decode(heap, bytes, size, usable)) scan_object(heap, bytes, size, usable);
}

// ---- All of them ------------------------------------------------------------------------------------------------------------------

struct window {
  uint8_t *bytes;
  uint64_t start, length, room;
};

static bool covers(const struct window *w, const struct heap_block *block) {
  return block->address >= w->start && block->address + block->size <= w->start + w->length;
}

// As many blocks from this one on as lie close together, in one read.
static bool read_window(struct heap *heap, struct window *w, uint32_t first) {
  const struct heap_block *block = &heap->blocks[first];
  uint64_t start = block->address - HEADER, end = block->address + block->size + 64;
  for (uint32_t i = first + 1; i < heap->count; i++) {
    uint64_t next = heap->blocks[i].address + heap->blocks[i].size + 64;
    if (heap->blocks[i].address > end + WINDOW_GAP || next - start > WINDOW) break;
    if (next > end) end = next;
  }
  if (end - start > w->room) {
    heap_own_free(w->bytes);
    w->length = 0;
    w->room = 0;
    w->bytes = heap_own(end - start + 64);
    if (!w->bytes) return false;
    w->room = end - start;
  }
  w->start = start;
  w->length = heap_memory_read(&heap->memory, start, w->bytes, end - start);
  if (covers(w, block)) return true;
  // Nothing lies before it.
  w->start = block->address;
  w->length = heap_memory_read(&heap->memory, block->address, w->bytes, end - start - HEADER);
  return covers(w, block);
}

static void scan_blocks(struct heap *heap) {
  struct window w = {0};
  for (uint32_t i = 0; i < heap->count && !heap->error; i++) {
    const struct heap_block *block = &heap->blocks[i];
    heap->begin[i] = heap->edge_count;
    heap->node = i;
    if (block->state == HEAP_IN_FLIGHT) heap->flags[i] |= HEAP_FLAG_IN_FLIGHT;
    if (!block->size) continue;
    if (!covers(&w, block) && !read_window(heap, &w, i)) {
      heap->memory.unread += block->size;
      continue;
    }
    const uint8_t *bytes = w.bytes + (block->address - w.start);
    uint64_t usable = block->size;
    if (block->address >= w.start + 8) usable = usable_size(block->size, *(const uint64_t *)(const void *)(bytes - 8));
    if (block->address + usable > w.start + w.length) usable = block->size;
    scan_block(heap, bytes, block->size, usable);
  }
  heap->begin[heap->count] = heap->edge_count;
  heap_own_free(w.bytes);
}

// What a side table holds of its object is no reference.
static void weaken_side_tables(struct heap *heap) {
  for (uint32_t i = 0; i < heap->count; i++) {
    if (!(heap->flags[i] & HEAP_FLAG_SIDE_TABLE)) continue;
    for (uint64_t at = heap->begin[i]; at < heap->begin[i + 1]; at++)
      if (heap->edges[at].offset == 0) heap->edges[at].strength = HEAP_WEAK;
  }
}

static void root_in_flight(struct heap *heap) {
  for (uint32_t i = 0; i < heap->count; i++)
    if (heap->flags[i] & HEAP_FLAG_IN_FLIGHT) heap_add_root(heap, heap->blocks[i].address, HEAP_ROOT_IN_FLIGHT, false, 0, UINT32_MAX);
}

struct heap *heap_begin(const struct heap_input *input) {
  struct heap *heap = heap_own_cleared(1, sizeof *heap);
  if (!heap) return NULL;
  heap->input = input;
  heap->blocks = input->blocks;
  heap->count = input->count;
  heap->flags = heap_own_cleared(heap->count + 1, 1);
  heap->names = heap_own_cleared(heap->count + 1, sizeof *heap->names);
  heap->begin = heap_own_cleared(heap->count + 2, sizeof *heap->begin);
  heap->rooted = heap_own_cleared(heap->count + 1, 1);
  heap->labels = heap_own_cleared(4096, sizeof *heap->labels);
  heap->label_room = 4096;
  heap->label_count = 1;
  bool made = heap->flags && heap->names && heap->begin && heap->rooted && heap->labels && labels_double(heap) &&
              heap_memory_begin(&heap->memory, input->pid) && heap_index_make(&heap->index, heap->blocks, heap->count);
  if (made) return heap;
  heap_end(heap);
  return NULL;
}

int heap_scan(struct heap *heap) {
  heap->error = heap_maps_read(&heap->maps, heap->input->pid);
  if (heap->error) return heap->error;
  find_code(heap);
  heap_names_begin(heap);
  heap_find_special(heap);
  scan_blocks(heap);
  weaken_side_tables(heap);
  heap_settle_unmanaged(heap);
  heap_find_roots(heap);
  root_in_flight(heap);
  heap_drop_left_over(heap);
  if (!heap->error && heap->count && !heap->memory.bytes) heap->error = ESRCH;
  return heap->error;
}

void heap_end(struct heap *heap) {
  if (!heap) return;
  heap_layouts_free(heap);
  heap_unknown_free(heap);
  heap_memory_end(&heap->memory);
  heap_index_free(&heap->index);
  heap_maps_free(&heap->maps);
  for (size_t i = 1; heap->labels && i < heap->label_count; i++) heap_own_free(heap->labels[i]);
  void *lists[] = {heap->flags, heap->names, heap->begin, heap->rooted, heap->labels, heap->edges, heap->roots, heap->label_hash, heap->slab_ends, heap->holes, heap->tls, heap->own_names, heap->arenas};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) heap_own_free(lists[i]);
  heap_own_free(heap);
  heap_own_end();
}

// ---- What came of it --------------------------------------------------------------------------------------------------------------

const struct heap_edge *heap_edges(const struct heap *heap, const uint64_t **begin) {
  *begin = heap->begin;
  return heap->edges;
}
const struct heap_root *heap_roots(const struct heap *heap, size_t *count) {
  *count = heap->root_count;
  return heap->roots;
}
uint8_t heap_flags(const struct heap *heap, size_t index) { return heap->flags[index]; }
uint32_t heap_name(const struct heap *heap, size_t index) { return heap->names[index]; }
uint64_t heap_bytes(const struct heap *heap, uint64_t *unread) {
  *unread = heap->memory.unread;
  return heap->memory.bytes;
}
uint32_t heap_types_unknown(const struct heap *heap) { return heap->unknown_types; }

#endif
