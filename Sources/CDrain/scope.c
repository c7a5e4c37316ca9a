// Scopes: what is born between two moments in a task and the tasks below it, or on a thread. Begun and ended by questions (ask.c); events
// are tallied by apply.c, objects are looked up in the living table. A scope costs nothing while there is none.
//
// `of` says for each task (or thread) of a scope which one it belongs to, the innermost; a scope knows the one around it. A task inherits its
// parent's scope when it is made. A scope of a thread that runs no task takes in every task without a parent that was made since.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#define SCOPE_THREAD (1ull << 62) // key of a thread
#define SCOPE_OUTSIDE UINT32_MAX  // of a task that has a parent, which belongs to no scope
#define SCOPE_LIMIT 65535u
#define SCOPE_TYPES 128u

struct scope {
  uint64_t number; // 0: the place is free
  uint64_t key;    // of its task or thread; 0: the thread has not been seen yet
  uint64_t first_task, start, end; // end 0: not ended
  uint32_t outer;                  // place + 1
  uint32_t tid;                    // of a thread
  struct lifespan_scope_row *rows; // by type, open addressing; NULL: not tallied
  uint32_t mask, used;
};
struct scope_of {
  uint64_t key; // 0 empty
  uint32_t scope, reserved; // place + 1, 0: none any more
};
struct drain_scopes {
  struct drain_bytes list; // struct scope[]
  uint64_t numbers;
  uint32_t active, threads, pending;
  struct scope_of *of;
  uint64_t mask, used;
  struct drain_bytes listed; // an answer that is handed over in pieces
};

static struct scope *scope_at(const struct drain_scopes *s, uint32_t place) {
  return place && place <= s->list.used / sizeof(struct scope) ? (struct scope *)s->list.data + place - 1 : NULL;
}

// ---- Which scope a task belongs to ------------------------------------------------------------------------------------
static struct scope_of *scope_place(const struct drain_scopes *s, uint64_t key) {
  uint64_t at = (key * 0x9e3779b97f4a7c15ull) >> 20;
  while (s->of[at & s->mask].key && s->of[at & s->mask].key != key) at++;
  return &s->of[at & s->mask];
}

static bool scope_resize(struct drain_scopes *s) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i <= s->mask; i++) kept += s->of[i].key && s->of[i].scope;
  struct drain_scopes next = {.mask = s->mask};
  while (kept * 4 > next.mask) next.mask = next.mask * 2 + 1;
  next.of = drain_pages((next.mask + 1) * sizeof(*next.of));
  if (!next.of) return false;
  for (uint64_t i = 0; i <= s->mask; i++)
    if (s->of[i].key && s->of[i].scope) *scope_place(&next, s->of[i].key) = s->of[i];
  drain_pages_free(s->of, (s->mask + 1) * sizeof(*s->of));
  s->of = next.of;
  s->mask = next.mask;
  s->used = kept;
  return true;
}

static bool scope_set(struct drain_scopes *s, uint64_t key, uint32_t place) {
  if (s->used * 2 > s->mask && !scope_resize(s)) return false;
  struct scope_of *of = scope_place(s, key);
  if (!of->key) s->used++;
  *of = (struct scope_of){.key = key, .scope = place};
  return true;
}

static uint64_t scope_key(uint64_t task, uint32_t thread) { return task ? task : SCOPE_THREAD | thread; }

// Of a task without a parent: the newest scope of a thread that had begun when it was made.
static uint32_t scope_of_orphan(struct drain_scopes *s, uint64_t task) {
  uint32_t found = 0;
  uint64_t newest = 0;
  for (uint32_t i = 0; i < s->list.used / sizeof(struct scope); i++) {
    const struct scope *scope = (const struct scope *)s->list.data + i;
    if (!scope->number || !scope->tid || scope->end || scope->first_task > task || scope->number < newest) continue;
    newest = scope->number;
    found = i + 1;
  }
  return found;
}

static uint32_t scope_innermost(struct drain_scopes *s, uint64_t task, uint32_t thread) {
  const struct scope_of *of = scope_place(s, scope_key(task, thread));
  if (of->key) return of->scope == SCOPE_OUTSIDE ? 0 : of->scope;
  if (!task || !s->threads) return 0;
  uint32_t place = scope_of_orphan(s, task);
  scope_set(s, task, place ? place : SCOPE_OUTSIDE);
  return place;
}

void drain_scope_task(struct lifespan_drain *d, uint64_t task, uint64_t parent) {
  struct drain_scopes *s = d->scopes;
  if (!s || !s->active || !parent || scope_place(s, task)->key) return;
  uint32_t place = scope_innermost(s, parent, 0);
  if (!scope_at(s, place)) place = s->threads ? SCOPE_OUTSIDE : 0;
  if (place) scope_set(s, task, place);
}

void drain_scope_thread(struct lifespan_drain *d, uint32_t tid, uint32_t thread) {
  struct drain_scopes *s = d->scopes;
  if (!s || !s->pending) return;
  for (uint32_t i = 1; i <= s->list.used / sizeof(struct scope); i++) {
    struct scope *scope = scope_at(s, i);
    if (!scope->number || scope->key || scope->tid != tid) continue;
    scope->key = SCOPE_THREAD | thread;
    scope->outer = scope_innermost(s, 0, thread);
    s->pending--;
    scope_set(s, scope->key, i);
  }
}

// ---- Tallies ------------------------------------------------------------------------------------------------------------
static bool scope_has(const struct scope *scope, uint64_t stamp) {
  return stamp >= scope->start && (!scope->end || stamp <= scope->end);
}

static struct lifespan_scope_row *scope_row(struct lifespan_scope_row *rows, uint32_t mask, uint32_t type) {
  uint32_t at = type * 0x9e3779b1u >> 8;
  while (rows[at & mask].type && rows[at & mask].type != type) at++;
  return &rows[at & mask];
}

static bool scope_more_rows(struct scope *scope) {
  uint32_t mask = scope->mask * 2 + 1;
  struct lifespan_scope_row *rows = drain_pages((mask + 1) * sizeof(*rows));
  if (!rows) return false;
  for (uint32_t i = 0; i <= scope->mask; i++)
    if (scope->rows[i].type) *scope_row(rows, mask, scope->rows[i].type) = scope->rows[i];
  drain_pages_free(scope->rows, (scope->mask + 1) * sizeof(*rows));
  scope->rows = rows;
  scope->mask = mask;
  return true;
}

static void scope_add(struct scope *scope, const struct lifespan_scope_row *more) {
  if (!scope->rows || (scope->used * 2 > scope->mask && !scope_more_rows(scope))) return;
  struct lifespan_scope_row *row = scope_row(scope->rows, scope->mask, more->type);
  if (!row->type) scope->used++;
  row->type = more->type;
  row->births += more->births;
  row->bytes += more->bytes;
  row->retains += more->retains;
  row->releases += more->releases;
}

void drain_scope_tally(struct lifespan_drain *d, const struct drain_record *record, const struct lifespan_scope_row *more) {
  struct drain_scopes *s = d->scopes;
  if (!s->active) return;
  uint32_t place = scope_innermost(s, record->task, record->thread);
  for (struct scope *scope; (scope = scope_at(s, place)); place = scope->outer)
    if (scope_has(scope, record->stamp)) scope_add(scope, more);
}

// ---- Begin, end, forget -----------------------------------------------------------------------------------------------
static struct drain_scopes *scopes_made(struct lifespan_drain *d) {
  if (d->scopes) return d->scopes;
  struct drain_scopes *s = drain_pages(sizeof(*s));
  if (!s) return NULL;
  s->mask = 255;
  s->of = drain_pages((s->mask + 1) * sizeof(*s->of));
  if (s->of) return d->scopes = s;
  drain_pages_free(s, sizeof(*s));
  return NULL;
}

static struct scope *scope_numbered(const struct drain_scopes *s, uint64_t number) {
  struct scope *scope = s ? scope_at(s, (uint32_t)(number & 0xffff)) : NULL;
  return scope && number && scope->number == number ? scope : NULL;
}

static uint32_t scope_free_place(struct drain_scopes *s) {
  uint32_t count = (uint32_t)(s->list.used / sizeof(struct scope));
  for (uint32_t i = 1; s->active < count && i <= count; i++)
    if (!scope_at(s, i)->number) return i;
  if (count == SCOPE_LIMIT || !drain_reserve(&s->list, sizeof(struct scope))) return 0;
  s->list.used += sizeof(struct scope);
  return count + 1;
}

int64_t drain_scope_begin(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room) {
  struct lifespan_scope_begun begun = {0};
  if (room < sizeof(begun)) return -EMSGSIZE;
  struct drain_scopes *s = d->begun ? scopes_made(d) : NULL;
  uint32_t place = s ? scope_free_place(s) : 0;
  if (!place) return -ENOMEM;
  bool on_thread = q->address & LIFESPAN_SCOPE_OF_THREAD;
  uint32_t tid = on_thread ? q->generation & ~LIFESPAN_SCOPE_TALLIED : 0;
  uint32_t thread = on_thread ? lifespan_drain_thread(d, tid) : 0;
  struct scope scope = {.tid = tid, .start = drain_now(d->clock), .number = ++s->numbers << 16 | place};
  if (on_thread) scope.first_task = d->newest_task + 1;
  if (!on_thread) scope.key = q->address & LIFESPAN_VALUE_MASK;
  else if (thread) scope.key = SCOPE_THREAD | thread;
  if (q->generation & LIFESPAN_SCOPE_TALLIED) {
    scope.mask = SCOPE_TYPES - 1;
    scope.rows = drain_pages(SCOPE_TYPES * sizeof(*scope.rows));
    if (!scope.rows) return -ENOMEM;
  }
  if (scope.key) {
    const struct scope_of *of = scope_place(s, scope.key);
    scope.outer = of->key && of->scope != SCOPE_OUTSIDE ? of->scope : 0;
    if (!scope_set(s, scope.key, place)) return -ENOMEM;
  }
  *scope_at(s, place) = scope;
  s->active++;
  s->threads += on_thread;
  s->pending += !scope.key;
  begun = (struct lifespan_scope_begun){.scope = scope.number, .ticks = scope.start - d->start};
  memcpy(answer, &begun, sizeof(begun));
  return sizeof(begun);
}

// What belonged to it innermost belongs to the one around it.
static void scope_hand_over(struct drain_scopes *s, uint32_t place, uint32_t outer) {
  for (uint64_t i = 0; i <= s->mask; i++)
    if (s->of[i].key && s->of[i].scope == place) s->of[i].scope = outer;
  for (uint32_t i = 1; i <= s->list.used / sizeof(struct scope); i++)
    if (scope_at(s, i)->number && scope_at(s, i)->outer == place) scope_at(s, i)->outer = outer;
}

int64_t drain_scope_end(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room) {
  struct scope *scope = scope_numbered(d->scopes, q->address);
  if (!scope) return -ENOENT;
  if (room < sizeof(uint64_t)) return -EMSGSIZE;
  if (!scope->end) {
    scope->end = drain_now(d->clock);
    if (scope->tid) d->scopes->threads--;
  }
  uint64_t ticks = scope->end - d->start;
  memcpy(answer, &ticks, sizeof(ticks));
  return sizeof(ticks);
}

int64_t drain_scope_forget(struct lifespan_drain *d, const struct lifespan_question *q) {
  struct drain_scopes *s = d->scopes;
  struct scope *scope = scope_numbered(s, q->address);
  if (!scope) return -ENOENT;
  if (!scope->key) s->pending--;
  if (scope->tid && !scope->end) s->threads--;
  scope_hand_over(s, (uint32_t)(q->address & 0xffff), scope->outer);
  drain_pages_free(scope->rows, (scope->mask + 1) * sizeof(*scope->rows));
  *scope = (struct scope){0};
  if (--s->active) return 0;
  memset(s->of, 0, (s->mask + 1) * sizeof(*s->of));
  s->used = 0;
  return 0;
}

void drain_scopes_destroy(struct lifespan_drain *d) {
  struct drain_scopes *s = d->scopes;
  if (!s) return;
  for (uint32_t i = 1; i <= s->list.used / sizeof(struct scope); i++)
    drain_pages_free(scope_at(s, i)->rows, (scope_at(s, i)->mask + 1) * sizeof(struct lifespan_scope_row));
  drain_bytes_free(&s->list);
  drain_bytes_free(&s->listed);
  drain_pages_free(s->of, (s->mask + 1) * sizeof(*s->of));
  drain_pages_free(s, sizeof(*s));
  d->scopes = NULL;
}

// ---- Answers ------------------------------------------------------------------------------------------------------------
int64_t drain_scope_rows(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room, bool *more) {
  const struct scope *scope = scope_numbered(d->scopes, q->address);
  if (!scope) return -ENOENT;
  struct lifespan_scope_row *rows = (struct lifespan_scope_row *)answer;
  size_t fit = room / sizeof(*rows), count = 0, seen = 0;
  for (uint32_t i = 0; scope->rows && i <= scope->mask; i++) {
    if (!scope->rows[i].type || seen++ < q->start) continue;
    if (count == fit) {
      *more = true;
      break;
    }
    rows[count++] = scope->rows[i];
  }
  return *more && !count ? -EMSGSIZE : (int64_t)(count * sizeof(*rows));
}

static struct lifespan_scope_object scope_object(const struct lifespan_drain *d, const struct drain_object *object) {
  const struct drain_site *site = &drain_sites(d)[object->site];
  return (struct lifespan_scope_object){.inverted = ~drain_address(object->key),
                                        .serial = object->serial,
                                        .size = object->size,
                                        .ticks = object->stamp - d->start,
                                        .task = object->task,
                                        .type = site->type,
                                        .stack = site->stack,
                                        .thread = object->thread};
}

// One row for each scope that an object belongs to: of the one that is asked for, or of all that have ended. What was born meanwhile
// elsewhere comes too where one is asked for.
static bool scope_list(struct lifespan_drain *d, struct drain_scopes *s, const struct scope *asked, const struct drain_object *object) {
  if (asked && !scope_has(asked, object->stamp)) return true;
  struct lifespan_scope_object row = scope_object(d, object);
  uint32_t place = scope_innermost(s, object->task, object->thread);
  bool elsewhere = place;
  for (const struct scope *scope; (scope = scope_at(s, place)); place = scope->outer) {
    if ((asked ? scope != asked : !scope->end) || !scope_has(scope, object->stamp)) continue;
    row.scope = scope->number;
    row.place = LIFESPAN_SCOPE_INSIDE;
    if (!drain_append(&s->listed, &row, sizeof(row))) return false;
    if (asked) return true;
  }
  if (!asked) return true;
  row.place = elsewhere ? LIFESPAN_SCOPE_IN_ANOTHER : LIFESPAN_SCOPE_IN_NONE;
  return drain_append(&s->listed, &row, sizeof(row));
}

int64_t drain_scope_living(struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room, bool *more) {
  struct drain_scopes *s = d->scopes;
  const struct scope *asked = scope_numbered(s, q->address);
  if (!s || (q->address && !asked)) return -ENOENT;
  if (!q->start) {
    s->listed.used = 0;
    for (uint64_t i = 0; i <= d->living.mask; i++) {
      const struct drain_object *object = &d->living.slots[i];
      if (!object->key || object->key & 1 || object->state & DRAIN_STATE_KEPT) continue;
      if (!scope_list(d, s, asked, object)) return -ENOMEM;
    }
  }
  const size_t size = sizeof(struct lifespan_scope_object);
  uint64_t at = (uint64_t)q->start * size;
  if (at > s->listed.used) return -EINVAL;
  size_t length = s->listed.used - at;
  *more = length > room;
  if (*more) length = room / size * size;
  if (*more && !length) return -EMSGSIZE;
  if (length) memcpy(answer, s->listed.data + at, length);
  if (!*more) drain_bytes_free(&s->listed);
  return (int64_t)length;
}

int64_t drain_ask_object(const struct lifespan_drain *d, const struct lifespan_question *q, uint8_t *answer, size_t room) {
  if (!q->address || q->address > LIFESPAN_VALUE_MASK) return -ENOENT;
  const struct drain_object *object = drain_living_find(&d->living, q->address);
  if (!object || object->state & DRAIN_STATE_KEPT) return -ENOENT;
  struct lifespan_scope_object row = scope_object(d, object);
  if (room < sizeof(row)) return -EMSGSIZE;
  memcpy(answer, &row, sizeof(row));
  return sizeof(row);
}

#endif
