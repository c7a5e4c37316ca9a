// What lies where: the variable, function or thread-local variable of an address, by the files that are mapped. See lifespan_heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#include <stdio.h>

#define MODULES_MOST 4096u

const struct heap_symbol_table *heap_symbols_of(struct heap *heap, uint32_t number) {
  struct heap_file *file = &heap->maps.files[number];
  if (!file->opened) {
    file->opened = true;
    file->symbols = heap_symbols_open(heap->input->pid, file->path);
  }
  return file->symbols;
}

static bool symbol_at(struct heap *heap, unsigned kind, uint64_t address, struct heap_symbol *symbol) {
  const struct heap_mapping *mapping = heap_maps_find(&heap->maps, address);
  // Zero-initialised data lies behind the file's own pages.
  while (mapping && mapping->file == HEAP_NONE && !mapping->path[0] && mapping > heap->maps.list && mapping[-1].end == mapping->start) mapping--;
  if (!mapping || mapping->file == HEAP_NONE) return false;
  const struct heap_symbol_table *table = heap_symbols_of(heap, mapping->file);
  return table && heap_symbols_find(table, kind, address - heap->maps.files[mapping->file].base + heap_symbols_first(table), symbol);
}

bool heap_variable(struct heap *heap, uint64_t address, struct heap_symbol *symbol) { return symbol_at(heap, HEAP_SYMBOL_OBJECT, address, symbol); }
bool heap_function(struct heap *heap, uint64_t address, struct heap_symbol *symbol) { return symbol_at(heap, HEAP_SYMBOL_FUNCTION, address, symbol); }

const char *heap_file(const struct heap *heap, uint64_t address) {
  const struct heap_mapping *mapping = heap_maps_find(&heap->maps, address);
  while (mapping && !mapping->path[0] && mapping > heap->maps.list && mapping[-1].end == mapping->start) mapping--;
  return mapping ? mapping->path : "";
}

// ---- Frames ---------------------------------------------------------------------------------------------------------------------------

#define FRAME_MOST 4096u // bytes below a place among which the return address of what its frame called is looked for

static bool follows_call(struct heap *heap, uint64_t address) {
  uint8_t bytes[7];
  if (address < heap->code_start || address >= heap->code_end) return false;
  if (!heap_memory_small(&heap->memory, address - sizeof bytes, bytes, sizeof bytes)) return false;
  if (bytes[2] == 0xe8) return true; // call to a distance
  for (unsigned i = 0; i < 6; i++)
    if (bytes[i] == 0xff && (bytes[i + 1] >> 3 & 7) == 2) return true; // call by a register or memory
  return false;
}

// What was called from the frame returns into its function: the nearest return address below the place tells.
bool heap_frame(struct heap *heap, uint32_t thread, uint64_t place, struct heap_symbol *symbol) {
  const struct heap_thread *own = &heap->input->threads[thread];
  uint64_t word, end = place > own->sp + FRAME_MOST ? place - FRAME_MOST : own->sp;
  for (uint64_t at = place; at >= end + 8; at -= 8)
    if (heap_memory_word(&heap->memory, at - 8, &word) && follows_call(heap, word)) return heap_function(heap, word - 1, symbol);
  return end == own->sp && heap_function(heap, own->pc, symbol);
}

// ---- Thread-local storage -----------------------------------------------------------------------------------------------------------
// glibc gives each module that is there at the start a place below the thread pointer, in the order of its list of modules (dl-tls.c); the same rule here.

static uint32_t file_named(const struct heap *heap, const char *part) {
  for (size_t i = 0; i < heap->maps.file_count; i++) {
    const char *name = strrchr(heap->maps.files[i].path, '/');
    if (name && !strncmp(name + 1, part, strlen(part))) return (uint32_t)i;
  }
  return HEAP_NONE;
}

static uint32_t file_with_base(const struct heap *heap, uint64_t dynamic) {
  const struct heap_mapping *mapping = heap_maps_find(&heap->maps, dynamic);
  return mapping ? mapping->file : HEAP_NONE;
}

static uint64_t first_module(struct heap *heap) {
  uint32_t linker = file_named(heap, "ld-linux");
  const struct heap_symbol_table *table = linker == HEAP_NONE ? NULL : heap_symbols_of(heap, linker);
  uint64_t debug = 0, module = 0;
  if (!table || !heap_symbols_named(table, "_r_debug", &debug)) return 0;
  return heap_memory_word(&heap->memory, heap->maps.files[linker].base + debug + 8, &module) ? module : 0;
}

void heap_find_thread_locals(struct heap *heap) {
  uint64_t offset = 0, top = 0, bottom = 0, map[4]; // link_map: address, name, dynamic section, next
  heap->tls = heap_own_cleared(MODULES_MOST, sizeof *heap->tls);
  uint64_t module = first_module(heap);
  for (unsigned i = 0; heap->tls && module && i < MODULES_MOST && heap_memory_small(&heap->memory, module, map, sizeof map); i++, module = map[3]) {
    uint32_t file = file_with_base(heap, map[2]);
    const struct heap_symbol_table *table = file == HEAP_NONE ? NULL : heap_symbols_of(heap, file);
    uint64_t size, alignment, first;
    if (!table || !heap_symbols_tls(table, &size, &alignment, &first)) continue;
    uint64_t below, skew = -first & (alignment - 1);
    if (bottom - top >= size && ((top + size - skew + alignment - 1) & -alignment) + skew <= bottom) {
      below = ((top + size - skew + alignment - 1) & -alignment) + skew;
      top = below;
    } else {
      below = ((offset + size - skew + alignment - 1) & -alignment) + skew;
      if (below > offset + size + (bottom - top)) top = offset, bottom = below - size;
      offset = below;
    }
    heap->tls[heap->tls_count++] = (struct heap_tls){file, below, size};
  }
  heap->tls_size = offset;
}

uint64_t heap_thread_local_named(struct heap *heap, const char *part, const char *name, uint32_t thread) {
  uint32_t file = file_named(heap, part);
  for (size_t i = 0; file != HEAP_NONE && i < heap->tls_count; i++) {
    uint64_t value;
    if (heap->tls[i].file != file || !heap_symbols_named(heap_symbols_of(heap, file), name, &value)) continue;
    return heap->input->threads[thread].thread_pointer - heap->tls[i].below + value;
  }
  return 0;
}

bool heap_thread_local(struct heap *heap, uint32_t thread, uint64_t address, struct heap_symbol *symbol) {
  if (thread >= heap->input->thread_count) return false;
  uint64_t pointer = heap->input->threads[thread].thread_pointer;
  for (size_t i = 0; i < heap->tls_count; i++) {
    uint64_t start = pointer - heap->tls[i].below;
    if (address < start || address - start >= heap->tls[i].size) continue;
    return heap_symbols_find(heap_symbols_of(heap, heap->tls[i].file), HEAP_SYMBOL_TLS, address - start, symbol);
  }
  return false;
}

#endif
