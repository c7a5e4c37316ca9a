// Roots: registers and stacks of threads, thread-local storage, variables of images, and whatever else the program has mapped that is no block. What
// the allocator keeps free, what lies below a stack's end, stacks of threads that are gone and the recorder's own memory are none.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#include <stddef.h>

#include "lifespan_map.h"

#define PIECE (1u << 20)
#define RED_ZONE 128u      // below the stack pointer, of code that calls nothing
#define DESCRIPTOR 2304u   // bytes of glibc's struct pthread, at most
#define BOUNDS_FROM 0x600u // where in it the stack's bounds are looked for
#define BOUNDS_WORDS 40u
#define ARENA (64ull << 20)
#define ARENA_HEAD 2304u // bytes of glibc's struct malloc_state, at most
#define BLOCK_END 32u // the allocator's own word, and what it rounds up

struct place {
  unsigned kind;
  bool maybe;
  bool is_allocators; // glibc's own variables: they hold addresses of what is free
  uint32_t thread;
};

// ---- Words ------------------------------------------------------------------------------------------------------------------------

// An address of glibc's that means the chunk behind a block, which begins with the last word of it.
static bool is_chunk(struct heap *heap, uint64_t word) {
  uint32_t target = heap_index_find(&heap->index, heap->blocks, word);
  if (target == HEAP_NONE) return false;
  uint64_t header = 0;
  if (!heap_memory_word(&heap->memory, heap->blocks[target].address - 8, &header)) return false;
  return word == heap->blocks[target].address + (header & ~7ull) - 16;
}

// In a static executable the C library's variables lie among the program's.
static bool is_arena(const struct heap *heap, uint64_t place) { return place >= heap->main_arena && place < heap->main_arena + ARENA_HEAD; }

static void take_words(struct heap *heap, const uint64_t *words, size_t count, uint64_t address, const struct place *place) {
  for (size_t i = 0; i < count; i++) {
    bool is_allocators = place->is_allocators || (place->kind == HEAP_ROOT_GLOBAL && is_arena(heap, address + i * 8));
    if (words[i] < HEAP_PAGE || (is_allocators && is_chunk(heap, words[i]))) continue;
    heap_add_root(heap, words[i], place->kind, place->maybe, address + i * 8, place->thread);
    if (place->kind == HEAP_ROOT_GLOBAL && !is_allocators && heap_index_find(&heap->index, heap->blocks, words[i]) == HEAP_NONE)
      heap_note_unknown(heap, words[i]);
  }
}

static void take_range(struct heap *heap, uint64_t start, uint64_t end, const struct place *place) {
  static const size_t room = PIECE;
  start = (start + 7) & ~7ull;
  uint64_t *words = start < end ? heap_own(room) : NULL;
  while (words && start + 8 <= end) {
    size_t length = end - start < room ? (size_t)(end - start) & ~7ull : room;
    size_t got = heap_memory_read(&heap->memory, start, words, length);
    take_words(heap, words, got / 8, start, place);
    if (got < length) {
      // Behind the end of a mapped file, or a device's: the program itself could not read a reference there.
      start += (got + HEAP_PAGE) & ~(HEAP_PAGE - 1ull); // the next page may be there
    } else {
      start += length;
    }
  }
  heap_own_free(words);
}

// ---- What is left of a mapping ----------------------------------------------------------------------------------------------------

void heap_hole(struct heap *heap, uint64_t start, uint64_t end) {
  struct heap_range *holes = heap_more(heap, heap->holes, &heap->hole_room, heap->hole_count, sizeof *holes);
  if (!holes || start >= end) return;
  heap->holes = holes;
  holes[heap->hole_count++] = (struct heap_range){start, end};
}

static int by_start(const void *a, const void *b) {
  uint64_t left = ((const struct heap_range *)a)->start, right = ((const struct heap_range *)b)->start;
  return left < right ? -1 : left > right;
}

// The first block that ends behind `address`.
static size_t block_from(const struct heap *heap, uint64_t address) {
  size_t low = 0, high = heap->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (heap->blocks[middle].address + heap->blocks[middle].size <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

struct rest {
  struct heap *heap;
  const struct place *place;
};

static void take_rest(void *context, uint64_t start, uint64_t end) {
  const struct rest *rest = context;
  struct heap *heap = rest->heap;
  size_t block = block_from(heap, start), at = 0;
  while (start < end) {
    while (at < heap->hole_count && heap->holes[at].end <= start) at++;
    while (block < heap->count && heap->blocks[block].address + heap->blocks[block].size <= start) block++;
    uint64_t stop = end;
    if (at < heap->hole_count && heap->holes[at].start < stop) stop = heap->holes[at].start;
    if (block < heap->count && heap->blocks[block].address < stop) stop = heap->blocks[block].address;
    if (stop > start) take_range(heap, start, stop, rest->place);
    if (stop >= end) return;
    bool in_hole = at < heap->hole_count && heap->holes[at].start <= stop;
    uint64_t behind = in_hole ? heap->holes[at].end : heap->blocks[block].address + heap->blocks[block].size;
    start = behind > start ? behind : start + 8;
  }
}

// The recorder's own memory is left out before anything of it is looked at: it may be gigabytes of address space.
static void take_mapping(struct heap *heap, uint64_t start, uint64_t end, struct place place) {
  struct rest rest = {heap, &place};
  for (size_t i = 0; i < heap->input->own_count && start < end; i++) {
    const struct heap_own *own = &heap->input->own[i];
    if (own->end <= start || own->start >= end) continue;
    if (own->start > start) take_mapping(heap, start, own->start, place);
    start = own->end;
    i = (size_t)-1; // the rest is looked at anew: they are in no order
  }
  if (start < end) heap_memory_touched(&heap->memory, start, end, take_rest, &rest);
}

// ---- Threads ----------------------------------------------------------------------------------------------------------------------

// The stack of a thread, as its descriptor says: two words, the begin and the size of what holds both stack pointer and descriptor.
static bool stack_bounds(struct heap *heap, uint64_t pointer, uint64_t *start, uint64_t *end) {
  uint64_t words[BOUNDS_WORDS];
  if (!heap_memory_small(&heap->memory, pointer + BOUNDS_FROM, words, sizeof words)) return false;
  for (unsigned i = 0; i + 1 < BOUNDS_WORDS; i++) {
    if (!words[i] || words[i] % HEAP_PAGE || words[i] > pointer || words[i + 1] > 1ull << 40 || words[i] + words[i + 1] <= pointer) continue;
    *start = words[i];
    *end = words[i] + words[i + 1];
    return true;
  }
  return false;
}

static void take_thread(struct heap *heap, uint32_t number) {
  const struct heap_thread *thread = &heap->input->threads[number];
  struct place registers = {HEAP_ROOT_REGISTER, true, false, number}, stack = {HEAP_ROOT_STACK, true, false, number},
               locals = {HEAP_ROOT_THREAD_LOCAL, false, false, number};
  for (uint32_t i = 0; i < thread->count; i++) heap_add_root(heap, thread->words[i], registers.kind, true, i, number);
  uint64_t pointer = thread->thread_pointer, sp = thread->sp - (thread->in_kernel ? 0 : RED_ZONE);
  const struct heap_mapping *mapping = heap_maps_find(&heap->maps, thread->sp);
  uint64_t start = mapping ? mapping->start : sp, end = mapping ? mapping->end : sp;
  bool own = stack_bounds(heap, pointer, &start, &end), is_main = mapping && !strcmp(mapping->path, "[stack]");
  uint64_t locals_from = pointer - heap->tls_size, locals_to = pointer + DESCRIPTOR;
  if (own && !is_main && sp >= start && sp < end) {
    take_range(heap, sp, locals_from > sp && locals_from < end ? locals_from : end, &stack);
    take_range(heap, locals_from, end, &locals);
    heap_hole(heap, start, end);
    return;
  }
  if (own && !is_main) { // it runs on another stack: its own may be gone back to
    take_range(heap, start, locals_from, &stack);
    heap_hole(heap, start, end);
    locals_to = end;
  }
  if (mapping) take_range(heap, sp, mapping->end, &stack);
  if (mapping) heap_hole(heap, mapping->start, mapping->end);
  take_range(heap, locals_from, locals_to, &locals);
  heap_hole(heap, locals_from, locals_to);
}

// glibc keeps the stacks of threads that have ended for the next ones. A descriptor's first and third word are its own address; it has no thread.
static void drop_old_stacks(struct heap *heap, const struct heap_mapping *mapping) {
  uint64_t words[3], start, end;
  // At the upper end of its stack, and no other way leads to it: the last 64 KiB of each stretch that ends before a guard.
  for (uint64_t at = mapping->end - 64; at >= mapping->start && at + (64u << 10) > mapping->end; at -= 64) {
    if (!heap_memory_small(&heap->memory, at, words, sizeof words)) return;
    if (words[0] != at || words[2] != at || !stack_bounds(heap, at, &start, &end) || end > mapping->end + HEAP_PAGE) continue;
    bool lives = false;
    for (size_t i = 0; i < heap->input->thread_count; i++) lives |= heap->input->threads[i].thread_pointer == at;
    if (lives) return;
    heap_hole(heap, start < mapping->start ? mapping->start : start, end);
    // What finds its thread-local storage is kept with it for the next thread.
    heap_add_root(heap, words[1], HEAP_ROOT_THREAD_LOCAL, false, at + 8, UINT32_MAX);
    return;
  }
}

// ---- Mappings ---------------------------------------------------------------------------------------------------------------------

static bool is_image(const struct heap *heap, uint32_t file) {
  for (size_t i = 0; file != HEAP_NONE && i < heap->maps.count; i++)
    if (heap->maps.list[i].file == file && heap->maps.list[i].executable) return true;
  return false;
}

static bool is_plain(const struct heap_mapping *mapping) { return !mapping->path[0] || !strncmp(mapping->path, "[anon", 5); }

// An arena of glibc's lies at a multiple of 64 MiB and begins with where its head is, the arena before, and its size.
static void find_arenas(struct heap *heap, struct heap_mapping *mapping) {
  for (uint64_t at = (mapping->start + ARENA - 1) & -ARENA; at < mapping->end; at += ARENA) {
    uint64_t words[4];
    if (!heap_memory_small(&heap->memory, at, words, sizeof words)) continue;
    bool head = words[0] >= at && words[0] < at + 256, other = words[1] && words[1] % ARENA == 0;
    if ((!head && !other) || words[2] > ARENA || words[2] % HEAP_PAGE || words[3] < words[2] || words[3] > ARENA || !words[2]) continue;
    uint64_t end = at + words[3] < mapping->end ? at + words[3] : mapping->end;
    if (heap->input->knows_all) heap_hole(heap, at, end);
    else heap_find_free(heap, at, at + words[2]); // all of it, though it may lie in several mappings
    struct heap_range *arenas = heap_more(heap, heap->arenas, &heap->arena_room, heap->arena_count, sizeof *arenas);
    if (!arenas) return;
    heap->arenas = arenas;
    arenas[heap->arena_count++] = (struct heap_range){at, end};
  }
}

// The recorder says in its mapping which of its private memory may hold words of the program.
static void take_own(struct heap *heap, uint64_t map) {
  struct lifespan_own own[LIFESPAN_OWN_RANGES];
  if (heap_memory_read(&heap->memory, map + offsetof(struct lifespan_map, own), own, sizeof own) != sizeof own) return;
  for (unsigned i = 0; i < LIFESPAN_OWN_RANGES; i++) heap_hole(heap, own[i].start, own[i].end);
}

static void classify(struct heap *heap) {
  uint32_t data_of = HEAP_NONE;
  const char *rings = NULL;
  for (size_t i = 0; i < heap->maps.count; i++) {
    struct heap_mapping *m = &heap->maps.list[i];
    bool follows = i > 0 && heap->maps.list[i - 1].end == m->start;
    if (!follows || !is_plain(m)) data_of = HEAP_NONE;
    uint64_t magic = 0;
    if (m->shared && m->readable && heap_memory_word(&heap->memory, m->start, &magic) && magic == LIFESPAN_MAP_MAGIC) {
      rings = m->path;
      take_own(heap, m->start);
    }
    if (m->shared && rings && !strcmp(m->path, rings)) {
      m->kind = HEAP_MAPPING_OURS;
    } else if (is_image(heap, m->file)) {
      m->kind = HEAP_MAPPING_DATA;
      data_of = m->file;
    } else if (data_of != HEAP_NONE && is_plain(m)) {
      m->kind = HEAP_MAPPING_DATA;
      m->file = data_of;
    } else if (!strcmp(m->path, "[stack]")) {
      m->kind = HEAP_MAPPING_STACK;
    } else if (!strcmp(m->path, "[heap]")) {
      m->kind = HEAP_MAPPING_ALLOCATOR;
    } else if (m->path[0] == '[' && !is_plain(m)) {
      m->kind = HEAP_MAPPING_OURS; // the kernel's
    }
    const char *own = heap->input->own_image;
    if (m->kind == HEAP_MAPPING_DATA && own && m->file != HEAP_NONE && strstr(heap->maps.files[m->file].path, own)) m->kind = HEAP_MAPPING_OURS;
  }
}

static bool is_arenas(const struct heap *heap, const struct heap_mapping *m) {
  for (size_t i = 0; i < heap->arena_count; i++)
    if (heap->arenas[i].start < m->end && heap->arenas[i].end > m->start) return true;
  return false;
}

static void take_kind(struct heap *heap, const struct heap_mapping *m) {
  struct place place = {HEAP_ROOT_MAPPING, false, false, UINT32_MAX};
  if (!m->readable || !m->writable) return;
  switch ((enum heap_mapping_kind)m->kind) {
  case HEAP_MAPPING_DATA:
    place.kind = HEAP_ROOT_GLOBAL;
    place.is_allocators = m->file != HEAP_NONE && strstr(heap->maps.files[m->file].path, "/libc.so") != NULL;
    break;
  case HEAP_MAPPING_OTHER:
    if (!heap->input->knows_all && is_arenas(heap, m)) {
      place.kind = HEAP_ROOT_UNKNOWN;
      place.maybe = true;
    }
    break;
  case HEAP_MAPPING_ALLOCATOR:
    if (heap->input->knows_all) return;
    place.kind = HEAP_ROOT_UNKNOWN;
    place.maybe = true;
    break;
  case HEAP_MAPPING_STACK:
  case HEAP_MAPPING_OURS: return;
  }
  take_mapping(heap, m->start, m->end, place);
}

// The allocator's first region may lie in several mappings side by side (where a part of it was given other pages), and a chunk in two of them.
static void find_free(struct heap *heap) {
  for (size_t i = 0; i < heap->maps.count; i++) {
    if (heap->maps.list[i].kind != HEAP_MAPPING_ALLOCATOR) continue;
    size_t last = i;
    while (last + 1 < heap->maps.count && heap->maps.list[last + 1].kind == HEAP_MAPPING_ALLOCATOR && heap->maps.list[last + 1].start == heap->maps.list[last].end) last++;
    heap_find_free(heap, heap->maps.list[i].start, heap->maps.list[last].end);
    i = last;
  }
}

// Looked for only where the C library is no file of its own: no other symbol table need be read for it.
static void find_main_arena(struct heap *heap) {
  uint64_t address;
  for (uint32_t i = 0; i < heap->maps.file_count; i++)
    if (strstr(heap->maps.files[i].path, "/libc.so")) return;
  for (uint32_t i = 0; i < heap->maps.file_count && !heap->main_arena; i++) {
    if (!is_image(heap, i)) continue;
    const struct heap_symbol_table *table = heap_symbols_of(heap, i);
    if (table && heap_symbols_named(table, "main_arena", &address)) heap->main_arena = heap->maps.files[i].base - heap_symbols_first(table) + address;
  }
}

void heap_find_roots(struct heap *heap) {
  classify(heap);
  find_main_arena(heap);
  for (size_t i = 0; i < heap->input->own_count; i++) heap_hole(heap, heap->input->own[i].start, heap->input->own[i].end);
  for (uint32_t i = 0; i < heap->input->thread_count; i++) take_thread(heap, i);
  if (!heap->input->knows_all) find_free(heap);
  for (size_t i = 0; i < heap->maps.count; i++) {
    struct heap_mapping *m = &heap->maps.list[i];
    if (m->kind != HEAP_MAPPING_OTHER || !m->readable || !m->writable || !is_plain(m)) continue;
    drop_old_stacks(heap, m);
    find_arenas(heap, m);
  }
  if (heap->hole_count) heap_sort(heap->holes, heap->hole_count, sizeof *heap->holes, by_start);
  for (size_t i = 0; i < heap->maps.count && !heap->error; i++) take_kind(heap, &heap->maps.list[i]);
  heap_follow_unknown(heap);
}

#endif
