"""Who holds an object: the path from a root names each step; weak and unmanaged references hold nothing."""

import json, time

from harness import Failure, behaviour, expect
from session import Session

# what is asked about: the words that must stand in its path, in this order, from the root to the object
PATHS = {
    "Program.Singleton": ["global", "Program.Singleton.shared", "Program.Singleton"],
    "Program.Loop.InTimer": ["global CFRunLoopGetMain", "Foundation.Timer._fire", "Program.Loop.InTimer"],
    "Program.Loop.InToken": ["global", "NotificationCenter.registrar", "_DictionaryStorage", "Program.Loop.InToken"],
    "Program.Loop.InSource": ["_dispatch_timers_heap", "_dispatch_source_timer_create", "_Block_copy", "Program.Loop.InSource"],
    "Program.Loop.InQueue": ["_dispatch_timers_heap", "_Block_copy", "Program.Loop.InQueue"],
    "Program.Loop.InThread": ["thread-local", "Foundation.Thread", "Program.Loop.InThread"],
}
LEAKED = {"Program.OnlyWeak": 1, "Program.Lost": 1, "Program.RingA": 1, "Program.RingB": 1}


def program(bench, optimised=True):
    return bench.program("holders.swift", optimised=optimised)


def words_of(path):
    """A path of the document as texts: the root, then TYPE.property and the name of what made it."""
    root = path["root"] or {}
    texts = [f"{root.get('root')} {root.get('label') or ''}"]
    for step in path["steps"]:
        texts.append(f"{step['type']} {step['note'] or ''}" + (f" {step['type']}.{step['label']}" if step["label"] else ""))
    return texts


def leads_through(path, wanted):
    text, place = " → ".join(words_of(path)), 0
    for word in wanted:
        place = text.find(word, place)
        if place < 0:
            return False
        place += len(word)
    return True


def paths_name_their_steps(recording, paths=PATHS):
    for name, wanted in paths.items():
        document = recording.ask("holders", name, "--all-paths")
        expect(document["count"] == 1, f"{document['count']} objects of {name}, not 1")
        expect(document["unreachable_count"] == 0, f"{name} is called leaked")
        found = [words_of(path) for path in document["paths"]]
        expect(any(leads_through(path, wanted) for path in document["paths"]), f"{name}: no path names {wanted}: {found}")


def leaks_are(document, wanted):
    found = {}
    for row in document["leaks"]:
        if row["module"] == "Program":
            found[row["type"]] = found.get(row["type"], 0) + row["count"]
    expect(found == wanted, f"leaks of the program: {found}, truth {wanted}")
    expect(document["leaks_withheld"] is None, f"withheld: {document['leaks_withheld']}")


@behaviour("the path from a root names each step: run loop and timer, token, dispatch source and queue, thread, singleton")
def paths(bench):
    recording = bench.same([program(bench)], ["--leaks"])
    bench.needs_recorder()
    paths_name_their_steps(recording)
    cached = recording.ask("holders", "Program.Held")
    dictionary = [x for x in cached["holders"] if "_DictionaryStorage" in x["type"]]
    expect(sum(x["count"] for x in dictionary) == 3, f"the dictionary holds {dictionary}")
    expect(any(x["label"] == "favourite" for x in cached["holders"]), f"no property favourite: {cached['holders']}")


@behaviour("weak references, unmanaged ones that are lost, and rings are told as leaks, optimised or not; what is held is not")
def verdicts(bench):
    for optimised in (True, False):
        recording = bench.same([program(bench, optimised)], ["--leaks"])
        bench.needs_recorder()
        document = recording.ask("leaks")
        leaks_are(document, LEAKED)
        ring = [x for x in document["leaks"] if x["kind"] == "cycle" and x["head"]]
        expect([x["cycle"] for x in ring] == [["Program.RingA.next", "Program.RingB.back"]], f"cycles: {ring}")
        again = bench.same([program(bench, optimised)], ["--leaks"]).ask("leaks")
        prints = [sorted({x["fingerprint"] for x in d["leaks"] if not x["toolchain"]}) for d in (document, again)]
        expect(prints[0] == prints[1], f"fingerprints differ in two runs: {prints}")
        weak = recording.ask("holders", "Program.OnlyWeak")
        expect(weak["unreachable_count"] == 1, f"OnlyWeak: {weak}")


@behaviour("leaks and holders of a program that runs: its PID is enough")
def running(bench):
    bench.recorder_only()
    words, trace = bench.record_words([program(bench), "stay"], ["--leaks"])
    with Session(bench, words) as session:
        session.until("ready")
        # Whatever else is recorded on this machine just now.
        running = [x for x in json.loads(bench.command("list", "--json").out)["recordings"] if x["trace"] == trace]
        expect(len(running) == 1, f"{len(running)} recordings of {trace}")
        pid = running[0]["pid"]
        # The stream's task comes to rest in its own time.
        wanted, end = ["global", "globalContinuation", "AsyncStream", "Program.Loop.InStream"], time.monotonic() + 60
        while True:
            document = json.loads(bench.command("holders", str(pid), "Program.Loop.InStream", "--json").out)
            if any(leads_through(path, wanted) for path in document["paths"]):
                break
            if time.monotonic() > end:
                raise Failure(f"no path of the stream names {wanted}: {document['paths']}")
        leaks_are(json.loads(bench.command("leaks", str(pid), "--json").out), LEAKED)
        session.send("\n")
        result = session.finish()
    expect(result.status == 0, f"exit status {result.status}")
