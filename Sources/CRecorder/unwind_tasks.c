// The callers of an async function that an executor has resumed. They are not on the stack, but each function's context leads to its caller's; and a
// function with a frame pointer keeps its own context in the word below its frame record (LLVM's extended frame), whether the compiler marks the record,
// as on other systems, or not, as on Linux. What is missing without a mark is to know that a function is async: the one that the runtime calls where it
// runs a task always is. Called by the walk where it comes there.
//
// Every context is looked for among the allocations of the task's own allocator, a stack, or lies in the task itself: so nothing is read that the task
// does not own, and a word that is no context is not taken for one.
//
// Why the task is this thread's while it is current: the runtime clears the thread's current task before it gives the task away, or right behind the
// exchange that does, where no hook comes. Code that interrupts may come there: then the kernel is asked before each read.
//
// Known of the runtime by its code, read at the start: where the task is run (job_run_call), where its allocator lies, how long an allocation's header is.
// Where that code looks different, no task is followed.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "unwind.h"
#include "unwind_instruction.h"
#include "unwind_step.h"

#define HEADER 16u         // of an allocation: the one before it, its slab
#define RESUME_TASK 0x38   // AsyncTask::ResumeTask
#define RESUME_CONTEXT 0x40
#define TASK_BYTES 4096u   // a task's first context lies behind its object, and its result
#define ALLOCATIONS 512u   // looked at for one stack at most

uintptr_t unwind_task_run;
static uintptr_t allocator; // offset in a task of the allocation made last
static void *(*current_task)(void);

// ---- The chain -----------------------------------------------------------------------------------------------------------

// Constants lie in images, too.
static __attribute__((noinline)) bool is_in_text(uintptr_t code) {
  struct images_entry entry;
  if (!images_entry_at(code, &entry)) return false;
  for (unsigned i = 0; i < entry.source.text_count; i++)
    if (code >= entry.source.texts[i].start && code < entry.source.texts[i].end) return true;
  return false;
}

static inline bool is_code(uintptr_t address) {
  struct rows_row row;
  return images_row_cached(address, &row) && (row.kind != ROWS_NONE || is_in_text(address));
}

enum unwind_task_part unwind_task_callers(uintptr_t context, uint64_t *pcs, unsigned room, bool careful, unsigned *count) {
  uintptr_t task = (uintptr_t)current_task(), at = 0;
  unsigned looked = 0;
  *count = 0;
  if (!task || (careful && !unwind_can_read(task + allocator))) return UNWIND_TASK_UNKNOWN;
  for (at = unwind_word(task + allocator); at; at = unwind_word(at)) {
    if (!unwind_is_pointer(at) || looked++ == ALLOCATIONS) break;
    if (careful && !(unwind_can_read(at) && unwind_can_read(at + HEADER + 8))) break;
    if (at + HEADER != context) continue;
    uintptr_t resume = unwind_word(at + HEADER + 8);
    if (!is_code(resume) || *count == room) break;
    // One more than the function's start: readers of stacks take one off to get from a return address to its call.
    pcs[(*count)++] = resume + 1;
    context = unwind_word(at + HEADER);
  }
  // The first function's context lies behind its task, not in the allocator: its caller is the runtime.
  if (!at && context > task && context - task < TASK_BYTES) return UNWIND_TASK_FOLLOWED;
  return *count ? UNWIND_TASK_CUT : UNWIND_TASK_UNKNOWN;
}

// ---- What is known of the runtime ------------------------------------------------------------------------------------------

static bool next(const uint8_t **at, const uint8_t *end, struct unwind_instruction *i, const uint8_t **code) {
  *code = *at;
  if (*at >= end || !unwind_decode(*at, (size_t)(end - *at), i)) return false;
  *at += i->length;
  return true;
}

// `mod` 1: a register's address and one byte. Gives the register's number, -1: it is no such operand.
static int based(const uint8_t *code, const struct unwind_instruction *i, int8_t offset) {
  if (!i->modrm_at || i->modrm >> 6 != 1 || i->immediate || i->map || i->vector) return -1;
  bool sib = (i->modrm & 7) == 4;
  if (sib && code[i->modrm_at + 1] != 0x24) return -1;
  if ((int8_t)code[i->modrm_at + 1 + sib] != offset) return -1;
  return (i->modrm & 7) | (i->rex & 1) << 3;
}

// Where a function of the runtime calls a task's function with its context in r14: the return address, or 0.
static uintptr_t job_run_call(const uint8_t *at, const uint8_t *end) {
  struct unwind_instruction i;
  const uint8_t *code;
  int loaded = -1;
  while (next(&at, end, &i, &code)) {
    bool to_r14 = i.opcode == 0x8b && (i.rex & 0xc) == 0xc && (i.modrm >> 3 & 7) == 6;
    bool calls = i.opcode == 0xff && (i.modrm >> 3 & 7) == 2;
    if (calls && loaded >= 0 && based(code, &i, RESUME_TASK) == loaded) return (uintptr_t)at;
    if (to_r14 && based(code, &i, RESUME_CONTEXT) >= 0) loaded = based(code, &i, RESUME_CONTEXT);
    else if (i.opcode != 0x8b) loaded = -1; // loads may stand between the two
  }
  return 0;
}

// How much of a function may be looked at: no more than is mapped.
static const uint8_t *end_of(const uint8_t *code, size_t most) {
  uintptr_t last = (uintptr_t)code + most, page = last & ~(uintptr_t)4095;
  return page > (uintptr_t)code && !unwind_can_read(page) ? (const uint8_t *)page : (const uint8_t *)last;
}

// In swift_job_run, or in a function that it calls.
static uintptr_t find_run(const uint8_t *job_run) {
  struct unwind_instruction i;
  const uint8_t *code, *at = job_run, *end = end_of(at, 256);
  while (next(&at, end, &i, &code)) {
    if (i.opcode == 0xff && i.map == UNWIND_MAP_ONE && (i.modrm >> 3 & 7) == 2) break;
    if (i.opcode != 0xe8 || i.map || i.vector || i.immediate != 4) continue;
    int32_t offset;
    __builtin_memcpy(&offset, at - 4, sizeof offset);
    const uint8_t *called = at + offset;
    uintptr_t run = unwind_can_read((uintptr_t)called & ~(uintptr_t)7) ? job_run_call(called, end_of(called, 1024)) : 0;
    if (run) return run;
  }
  return job_run_call(job_run, end_of(job_run, 1024));
}

// swift_task_alloc adds the allocator's place to the current task.
static uintptr_t find_allocator(const uint8_t *task_alloc) {
  struct unwind_instruction i;
  const uint8_t *code, *at = task_alloc, *end = end_of(at, 64);
  bool called = false;
  while (next(&at, end, &i, &code)) {
    called |= i.opcode == 0xe8 && !i.map && !i.vector;
    bool adds = i.opcode == 0x83 && !i.map && i.rex == 0x48 && i.modrm == 0xc0; // an immediate byte to rax
    if (called && adds) return code[i.length - 1];
  }
  return 0;
}

// swift_task_dealloc compares its argument with what lies behind the last allocation's header.
static bool has_header(const uint8_t *task_dealloc) {
  struct unwind_instruction i;
  const uint8_t *code, *at = task_dealloc, *end = end_of(at, 96);
  while (next(&at, end, &i, &code))
    if (i.opcode == 0x8d && (i.rex & 8) && based(code, &i, HEADER) >= 0) return true;
  return false;
}

bool lifespan_walk_tasks_start(const void *job_run, const void *task_alloc, const void *task_dealloc, void *(*current)(void)) {
  if (!job_run || !task_alloc || !task_dealloc || !current || !has_header(task_dealloc)) return false;
  allocator = find_allocator(task_alloc);
  current_task = current;
  unwind_task_run = allocator ? find_run(job_run) : 0;
  return unwind_task_run != 0;
}

#endif
