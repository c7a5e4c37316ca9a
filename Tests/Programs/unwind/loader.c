// dlopen and dlclose in turn; says on stdout whether the second library came to lie where the first was.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

int main(int count, char **paths) {
  unsigned long first = 0;
  int reused = 0;
  if (count < 3) return 64;
  for (int round = 0; round < 20; round++) {
    void *library = dlopen(paths[1 + round % 2], RTLD_NOW);
    if (!library) return 1;
    void (*enter)(int) = (void (*)(int))dlsym(library, "enter");
    unsigned long base = ((struct link_map *)library)->l_addr;
    if (!first) first = base;
    else reused += base == first;
    enter(5);
    dlclose(library);
  }
  printf("reused %d\n", reused);
  return 0;
}
