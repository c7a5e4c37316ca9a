#include "lifespan_drain.h"
