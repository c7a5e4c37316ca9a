"""Ends, and frames that end oddly: what was recorded up to the last moment is in the trace."""

import os

from harness import behaviour, expect


def life(bench, program, *words, **options):
    return bench.same([bench.program(f"life/{program}"), *words], **options).is_complete()


@behaviour("exit handlers, destructors and constructors before main are recorded; so is whatever ends a program")
def ends(bench):
    for way in "exit _exit raw quick abort trap segv fpe ill kill term alarm thread".split():
        life(bench, "ends.c", "ends", way).tells()


@behaviour("longjmp leaves no frame of the recorder's behind")
def jumps(bench):
    life(bench, "stacks.c", "jumps").tells()


@behaviour("coroutines on stacks of their own are counted exactly, and their stacks are labelled foreign")
def coroutines(bench):
    recording = life(bench, "stacks.c", "coroutines").tells()
    bench.needs_recorder()
    stacks = recording.ask("objects", "--type", "Program.Thing")["stacks"]
    foreign = sum(x["count"] for x in stacks if x["stack_ending"] == "on a stack that is not the thread's own")
    expect(foreign == 150, f"{foreign} living objects were made on foreign stacks, not 150: {stacks}")


@behaviour("a handler's stack may lie in a frame of the program's")
def handler_in_frame(bench):
    life(bench, "stacks.c", "frame").tells()


@behaviour("a stack that overflows, in a hook or elsewhere, ends the program as it does plain")
def overflow(bench):
    for words in (["overflow"], ["overflow", "in a thread"]):
        life(bench, "stacks.c", *words).has_living("Program.Thing", 10)
    life(bench, "stacks.c", "overflow-handled").has("Program.Later", 10, 5)


@behaviour("C++ exceptions pass frames that own objects, in several threads; uncaught they end the program as plain")
def exceptions(bench):
    life(bench, "throws.cpp", "catches").tells()
    life(bench, "throws.cpp", "statics").tells()
    life(bench, "throws.cpp", "uncaught").has("Program.Thing", 106, 16)


@behaviour("a core file does not grow by the recorder's tables, nor does it take longer")
def core(bench):
    program = bench.program("life/surroundings.c")
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    recording = bench.same([program, "core"], timeout=20).tells()
    if not recording.trace or pattern != "core":
        return
    path = bench.path("core")
    expect(not os.path.exists(path) or os.stat(path).st_size < 512 << 20, "the core file is beyond 512 MiB")
