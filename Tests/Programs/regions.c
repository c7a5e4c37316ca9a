// Maps, moves, cuts and unmaps regions, and says at the end what lives: "EXPECT NAME LIVING BYTES", counted by itself, and held against the kernel's
// own list (/proc/self/maps): every byte of these regions is mapped there. Exit status 1 where not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define MOST 4096

// ---- What it holds itself to ------------------------------------------------------------------------------------------------

static struct region {
  char *start;
  size_t bytes;
  const char *name;
} regions[MOST];
static int count;

static char *lives(void *start, size_t pages, const char *name) {
  if (start == MAP_FAILED) {
    perror(name);
    exit(2);
  }
  regions[count++] = (struct region){start, pages * PAGE, name};
  return start;
}
static void forget(char *start) {
  for (int i = 0; i < count; i++) {
    if (regions[i].start != start) continue;
    regions[i] = regions[--count];
    return;
  }
  exit(3);
}

// Whether the kernel has the whole of it.
static int is_mapped(const struct region *region) {
  FILE *maps = fopen("/proc/self/maps", "r");
  uintptr_t at = (uintptr_t)region->start, from, to;
  char line[512];
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= at && at < to) at = to;
  fclose(maps);
  return at >= (uintptr_t)region->start + region->bytes;
}

static int tell(void) {
  int wrong = 0;
  static const char *names[] = {"VM: anonymous", "VM: shared anonymous", "VM: stack",           "VM: reserved",
                                "VM: memfd book", "VM: mapped file regions.data", "VM: System V shared memory", "VM: sbrk"};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    size_t pieces = 0, bytes = 0;
    for (int i = 0; i < count; i++)
      if (!strcmp(regions[i].name, names[n])) pieces++, bytes += regions[i].bytes;
    printf("EXPECT %s %zu %zu\n", names[n], pieces, bytes);
  }
  for (int i = 0; i < count; i++)
    if (!is_mapped(&regions[i])) wrong = 1;
  puts(wrong ? "WRONG: not mapped" : "as the kernel says");
  fflush(stdout);
  return wrong;
}

#define ANONYMOUS(pages) mmap(NULL, (pages) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)

// ---- The ways ---------------------------------------------------------------------------------------------------------------

static void kinds(void) {
  lives(ANONYMOUS(3), 3, "VM: anonymous");
  lives(mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, "VM: shared anonymous");
  lives(mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0), 16, "VM: stack");
  lives(mmap(NULL, 1ul << 34, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), 1, "VM: reserved");
  regions[count - 1].bytes = 1ul << 34;
  int memory = memfd_create("book", MFD_CLOEXEC);
  if (ftruncate(memory, 5 * PAGE)) exit(2);
  lives(mmap(NULL, 5 * PAGE, PROT_READ, MAP_SHARED, memory, 0), 5, "VM: memfd book");
  close(memory);
  int file = open("regions.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, 7 * PAGE)) exit(2);
  lives(mmap(NULL, 6 * PAGE + 1, PROT_READ, MAP_PRIVATE, file, 0), 7, "VM: mapped file regions.data");
  unlink("regions.data");
  lives(mmap64(NULL, PAGE, PROT_READ, MAP_SHARED, file, PAGE), 1, "VM: mapped file regions.data");
  close(file);
  int segment = shmget(IPC_PRIVATE, 3 * PAGE, 0600 | IPC_CREAT);
  lives(shmat(segment, NULL, 0), 3, "VM: System V shared memory");
  char *second = shmat(segment, NULL, 0);
  if (shmdt(second)) exit(2);
  shmctl(segment, IPC_RMID, NULL);
  char *old = sbrk(64 * (intptr_t)PAGE);
  char *from = (char *)(((uintptr_t)old + PAGE - 1) & ~(PAGE - 1));
  if (sbrk(-16 * (intptr_t)PAGE) == (void *)-1) exit(2);
  char *to = (char *)(((uintptr_t)sbrk(0) + PAGE - 1) & ~(PAGE - 1));
  lives(from, (size_t)(to - from) / PAGE, "VM: sbrk");
}

static void failing(void) {
  errno = 0;
  void *none = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("mmap %d errno %d\n", none == MAP_FAILED, errno);
  none = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 9999, 0);
  printf("mmap %d errno %d\n", none == MAP_FAILED, errno);
  char *stays = lives(ANONYMOUS(2), 2, "VM: anonymous");
  printf("munmap %d errno %d\n", munmap(stays + 1, PAGE), errno);
  printf("munmap %d errno %d\n", munmap(stays, 0), errno);
  printf("mremap %d errno %d\n", mremap(stays, 2 * PAGE, 1ul << 46, MREMAP_MAYMOVE) == MAP_FAILED, errno);
  errno = 7;
  void *gone_again = ANONYMOUS(1);
  munmap(gone_again, PAGE);
  printf("errno %d\n", errno);
}

static void partly(void) {
  char *all = ANONYMOUS(10);
  munmap(all, 10 * PAGE);
  char *hole = ANONYMOUS(10);
  munmap(hole + 4 * PAGE, 2 * PAGE); // in the middle
  lives(hole, 4, "VM: anonymous");
  lives(hole + 6 * PAGE, 4, "VM: anonymous");
  munmap(hole + 9 * PAGE, PAGE); // of the upper piece's end
  munmap(hole, PAGE);            // of the lower one's begin
  forget(hole);
  lives(hole + PAGE, 3, "VM: anonymous");
  forget(hole + 6 * PAGE);
  lives(hole + 6 * PAGE, 3, "VM: anonymous");
  // What allocators do: more than is needed, then both ends go.
  char *wide = ANONYMOUS(1024), *aligned = (char *)(((uintptr_t)wide + 511 * PAGE) & ~(512 * PAGE - 1));
  if (aligned > wide) munmap(wide, (size_t)(aligned - wide));
  if (aligned + 512 * PAGE < wide + 1024 * PAGE) munmap(aligned + 512 * PAGE, (size_t)(wide + 1024 * PAGE - aligned - 512 * PAGE));
  lives(aligned, 512, "VM: anonymous");
  // Three in a row, unmapped with one call that takes parts of two.
  char *row = mmap(NULL, 9 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 3; i++) mmap(row + i * 3 * PAGE, 3 * PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  munmap(row + 2 * PAGE, 5 * PAGE);
  lives(row, 2, "VM: shared anonymous");
  lives(row + 7 * PAGE, 2, "VM: shared anonymous");
}

static void fixed(void) {
  char *reserve = lives(mmap(NULL, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 64, "VM: reserved");
  for (int i = 0; i < 3; i++) // the same place three times
    mmap(reserve + 16 * PAGE, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  forget(reserve);
  lives(reserve, 16, "VM: reserved");
  lives(reserve + 16 * PAGE, 8, "VM: anonymous");
  lives(reserve + 24 * PAGE, 40, "VM: reserved");
  errno = 0;
  void *taken = mmap(reserve, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  printf("not replaced %d errno %d\n", taken == MAP_FAILED, errno);
}

static void moving(void) {
  char *first = ANONYMOUS(4), *grown = mremap(first, 4 * PAGE, 2048 * PAGE, MREMAP_MAYMOVE);
  char *shrunk = mremap(grown, 2048 * PAGE, 6 * PAGE, 0);
  lives(shrunk, 6, "VM: anonymous");
  char *target = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *part = ANONYMOUS(6);
  mremap(part + 2 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target + PAGE); // out of the middle, over another's part
  lives(part, 2, "VM: anonymous");
  lives(part + 4 * PAGE, 2, "VM: anonymous");
  lives(target, 1, "VM: reserved");
  lives(target + PAGE, 2, "VM: anonymous");
  lives(target + 3 * PAGE, 5, "VM: reserved");
  char *shared = lives(mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 3, "VM: shared anonymous");
  lives(mremap(shared, 0, 3 * PAGE, MREMAP_MAYMOVE), 3, "VM: shared anonymous"); // the same memory once more
  char *stays = lives(ANONYMOUS(2), 2, "VM: anonymous");
  char *other = mremap(stays, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
  if (other != MAP_FAILED) lives(other, 2, "VM: anonymous");
}

// Threads that map and unmap at once, so that what one gave back is another's in the next moment; each keeps three.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *churn(void *number) {
  unsigned seed = (unsigned)(uintptr_t)number;
  char *held[8] = {0};
  size_t pages[8] = {0};
  for (int i = 0; i < 3000; i++) {
    unsigned at = (unsigned)rand_r(&seed) % 8;
    if (held[at]) munmap(held[at], pages[at] * PAGE);
    pages[at] = 1 + (unsigned)rand_r(&seed) % 5;
    held[at] = ANONYMOUS(pages[at]);
    if (i % 16 == 0) {
      size_t bigger = pages[at] + 3;
      held[at] = mremap(held[at], pages[at] * PAGE, bigger * PAGE, MREMAP_MAYMOVE);
      pages[at] = bigger;
    }
  }
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 8; i++) {
    if (!held[i]) continue;
    if (i < 3) lives(held[i], pages[i], "VM: anonymous");
    else munmap(held[i], pages[i] * PAGE);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}
static void threads(void) {
  pthread_t made[6];
  for (uintptr_t i = 0; i < 6; i++) pthread_create(&made[i], NULL, churn, (void *)(i + 1));
  for (int i = 0; i < 6; i++) pthread_join(made[i], NULL);
}

static void forked(void) {
  char *both = lives(ANONYMOUS(9), 9, "VM: anonymous");
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    munmap(both + 3 * PAGE, PAGE);
    ANONYMOUS(30);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  printf("child %d\n", status);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } ways[] = {{"kinds", kinds}, {"failing", failing}, {"partly", partly}, {"fixed", fixed}, {"moving", moving}, {"threads", threads}, {"forked", forked}};
  for (int i = 1; i < argc; i++)
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
      if (!strcmp(argv[i], ways[w].name)) ways[w].run();
  return tell();
}
