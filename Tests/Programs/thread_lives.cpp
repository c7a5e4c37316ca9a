// Threads that come and go in every way there is. Argument: the way. Linked with the Swift runtime, so that it is recorded; prints what
// came back from the threads, and as its last line `threads TOTAL LIVING`: those that it made, and those that run when it ends.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <threads.h>
#include <unistd.h>
#include <vector>

static int made, living, status;
static sem_t ready, go;
static pthread_key_t key;
static int key_destroyed, local_destroyed, cleaned, unwound;

struct Local {
  void *block = malloc(48);
  ~Local() {
    free(block);
    __atomic_add_fetch(&local_destroyed, 1, __ATOMIC_SEQ_CST);
  }
};
struct Unwound {
  ~Unwound() { __atomic_add_fetch(&unwound, 1, __ATOMIC_SEQ_CST); }
};
static thread_local Local local;

static void destroy(void *block) {
  free(block);
  free(malloc(64));
  __atomic_add_fetch(&key_destroyed, 1, __ATOMIC_SEQ_CST);
}
static void cleanup(void *) { __atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST); }

// What every thread does: memory of all kinds, so that its destructors have something to do.
extern "C" void work(long number) {
  local.block = realloc(local.block, 80);
  pthread_setspecific(key, malloc(32));
  free(malloc(static_cast<size_t>(number % 500) + 1));
}

extern "C" void *returning(void *number) {
  work(reinterpret_cast<long>(number));
  return reinterpret_cast<void *>(reinterpret_cast<long>(number) * 2);
}
extern "C" void *waiting(void *number) {
  work(reinterpret_cast<long>(number));
  sem_post(&ready);
  while (sem_wait(&go)) {}
  return number;
}
extern "C" __attribute__((noinline)) void deeper_exit(long number) {
  Unwound here;
  pthread_cleanup_push(cleanup, nullptr);
  pthread_exit(reinterpret_cast<void *>(number + 1));
  pthread_cleanup_pop(1);
}
extern "C" void *exiting(void *number) {
  work(1);
  deeper_exit(reinterpret_cast<long>(number));
  return nullptr;
}
extern "C" void *cancelled(void *) {
  Unwound here;
  work(1);
  pthread_cleanup_push(cleanup, nullptr);
  sem_post(&ready);
  for (;;) pause();
  pthread_cleanup_pop(1);
}
// Anywhere, without a cleanup: a compiler has unwind tables for calls alone.
extern "C" void *cancelled_at_once(void *) {
  work(1);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  sem_post(&ready);
  for (volatile long i = 0;; i = i + 1) {}
}
extern "C" void *counting(void *counter) {
  work(1);
  sem_post(static_cast<sem_t *>(counter));
  return nullptr;
}
extern "C" int in_c11(void *number) {
  work(1);
  if (reinterpret_cast<long>(number) == 3) thrd_exit(33);
  return static_cast<int>(reinterpret_cast<long>(number) * 10 - 5);
}
extern "C" void *parked(void *) {
  work(1);
  sem_post(&ready);
  for (;;) pause();
}
extern "C" void *maker(void *) {
  pthread_t inner;
  pthread_create(&inner, nullptr, returning, reinterpret_cast<void *>(7));
  void *result;
  pthread_join(inner, &result);
  return result;
}

static pthread_t make(void *(*start)(void *), long number, pthread_attr_t *attributes = nullptr) {
  pthread_t thread;
  int error = pthread_create(&thread, attributes, start, reinterpret_cast<void *>(number));
  if (error) {
    printf("pthread_create: %s\n", strerror(error));
    exit(1);
  }
  made++;
  return thread;
}
static long join(pthread_t thread) {
  void *result;
  pthread_join(thread, &result);
  return reinterpret_cast<long>(result);
}

// All of them at once: none returns before all have come.
extern "C" __attribute__((noinline)) void at_once(int count, size_t stack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack) pthread_attr_setstacksize(&attributes, stack);
  std::vector<pthread_t> threads;
  for (int i = 0; i < count; i++) threads.push_back(make(waiting, i, &attributes));
  for (int i = 0; i < count; i++) sem_wait(&ready);
  for (int i = 0; i < count; i++) sem_post(&go);
  long sum = 0;
  for (pthread_t thread : threads) sum += join(thread);
  printf("sum %ld\n", sum);
}
extern "C" __attribute__((noinline)) void one_after_another(int count) {
  long sum = 0;
  for (int i = 0; i < count; i++) sum += join(make(returning, i));
  printf("sum %ld\n", sum);
}
extern "C" __attribute__((noinline)) void exits(int count) {
  long sum = 0;
  for (int i = 0; i < count; i++) sum += join(make(exiting, i));
  printf("sum %ld, unwound %d, cleaned %d\n", sum, unwound, cleaned);
}
extern "C" __attribute__((noinline)) void cancels(int count) {
  int seen = 0;
  for (int i = 0; i < count; i++) {
    pthread_t thread = make(i % 2 ? cancelled_at_once : cancelled, i);
    sem_wait(&ready);
    pthread_cancel(thread);
    seen += join(thread) == reinterpret_cast<long>(PTHREAD_CANCELED);
  }
  printf("cancelled %d, unwound %d, cleaned %d\n", seen, unwound, cleaned);
}
extern "C" __attribute__((noinline)) void detaches(int count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < count; i++) {
    if (i % 2) make(counting, reinterpret_cast<long>(&ready), &attributes);
    else pthread_detach(make(counting, reinterpret_cast<long>(&ready)));
  }
  for (int i = 0; i < count; i++) sem_wait(&ready);
  while (__atomic_load_n(&key_destroyed, __ATOMIC_SEQ_CST) < count) usleep(1000);
}
extern "C" __attribute__((noinline)) void standard(int count) {
  int caught = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) {
    made++;
    threads.emplace_back([i, &caught] {
      work(i);
      try {
        throw std::runtime_error(std::string(40, 'x'));
      } catch (const std::exception &) { __atomic_add_fetch(&caught, 1, __ATOMIC_SEQ_CST); }
    });
  }
  for (auto &thread : threads) thread.join();
  printf("caught %d\n", caught);
}
extern "C" __attribute__((noinline)) void c11(int count) {
  for (int i = 0; i < count; i++) {
    thrd_t thread;
    int result = 0, error = thrd_create(&thread, in_c11, reinterpret_cast<void *>(static_cast<long>(i)));
    made += error == thrd_success;
    thrd_join(thread, &result);
    printf("%d ", result);
  }
  printf("\n");
}
// A stack that no address space holds: EAGAIN, and nothing was made; the next one is.
extern "C" __attribute__((noinline)) void fails(int count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  int huge = pthread_attr_setstacksize(&attributes, 1ul << 47);
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, returning, nullptr);
    if (error != EAGAIN) printf("%d: %d\n", huge, error);
  }
  printf("joined %ld\n", join(make(returning, 4)));
}
extern "C" void names() {
  pthread_t thread = make(waiting, 1);
  sem_wait(&ready);
  pthread_setname_np(thread, "by another");
  std::thread self([] { pthread_setname_np(pthread_self(), "by itself"); });
  made++;
  self.join();
  std::thread by_prctl([] {
    prctl(PR_SET_NAME, "by prctl, which is cut");
    char name[16];
    prctl(PR_GET_NAME, name);
    printf("%s\n", name);
  });
  made++;
  by_prctl.join();
  sem_post(&go);
  join(thread);
  pthread_setname_np(make(parked, 1), "parked");
  sem_wait(&ready);
  living++;
}
extern "C" void nested() {
  made += 1;
  printf("inner %ld\n", join(make(maker, 1)));
}
// By the C library's own pthread_create, as a thread that a bare clone makes: the recorder hears of it when it names itself.
extern "C" void *unannounced(void *number) {
  char name[16];
  snprintf(name, sizeof name, "unheard %ld", reinterpret_cast<long>(number));
  pthread_setname_np(pthread_self(), name);
  return nullptr;
}
extern "C" void behind() {
  using create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  auto make_behind = reinterpret_cast<create>(dlsym(dlopen("libc.so.6", RTLD_NOW), "pthread_create"));
  for (long i = 0; i < 3; i++) {
    pthread_t thread;
    make_behind(&thread, nullptr, unannounced, reinterpret_cast<void *>(i));
    made++;
    join(thread);
  }
  printf("pid %d\n", getpid());
  fflush(stdout);
  getchar(); // until somebody has seen that they are gone
}
// The child's threads are its own.
extern "C" __attribute__((noinline)) void forks() {
  join(make(returning, 1));
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    for (int i = 0; i < 5; i++) join(make(returning, i));
    _exit(key_destroyed == 6 ? 3 : 4);
  }
  int status;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  join(make(returning, 1));
}

static void finish() {
  printf("thread_local %d, keys %d\n", local_destroyed, key_destroyed);
  printf("threads %d %d\n", made, living);
}
extern "C" void *last(void *main_thread) {
  join(reinterpret_cast<pthread_t>(main_thread));
  printf("main has ended\n");
  living = 1;
  finish();
  exit(status);
}

int main(int count, char **arguments) {
  std::string way = count > 1 ? arguments[1] : "";
  sem_init(&ready, 0, 0);
  sem_init(&go, 0, 0);
  pthread_key_create(&key, destroy);
  std::map<std::string, void (*)()> ways = {
      {"at-once", [] { at_once(200, 0); }},
      {"small", [] { at_once(50, 16384); }},
      {"waves", [] { one_after_another(2000); }},
      {"exit", [] { exits(20); }},
      {"cancel", [] { cancels(20); }},
      {"detached", [] { detaches(40); }},
      {"standard", [] { standard(20); }},
      {"c11", [] { c11(5); }},
      {"fails", [] { fails(100); }},
      {"names", names},
      {"nested", nested},
      {"fork", forks},
      {"behind", behind},
      {"uncaught", [] { std::thread([] { throw std::runtime_error("out of the thread"); }).join(); }},
      {"main-exits", [] {
         status = 5;
         make(last, static_cast<long>(pthread_self()));
         pthread_exit(nullptr);
       }},
  };
  auto found = ways.find(way);
  if (found == ways.end()) return 64;
  found->second();
  finish();
  return status;
}
