"""Static, stripped, other allocators, no runtime."""

import os, subprocess

from harness import PROGRAMS, ROOT, behaviour, compile_all, expect, library

STATIC = "-static-stdlib"


@behaviour("an unstripped program with a static runtime is recorded exactly")
def static_stdlib(bench):
    for name in ("threads.swift", "concurrency.swift"):
        bench.same([bench.program(name, STATIC)]).is_complete().tells()


@behaviour("a stripped program with a static runtime runs, and one line says what to do; doctor too")
def stripped(bench):
    program = bench.program("steps.swift", STATIC, "-Xlinker", "-s")
    bench.unrecorded([program, "make", "First", "3", "exit", "3"], ["strip"])
    result = bench.run([bench.lifespan, "doctor", program])
    expect("strip" in (result.out + result.err).lower(), f"doctor says nothing of stripping: {result.out[-200:]!r}")


@behaviour("a static executable runs, and one line says what to do")
def static_executable(bench):
    bench.unrecorded(bench.steps("make First 3 exit 3", "-static-executable"), ["static"])


@behaviour("a static runtime with jemalloc linked in is recorded exactly, its blocks too")
def jemalloc_static(bench):
    program = bench.program("threads.swift", STATIC, "-Xlinker", library("libjemalloc.a"))
    symbols = subprocess.run(["nm", program], capture_output=True, text=True).stdout
    expect(" T mallctl" in symbols or " t mallctl" in symbols, "jemalloc is not linked in")
    recording = bench.same([program]).is_complete().tells()
    expect(not recording.trace or recording.of_kinds("malloc")[1] > 0, "no block of malloc lives")


@behaviour("a static runtime with jemalloc as a shared library, as server templates make it, is recorded exactly")
def jemalloc_shared(bench):
    library("libjemalloc.so")
    bench.same([bench.program("threads.swift", STATIC, "-Xlinker", "-ljemalloc")]).is_complete().tells()


@behaviour("a program without a Swift runtime runs unchanged, and one line says so")
def no_runtime(bench):
    bench.unrecorded([bench.program("no_runtime.c"), "one", "two"], ["swift"], stdin="first\nsecond\n")


def plugin(bench, name):
    source = bench.file(
        f"{name}.swift",
        f"""final class {name} {{ var number = 1 }}
@_cdecl("plugin_make") public func make() -> UnsafeMutableRawPointer {{ Unmanaged.passRetained({name}()).toOpaque() }}
""",
    )
    made = bench.path(f"lib{name}.so")
    compile_all(["swiftc", "-O", "-parse-as-library", "-emit-library", "-module-name", "Plugin", source, "-o", made])
    return made


@behaviour("a library that is loaded again and again is recorded exactly; another one at its address is not, and the trace says so")
def unloaded(bench):
    program = bench.program("plugins.swift")
    first, second = plugin(bench, "First"), plugin(bench, "Second")
    bench.same([program, first, first, first]).is_complete().has("Plugin.First", 300, 0)
    both = bench.same([program, first, second])
    bench.needs_recorder()
    got = [both.row(f"Plugin.{name}")["total_count"] for name in ("First", "Second")]
    expect(sum(got) == 200, f"200 objects made, the trace says {got}")
    told = both.stats()["capture"] == "partial"
    expect(told or got == [100, 100], f"100 objects of each plugin; a trace that is called complete says {got}")


@behaviour("built without the trait Recording, everything compiles, does nothing, and nothing of the recorder is linked")
def without_recording(bench):
    scratch = os.path.join(ROOT, ".build", "unrecorded")
    words = ["swift", "build", "-c", "release", "--package-path", os.path.join(PROGRAMS, "unrecorded"), "--scratch-path", scratch]
    done = subprocess.run(words, capture_output=True, text=True)
    expect(done.returncode == 0, f"does not build: {[x for x in done.stdout.splitlines() if 'error' in x][:3]}")
    program = os.path.join(scratch, "release", "unrecorded")
    result = bench.run([program])
    expect((result.status, result.out, result.err) == (0, "14\n", ""), f"{result.status}: {result.out!r} {result.err[-200:]!r}")
    symbols = subprocess.run(["nm", program], capture_output=True, text=True).stdout.splitlines()
    expect(len(symbols) > 100, "the program is stripped")
    ours = [x for x in symbols if " lifespan_" in x or " drain_" in x]
    expect(not ours, f"symbols of the recorder are linked: {ours[:3]}")
