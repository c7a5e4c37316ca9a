// A report of the heap: by a picture of our own (picture.c), or by the recording command. Called by Lifespan.

#include "door.h"

#if LIFESPAN_RECORDS_HERE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

#define CLEARED 8192u // bytes

static enum lifespan_linked_status ask_command(struct lifespan_map *map, uint64_t address, struct lifespan_linked_answer *answer,
                                               char *reason, size_t room) {
  struct lifespan_question question = {.address = address};
  enum lifespan_linked_status status = lifespan_linked_request(map, address ? LIFESPAN_ASK_HOLDERS : LIFESPAN_ASK_LEAKS, &question, answer);
  if (status == LIFESPAN_LINKED_FORBIDDEN) snprintf(reason, room, "%.*s", (int)answer->length, answer->bytes ? (const char *)answer->bytes : "");
  return status;
}

static enum lifespan_linked_status look(uint64_t address, uint64_t sp, struct lifespan_linked_answer *answer, char *reason, size_t room) {
  struct heap_report report = {0};
  enum lifespan_linked_status status = lifespan_linked_picture(address, sp, &report, reason, room);
  if (status == LIFESPAN_LINKED_OK) {
    if (lifespan_linked_grow(answer, report.length)) {
      memcpy(answer->bytes, report.bytes, report.length);
      answer->length = report.length;
    } else {
      status = LIFESPAN_LINKED_NO_MEMORY;
    }
  }
  if (report.bytes) memset(report.bytes, 0, report.length); // addresses: the next look would find them
  free(report.bytes);
  return status;
}

static __attribute__((noinline)) enum lifespan_linked_status answer_from(uint64_t sp, uint64_t place, struct lifespan_linked_answer *answer,
                                                                         char *reason, size_t room) {
  memset(answer, 0, sizeof *answer);
  if (room) *reason = 0;
  uint64_t address = place ? ~place : 0;
  enum lifespan_linked_status status;
  struct lifespan_map *map = lifespan_linked_map(&status);
  if (!map) return status;
  if (lifespan_linked_preload(&status, NULL)) status = ask_command(map, address, answer, reason, room);
  else status = look(address, sp, answer, reason, room);
  if (status != LIFESPAN_LINKED_OK) lifespan_linked_forget(answer);
  return status;
}

__attribute__((noinline)) void lifespan_linked_clear_stack(void) {
  volatile uint8_t room[CLEARED];
  for (size_t i = 0; i < sizeof room; i++) room[i] = 0;
}

// What the caller has in registers is written into this frame, and the caller's stack counts from here on: what our own functions leave below is no root.
__attribute__((noinline)) enum lifespan_linked_status lifespan_linked_heap(uint64_t place, struct lifespan_linked_answer *answer, char *reason,
                                                                           size_t room) {
  uint64_t sp;
  __builtin_unwind_init();
  __asm__ volatile("movq %%rsp, %0" : "=r"(sp)::"memory");
  enum lifespan_linked_status status = answer_from(sp, place, answer, reason, room);
  __asm__ volatile("" ::: "memory"); // no tail call: this frame must stay
  return status;
}

#else

void lifespan_linked_clear_stack(void) {}
enum lifespan_linked_status lifespan_linked_heap(uint64_t place, struct lifespan_linked_answer *answer, char *reason, size_t room) {
  (void)place;
  answer->bytes = NULL;
  answer->length = answer->room = 0;
  if (room) *reason = 0;
  return LIFESPAN_LINKED_PLATFORM;
}

#endif
