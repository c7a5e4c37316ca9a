// placeholder
#include "lifespan_map.h"
