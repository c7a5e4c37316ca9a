// Swift has no code that runs when an image is loaded: a test framework finds its tests by itself, and calls nothing of ours before.

#include "lifespan_testing.h"

__attribute__((constructor)) static void load(void) { lifespan_testing_loaded(); }
