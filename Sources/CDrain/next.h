// The file that is to take a running trace's place, while it is made: next.c.
#ifndef DRAIN_NEXT_H
#define DRAIN_NEXT_H

#include "picture.h"

#define DRAIN_SITES_LOOSE 65536u // so many sites that nothing living needs are not worth a look at everything

struct drain_successor {
  struct drain_encoder *encoder;
  struct drain_picture picture;
  bool done;      // the picture is told: events go on into both files
  bool at_once;   // takes the place then; else when the trace is full
  bool too_large; // for the limit
  uint64_t base;  // bytes of the picture
};

// prune.c: tables that grow with time lose what nothing living needs
void drain_prune_gaps(struct lifespan_drain *d);
void drain_prune_tasks(struct lifespan_drain *d, const struct drain_picture *picture);

#endif
