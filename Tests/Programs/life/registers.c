// What a call may not change, around every function that the recorder hooks: the registers that a callee keeps, the rounding and masks of SSE and x87, the
// direction flag, the stack pointer, the caller's frame, errno. The values that matter to the caller are unusual ones.
#define _GNU_SOURCE
#include "life.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
  uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rflags, rax;
  uint32_t mxcsr;
  uint16_t x87;
};
static struct state before, after;
void call_with(void *function, uint64_t a, uint64_t b, uint64_t c);

#if defined(__x86_64__)
// The red zone of the caller does not exist across a call; the 128 bytes above the return address are filled and must stay.
__asm__(".text\n.globl call_with\ncall_with:\n.cfi_startproc\n"
        "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n sub $136, %rsp\n"
        ".cfi_def_cfa_offset 192\n"
        "mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n"
        "movabs $0x1111111111111111, %rbx\n movabs $0x2222222222222222, %rbp\n movabs $0x3333333333333333, %r12\n"
        "movabs $0x4444444444444444, %r13\n movabs $0x5555555555555555, %r14\n movabs $0x6666666666666666, %r15\n"
        "lea before(%rip), %rcx\n"
        "mov %rbx, 0(%rcx)\n mov %rbp, 8(%rcx)\n mov %r12, 16(%rcx)\n mov %r13, 24(%rcx)\n mov %r14, 32(%rcx)\n mov %r15, 40(%rcx)\n mov %rsp, 48(%rcx)\n"
        "movl $0x9fc0, 72(%rcx)\n ldmxcsr 72(%rcx)\n" // flush to zero, round up
        "movw $0x0b7f, 76(%rcx)\n fldcw 76(%rcx)\n"   // round up, double
        "movq $0x77, 0(%rsp)\n movq $0x88, 128(%rsp)\n"
        "call *%rax\n"
        "lea after(%rip), %rcx\n"
        "mov %rbx, 0(%rcx)\n mov %rbp, 8(%rcx)\n mov %r12, 16(%rcx)\n mov %r13, 24(%rcx)\n mov %r14, 32(%rcx)\n mov %r15, 40(%rcx)\n mov %rsp, 48(%rcx)\n"
        "pushfq\n pop %rdx\n mov %rdx, 56(%rcx)\n mov %rax, 64(%rcx)\n"
        "stmxcsr 72(%rcx)\n fnstcw 76(%rcx)\n"
        "movl $0x1f80, 4(%rsp)\n ldmxcsr 4(%rsp)\n fninit\n cld\n"
        "add $136, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n.cfi_endproc\n");
#else
void call_with(void *function, uint64_t a, uint64_t b, uint64_t c) { after = before, after.rax = ((uint64_t(*)(uint64_t, uint64_t, uint64_t))function)(a, b, c); }
#endif

static int wrong;
static uint64_t call_checked(const char *name, void *function, uint64_t a, uint64_t b, uint64_t c) {
  need(function != NULL, name);
  errno = 1234;
  call_with(function, a, b, c);
  int error = errno;
  bool kept = !memcmp(&before, &after, offsetof(struct state, rflags));
  if (!kept) say("%s changes a register", name), wrong++;
  if ((after.mxcsr & ~0x3fu) != (before.mxcsr & ~0x3fu)) say("%s changes MXCSR to %#x", name, after.mxcsr), wrong++;
  if (after.x87 != before.x87) say("%s changes the x87 control word to %#x", name, after.x87), wrong++;
  if (after.rflags & 0x400) say("%s sets the direction flag", name), wrong++;
  if (error != 1234) say("%s changes errno to %d", name, error), wrong++;
  return after.rax;
}

static void *symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }

static void keeps(int argc, char **argv) {
  (void)argc, (void)argv;
  for (int round = 0; round < 300; round++) {
    uint64_t block = call_checked("malloc", malloc, 100, 0, 0);
    block = call_checked("realloc", realloc, block, 3000, 0);
    need(block % 16 == 0 && malloc_usable_size((void *)block) >= 3000, "a block");
    call_checked("free", free, block, 0, 0);
    block = call_checked("calloc", calloc, 3, 100, 0);
    for (int i = 0; i < 300; i++) need(!((char *)block)[i], "zeroes");
    call_checked("free", free, block, 0, 0);
    call_checked("free", free, 0, 0, 0);
    block = call_checked("aligned_alloc", aligned_alloc, 256, 512, 0);
    need(block % 256 == 0, "an aligned block");
    call_checked("free", free, block, 0, 0);
    uint64_t thing = (uint64_t)thing_make();
    uint64_t metadata = *(uint64_t *)thing;
    need(call_checked("swift_retain", symbol("swift_retain"), thing, 0, 0) == thing, "the retained object");
    call_checked("swift_release", symbol("swift_release"), thing, 0, 0);
    uint64_t raw = call_checked("swift_allocObject", symbol("swift_allocObject"), metadata, 24, 7);
    need(raw % 16 == 0 && *(uint64_t *)raw == metadata, "an object");
    call_checked("swift_deallocObject", symbol("swift_deallocObject"), raw, 24, 7);
    thing_drop((void *)thing);
  }
  say("%d changes", wrong);
}

static const struct mode modes[] = {{"keeps", keeps}, {NULL, NULL}};
int main(int argc, char **argv) { return run_mode(modes, argc, argv); }
