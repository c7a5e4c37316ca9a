// The callers of an async function: not on the stack, but in the chain of its task's contexts. Called by the walk
// where a frame record carries the async mark.
//
// Why reading the chain cannot fault: a function compiled with async frame pointers keeps its own context in the word
// below its frame record, and has stored it there before its first call; a context lives until its function has
// returned, and each parent outlives its child. Marks stand only in such functions' records (what is
// one: unwind_async_mark). A function that a signal has interrupted may have given its context back already: there the
// kernel is asked before each read. The other checks below are for damaged memory.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include <errno.h>

#include "raw.h"
#include "sandbox.h"
#include "unwind_step.h"

// Asked without harm: a change of the signal mask that cannot be made copies the wanted mask first.
bool unwind_can_read(uintptr_t address) {
  if (!lifespan_may(LIFESPAN_CALL_SIGPROCMASK)) return false;
  return lifespan_raw4(SYS_rt_sigprocmask, -1, (long)address, 0, 8) == -EINVAL;
}

unsigned unwind_async(uintptr_t context, uint64_t *pcs, unsigned room, bool careful, bool *whole) {
  unsigned count = 0;
  struct rows_row row;
  *whole = true;
  while (unwind_is_pointer(context)) {
    if (careful && !(unwind_can_read(context) && unwind_can_read(context + 8))) break;
    uintptr_t parent = unwind_word(context), resume = unwind_word(context + 8);
    if (!images_row_cached(resume, &row)) break;
    if (count == room) {
      *whole = false;
      break;
    }
    // One more than the function's start: readers of stacks take one off to get from a return address to its call.
    pcs[count++] = resume + 1;
    if (parent == context) break;
    context = parent;
  }
  return count;
}

#endif
