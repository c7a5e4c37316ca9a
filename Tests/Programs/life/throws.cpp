// C++ exceptions through frames that own objects: destructors drop them on the way, and some are made anew while it unwinds.
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "life.h"

struct Owner {
  void *thing = thing_make();
  ~Owner() {
    thing_drop(thing);
    things(1, 0);
  }
};

static __attribute__((noinline)) int deep(int depth) {
  Owner owner;
  if (depth == 0) throw std::runtime_error(std::string(100, 'x'));
  return deep(depth - 1) + 1;
}

static void catches(int argc, char **) {
  (void)argc;
  int caught = 0;
  for (int i = 0; i < 100; i++) {
    try {
      deep(i % 30);
    } catch (const std::exception &error) {
      caught += error.what()[99] == 'x';
    }
    things(2, 1);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      for (int i = 0; i < 50; i++) {
        try {
          deep(i % 30);
        } catch (...) {
          things(1, 0);
        }
      }
    });
  for (auto &thread : threads) thread.join();
  say("caught %d", caught);
}

static void uncaught(int, char **) {
  things(100, 10);
  truth();
  deep(5);
}

struct Static {
  void *thing = thing_make();
  ~Static() {
    thing_drop(thing);
    truth();
  }
};
static void statics(int, char **) {
  static Static last;
  things(10, 5);
}

int main(int argc, char **argv) {
  static const mode modes[] = {{"catches", catches}, {"uncaught", uncaught}, {"statics", statics}, {nullptr, nullptr}};
  return run_mode(modes, argc, argv);
}
