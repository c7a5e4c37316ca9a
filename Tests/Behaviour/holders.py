"""Who holds an object: the path from a root names each step; weak and unmanaged references hold nothing."""

import json, re, time

from harness import Failure, behaviour, expect
from recording import plain_name
from session import Session

# what is asked about: a whole path to it as it is printed, from the root on, numbers of objects left out
PATHS = {
    "Program.Singleton": ["global static Program.Singleton.shared", "Program.Singleton @N"],
    "Program.Loop.InTimer": [
        "global CFRunLoopGetMain.__main",
        "Foundation.__NSCFType (CFRunLoop) @N .modes",
        "Foundation.__NSCFType (CFSet) @N .values",
        "malloc 32 B (hash table) @N […]",
        "Foundation.__NSCFType (CFRunLoopMode) @N .timers",
        "Foundation._NSCFArray @N .storage",
        "malloc 48 B (array's storage) @N […]",
        "Foundation.__NSCFType (CFRunLoopTimer) @N .context",
        "Foundation.Timer @N _fire: partial apply for closure #1 in timer()",
        "Program.Loop.InTimer @N",
    ],
    "Program.Loop.InParkedLoop": [
        "global __CFRunLoops",
        "Foundation.__NSCFType (CFDictionary) @N .values",
        "malloc 32 B (hash table) @N […]",
        "Foundation.__NSCFType (CFRunLoop) @N .currentMode",
        "Foundation.__NSCFType (CFRunLoopMode) @N .timers",
        "Foundation._NSCFArray @N .storage",
        "malloc 80 B (array's storage) @N […]",
        "Foundation.__NSCFType (CFRunLoopTimer) @N .context",
        "Foundation.Timer @N _fire: partial apply for closure #1 in closure #1 in parkedLoop()",
        "Program.Loop.InParkedLoop @N",
    ],
    "Program.Loop.InPerform": [
        "global CFRunLoopGetMain.__main",
        "Foundation.__NSCFType (CFRunLoop) @N .firstBlock",
        "malloc 32 B (block to perform) @N .block",
        "malloc 48 B (block) @N partial apply for closure #1 in perform()",
        "Program.Loop.InPerform @N",
    ],
    "Program.Loop.InToken": [
        "global FoundationEssentials._defaultCenter",
        "FoundationEssentials.NotificationCenter @N .registrar",
        "Swift._DictionaryStorage<Swift.Optional<Swift.String>, Swift.Dictionary<Swift.Optional<Swift.ObjectIdentifier>,"
        " FoundationEssentials.AutoDictionary<@Sendable (FoundationEssentials.MessageBox) -> ()>>> @N .value",
        "Swift._DictionaryStorage<Swift.Optional<Swift.ObjectIdentifier>,"
        " FoundationEssentials.AutoDictionary<@Sendable (FoundationEssentials.MessageBox) -> ()>> @N .value",
        "Swift._DictionaryStorage<Swift.UInt64, @Sendable (FoundationEssentials.MessageBox) -> ()> @N .value",
        "closure in closure #2 in NotificationCenter._addObserver<A>(_:object:using:) @N"
        " partial apply for closure #1 in notification()",
        "Program.Loop.InToken @N",
    ],
    "Program.Loop.InSource": [
        "global Program.globalSource",
        "Dispatch.DispatchSource @N .__wrapped",
        "dispatch_source @N .registration",
        "malloc 128 B (timer of a source) @N event handler",
        "malloc 64 B (work item) @N thunk for @escaping @callee_guaranteed () -> ()",
        "malloc 48 B (block) @N partial apply for closure #1 in source()",
        "Program.Loop.InSource @N",
    ],
    "Program.Loop.InReadSource": [
        "global Program.globalReadSource",
        "Dispatch.DispatchSource @N .__wrapped",
        "dispatch_source @N .registration",
        "malloc 112 B (registration of a source) @N cancel handler",
        "malloc 64 B (work item) @N ._dispatch_call_block_and_release",
        "malloc 48 B (block) @N partial apply for closure #1 in readSource()",
        "Program.Loop.InReadSource @N",
    ],
    "Program.Loop.InQueue": [
        "global _dispatch_timers_heap + 24",
        "malloc 64 B (libdispatch's timers) @N […]",
        "malloc 128 B (timer of a source) @N event handler",
        "malloc 64 B (work item) @N thunk for @escaping @callee_guaranteed @Sendable () -> ()",
        "malloc 48 B (block) @N partial apply for closure #1 in queue()",
        "Program.Loop.InQueue @N",
    ],
    "Program.Loop.InSerialQueue": [
        "global Program.globalQueue",
        "Dispatch.DispatchQueue @N .__wrapped",
        "dispatch_queue_serial @N first item",
        "malloc 64 B (work item) @N ._dispatch_call_block_and_release",
        "malloc 48 B (block) @N partial apply for closure #1 in serialQueue()",
        "Program.Loop.InSerialQueue @N",
    ],
    "Program.Loop.InThread": [
        'thread-local storage of thread N "holders"',
        "Foundation.Thread @N .threadDictionary",
        "Foundation.NSMutableDictionary @N ._storage",
        "Swift._DictionaryStorage<Foundation.NSObject, Swift.AnyObject> @N .value",
        "Foundation.__SwiftValue @N .value",
        "Program.Loop.InThread @N",
    ],
    "Program.Loop.InOperation": [
        "global Program.globalOperations",
        "Foundation.OperationQueue @N .__firstOperation",
        "Foundation.BlockOperation @N _block: partial apply for closure #1 in operation()",
        "Program.Loop.InOperation @N",
    ],
    "Program.Loop.InCache": [
        "global Program.globalCache",
        "Foundation.NSCache<Foundation.NSString, Program.Loop.InCache> @N ._entries",
        "Swift._DictionaryStorage<Foundation.NSCacheKey, Foundation.NSCacheEntry<Foundation.NSString,"
        " Program.Loop.InCache>> @N .value",
        "Foundation.NSCacheEntry<Foundation.NSString, Program.Loop.InCache> @N .value",
        "Program.Loop.InCache @N",
    ],
    "Program.Loop.InActor": [
        "global static Program.Keeper.shared",
        "Program.Keeper @N .inside",
        "Program.Loop.InActor @N",
    ],
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


def printed_paths(text):
    """The paths of a report as lists of lines, without numbers of objects and threads and discriminators of private names."""
    text = re.sub(r"\((\w+) in _[0-9A-F]+\)", r"\1", re.sub(r"@\d+", "@N", re.sub(r"thread \d+", "thread N", text)))
    return [[line.strip() for line in part.splitlines()] for part in re.findall(r"^path \d+ from a root\n((?:  .+\n)+)", text, re.M)]


def is_line(printed, whole):
    """The middle of a line that is too long is left out."""
    head, cut, tail = printed.partition("…") if printed != whole else (printed, "", "")
    # What is left of a number at the cut is no part of the text.
    tail = re.sub(r"^\d+ ", " ", tail)
    return printed == whole or (cut and len(whole) > len(printed) and whole.startswith(head) and whole.endswith(tail))


def is_path(printed, wanted):
    return len(printed) == len(wanted) and all(is_line(*pair) for pair in zip(printed, wanted))


def paths_name_their_steps(bench, trace):
    for name, wanted in PATHS.items():
        text = bench.command("holders", trace, name, "--all-paths", "--limit", "100").out
        expect("leaked" not in text and f"\n{name} @" in text, f"{name} is leaked, or not one: {text[:300]}")
        found = printed_paths(text)
        expect(any(is_path(path, wanted) for path in found), f"{name}: no path is {wanted}: {found}")


def leaks_are(document, wanted):
    found = {}
    for row in document["leaks"]:
        if row["module"] == "Program":
            found[row["type"]] = found.get(row["type"], 0) + row["count"]
    expect(found == wanted, f"leaks of the program: {found}, truth {wanted}")
    expect(document["leaks_withheld"] is None, f"withheld: {document['leaks_withheld']}")


@behaviour("the path from a root names each step: run loops, tokens, sources, queues, operations, caches, actors, threads, singletons")
def paths(bench):
    recording = bench.same([program(bench)], ["--leaks"])
    bench.needs_recorder()
    paths_name_their_steps(bench, recording.trace)
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
