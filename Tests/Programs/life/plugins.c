// Loads each library that is named, lets it make objects, and unloads it: the next one may lie at the same address.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#include "life.h"

static void loads(int argc, char **argv) {
  void *before = NULL;
  int again = 0;
  for (int i = 1; i < argc; i++) {
    void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    need(library != NULL, dlerror());
    void (*run)(void *(*)(void), int) = (void (*)(void *(*)(void), int))dlsym(library, "plugin_run");
    need(run != NULL, "plugin_run");
    run(thing_make, 30);
    Dl_info info;
    need(dladdr((void *)run, &info), "dladdr");
    again += info.dli_fbase == before;
    before = info.dli_fbase;
    dlclose(library);
    things(5, 0);
  }
  say("at the place of the one before: %d", again);
}

static const struct mode modes[] = {{"loads", loads}, {0, 0}};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
