"""What an unwinder in a hook can do to a program; every mode must leave it alone."""

from harness import behaviour

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
        from harness import expect

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
