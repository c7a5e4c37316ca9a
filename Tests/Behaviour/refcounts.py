"""Recorded reference counts against the runtime's own, object by object (lifespan doctor --refcounts)."""

import glob, json, os, threading

from harness import PROGRAMS, behaviour, compile_all, expect

# Moments that each kind asks for.
RESTS = {"values": 9, "threads": 0, "tasks": 4, "foundation": 5}
KINDS = ("values", "threads", "tasks", "foundation")


def build(bench, *flags):
    """All of Tests/Programs/refcounts, once with each set of flags."""
    programs = bench.programs
    with programs.lock:
        one = programs.built.setdefault(("refcounts", flags), [threading.Lock(), None])
    with one[0]:
        if not one[1]:
            folder = os.path.join(programs.folder, "refcounts" + "".join(flags).replace("/", "-"))
            os.makedirs(folder, exist_ok=True)
            sources = sorted(glob.glob(os.path.join(PROGRAMS, "refcounts", "*.swift")))
            compile_all(["swiftc", "-swift-version", "5", *flags, *sources, "-o", os.path.join(folder, "counted")])
            one[1] = os.path.join(folder, "counted")
        return one[1]


def check(bench, program, *words, status=0, every="5ms"):
    result = bench.command("doctor", "--refcounts", "--json", "--every", every, "--", program, *words, status=status)
    document = json.loads(result.out)
    expect(document["processes"], f"nothing was recorded: {document['problems']}")
    return document["processes"][0], result


def is_exact(bench, name, program, kinds):
    bench.recorder_only()
    for kind in kinds:
        process, result = check(bench, program, kind)
        expect("done, " in result.err, f"{name} {kind}: the program's own output is not on stderr: {result.err[-200:]!r}")
        expect(process["saw_end"], f"{name} {kind}: its end was not compared")
        expect(process["moments"] >= RESTS[kind] + 2, f"{name} {kind}: {process['moments']} moments alone")
        expect(process["exact"] == process["checked"] > 0, f"{name} {kind}: {process['exact']} of {process['checked']}: {process['differences'][:3]}")
        expect(not process["lost_events"] and not process["limitation"], f"{name} {kind}: {process}")


@behaviour("every count is the runtime's own, without optimisation: closures to continuations to Foundation")
def unoptimised(bench):
    is_exact(bench, "-Onone", build(bench, "-Onone"), KINDS)


@behaviour("every count is the runtime's own, optimised for speed")
def optimised(bench):
    is_exact(bench, "-O", build(bench, "-O"), KINDS)


@behaviour("every count is the runtime's own, optimised for size")
def small(bench):
    is_exact(bench, "-Osize", build(bench, "-Osize"), KINDS)


@behaviour("every count is the runtime's own where the compiler counts without atomic instructions")
def one_thread(bench):
    is_exact(bench, "-assume-single-threaded", build(bench, "-O", "-wmo", "-Xfrontend", "-assume-single-threaded"), KINDS[:1])


@behaviour("every count is the runtime's own in a static build whose equal functions were folded into one")
def static(bench):
    program = build(bench, "-O", "-static-stdlib", "-use-ld=lld", "-Xlinker", "--icf=all")
    is_exact(bench, "static", program, ("values", "threads", "tasks"))


@behaviour("a count that was changed behind the runtime's back is the one difference that the self-check names")
def forged(bench):
    bench.recorder_only()
    process, result = check(bench, build(bench, "-O"), "forged", status=1)
    differences = process["differences"]
    expect(len(differences) == 1, f"{len(differences)} differences: {differences[:3]}")
    expect(differences[0]["type"] == "counted.Forged", f"{differences[0]}")
    # As it was first seen: perhaps before its last release.
    expect(differences[0]["actual"] - differences[0]["recorded"] == 3, f"{differences[0]}")
    text = bench.run([bench.lifespan, "doctor", "--refcounts", "--every", "1m", "--", build(bench, "-O"), "forged"])
    said = any(f"recorded {n}, the runtime's {n + 3}" in text.out for n in (1, 2))
    expect(text.status == 1 and said, f"{text.status}: {text.out}")


@behaviour("a program that is killed, and one without a runtime, are told from one whose counts were compared")
def no_end(bench):
    bench.recorder_only()
    process, _ = check(bench, build(bench, "-O"), "killed")
    expect(not process["saw_end"] and process["moments"] > 0 and process["exact"] == process["checked"], f"{process}")
    text = bench.run([bench.lifespan, "doctor", "--refcounts", "--", "true"])
    expect(text.status == 2, f"status {text.status} for a program without a runtime: {text.out}")
