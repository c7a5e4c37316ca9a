"""What hooks may not change, systems that forbid changing code, and allocators and unwinders that a program brings."""

import os

from harness import PROGRAMS, behaviour, compile_all, expect, library


@behaviour("hooks keep registers, rounding modes, the direction flag and errno")
def registers(bench):
    program = bench.program("life/registers.c")
    for options in ([], ["--events", "refcounts"], ["--death-stacks"], ["--unwind", "fp"], ["--check-unwind", "1"]):
        recording = bench.same([program, "keeps"], options=options).is_complete()
        expect("0 changes\n" in recording.result.out, recording.result.out[:300])
        recording.has("Program.Thing", 600, 0)
        if not bench.lifespan:
            break


@behaviour("where no memory may be writable and executable, objects are counted exactly and the capture is partial")
def no_writable_code(bench):
    launch = bench.program("launch.c")
    for name, *words in (("processes", "forks"), ("threads", "many", "50"), ("stacks", "jumps"), ("ends", "ends", "quick")):
        recording = bench.same([launch, "no-writable-code", bench.program(f"life/{name}.c"), *words]).tells()
        if recording.trace:
            capture = recording.stats()["capture"]
            expect(capture == "partial", f"capture is {capture}")
            expect("forbids changing code" in recording.ours[-1], f"{recording.ours}")


@behaviour("signals that come while the recorder starts change nothing")
def early_signals(bench):
    program = bench.program("life/stacks.c")
    bench.same([bench.program("launch.c"), "alarm", program, "jumps"]).is_complete().tells()
    bench.env["LD_PRELOAD"] = bench.program("early.c", "-shared", "-fPIC")
    for _ in range(10):
        bench.same([program, "jumps"]).is_complete().tells()


def objects_alone(recording):
    """The executable brings its allocator: Swift objects are seen, its blocks are not, and the capture says so."""
    recording.tells()
    if recording.trace:
        capture = recording.stats()["capture"]
        expect(capture == "partial", f"capture is {capture}")
        expect(recording.of_kinds("malloc") == (0, 0), "blocks of an allocator that is not seen")


@behaviour("allocators and unwinders that are linked or preloaded are recorded exactly")
def other_libraries(bench):
    for name in ("libjemalloc.so", "libtcmalloc.so", "libtcmalloc_minimal.so", "libmimalloc.so", "libunwind.so"):
        program = bench.program("life/threads.c", "-Xlinker", "--no-as-needed", library(name))
        bench.same([program, "end-well"]).is_complete().tells()
        bench.same([program, "many", "50"]).is_complete().tells()
        bench.env["LD_PRELOAD"] = library(name)
        bench.same([bench.program("life/threads.c"), "end-well"]).is_complete().tells()
        del bench.env["LD_PRELOAD"]
    for words in ([library("libjemalloc.a"), "-lm"], [library("libtcmalloc_minimal.a"), "-lstdc++", "-lm"]):
        bench.same([bench.program("life/threads.c", *words), "end-well"]).is_complete().tells()
        bench.same([bench.program("life/throws.cpp", *words), "catches"]).is_complete().tells()
    words = ["-Xclang-linker", "-no-pie", "-Xlinker", "-u", "-Xlinker", "unw_backtrace"]  # exceptions through it end it plain, too
    words += [library("libunwind.a"), library("libunwind-x86_64.a"), "-llzma"]
    bench.same([bench.program("life/threads.c", *words), "end-well"]).is_complete().tells()


@behaviour("programs with sanitizers run as they do plain, with a shared runtime too, and below a shell")
def sanitizers(bench):
    for compiler in ("gcc", "clang"):
        for kind in ("address", "undefined", "thread", "leak"):
            if (compiler, kind) == ("clang", "thread"):
                continue  # this toolchain's needs libdispatch
            program = bench.path(f"{compiler}-{kind}")
            source = os.path.join(PROGRAMS, "life", "blocks.c")
            compile_all([compiler, "-g", f"-fsanitize={kind}", source, "-o", program, "-pthread"])
            for words in ([program], [program, "beyond"], ["sh", "-c", '"$@"; echo $?', "sh", program]):
                bench.same(words, stderr=False)
    for options in ("", "detect_leaks=0", "verify_asan_link_order=0"):  # the program sees its own
        if options:
            bench.env["ASAN_OPTIONS"] = options
        bench.same([bench.program("life/surroundings.c"), "environment"]).is_complete().tells()


@behaviour("Swift programs with AddressSanitizer or ThreadSanitizer are recorded exactly")
def swift_sanitizers(bench):
    for kind in ("address", "thread"):
        objects_alone(bench.same([bench.program("threads.swift", f"-sanitize={kind}"), "500"], stderr=False))
