// What a program does while its heap is looked at, as its argument says. It tells its pid, goes on until its input ends, and says then what it has seen.
//
//   threads   200 threads that allocate and free all the time
//   forks     one that forks and waits for its children, all the time
//   held      200 threads that hold what they have allocated: in a local, in their thread-specific data, behind a pointer of their stack
//   register  two blocks are lost; the address of the first one was in rbp when the second was allocated, and is nowhere else
//   protected a block that nobody can read, in which the only pointer to another one stands
//   filtered  a seccomp filter that ends the process for any way to make another one
//
// Whoever looks at it must not be seen: no child that it has not made, no signal, no changed file.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int go = 1, begun, wrong;

static void *busy(void *unused) {
  (void)unused;
  void *blocks[64] = {0};
  begun++;
  for (unsigned i = 0; go; i++) {
    free(blocks[i % 64]);
    size_t size = 16 + i % 1000;
    if ((blocks[i % 64] = malloc(size))) memset(blocks[i % 64], 1, size);
    if (i % 8 == 0) usleep(20000); // the recorder keeps pace
    if (i % 7 == 0) blocks[i % 64] = realloc(blocks[i % 64], size * 2);
  }
  for (unsigned i = 0; i < 64; i++) free(blocks[i]);
  return NULL;
}

static void *forking(void *unused) {
  (void)unused;
  begun++;
  while (go) {
    pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    pid_t ended = waitpid(-1, &status, __WALL);
    if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) wrong++;
  }
  return NULL;
}

static pthread_key_t key;
static pthread_barrier_t ready;
static void *holding(void *unused) {
  (void)unused;
  void **local = malloc(100), *specific = malloc(200);
  *local = malloc(300);
  pthread_setspecific(key, specific);
  void *volatile kept = local;
  pthread_barrier_wait(&ready);
  begun++;
  while (go) usleep(1000);
  free(*(void **)kept);
  free(kept);
  free(specific);
  return NULL;
}

static void filter(void) {
  struct sock_filter program[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog whole = {sizeof program / sizeof *program, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole)) exit(70);
}

static void protect(void) {
  void **pages = NULL;
  if (posix_memalign((void **)&pages, 4096, 16384)) exit(72);
  pages[0] = malloc(77);
  if (mprotect(pages, 16384, PROT_NONE)) exit(73);
}

void lose(void);
__asm__(".globl lose\n.type lose, @function\nlose:\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset rbp, -16\n"
        "mov $72, %edi\ncall malloc@plt\nmov %rax, %rbp\n"
        "mov $40, %edi\ncall malloc@plt\nxor %eax, %eax\n"
        "pop %rbp\nret\n.cfi_endproc\n.size lose, .-lose\n");

int main(int count, char **words) {
  const char *way = count > 1 ? words[1] : "";
  int threads = !strcmp(way, "forks") ? 1 : !strcmp(way, "filtered") || !strcmp(way, "protected") || !strcmp(way, "register") ? 0 : 200;
  void *(*routine)(void *) = !strcmp(way, "forks") ? forking : !strcmp(way, "held") ? holding : busy;
  pthread_t list[200];
  pthread_key_create(&key, NULL);
  pthread_barrier_init(&ready, NULL, 200);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  for (int i = 0; i < threads; i++)
    if (pthread_create(&list[i], &small, routine, NULL)) return 71;
  while (begun < threads) usleep(1000);
  if (!strcmp(way, "filtered")) filter();
  if (!strcmp(way, "protected")) protect();
  printf("pid %d\n", (int)getpid());
  fflush(stdout);
  char line[16];
  while (fgets(line, sizeof line, stdin)) {}
  bool held = !strcmp(way, "held"); // to the end
  go = held;
  for (int i = 0; !held && i < threads; i++) pthread_join(list[i], NULL);
  int none = waitpid(-1, NULL, __WALL | WNOHANG);
  printf("children left: %s, wrong: %d\n", none == -1 && errno == ECHILD ? "none" : "some", (int)wrong);
  if (!strcmp(way, "register")) lose();
  return 3;
}
