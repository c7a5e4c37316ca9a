// Detours on made-up functions: every shape of entry that the runtime has, both ways of patching, and refusals that leave the entry as it was.

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "detour.h"

// Each code is a function of one argument that gives it back plus one, in the shape of a runtime entry.
static const struct {
  const char *name;
  const uint8_t code[32];
  unsigned length;
} shapes[] = {
  {"push rbp; mov rbp,rsp; push rbx", {0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x8d, 0x47, 0x01, 0x5b, 0x5d, 0xc3}, 12},
  {"push rbp; mov rbp,rsp; push r14", {0x55, 0x48, 0x89, 0xe5, 0x41, 0x56, 0x48, 0x8d, 0x47, 0x01, 0x41, 0x5e, 0x5d, 0xc3}, 14},
  {"push rbp; mov rbp,rsp; movzx eax,[rip+0]", {0x55, 0x48, 0x89, 0xe5, 0x0f, 0xb6, 0x05, 0, 0, 0, 0, 0x48, 0x8d, 0x47, 0x01, 0x5d, 0xc3}, 17},
  {"movzx eax,[rip+0]", {0x0f, 0xb6, 0x05, 0, 0, 0, 0, 0x48, 0x8d, 0x47, 0x01, 0xc3}, 12},
  {"push rbp; mov rbp,rsp; mov edx,esi", {0x55, 0x48, 0x89, 0xe5, 0x89, 0xf2, 0x48, 0x8d, 0x47, 0x01, 0x5d, 0xc3}, 12},
  {"mov rax,rdi; test rdi,rdi; jcc", {0x48, 0x89, 0xf8, 0x48, 0x85, 0xff, 0x48, 0xff, 0xc0, 0xc3}, 10},
  {"test rdi,rdi; je rel32 (glibc's free)", {0x48, 0x85, 0xff, 0x0f, 0x84, 5, 0, 0, 0, 0x48, 0x8d, 0x47, 0x01, 0xc3, 0x31, 0xc0, 0xc3}, 17},
  {"test rdi,rdi; je rel8", {0x48, 0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x47, 0x01, 0xc3, 0x31, 0xc0, 0xc3}, 13},
  {"push rbp; mov rbp,rsp; pop rbp; jmp rel32", {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xe9, 0, 0, 0, 0, 0x48, 0x8d, 0x47, 0x01, 0xc3}, 15},
  {"endbr64; mov rax,rdi", {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc0, 0xc3}, 11},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

typedef long (*function)(long);
static void *original;
static int hooked;
static long hook(long value) {
  hooked++;
  return ((function)original)(value) + 100;
}

static uint8_t *make(const uint8_t *code, unsigned length) {
  uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 0x90, 4096);
  memcpy(memory + 256, code, length);
  mprotect(memory, 4096, PROT_READ | PROT_EXEC);
  return memory + 256;
}

static void try_all(bool one_thread) {
  for (unsigned i = 0; i < SHAPES; i++) {
    uint8_t *entry = make(shapes[i].code, shapes[i].length);
    CHECK_EQUAL(((function)entry)(7), 8);
    struct lifespan_detour detour = {shapes[i].name, entry, hook, &original, NULL, false};
    unsigned installed = lifespan_detours_install(&detour, 1, one_thread);
    hooked = 0;
    if (!one_thread && detour.refused) { // the place that the bytes point to may be taken in this process; nothing may have changed
      CHECK_EQUAL(memcmp(entry, shapes[i].code, shapes[i].length), 0);
      CHECK_EQUAL(((function)entry)(7), 8);
      continue;
    }
    CHECK_EQUAL(installed, 1);
    if (detour.refused) printf("%s: %s\n", shapes[i].name, detour.refused);
    CHECK_EQUAL(((function)entry)(7), 108);
    CHECK_EQUAL(hooked, 1);
    CHECK_EQUAL(((function)original)(7), 8);
  }
}
static void every_entry_shape_is_detoured_before_threads_start(void) { try_all(true); }
static void every_entry_shape_is_detoured_or_refused_while_threads_run(void) { try_all(false); }

static void the_punned_jump_changes_one_byte_only(void) {
  unsigned taken = 0;
  for (unsigned i = 0; i < SHAPES; i++) {
    uint8_t *entry = make(shapes[i].code, shapes[i].length);
    struct lifespan_detour detour = {shapes[i].name, entry, hook, &original, NULL, false};
    if (!lifespan_detours_install(&detour, 1, false)) continue;
    taken++;
    CHECK_EQUAL(entry[0], 0xe9);
    CHECK_EQUAL(memcmp(entry + 1, shapes[i].code + 1, shapes[i].length - 1), 0);
  }
  CHECK(taken > 0);
}

static void unknown_code_is_refused_and_left_alone(void) {
  static const uint8_t odd[][8] = {
    {0xc5, 0xf8, 0x77, 0xc3},             // vzeroupper
    {0x0f, 0x05, 0xc3},                   // syscall
    {0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xc3}, // int3: another tool was here
    {0xff, 0x25, 0, 0, 0, 0},             // jmp [rip]
  };
  for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
    uint8_t *entry = make(odd[i], 8), before[8];
    memcpy(before, entry, 8);
    struct lifespan_detour detour = {"odd", entry, hook, &original, NULL, false};
    CHECK_EQUAL(lifespan_detours_install(&detour, 1, true), 0);
    CHECK(detour.refused != NULL);
    CHECK_EQUAL(memcmp(entry, before, 8), 0);
  }
}

static void functions_folded_into_one_address_get_one_detour(void) {
  uint8_t *entry = make(shapes[0].code, shapes[0].length);
  void *other = NULL;
  struct lifespan_detour list[2] = {{"a", entry, hook, &original, NULL, false}, {"b", entry, hook, &other, NULL, false}};
  CHECK_EQUAL(lifespan_detours_install(list, 2, true), 1);
  CHECK_EQUAL(((function)entry)(7), 108);
}

static void a_missing_entry_is_no_error(void) {
  struct lifespan_detour detour = {"missing", NULL, hook, &original, NULL, false};
  CHECK_EQUAL(lifespan_detours_install(&detour, 1, true), 0);
  CHECK(!detour.refused && !detour.installed);
}

const struct test detour_tests[] = {
  {"every entry shape is detoured before threads start", every_entry_shape_is_detoured_before_threads_start},
  {"every entry shape is detoured, or refused unchanged, while threads run", every_entry_shape_is_detoured_or_refused_while_threads_run},
  {"the punned jump changes one byte only", the_punned_jump_changes_one_byte_only},
  {"unknown code is refused and left alone", unknown_code_is_refused_and_left_alone},
  {"functions folded into one address get one detour", functions_folded_into_one_address_get_one_detour},
  {"a missing entry is no error", a_missing_entry_is_no_error},
  {NULL, NULL},
};
