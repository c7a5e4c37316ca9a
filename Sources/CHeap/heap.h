// What the files of CHeap share.
#ifndef HEAP_H
#define HEAP_H

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "lifespan_heap.h"

#define HEAP_NONE UINT32_MAX
#define HEAP_ADDRESS_MASK 0x00ffffffffffffffull // Swift's spare bits above

// ---- Memory of the process (memory.c) ----
#define HEAP_PAGE 4096u
struct heap_pages; // single pages that were looked at before
struct heap_memory {
  pid_t pid;
  int pagemap, file;
  struct heap_pages *pages;
  uint64_t bytes, unread;
};
bool heap_memory_begin(struct heap_memory *memory, pid_t pid);
void heap_memory_end(struct heap_memory *memory);
// As far as it can be read. Large pieces.
size_t heap_memory_read(struct heap_memory *memory, uint64_t address, void *bytes, size_t length);
// The same by way of a cache of pages, for single words. False: not all of it.
bool heap_memory_small(struct heap_memory *memory, uint64_t address, void *bytes, size_t length);
static inline bool heap_memory_word(struct heap_memory *memory, uint64_t address, uint64_t *word) {
  return heap_memory_small(memory, address, word, 8);
}
// Calls `take` for each stretch of pages between the two that have ever been touched.
void heap_memory_touched(struct heap_memory *memory, uint64_t start, uint64_t end, void (*take)(void *, uint64_t, uint64_t), void *context);

// ---- Memory of our own, and sorting without any (own.c) ----
void *heap_own(size_t size); // NULL: none
void *heap_own_cleared(size_t count, size_t size);
void *heap_own_larger(void *memory, size_t size); // NULL: none, and `memory` is as it was
char *heap_own_text(const char *text);
void heap_own_free(void *memory);
void heap_own_end(void); // this thread takes no more for this look
void heap_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *)); // not stable

// ---- Which block an address lies in (blocks.c) ----
#define HEAP_GRAIN_LOG2 9u
#define HEAP_LEAF_LOG2 30u
#define HEAP_TOP (1u << (47 - HEAP_LEAF_LOG2))
struct heap_index {
  uint64_t *addresses;
  uint32_t **leaves; // by GiB; for each 512 bytes the first block there + 1
  size_t count;
};
bool heap_index_make(struct heap_index *index, struct heap_block *blocks, size_t count);
void heap_index_free(struct heap_index *index);
static inline uint32_t heap_index_find(const struct heap_index *index, const struct heap_block *blocks, uint64_t word) {
  uint64_t address = word & HEAP_ADDRESS_MASK;
  if (address >> 47) return HEAP_NONE;
  const uint32_t *leaf = index->leaves[address >> HEAP_LEAF_LOG2];
  if (!leaf) return HEAP_NONE;
  uint32_t at = leaf[(address & ((1ull << HEAP_LEAF_LOG2) - 1)) >> HEAP_GRAIN_LOG2];
  if (!at--) return HEAP_NONE;
  while (at + 1 < index->count && index->addresses[at + 1] <= address) at++;
  uint64_t offset = address - index->addresses[at];
  return address >= index->addresses[at] && offset < blocks[at].size ? at : HEAP_NONE;
}

// ---- Mappings and images (maps.c, symbols.c) ----
enum heap_mapping_kind { HEAP_MAPPING_OTHER, HEAP_MAPPING_DATA, HEAP_MAPPING_STACK, HEAP_MAPPING_ALLOCATOR, HEAP_MAPPING_OURS };
struct heap_mapping {
  uint64_t start, end, file_offset;
  const char *path; // "" none
  uint32_t file;    // index of files, HEAP_NONE none
  bool readable, writable, executable, shared;
  uint8_t kind;
};
struct heap_symbol_table;
struct heap_file {
  char *path;
  uint64_t base; // where its first page lies
  struct heap_symbol_table *symbols;
  bool opened;
};
struct heap_maps {
  struct heap_mapping *list;
  size_t count, room;
  struct heap_file *files;
  size_t file_count, file_room;
};
int heap_maps_read(struct heap_maps *maps, pid_t pid);
void heap_maps_free(struct heap_maps *maps);
const struct heap_mapping *heap_maps_find(const struct heap_maps *maps, uint64_t address);

struct heap_symbol_table *heap_symbols_open(pid_t pid, const char *path);
void heap_symbols_close(struct heap_symbol_table *table);
enum heap_symbol_kind { HEAP_SYMBOL_FUNCTION = 2, HEAP_SYMBOL_OBJECT = 1, HEAP_SYMBOL_TLS = 6 };
// By the file's own addresses. False: none.
bool heap_symbols_find(const struct heap_symbol_table *table, unsigned kind, uint64_t address, struct heap_symbol *symbol);
uint64_t heap_symbols_first(const struct heap_symbol_table *table); // the file's own first address
bool heap_symbols_named(const struct heap_symbol_table *table, const char *name, uint64_t *address);
struct heap_section {
  uint64_t address, size;
};
bool heap_symbols_section(const struct heap_symbol_table *table, const char *name, struct heap_section *section);
// Its thread-local storage. False: it has none.
bool heap_symbols_tls(const struct heap_symbol_table *table, uint64_t *size, uint64_t *alignment, uint64_t *first);

// ---- Layouts (layout.c) ----
#define HEAP_PERHAPS 5u // a strength among ourselves: of type Unmanaged; unmanaged.c makes it one of the others
struct heap_field {
  uint32_t offset, size;
  uint32_t label;
  uint8_t strength;
  bool skips; // no reference in it
  bool jobs;  // an actor's queue: of objects it holds tasks alone
};
struct heap_argument {
  uint32_t size, stride, mask; // of its values; stride 0: not known; mask: alignment - 1
  bool skips;                  // they hold no reference
  uint32_t count;              // of fields; 0: they are taken for what they look like
  struct heap_field *fields;
};
struct heap_layout {
  uint64_t metadata;
  uint32_t instance_size, count;
  bool known;
  struct heap_argument arguments[2]; // the first of its generic arguments
  struct heap_field *fields; // by offset, not overlapping; what lies between is taken for what it looks like
};

// ---- The heap (scan.c) ----
struct heap {
  const struct heap_input *input;
  struct heap_block *blocks;
  size_t count;
  struct heap_memory memory;
  struct heap_index index;
  struct heap_maps maps;
  uint8_t *flags;
  uint32_t *names;
  uint64_t *begin;
  struct heap_edge *edges;
  size_t edge_count, edge_room;
  struct heap_root *roots;
  size_t root_count, root_room;
  uint8_t *rooted; // how many roots of a block are in the list
  struct heap_layout **layouts; // hash by metadata
  size_t layout_mask, layout_count;
  uint32_t unknown_types;
  char **labels;
  size_t label_count, label_room;
  uint32_t *label_hash;
  size_t label_mask;
  uint32_t *slab_ends; // of task slabs: bytes in use; NULL until one is known
  struct heap_range { uint64_t start, end; } *holes; // of mappings: what is no root
  size_t hole_count, hole_room;
  struct heap_range *arenas; // of glibc beside the first
  size_t arena_count, arena_room;
  struct heap_unknown *unknown; // unknown.c
  uint64_t code_start, code_end;
  uint64_t images_start, images_end;
  uint64_t main_arena; // glibc's, where a symbol tells it; 0 not known
  struct heap_names *own_names; // names.c
  uint64_t tls_size;
  struct heap_tls { uint32_t file; uint64_t below, size; } *tls; // by module: so many bytes below the thread pointer
  size_t tls_count;
  int error;
  uint32_t node; // whose words are looked at
};

// Edges of heap->node.
void heap_add_edge(struct heap *heap, uint32_t target, uint64_t offset, uint32_t label, unsigned strength);
void heap_word(struct heap *heap, uint64_t word, uint64_t offset, uint32_t label, unsigned strength);
void heap_words(struct heap *heap, const uint64_t *words, size_t count, uint64_t offset);
// A word of a field; `before`: the one before it, by which a closure's context is named; 0: it is not.
void heap_field_word(struct heap *heap, uint64_t word, uint64_t before, uint64_t at, const struct heap_field *field);
uint32_t heap_label_of(struct heap *heap, const char *text);
void heap_add_root(struct heap *heap, uint64_t word, unsigned kind, bool maybe, uint64_t place, uint32_t thread);
void *heap_more(struct heap *heap, void *list, size_t *room, size_t used, size_t size); // NULL: no memory, error set

const struct heap_type *heap_type_of(const struct heap *heap, uint32_t node);
// The layout of an object of this metadata; made when it is asked for first. NULL: no memory.
const struct heap_layout *heap_layout_of(struct heap *heap, uint64_t metadata, uint32_t size); // size: of the object
void heap_layouts_free(struct heap *heap);
// fields.c: of a class; of a closure's context of that size
void heap_fields_read(struct heap *heap, struct heap_layout *layout);
void heap_captures_read(struct heap *heap, struct heap_layout *layout, uint32_t size);
size_t heap_text(struct heap *heap, uint64_t place, char *text, size_t room); // cut where it is longer
// What a value holds (shape.c by its type's mangled name, value.c by its type's metadata).
#define HEAP_DEPTH_MOST 16u
#define HEAP_PATH_MOST 256u
struct heap_shape {
  uint32_t size, alignment;
  uint8_t strength;
  bool skips;
  uint32_t spare; // how many values it can have that are of no use; an Optional of it is one of those where there is one
};
struct heap_parts {
  struct heap_field *list;
  uint32_t count, most;
};
// Where the value lies in the block, and what it is called there.
struct heap_place {
  uint32_t offset;
  const char *label;
  unsigned depth; // of values in each other
};
// The generic arguments of the type around it: so many words, the first of them types. count 0: none.
struct heap_generic {
  uint64_t place;
  uint32_t count;
};
bool heap_generic_argument(struct heap *heap, const struct heap_generic *generic, unsigned index, uint64_t *type);
// By the place of its mangled name. False: it is not understood; `parts` has got those before that.
bool heap_shape_of(struct heap *heap, uint64_t type, const struct heap_generic *generic, const struct heap_place *at, struct heap_parts *parts, struct heap_shape *shape);
// Of generic structs those of the standard library that are one word, by their descriptor.
bool heap_shape_of_word(struct heap *heap, uint64_t descriptor, struct heap_shape *shape);
// By its metadata; what is not understood of it is a part that is taken for what it looks like. False: it is no type.
bool heap_value_of(struct heap *heap, uint64_t type, const struct heap_place *at, struct heap_parts *parts, struct heap_shape *shape);
struct heap_size {
  uint32_t size, stride, mask, spare;
  bool is_plain; // copied as bytes
};
bool heap_value_size(struct heap *heap, uint64_t type, struct heap_size *size);
// The value, whose parts begin with `first`, becomes an Optional of itself.
void heap_make_optional(struct heap_parts *parts, uint32_t first, struct heap_shape *shape);
// A field from at->offset up to `end`: as much of it as its type (0: none) is understood, the rest taken for what it looks like.
void heap_field_parts(struct heap *heap, uint64_t type, const struct heap_generic *generic, const struct heap_place *at, uint32_t end, struct heap_parts *parts);
uint64_t heap_field_record(uint64_t fields, uint32_t index); // in a field descriptor
const char *heap_field_path(struct heap *heap, uint64_t fields, uint32_t index, const char *before, char path[HEAP_PATH_MOST]);
bool heap_class_arguments(struct heap *heap, uint64_t metadata, struct heap_generic *generic); // fields.c; false: the class has none of its own
bool heap_relative(struct heap *heap, uint64_t place, uint64_t *target); // a 32-bit distance from its own place; false: none

// decode.c: blocks whose inside is known. `bytes`: the block from its begin, `length` of it. False: nothing special.
bool heap_decode(struct heap *heap, const uint8_t *bytes, size_t length, size_t usable);
void heap_find_special(struct heap *heap); // task slabs, caches of free memory
void heap_free_item(struct heap *heap, const uint8_t *bytes, size_t size); // what a block of such a cache holds
// names.c: better names for heap->node
void heap_names_begin(struct heap *heap);
void heap_name_cf(struct heap *heap, const uint8_t *bytes, size_t size);
uint32_t heap_label_cf(struct heap *heap, uint64_t offset); // of a word of such an object
void heap_name_table(struct heap *heap, uint64_t table);
// unmanaged.c: holds where the runtime counts more references than are found
void heap_settle_unmanaged(struct heap *heap);
// left_over.c: takes away what only looks like a reference. When all edges and roots are known.
void heap_drop_left_over(struct heap *heap);
// unmanaged.c: how many strong references to an object the runtime counts. False: it is none, or they are not counted.
bool heap_strong_count(struct heap *heap, uint32_t node, uint64_t *count);
// roots.c
void heap_find_roots(struct heap *heap);
void heap_hole(struct heap *heap, uint64_t start, uint64_t end); // no root lies there
// free.c: what the allocator keeps free of its region becomes a hole, and what known blocks take of it beside what was asked for
void heap_find_free(struct heap *heap, uint64_t start, uint64_t end);
// unknown.c: a word of a variable that refers to no known block; then what all of those that were noted hold
void heap_note_unknown(struct heap *heap, uint64_t word);
void heap_follow_unknown(struct heap *heap);
void heap_unknown_free(struct heap *heap);
// places.c: thread-local storage of what was loaded when the program began
void heap_find_thread_locals(struct heap *heap);
uint64_t heap_thread_local_named(struct heap *heap, const char *file, const char *name, uint32_t thread); // 0: none
const struct heap_symbol_table *heap_symbols_of(struct heap *heap, uint32_t file); // NULL: none

#endif
