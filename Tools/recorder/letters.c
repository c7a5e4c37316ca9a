// What a mark without a name is called: the letters of its number, A, B, … Z, AA, or the next that no mark before it has as its name.
// The same rule as in Sources/LifespanTrace/GenerationLetters.swift, which names the marks of a trace. See recorder.h.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static char *letters_of(uint64_t number) {
  char text[16], *at = text + sizeof text - 1;
  *at = 0;
  for (number++; number; number = (number - 1) / 26) *--at = (char)('A' + (number - 1) % 26);
  return text_of("%s", at);
}

// The names of the marks before `number`, empty ones too; fewer where the drain has no memory to say them.
static char **names_before(struct lifespan_drain *drain, uint64_t number, size_t *count) {
  char **names = NULL;
  uint64_t room[1024];
  *count = 0;
  while (*count < number) {
    struct lifespan_question question = {.start = (uint32_t)*count};
    bool more;
    int64_t used = lifespan_drain_ask(drain, LIFESPAN_ASK_MARKS, &question, sizeof question, room, sizeof room, &more);
    size_t before = *count;
    for (int64_t place = 0; used > 0 && place < used && *count < number;) {
      const struct lifespan_mark_row *row = (const void *)((const char *)room + place);
      names = grown(names, *count + 1, sizeof *names);
      names[(*count)++] = text_of("%.*s", (int)row->name_length, (const char *)(row + 1));
      place += (int64_t)(sizeof *row + ((row->name_length + 7u) & ~7u));
    }
    if (*count == before) break;
  }
  return names;
}

static bool is_used(char *const *names, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(names[i], name)) return true;
  return false;
}

char *recording_letters(const struct recording *self, uint64_t number) {
  size_t count;
  if (self->thread) session_drain_lock(self->thread);
  char **names = names_before(self->drain, number, &count);
  if (self->thread) session_drain_unlock(self->thread);
  char *result = NULL;
  // Every unnamed one before it has got its letters in the same way.
  for (size_t i = 0; i <= count; i++) {
    if (i < count && *names[i]) continue;
    free(result);
    uint64_t next = i;
    result = letters_of(next);
    while (is_used(names, i, result)) {
      free(result);
      result = letters_of(++next);
    }
    if (i < count) {
      free(names[i]);
      names[i] = text_of("%s", result);
    }
  }
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return result;
}
