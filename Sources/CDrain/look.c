// Looks at the heap that the program under the recording command asks for. The question waits in the slot until the command, which must stop the program for
// it, has made the answer; then that goes back in pieces. Called by run.c and by the command.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "drain.h"

#include <unistd.h>

enum { LOOK_NONE = 0, LOOK_WANTED = 1, LOOK_TAKEN = 2, LOOK_READY = 3, LOOK_TOLD = 4 };

bool lifespan_drain_look_wanted(struct lifespan_drain *d, uint32_t *op, uint64_t *address) {
  if (d->look.state != LOOK_WANTED) return false;
  d->look.state = LOOK_TAKEN;
  *op = d->look.op;
  *address = d->look.address;
  return true;
}

void lifespan_drain_look_done(struct lifespan_drain *d, int error, const void *bytes, size_t length) {
  d->look.bytes.used = 0;
  d->look.error = drain_append(&d->look.bytes, bytes, length) ? error : ENOMEM;
  if (d->look.error == ENOMEM) d->look.bytes.used = 0;
  d->look.state = LOOK_READY;
}

static int64_t tell(struct lifespan_drain *d, uint64_t start, uint8_t *answer, size_t room, bool *more) {
  size_t at = start * LIFESPAN_SAVE_UNIT, used = d->look.bytes.used, most = room / LIFESPAN_SAVE_UNIT * LIFESPAN_SAVE_UNIT;
  if (at > used) return -EINVAL;
  size_t length = used - at < most ? used - at : most;
  memcpy(answer, d->look.bytes.data + at, length);
  *more = at + length < used;
  if (*more) return (int64_t)length;
  drain_bytes_free(&d->look.bytes);
  d->look.state = LOOK_NONE;
  return (int64_t)length;
}

// A question begins at 0; one that goes on is to be told the rest. -EAGAIN: it waits.
int64_t drain_look(struct lifespan_drain *d, uint32_t op, const struct lifespan_question *q, uint8_t *answer, size_t room, bool *more, uint32_t *error) {
  if (!d->options.look_file) return -ENOTSUP;
  if (!q->start && (d->look.state == LOOK_NONE || d->look.state == LOOK_TOLD)) {
    d->look.op = op;
    d->look.address = q->address;
    d->look.state = LOOK_WANTED;
    uint64_t one = 1;
    if (write(d->options.look_file, &one, sizeof one) != sizeof one) d->look.state = LOOK_NONE;
    return d->look.state == LOOK_NONE ? -EIO : -EAGAIN;
  }
  if (d->look.state == LOOK_WANTED || d->look.state == LOOK_TAKEN) return -EAGAIN;
  if (q->start ? d->look.state != LOOK_TOLD : d->look.state != LOOK_READY) return -EINVAL;
  *error = (uint32_t)d->look.error;
  d->look.state = LOOK_TOLD;
  return tell(d, q->start, answer, room, more);
}

#endif
