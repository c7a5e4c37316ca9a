"""Blocks of malloc: every function of the family, exact, and unchanged for the program."""

import re

from harness import behaviour, expect


@behaviour("the malloc family is as it is plain, also where it fails, and every block is counted")
def family(bench):
    # Not position-independent: the program's own code holds the address that stands for free().
    for flags in ((), ("-no-pie", "-fno-pie")):
        recording = bench.same([bench.program("blocks.c", *flags)]).is_complete()
        expected = re.findall(r"^EXPECT (.*) (\d+) (\d+)$", recording.result.out, re.M)
        expect(len(expected) == 11, f"{len(expected)} lines, not 11")
        for name, total, living in expected:
            recording.has(name, int(total), int(living))


@behaviour("--swift-only leaves blocks of malloc out, and without it they stand beside the Swift objects")
def swift_only(bench):
    words = bench.steps("make First 7 mark one drop 2 make Second 4")
    alone = bench.same(words, ["--swift-only"]).tells()
    expect(not alone.trace or alone.of_kinds("malloc") == (0, 0), "--swift-only, and there are blocks of malloc")
    both = bench.same(words).tells()
    expect(not both.trace or both.of_kinds("malloc")[1] > 0, "no block of malloc lives")
