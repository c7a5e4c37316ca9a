"""Blocks of malloc: every function of the family, exact, and unchanged for the program."""

import re

from harness import behaviour, compile_all, expect


@behaviour("the malloc family is as it is plain, also where it fails, and every block is counted")
def family(bench):
    # Not position-independent: the program's own code holds the address that stands for free().
    for flags in ((), ("-no-pie", "-fno-pie")):
        recording = bench.same([bench.program("blocks.c", *flags)]).is_complete()
        expected = re.findall(r"^EXPECT (.*) (\d+) (\d+)$", recording.result.out, re.M)
        expect(len(expected) == 11, f"{len(expected)} lines, not 11")
        for name, total, living in expected:
            recording.has(name, int(total), int(living))


@behaviour("an allocator that is linked into the executable, exported or hidden, is recorded with every block of its own")
def own_allocator(bench):
    for flags in (("-rdynamic",), (), ("-DHIDDEN",), ("-no-pie", "-fno-pie"), ("-O0",)):
        program = bench.program("own_allocator.c", "-fno-builtin", *flags)
        for options in ([], ["--vm"]):
            recording = bench.same([program], options).is_complete()
            expected = re.findall(r"^EXPECT (.*) (\d+) (\d+)$", recording.result.out, re.M)
            expect(len(expected) == 6, f"{len(expected)} lines, not 6")
            for name, total, living in expected:
                recording.has(name, int(total), int(living))
            if options and recording.trace:
                recording.has("VM: anonymous", 0, 0)  # what it maps to serve malloc is no region of the program's
    stripped = bench.path("stripped")
    compile_all(["strip", "-o", stripped, bench.program("own_allocator.c", "-fno-builtin", "-rdynamic")])
    recording = bench.same([stripped]).is_complete()
    recording.has("malloc 5 KiB", 7, 3)


@behaviour("--swift-only leaves blocks of malloc out, and without it they stand beside the Swift objects")
def swift_only(bench):
    words = bench.steps("make First 7 mark one drop 2 make Second 4")
    alone = bench.same(words, ["--swift-only"]).tells()
    expect(not alone.trace or alone.of_kinds("malloc") == (0, 0), "--swift-only, and there are blocks of malloc")
    both = bench.same(words).tells()
    expect(not both.trace or both.of_kinds("malloc")[1] > 0, "no block of malloc lives")
