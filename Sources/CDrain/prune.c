// Tables that grow with time lose what no living object needs: parents of tasks, holes, birth sites. Used by next.c, so only
// where a trace follows what lives.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "next.h"

// ---- Tasks ------------------------------------------------------------------------------------------------------------
#define PRUNE_TASKS 4096u // as many are not worth a look at everything

struct prune_task {
  uint64_t id, parent;
};

static const uint8_t *prune_varint(const uint8_t *at, uint64_t *value) {
  *value = 0;
  for (unsigned shift = 0;; shift += 7) {
    *value |= (uint64_t)(*at & 0x7f) << shift;
    if (!(*at++ & 0x80)) return at;
  }
}

static bool prune_has(const struct drain_index *needed, uint64_t task) {
  return task && drain_index_find(needed, task, 0) != UINT32_MAX;
}

// The tasks that living objects were born in, and those that run.
static void prune_needed(struct lifespan_drain *d, const struct drain_picture *p, struct drain_index *needed) {
  uint64_t last = 0;
  for (size_t i = 0; i < p->count; i++) {
    uint64_t task = p->objects[i].task;
    if (task && task != last) drain_index_add(needed, task, 0, UINT32_MAX - 1);
    last = task;
  }
  for (uint64_t i = p->held; i < p->held + drain_picture_waiting(p); i++) {
    uint64_t task = ((const struct drain_event *)p->events.data)[i].task;
    if (task && task != last) drain_index_add(needed, task, 0, UINT32_MAX - 1);
    last = task;
  }
  for (uint32_t slot = 0; slot < LIFESPAN_RING_SLOTS; slot++) {
    if (d->rings[slot].claimed && d->rings[slot].task) drain_index_add(needed, d->rings[slot].task, 0, UINT32_MAX - 1);
  }
}

void drain_prune_tasks(struct lifespan_drain *d, const struct drain_picture *p) {
  struct drain_bytes *rows = &d->kept[LIFESPAN_CHUNK_TASKS], pruned = {0};
  uint64_t count = d->kept_rows[LIFESPAN_CHUNK_TASKS], left = 0;
  if (count < PRUNE_TASKS) return;
  struct drain_index needed;
  size_t bytes = (count + 1) * sizeof(struct prune_task);
  struct prune_task *tasks = drain_pages(bytes);
  if (!drain_index_create(&needed)) needed.slots = NULL;
  bool made = tasks && needed.slots;
  if (made) prune_needed(d, p, &needed);
  const uint8_t *at = rows->data;
  for (uint64_t i = 0; made && i < count; i++) at = prune_varint(prune_varint(at, &tasks[i].id), &tasks[i].parent);
  // A task is told after its parent: backwards, each parent is known to be needed when it is reached.
  for (uint64_t i = count; made && i-- > 0;) {
    if (prune_has(&needed, tasks[i].id)) drain_index_add(&needed, tasks[i].parent, 0, UINT32_MAX - 1);
  }
  for (uint64_t i = 0; made && i < count; i++) {
    if (!prune_has(&needed, tasks[i].id)) continue;
    made = drain_put_varint(&pruned, tasks[i].id) && drain_put_varint(&pruned, tasks[i].parent);
    left++;
  }
  if (made) {
    drain_bytes_free(rows);
    *rows = pruned;
    d->kept_rows[LIFESPAN_CHUNK_TASKS] = left;
    // Who runs again is told again.
    memset(d->tasks_told, 0, sizeof(d->tasks_told));
  } else {
    drain_bytes_free(&pruned);
  }
  drain_index_destroy(&needed);
  drain_pages_free(tasks, bytes);
}

// ---- Gaps -------------------------------------------------------------------------------------------------------------
#define PRUNE_GAPS 1024u

static int64_t prune_signed(uint64_t zigzag) { return (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1); }

// Many holes become one for each reason: what was lost stays exact, when and by which thread does not.
void drain_prune_gaps(struct lifespan_drain *d) {
  struct drain_bytes *rows = &d->kept[LIFESPAN_CHUNK_GAPS], pruned = {0};
  uint64_t count = d->kept_rows[LIFESPAN_CHUNK_GAPS], left = 0;
  if (count < PRUNE_GAPS) return;
  struct drain_gap sums[DRAIN_GAP_LIMIT + 1] = {0};
  const uint8_t *at = rows->data;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t thread, from, to, births, deaths, others, reason;
    at = prune_varint(prune_varint(prune_varint(at, &thread), &from), &to);
    at = prune_varint(prune_varint(prune_varint(prune_varint(at, &births), &deaths), &others), &reason);
    struct drain_gap *sum = &sums[reason <= DRAIN_GAP_LIMIT ? reason : 0];
    bool fresh = !(sum->births | sum->deaths | sum->others);
    if (fresh || prune_signed(from) < (int64_t)sum->from) sum->from = (uint64_t)prune_signed(from);
    if (fresh || prune_signed(to) > (int64_t)sum->to) sum->to = (uint64_t)prune_signed(to);
    sum->births += births;
    sum->deaths += deaths;
    sum->others += others;
  }
  bool made = true;
  for (unsigned reason = 0; made && reason <= DRAIN_GAP_LIMIT; reason++) {
    const struct drain_gap *sum = &sums[reason];
    if (!(sum->births | sum->deaths | sum->others)) continue;
    made = drain_put_varint(&pruned, 0) && drain_put_varint(&pruned, drain_zigzag((int64_t)sum->from)) &&
           drain_put_varint(&pruned, drain_zigzag((int64_t)sum->to)) && drain_put_varint(&pruned, sum->births) &&
           drain_put_varint(&pruned, sum->deaths) && drain_put_varint(&pruned, sum->others) &&
           drain_put_varint(&pruned, reason);
    left++;
  }
  if (!made) return drain_bytes_free(&pruned);
  drain_bytes_free(rows);
  *rows = pruned;
  d->kept_rows[LIFESPAN_CHUNK_GAPS] = left;
}

// ---- Sites ------------------------------------------------------------------------------------------------------------
struct prune_sites {
  struct lifespan_drain *d;
  struct drain_bytes sites; // the ones that stay
  struct drain_index site_index, class_index;
  uint32_t *numbers; // by the old number: the new one + 1
  bool failed;
};

// The new number of a site that stays.
static uint32_t prune_site(struct prune_sites *p, uint32_t old) {
  if (p->numbers[old]) return p->numbers[old] - 1;
  struct drain_site site = drain_sites(p->d)[old];
  site.class = drain_index_add(&p->class_index, site.size, 0, DRAIN_SITE_LIMIT);
  uint32_t number =
      drain_index_add(&p->site_index, (uint64_t)site.type << 32 | site.stack, site.size, DRAIN_SITE_LIMIT);
  if (site.class == UINT32_MAX || number == UINT32_MAX || !drain_append(&p->sites, &site, sizeof(site))) {
    p->failed = true;
    return 0;
  }
  p->numbers[old] = number + 1;
  return number;
}

static void prune_event(struct prune_sites *p, const struct drain_event *event) {
  prune_site(p, event->site);
  if (event->kind == LIFESPAN_EVENT_MOVED) prune_site(p, event->old_site);
}

static uint32_t prune_numbers(struct prune_sites *p) {
  struct lifespan_drain *d = p->d;
  for (uint64_t i = 0; i <= d->living.mask; i++) {
    if (d->living.slots[i].key) prune_site(p, d->living.slots[i].site);
  }
  for (uint64_t i = drain_history_first(&d->history); d->history.room && i < d->history.total; i++)
    prune_event(p, drain_history_at(&d->history, i));
  for (uint32_t i = 0; i < DRAIN_RECENT; i++) {
    if (d->recent[i].serial) prune_site(p, d->recent[i].site);
  }
  for (uint32_t i = 0; i < d->waiting_count; i++) {
    if (d->waiting[i].dead.serial) prune_site(p, d->waiting[i].dead.site);
  }
  return p->site_index.count;
}

// Nothing can fail any more: everybody gets the new numbers.
static void prune_rename(struct prune_sites *p) {
  struct lifespan_drain *d = p->d;
  for (uint64_t i = 0; i <= d->living.mask; i++) {
    if (d->living.slots[i].key) d->living.slots[i].site = prune_site(p, d->living.slots[i].site);
  }
  for (uint64_t i = drain_history_first(&d->history); d->history.room && i < d->history.total; i++) {
    struct drain_event *event = drain_history_at(&d->history, i);
    event->site = prune_site(p, event->site);
    if (event->kind == LIFESPAN_EVENT_MOVED) event->old_site = prune_site(p, event->old_site);
    event->class = ((struct drain_site *)p->sites.data)[event->site].class;
  }
  for (uint32_t i = 0; i < DRAIN_RECENT; i++) {
    if (d->recent[i].serial) d->recent[i].site = prune_site(p, d->recent[i].site);
  }
  for (uint32_t i = 0; i < d->waiting_count; i++) {
    if (d->waiting[i].dead.serial) d->waiting[i].dead.site = prune_site(p, d->waiting[i].dead.site);
  }
}

// The trace's numbers of the sites that stay.
static bool prune_told(struct prune_sites *p, uint32_t count, struct drain_bytes *told) {
  const struct drain_encoder *e = p->d->encoder;
  if (!drain_reserve(told, ((size_t)count + 1) * sizeof(uint32_t))) return false;
  told->used = (size_t)count * sizeof(uint32_t);
  for (uint32_t old = 0; old < e->told_sites.used / sizeof(uint32_t); old++) {
    if (p->numbers[old])
      ((uint32_t *)told->data)[p->numbers[old] - 1] = ((const uint32_t *)e->told_sites.data)[old];
  }
  return true;
}

// Only with a trace that tells sites by its own numbers, and no other one beside it.
void drain_prune_sites(struct lifespan_drain *d) {
  struct prune_sites p = {.d = d};
  struct drain_bytes told = {0};
  size_t bytes = ((size_t)d->site_index.count + 1) * sizeof(uint32_t);
  p.numbers = drain_pages(bytes);
  bool made = p.numbers && drain_index_create(&p.site_index) && drain_index_create(&p.class_index);
  uint32_t count = made ? prune_numbers(&p) : 0;
  if (!made || p.failed || !prune_told(&p, count, &told)) {
    drain_index_destroy(&p.site_index);
    drain_index_destroy(&p.class_index);
    drain_bytes_free(&p.sites);
  } else {
    prune_rename(&p);
    drain_encoder_close_events(d->encoder); // predictions go by the numbers of sizes
    drain_index_destroy(&d->site_index);
    drain_index_destroy(&d->class_index);
    drain_bytes_free(&d->sites);
    drain_bytes_free(&d->encoder->told_sites);
    drain_bytes_free(&d->encoder->classes);
    d->site_index = p.site_index;
    d->class_index = p.class_index;
    d->sites = p.sites;
    d->encoder->told_sites = told;
  }
  drain_pages_free(p.numbers, bytes);
}

#endif
