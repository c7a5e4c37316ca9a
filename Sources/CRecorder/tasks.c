// Swift tasks: which one runs on this thread, and which made which. Called in hooks.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "internal.h"
#include "runtime_layout.h"

static void *(*current_task)(void);
static uint64_t (*job_task_id)(const void *job);

// No task can run: every one is made below the hook of swift_task_create_common, which was there before the program's first code, and none was made yet.
// Asking the runtime costs as much as the rest of a short event.
_Atomic bool lifespan_no_tasks;
void lifespan_tasks_none_made(void) { atomic_store_explicit(&lifespan_no_tasks, true, memory_order_relaxed); }
void lifespan_tasks_made(void) {
  if (UNLIKELY(atomic_load_explicit(&lifespan_no_tasks, memory_order_relaxed))) atomic_store_explicit(&lifespan_no_tasks, false, memory_order_relaxed);
}

// A runtime that was loaded late gets a thread's variables from malloc at the first look: nobody's block, as it is ours.
static bool came_late;

static void *current(void) {
  if (LIKELY(!came_late)) return current_task();
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_OURS);
  void *task = current_task();
  lifespan_quiet_end(was);
  return task;
}

void lifespan_tasks_start(void) {
  came_late = atomic_load(&lifespan_process.map->runtime) != LIFESPAN_RUNTIME_THERE;
  current_task = (void *(*)(void))lifespan_symbol("swift_task_getCurrent");
  lifespan_walk_tasks_start(lifespan_symbol("swift_job_run"), lifespan_symbol("swift_task_alloc"), lifespan_symbol("swift_task_dealloc"), current_task ? current : NULL);
  job_task_id = (uint64_t(*)(const void *))lifespan_symbol("swift_task_getJobTaskId");
}

uint64_t lifespan_task_id(const void *task) {
  if (!task) return 0;
  return (job_task_id ? job_task_id(task) : swift_job_id(task)) & LIFESPAN_VALUE_MASK;
}

static void write(struct lifespan_thread *thread, uint64_t task, uint64_t parent) {
  if (!lifespan_ring_reserve(thread, 2, LIFESPAN_LOSS_OTHER)) return;
  lifespan_ring_put(thread, 0, lifespan_stamp(), lifespan_head_word(LIFESPAN_R_TASK, 2, task));
  lifespan_ring_put(thread, 1, parent, 0);
  lifespan_ring_publish(thread, 2);
  thread->task = task;
}

void lifespan_task_note_slow(struct lifespan_thread *thread) {
  if (!current_task) return;
  uint64_t id = lifespan_task_id(current());
  if (UNLIKELY(id != thread->task)) write(thread, id, 0);
}

void lifespan_task_related(struct lifespan_thread *thread, uint64_t task) {
  uint64_t parent = current_task ? lifespan_task_id(current()) : 0;
  if (!parent) return;
  write(thread, task, parent);
  write(thread, parent, 0); // what follows belongs to the parent again
}

#endif
