"""Signals: handlers that allocate or never return, wherever they come. The programs bring an allocator that may be interrupted (heap.c)."""

import os

from harness import PROGRAMS, behaviour, compile_all, expect


def signals(bench, *words, losing=False, **options):
    recording = bench.same([bench.program("life/signals.c", "heap.c"), *words], **options)
    if losing:
        recording.losing()
    return recording


@behaviour("signal handlers that allocate, on the program's stack and on their own, are counted exactly")
def calm(bench):
    signals(bench, "calm").tells()


@behaviour("signal handlers that allocate in the middle of a hook, and in each other's, are counted exactly")
def storm(bench):
    for words in (["storm"], ["storm", "on its own stack"]):
        signals(bench, *words, steady=False).tells()


@behaviour("a block that a handler allocates in the making of an object is the handler's, and the object stays one")
def blocks_of_handlers(bench):
    # Behind our functions, not in their place: an allocator that may be interrupted, as a shared library.
    heap = bench.path("libheap.so")
    compile_all(["clang", "-O2", "-fPIC", "-shared", os.path.join(PROGRAMS, "life", "heap.c"), "-o", heap])
    program = bench.program("life/signals.c", "-Xlinker", "--no-as-needed", heap)

    def small_blocks(recording):
        names = [row for row in recording.stats()["rows"] if row["type"] in [f"malloc {x} B" for x in (16, 32, 48, 64)]]
        return sum(row["total_count"] for row in names)

    calm = bench.same([program, "blocks"]).tells()
    storm = bench.same([program, "blocks", "3000"], steady=False).losing().tells()
    if calm.trace:
        expect(small_blocks(storm) - small_blocks(calm) == 0, f"{small_blocks(storm)} small blocks, not {small_blocks(calm)}")
        theirs = sum(row["total_count"] for row in storm.stats()["rows"] if row["type"] == "malloc 5 KiB")
        lost = storm.stats()["events"]["lost"]
        expect(theirs + lost == 3000, f"{theirs} blocks of handlers and {lost} lost are not 3,000")


@behaviour("a handler that leaves a hook by siglongjmp costs what the hook was about to write, and nothing after it")
def jump(bench):
    for words, jumps in ((["jump"], 1000), (["jump", "on its own stack"], 1000), (["jump-away"], 500)):
        recording = signals(bench, *words, steady=False, losing=True)
        recording.about("Program.Thing", jumps).has("Program.Later", 1000, 100)
        if recording.trace:  # what a jump has left half done costs later stacks nothing
            endings = [x["stack_ending"] for x in recording.ask("objects", "--type", "Program.Later")["stacks"]]
            expect(set(endings) <= {None, "on a stack that is not the thread's own"}, f"stacks of later objects end: {endings}")


@behaviour("a program that recovers from faults by siglongjmp is recorded exactly")
def recover(bench):
    signals(bench, "recover").tells()


@behaviour("blocked, ignored and pending signals are the program's own, and system calls are interrupted as before")
def masks(bench):
    for launcher in ([], ["sh", "-c", 'trap "" HUP USR1 PIPE; exec "$@"', "sh"], ["env", "--block-signal=USR2,TERM"]):
        signals(bench, "masks", launcher=launcher).tells()


@behaviour("stacks of async functions are walked from any instruction without harm, and every object is counted")
def async_storm(bench):
    for flags in (["-O"], ["-O", "-Xfrontend", "-swift-async-frame-pointer=always"], ["-Onone"]):
        program = bench.program("life/async_storm.swift", "storm.c", "heap.c", *flags)
        # With each block of malloc compared, too, a handler may last longer than the time to the next signal.
        for options in ([], ["--swift-only", "--check-unwind", "1"]):
            # The reference is slow: a fourth signal may come within the third one's hook, and is counted.
            recording = bench.same([program, "50"], options=options, steady=False).losing()
            recording.has("Program.Thing", 6340, 0)
            if not options:
                recording.tells()
            if not bench.lifespan:
                break
