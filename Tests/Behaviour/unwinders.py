"""What an unwinder in a hook can do to a program; every mode must leave it alone."""

import re

from harness import behaviour, expect

MODES = ("auto", "fp", "libunwind", "none")


def in_every_mode(bench, command):
    for mode in MODES:
        options = () if mode == "auto" else ("--unwind", mode)
        bench.same(command, options, timeout=30).tells()
        if not bench.lifespan:
            break


@behaviour("a thread inside a dl_iterate_phdr callback may wait for a thread that allocates, with every --unwind mode")
def loader_lock(bench):
    in_every_mode(bench, [bench.program("loader_lock.swift")])


@behaviour("a daemon that closes all descriptors gets its own files, with every --unwind mode")
def descriptors(bench):
    program = bench.program("descriptors.swift")
    if not bench.lifespan:
        out = bench.run([program, bench.folder]).out
        expect("opened: [3, 4]\ntrue\ntrue\nopen at the end: [3, 4]\n" in out, out)
    in_every_mode(bench, [program, bench.folder])


@behaviour("a thread with the smallest of stacks allocates, with every --unwind mode")
def small_stack(bench):
    in_every_mode(bench, [bench.program("narrow.swift"), "stack", "16384"])


@behaviour("a number in the frame pointer's register is not taken for the mark of an async function")
def number_in_rbp(bench):
    program = bench.program("narrow.swift")
    bench.same([program, "number"], options=["--check-unwind", "1"]).is_complete().tells()


@behaviour("C++ exceptions are unwound by the program's own unwinder")
def exceptions(bench):
    bench.unrecorded([bench.program("exceptions.cpp")], ["swift"])


@behaviour("stacks of async functions without frame pointers are libunwind's wherever it has unwind information")
def checked(bench):
    # Built like a user's `swiftc -O`; what libunwind guesses behind a function without information is told apart.
    program = bench.program("../../Tools/bench/programs/tasks.swift")
    bench.needs_recorder()
    words, _ = bench.record_words([program, "50"], ["--check-unwind", "1"])
    result = bench.run(words)
    said = re.search(r"checked against libunwind: ([\d,]+), equal (\d+(?:,\d{3})*)(?:, guessed by it (\d+(?:,\d{3})*))?", result.err)
    expect(said, f"nothing was checked: {result.err}")
    every, equal, guessed = (int(number.replace(",", "")) if number else 0 for number in said.groups())
    expect(every > 1000 and every == equal + guessed and guessed * 20 < every, f"{every} checked, {equal} equal, {guessed} guessed")


@behaviour("a resumed async function's stack names the functions that await it, however the program was built")
def async_callers(bench):
    bench.needs_recorder()
    # 20 rounds: `recurse` of 4 below `main` makes a box at each depth before the call below and one after it.
    made = {1: 40, 2: 40, 3: 40, 4: 40, 5: 20}
    for optimised, flags in ((False, []), (True, []), (True, ["-static-stdlib"])):
        program = bench.program("unwind/async_kinds.swift", *flags, optimised=optimised)
        result = bench.same([program], options=["--check-unwind", "1"]).is_complete()
        folded = bench.path("folded.txt")
        bench.command("export", result.trace, "--format", "collapsed", "--lifespan", "all", "--type", "*.Box", "-o", folded)
        counts = {}
        for line in open(folded):
            stack, size = line.rsplit(" ", 1)
            own = re.findall(r"(?<![^;])(?:specialized )?(make|recurse|onMain|children|swift_job_run|static Program\.main)(?=[(;])", stack)
            own = tuple(name.split(".")[-1] for name in own)
            counts[own] = counts.get(own, 0) + int(size) // 24
        expect(not any("swift_job_run" in own for own in counts), f"{optimised} {flags}: a stack ends at its executor: {counts}")
        for depth, count in made.items():
            found = counts.get(("main", *["recurse"] * depth, "make"))
            expect(found == count, f"{optimised} {flags}: {depth} deep {found} boxes, not {count}: {counts}")
