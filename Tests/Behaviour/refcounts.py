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
    is_exact(bench, "static", program, KINDS)


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


# ---- What a history tells ---------------------------------------------------------------------------------------------------


def recorded(bench, program, word, **options):
    return bench.same([program, word], options=["--events", "refcounts"], **options)


def life(recording, kind, *words):
    """The last object of a type, and its history."""
    objects = recording.ask("objects", "--type", "counted." + kind, "--lifespan", "all")["objects"]
    expect(objects, f"no object of {kind}")
    return objects[-1], recording.ask("history", f"@{objects[-1]['serial']}", *words)


def missing(bench, optimisation, caller):
    """`caller`: the function that is named for the one that is not balanced."""
    recording = recorded(bench, build(bench, optimisation), "missing")
    bench.needs_recorder()
    wanted, history = life(recording, "Wanted", "--unpaired")
    expect(wanted["state"] == "living" and history["history"][-1]["count_after"] == 1, f"{wanted}")
    unpaired = history["unpaired"]
    expect(not unpaired["paired_by_order"] and not unpaired["releases"], f"{unpaired}")
    expect([x["count"] for x in unpaired["retains"]] == [1], f"{unpaired['retains']}")
    expect(f"{caller}(" in unpaired["retains"][0]["holder_name"], f"{unpaired['retains']}")
    expect(unpaired["paired"] >= 10_000, f"{unpaired['paired']} pairs")
    events = history["history"]
    left = next(x for x in events if x["number"] == unpaired["retains"][0]["number"] and x["event"] == "retain")
    # Where it was retained, no other reference was taken: it is exactly the one.
    places = [[(y["function"], y["offset"]) for y in x["frames"]] for x in events if x["event"] == "retain"]
    place = [(x["function"], x["offset"]) for x in left["frames"]]
    expect(places.count(place) == 1, f"{places.count(place)} retains at {place[:2]}")


@behaviour("of 10,000 balanced retains and one without a release, history names the one, without optimisation")
def missing_unoptimised(bench):
    missing(bench, "-Onone", "forget")


@behaviour("of 10,000 balanced retains and one without a release, history names the call, optimised: what it calls ends in a jump")
def missing_optimised(bench):
    # forget() is a jump to swift_retain, and leaves no frame.
    missing(bench, "-O", "missing")


@behaviour("what keeps an object is named: the functions that stored it and put it into an array")
def held(bench):
    recording = recorded(bench, build(bench, "-Onone"), "held")
    bench.needs_recorder()
    _, history = life(recording, "Wanted", "--unpaired")
    # The compiler retains what it gives to a setter or to append in the function that calls those.
    names = sorted(x["holder_name"].split("(")[0] for x in history["unpaired"]["retains"])
    expect(names == ["enlist", "store", "store"], f"{names}")


@behaviour("stats counts retains and releases by type, objects the references of each and since when it is idle, as its history says")
def columns(bench):
    recording = recorded(bench, build(bench, "-Onone"), "held")
    bench.needs_recorder()
    wanted, history = life(recording, "Wanted")
    events = [x for x in history["history"] if x["event"] in ("birth", "retain", "release")]
    retains = sum(x["change"] for x in events if x["event"] == "retain")
    releases = -sum(x["change"] for x in events if x["event"] == "release")
    stats = recording.ask("stats", "--lifespan", "all")
    row = next(x for x in stats["rows"] if x["type"] == "counted.Wanted")
    expect(retains > 100 and (row["retains"], row["releases"], row["net"]) == (retains, releases, retains - releases), f"{row}")
    expect(row["references"] == wanted["retain_count"] == events[-1]["count_after"] == 1 + row["net"], f"{row}, {wanted}")
    expect(wanted["idle_ns"] == stats["end_ns"] - events[-1]["timestamp_ns"], f"{wanted['idle_ns']} of {stats['end_ns']}")
    idle = [x["idle_ns"] for x in recording.ask("objects", "--idle")["objects"] if x["idle_ns"] is not None]
    expect(len(idle) > 3 and idle == sorted(idle, reverse=True), f"{idle[:10]}")
    plain = bench.same([build(bench, "-Onone"), "held"])
    row = next(x for x in plain.stats()["rows"] if x["type"] == "counted.Wanted")
    expect(row["retains"] is None and row["references"] is None, f"not recorded, and yet there: {row}")


@behaviour("begin and end of a deinit, and the release that it came with, stand in an object's history; it may retain itself in it")
def deinit(bench):
    recording = recorded(bench, build(bench, "-Onone"), "busy")
    bench.needs_recorder()
    _, history = life(recording, "Busy")
    events = history["history"]
    names = [x["event"] for x in events]
    begins = names.index("deinit_begins")
    expect(names[begins - 1] == "release" and events[begins - 1]["count_after"] == 0, f"{names}")
    expect(history["last_release"] == events[begins]["number"] == events[begins - 1]["number"], f"{history['last_release']}")
    inside = [x for x in events[begins:] if x["event"] in ("retain", "release")]
    expect(inside and all(x["in_deinit"] for x in inside), f"{inside[:2]}")
    expect(not any(x["in_deinit"] for x in events[:begins]), "a retain before the deinit is said to be in it")
    expect(names[-1] == "death" and "misuse" not in names, f"{names}")


def misuse(bench, optimisation):
    program = build(bench, optimisation)
    # The runtime's message holds an address.
    for word, kind, what in (("escapes", "Escaping", "escaped"), ("double", "Kept", "released"), ("dangling", "Wanted", "unowned_read")):
        recording = recorded(bench, program, word, stderr=False)
        bench.needs_recorder()
        _, history = life(recording, kind)
        found = [x["misuse"] for x in history["history"] if x["event"] == "misuse"]
        expect(what in found, f"{word}: {found or [x['event'] for x in history['history']]}")
        if what == "escaped":
            expect(history["history"][-1]["left"] == 1, f"{history['history'][-1]}")
        text = recording.result.err
        expect("misuse" in text, f"{word}: the closing line says nothing: {text[-300:]!r}")


@behaviour("an escape from a deinit, a second release, an unowned read after the end: each is reported, and the program ends as it does alone")
def misuse_unoptimised(bench):
    misuse(bench, "-Onone")


@behaviour("an escape from a deinit, a second release, an unowned read after the end are reported, optimised, and the program ends as it does alone")
def misuse_optimised(bench):
    misuse(bench, "-O")


@behaviour("a release of memory that was freed is reported, whatever becomes of the program")
def freed(bench):
    bench.recorder_only()
    trace = bench.path("freed.lifespan")
    bench.run([bench.lifespan, "record", "--events", "refcounts", "-o", trace, "--", build(bench, "-Onone"), "freed"])
    serial = json.loads(bench.command("objects", trace, "--type", "counted.Wanted", "--lifespan", "all", "--json").out)["objects"][-1]["serial"]
    history = json.loads(bench.command("history", trace, f"@{serial}", "--json").out)["history"]
    # Which of the references to it comes first is the compiler's choice, and the last one that the program lives to see.
    expect({"released", "retained"} & {x["misuse"] for x in history}, f"{[x['event'] for x in history]}")


@behaviour("a program that uses objects well has no misuse recorded: closures to Foundation")
def no_misuse(bench):
    for word in (*KINDS, "busy"):
        recording = recorded(bench, build(bench, "-O"), word)
        bench.needs_recorder()
        expect("misuse" not in recording.result.err, f"{word}: {recording.result.err[-300:]!r}")


@behaviour("a program that is killed, and one without a runtime, are told from one whose counts were compared")
def no_end(bench):
    bench.recorder_only()
    process, _ = check(bench, build(bench, "-O"), "killed")
    expect(not process["saw_end"] and process["moments"] > 0 and process["exact"] == process["checked"], f"{process}")
    text = bench.run([bench.lifespan, "doctor", "--refcounts", "--", "true"])
    expect(text.status == 2, f"status {text.status} for a program without a runtime: {text.out}")
