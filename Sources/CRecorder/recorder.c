#include "lifespan_recorder.h"
