// What C and C++ lose and hold, a case a run: `leaks CASE`. Prints how many blocks are leaked by it. Built for LeakSanitizer too
// (Tests/Behaviour/leaks.py). `leaks` alone lists the cases.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define APART __attribute__((noinline))

struct pair {
  struct pair *next;
  char text[40];
};
static void *volatile global;
static thread_local void *local;
static thread_local std::vector<int> *local_vector;
static pthread_key_t key;
static pthread_barrier_t barrier;
static std::vector<std::string> global_strings;
static std::map<int, std::string> *global_map;
static char *interior;
struct shared {
  std::shared_ptr<shared> other;
  int number = 1;
};
struct virtual_base {
  virtual ~virtual_base() {}
  int a = 1;
};
struct second_base {
  virtual ~second_base() {}
  int b = 2;
};
struct derived : virtual_base, second_base {
  int c = 3;
};
static second_base *by_second_base;
static int *elements;
struct with_destructor {
  int number = 1;
  ~with_destructor() {}
};
static with_destructor *array_with_cookie;

// Overwrites what lies below on the stack.
static APART void wipe() {
  char bytes[1 << 14];
  memset(bytes, 0, sizeof bytes);
  asm volatile("" : : "r"(bytes) : "memory");
}

// ---- What is leaked ----
// Not left out by the optimizer.
static APART void forget(void *memory) {
  asm volatile("" : : "r"(memory) : "memory");
}
static APART void lost() { forget(malloc(100)); }
static APART void lost_calloc() { forget(calloc(3, 40)); }
static APART void lost_realloc() { forget(realloc(malloc(10), 1000)); }
static APART void lost_aligned() {
  void *memory;
  if (posix_memalign(&memory, 64, 256)) exit(70);
  forget(memory);
  forget(aligned_alloc(4096, 8192));
}
static APART void lost_large() { forget(malloc(1 << 20)); }
static APART void lost_new() { forget(new derived), forget(new with_destructor[10]); }
static APART void cycle() {
  auto a = (pair *)malloc(sizeof(pair)), b = (pair *)malloc(sizeof(pair));
  a->next = b, b->next = a;
  forget(a);
}
static APART void itself() {
  auto a = (pair *)malloc(sizeof(pair));
  a->next = a;
  forget(a);
}
static APART void ring() {
  pair *first = (pair *)malloc(sizeof(pair)), *last = first;
  for (int i = 1; i < 1000; i++) last->next = (pair *)malloc(sizeof(pair)), last = last->next;
  last->next = first;
  forget(first);
}
static APART void lost_list() {
  pair *first = nullptr;
  for (int i = 0; i < 10; i++) {
    auto next = (pair *)malloc(sizeof(pair));
    next->next = first, first = next;
  }
  forget(first);
}
static APART void lost_vector() { forget(new std::vector<int>(100)); }
static APART void lost_map() {
  auto map = new std::map<int, std::string>;
  for (int i = 0; i < 10; i++) (*map)[i] = "a text that does not fit into the string itself";
  forget(map);
}
static APART void lost_std_list() { forget(new std::list<int>(10)); }
static APART void shared_cycle() {
  auto a = std::make_shared<shared>(), b = std::make_shared<shared>();
  a->other = b, b->other = a;
}
static APART void released() { forget(std::make_unique<std::string>(100, 'x').release()); }
static APART void hidden() { global = (void *)~(uintptr_t)malloc(50); }
static APART void in_freed() {
  auto holder = (pair *)malloc(sizeof(pair));
  holder->next = (pair *)malloc(sizeof(pair));
  forget(holder);
  free(holder);
}
static APART void half() { // the first goes, what it held stays
  auto first = (pair *)malloc(sizeof(pair));
  first->next = (pair *)malloc(sizeof(pair));
  forget(first);
}
static void *ends(void *) {
  local = malloc(60);
  pthread_setspecific(key, malloc(70));
  return nullptr;
}
static APART void of_ended_thread() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, ends, nullptr)) exit(70);
  pthread_join(thread, nullptr);
}

// ---- What is held ----
static void by_global() { global = malloc(100); }
static void by_block() {
  auto first = (pair *)malloc(sizeof(pair));
  first->next = (pair *)malloc(sizeof(pair));
  first->next->next = first;
  global = first;
}
static void by_thread_local() { local = malloc(100), local_vector = new std::vector<int>(10); }
static void by_interior() { interior = (char *)malloc(1000) + 500; }
static void by_last_byte() { interior = (char *)malloc(1000) + 999; }
static void by_second() { by_second_base = new derived; }
static void by_cookie() { array_with_cookie = new with_destructor[10]; }
static void by_elements() { elements = new int[100]; }
static void by_containers() {
  for (int i = 0; i < 100; i++) global_strings.push_back("a text that does not fit into the string itself");
  global_map = new std::map<int, std::string>;
  for (int i = 0; i < 100; i++) (*global_map)[i] = "a text that does not fit into the string itself";
}
static void by_specific() { pthread_setspecific(key, malloc(100)); }
static void *stays(void *) {
  void *volatile on_stack = malloc(100);
  local = malloc(200);
  pthread_setspecific(key, malloc(300));
  local_vector = new std::vector<int>(10);
  pthread_barrier_wait(&barrier);
  for (;;) pause();
  return on_stack;
}
static void by_thread() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, stays, nullptr)) exit(70);
  pthread_barrier_wait(&barrier);
}
static volatile int stop;
static void *given(void *argument) {
  pthread_barrier_wait(&barrier);
  while (!stop) pause();
  return *(void **)argument;
}
static void *given_in_vain(void *) {
  pthread_barrier_wait(&barrier);
  for (;;) pause();
}
static void give(void *(*routine)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, routine, malloc(100))) exit(70);
  pthread_barrier_wait(&barrier);
}
static void by_argument() { give(given); }
static void unused_argument() { give(given_in_vain); }
static void by_mapping() {
  auto pages = (void **)mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) exit(70);
  pages[100] = malloc(100);
}
static void freed_at_exit() {
  static void *kept = malloc(100);
  atexit([] { free(kept); });
}

static const struct {
  const char *name;
  void (*run)();
  int leaked;
} cases[] = {
    {"lost", lost, 1},
    {"lost-calloc", lost_calloc, 1},
    {"lost-realloc", lost_realloc, 1},
    {"lost-aligned", lost_aligned, 2},
    {"lost-large", lost_large, 1},
    {"lost-new", lost_new, 2},
    {"cycle", cycle, 2},
    {"itself", itself, 1},
    {"ring", ring, 1000},
    {"lost-list", lost_list, 10},
    {"lost-vector", lost_vector, 2},
    {"lost-map", lost_map, 21},
    {"lost-std-list", lost_std_list, 11},
    {"shared-cycle", shared_cycle, 2},
    {"released", released, 2},
    {"hidden", hidden, 1},
    {"in-freed", in_freed, 1},
    {"half", half, 2},
    {"of-ended-thread", of_ended_thread, 2},
    {"by-global", by_global, 0},
    {"by-block", by_block, 0},
    {"by-thread-local", by_thread_local, 0},
    {"by-interior", by_interior, 0},
    {"by-last-byte", by_last_byte, 0},
    {"by-second-base", by_second, 0},
    {"by-cookie", by_cookie, 0},
    {"by-elements", by_elements, 0},
    {"by-containers", by_containers, 0},
    {"by-specific", by_specific, 0},
    {"by-thread", by_thread, 0},
    {"by-argument", by_argument, 0},
    {"freed-at-exit", freed_at_exit, 0},
    {"by-stack", nullptr, 0},
    // Where LeakSanitizer is of another opinion (Tests/Behaviour/leaks.py).
    {"by-mapping", by_mapping, 0},
    {"unused-argument", unused_argument, 1},
};

int main(int count, char **words) {
  pthread_key_create(&key, nullptr);
  pthread_barrier_init(&barrier, nullptr, 2);
  for (const auto &one : cases) {
    if (count < 2) puts(one.name);
    if (count < 2 || strcmp(words[1], one.name)) continue;
    void *volatile on_stack = one.run ? nullptr : malloc(100);
    if (one.run) one.run();
    wipe();
    printf("TRUTH {\"leaked\":%d}\n", one.leaked);
    fflush(stdout);
    exit(on_stack ? 0 : 0);
  }
  return count < 2 ? 0 : 64;
}
