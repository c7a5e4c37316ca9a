// The preload library's life: in every process that the dynamic linker loads it into, decide whether this is the program to record, and
// start the recorder. Run by the dynamic linker before the program's own constructors.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lifespan_interpose.h"
#include "lifespan_recorder.h"
#include "preload.h"

// ---- Words for the user ---------------------------------------------------------------------------------------------------

void lifespan_preload_say(const char *what, const char *why) {
  char line[512];
  int length = snprintf(line, sizeof line, "lifespan: %s: %s\n", what, why);
  if (length > 0) (void)!write(2, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

// ---- Start --------------------------------------------------------------------------------------------------------------------

static void mark_by_signal(int signal) {
  (void)signal;
  int saved_errno = errno;
  lifespan_recorder_mark("", 0);
  errno = saved_errno;
}

// The size of the address space that is in use.
static uint64_t address_space(void) {
  char text[64] = "";
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void start(struct lifespan_map *map) {
  lifespan_preload_name_with(lifespan_executable_malloc());
  lifespan_recorder_foreign_free(lifespan_preload_foreign_free());
  lifespan_preload_linked_allocator();
  enum lifespan_start_status status = lifespan_recorder_start(map, NULL, NULL);
  if (status != LIFESPAN_START_OK) { // said by the command, in its closing line
    if (!map->capture_reason[0]) snprintf(map->capture_reason, sizeof map->capture_reason, "the recorder did not start (status %d)", (int)status);
    return;
  }
  if (map->options.leaks) lifespan_preload_fill();
  if (map->options.children) lifespan_preload_follow_forks();
  lifespan_preload_threads_start();
  if (map->options.mark_signal) {
    struct sigaction action = {.sa_handler = mark_by_signal, .sa_flags = SA_RESTART};
    sigaction((int)map->options.mark_signal, &action, NULL);
  }
}

static void join_session(const char *session) {
  char reason[256];
  int runtime = lifespan_recorder_runtime(reason, sizeof reason);
  struct lifespan_map *map;
  uint64_t before = address_space();
  uint32_t verdict = lifespan_session_greet(session, &(struct lifespan_hello){.runtime = runtime, .reason = reason}, &map);
  if (!verdict && runtime == 1) lifespan_preload_say("nothing recorded", "the recording command can't be reached");
  if (verdict == LIFESPAN_VERDICT_RECORD) lifespan_environment_leave_to(LIFESPAN_HEIRS_SELF);
  if (verdict == LIFESPAN_VERDICT_PASS || verdict == LIFESPAN_VERDICT_PERHAPS) lifespan_environment_leave_to(LIFESPAN_HEIRS_ALL);
  if (!map) return;
  start(map);
  lifespan_preload_takes(address_space() - before);
}

__attribute__((constructor)) static void preload_start(void) {
  int saved_errno = errno;
  uintptr_t was = lifespan_quiet_begin(LIFESPAN_QUIET_OURS);
  const char *session = lifespan_environment_take();
  if (session) join_session(session);
  lifespan_record_no_early_blocks();
  lifespan_quiet_end(was);
  errno = saved_errno;
}

__attribute__((destructor)) static void preload_end(void) { lifespan_recorder_leaving(); }

// The linked library finds the recorder of this process by this name.
__attribute__((visibility("default"))) const struct lifespan_door_table *lifespan_preload_door(void) {
  lifespan_recorder_is_asked();
  return lifespan_recorder_own_door();
}
