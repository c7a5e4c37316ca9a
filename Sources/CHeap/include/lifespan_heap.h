// The frozen heap: what lies in each block of a process that stands still, read from outside: edges between blocks and roots that hold them. The rules
// are those of ARCHITECTURE.md, "A picture of the heap". Used by Tools/lifespan/Heap and by CLinkedDoor for its own process.
//
// One thread at a time for one heap. Memory by malloc; where it runs out, or the process is gone, `error` says so and the picture is not whole.
#ifndef LIFESPAN_HEAP_H
#define LIFESPAN_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lifespan_heap_names.h"

// ---- What is given ----------------------------------------------------------------------------------------------------------------

enum heap_state {
  HEAP_LIVES = 0,
  HEAP_ZOMBIE = 1,    // its deinit has ended, unowned references keep the memory
  HEAP_IN_FLIGHT = 2, // is being moved by realloc
};

struct heap_block {
  uint64_t address, size, serial; // size: as asked for
  uint32_t type : 28, state : 4;  // state: enum heap_state
  uint32_t stack;                 // of its birth
};

enum heap_kind { HEAP_KIND_MALLOC = 0, HEAP_KIND_OBJECT = 1, HEAP_KIND_ARRAY = 2, HEAP_KIND_DICTIONARY = 3, HEAP_KIND_SET = 4, HEAP_KIND_TASK = 5,
                 HEAP_KIND_CONTEXT = 6, HEAP_KIND_STRING = 7, HEAP_KIND_BREADCRUMBS = 8, HEAP_KIND_DEQUE = 9, HEAP_KIND_CF = 10,
                 HEAP_KIND_KEY_PATH = 11 };
struct heap_type { // by the recorder's type id
  uint64_t metadata;
  uint32_t kind; // enum heap_kind; CONTEXT: of a closure, or a box
  uint32_t instance_size;
  uint32_t toolchains, reserved; // 1: a type of the toolchain's libraries
};
// By what the recorder says of a type: its kind (enum lifespan_object_kind) and its name, which need not be terminated (kinds.c).
struct heap_type heap_type_make(unsigned object_kind, const char *name, size_t length, uint64_t metadata, uint32_t instance_size);

struct heap_thread {
  uint64_t pc, sp, thread_pointer;
  const uint64_t *words; // its registers
  uint32_t count, number;
  bool in_kernel;
};

struct heap_input {
  int32_t pid;               // read by process_vm_readv
  struct heap_block *blocks; // sorted by heap_begin
  size_t count;
  const struct heap_type *types;
  size_t type_count;
  const struct heap_thread *threads;
  size_t thread_count;
  bool knows_all;         // false: memory of the allocator that is no block counts as a root
  const struct heap_own { uint64_t start, end; } *own; // memory of the recorder's that is no root
  size_t own_count;
  const char *own_image;  // a part of the name of the recorder's library, whose data is no root
};

// ---- What comes of it -------------------------------------------------------------------------------------------------------------

// A weak reference leads to its object's side table, and keeps that; what the side table has of the object is weak, too.
enum heap_strength { HEAP_STRONG = 0, HEAP_WEAK = 1, HEAP_UNOWNED = 2, HEAP_UNMANAGED = 3, HEAP_CONSERVATIVE = 4 };
struct heap_edge {
  uint32_t target, offset;
  uint32_t label; // heap_label, or an index with HEAP_ELEMENT
  uint32_t strength;
};
#define HEAP_ELEMENT 0x80000000u
#define HEAP_CLOSURE 1 // in a label: a mangled name follows, of the function whose context the target is or of what a block is

enum heap_root_kind { HEAP_ROOT_GLOBAL = 0, HEAP_ROOT_STACK = 1, HEAP_ROOT_REGISTER = 2, HEAP_ROOT_THREAD_LOCAL = 3, HEAP_ROOT_MAPPING = 4,
                      HEAP_ROOT_IN_FLIGHT = 5, HEAP_ROOT_UNKNOWN = 6 };
struct heap_root {
  uint64_t place; // where the reference lies; registers: which
  uint32_t target, thread; // thread: index of the input, UINT32_MAX none
  uint8_t kind;   // enum heap_root_kind
  uint8_t maybe;  // 1: on a stack or in a register, where dead values lie too
  uint16_t reserved;
  uint32_t offset; // into the target
};

enum heap_flag { HEAP_FLAG_ZOMBIE = 1, HEAP_FLAG_SIDE_TABLE = 2, HEAP_FLAG_TASK = 4, HEAP_FLAG_FREE = 8, HEAP_FLAG_IN_FLIGHT = 16 };

struct heap;
// NULL: no memory. `input` and what it points to must stay until heap_end.
struct heap *heap_begin(const struct heap_input *input);
// Everything; 0 or an errno value (ESRCH: the process is gone; ENOMEM). Then:
int heap_scan(struct heap *heap);
void heap_end(struct heap *heap);

// Edges of block `index` are edges[begin[index]] up to edges[begin[index + 1]].
const struct heap_edge *heap_edges(const struct heap *heap, const uint64_t **begin);
const struct heap_root *heap_roots(const struct heap *heap, size_t *count);
uint8_t heap_flags(const struct heap *heap, size_t index);
uint32_t heap_name(const struct heap *heap, size_t index); // a label, 0 none
const char *heap_label(const struct heap *heap, uint32_t label);
size_t heap_label_limit(const struct heap *heap); // every label is below
// What was read, in bytes, and could not be read.
uint64_t heap_bytes(const struct heap *heap, uint64_t *unread);
// How many objects' types had no layout that could be understood: their words were taken for what they look like.
uint32_t heap_types_unknown(const struct heap *heap);

// ---- Names of places --------------------------------------------------------------------------------------------------------------

struct heap_symbol {
  const char *name; // mangled; stays until heap_end
  uint64_t offset;
};
// The variable (or the function) at that address. False: none.
bool heap_variable(struct heap *heap, uint64_t address, struct heap_symbol *symbol);
bool heap_function(struct heap *heap, uint64_t address, struct heap_symbol *symbol);
// The function whose frame that place of a thread's stack lies in, as far as the words of the stack tell.
bool heap_frame(struct heap *heap, uint32_t thread, uint64_t place, struct heap_symbol *symbol);
// The thread-local variable of thread `thread` at that address.
bool heap_thread_local(struct heap *heap, uint32_t thread, uint64_t address, struct heap_symbol *symbol);
// The file that is mapped there (its path), "" none.
const char *heap_file(const struct heap *heap, uint64_t address);

#endif
