"""What is called leaked, held against what LeakSanitizer calls so, and against the truth. Shared with Tools/leak-proof."""

import os, re

from harness import TOOLCHAIN, Skip, behaviour, expect

# Where the two differ: the case, LeakSanitizer's count.
DIFFERENT = {"by-mapping": 1, "unused-argument": 0}
SOURCE = "leaks.cpp"


def runtime_flags():
    """A program of C++ that has a Swift runtime, as `record` records no other."""
    libraries = os.path.join(os.path.dirname(TOOLCHAIN), "lib", "swift", "linux")
    return ("-std=c++17", "-g", "-Wl,--no-as-needed", f"-L{libraries}", "-lswiftCore", f"-Wl,-rpath,{libraries}")


def sanitized(bench, name):
    """The program with LeakSanitizer in it."""
    if name.endswith(".cpp"):
        return bench.program(name, "-std=c++17", "-g", "-fsanitize=leak")
    return bench.program(name, "-Xclang-linker", "-fsanitize=leak")


def sanitizer_says(bench, command):
    """How many blocks it calls leaked."""
    bench.env["LSAN_OPTIONS"] = "exitcode=0"
    result = bench.run(command)
    if "LeakSanitizer has encountered a fatal error" in result.err:
        raise Skip("LeakSanitizer cannot look at a process here")
    found = re.search(r"leaked in (\d+) allocation", result.err)
    return int(found.group(1)) if found else 0


def leaked_blocks(recording):
    return sum(row["count"] for row in recording.ask("leaks")["leaks"])


@behaviour("what C and C++ lose is found, and nothing else: LeakSanitizer says the same")
def as_the_sanitizer(bench):
    program, other = bench.program(SOURCE, *runtime_flags()), sanitized(bench, SOURCE)
    cases = bench.run([program]).out.split()
    expect(len(cases) > 30, f"only {len(cases)} cases")
    for case in cases:
        recording = bench.same([program, case], ["--leaks"])
        truth, says = recording.result.truth()["leaked"], sanitizer_says(bench, [other, case])
        expect(says == DIFFERENT.get(case, truth), f"{case}: LeakSanitizer says {says}, truth {truth}")
        if bench.lifespan:
            found = leaked_blocks(recording)
            expect(found == truth, f"{case}: {found} blocks called leaked, truth {truth}")


@behaviour("side tables and references with spare bits, which LeakSanitizer calls leaked, are not")
def spare_bits(bench):
    for optimised in (True, False):
        recording = bench.same([bench.program("spare_bits.swift", optimised=optimised)], ["--leaks"])
        says = sanitizer_says(bench, [sanitized(bench, "spare_bits.swift")])
        expect(says > 50, f"LeakSanitizer says {says}: this program no longer shows what it gets wrong")
        bench.needs_recorder()
        found = leaked_blocks(recording)
        expect(found == 0, f"{found} blocks called leaked, and none is")


@behaviour("a leak of the toolchain's own is told apart, and CoreFoundation's objects by their class")
def toolchains_own(bench):
    # A property list that is none: the error of the first attempt is lost in Foundation.
    table = bench.file("table.json", '{"a": [1, 2, {"b": "c"}]}')
    recording = bench.same(["plutil", "-p", table], ["--leaks"])
    bench.needs_recorder()
    rows = recording.ask("leaks")["leaks"]
    expect(rows and all(row["toolchain"] for row in rows), f"leaks: {rows}")
    expect([row["note"] for row in rows if row["head"]] == ["CFError"], f"heads: {rows}")
    text = bench.command("leaks", recording.trace).out
    expect("1 × Foundation.__NSCFType (CFError) by " in text and "no leaks\n" in text, f"report: {text}")
    expect(bench.command("leaks", recording.trace, "--fail-on", "leaked").status == 0, "it does not pass --fail-on")


@behaviour("a timer that is over is lost by Foundation, not by the program, and the report says so")
def timers(bench):
    for way in ("none", "weak", "strong"):
        recording = bench.same([bench.program("timers.swift"), way], ["--leaks"])
        # The program itself sees them: were they gone, this would be mended in Foundation, and the reason would have to go.
        expect(recording.result.truth()["leaked"] == 50, f"{way}: {recording.result.truth()} timers live on")
        bench.needs_recorder()
        document = recording.ask("leaks")
        rows = document["leaks"]
        heads = [(row["type"], row["kind"], row["instances"]) for row in rows if row["head"]]
        expect(heads == [("Foundation.Timer", "root", 50)], f"{way}: heads are {heads}")
        expect("a Timer retains itself" in rows[0]["reason"], f"{way}: no reason: {rows[0]}")
        # What goes with them is the program's trouble all the same.
        screens = sum(row["count"] for row in rows if row["type"] == "Program.Screen")
        expect(screens == (50 if way == "strong" else 0), f"{way}: {screens} screens are leaked")
        expect({row["toolchain"] for row in rows} == {way != "strong"}, f"{way}: whose leak is it? {rows}")
        text = " ".join(bench.command("leaks", recording.trace).out.split())
        expect("Foundation's own: a Timer retains itself" in text, f"{way}: the report gives no reason: {text}")
