// What the unwinder reads of the rest of the recorder, for programs that have the unwinder alone.
#include "sandbox.h"

_Atomic uint32_t lifespan_forbidden; // nothing is
