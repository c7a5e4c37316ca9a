"""The case studies (Tools/case-studies): the tool's verdict on each variant, faulty and mended, and the pages that walk through them."""

import os, threading

import case_pages
from harness import ROOT, Failure, behaviour, expect
from recording import Recording, plain_name

FOLDER = os.path.join(ROOT, "Tools", "case-studies")
LOCK, BUILT = threading.Lock(), {}


def program(bench, study):
    """Each study is built once, by the script that a reader uses."""
    with LOCK:
        one = BUILT.setdefault(study, threading.Lock())
    with one:
        folder = os.path.join(bench.programs.folder, "case-studies")
        path = os.path.join(folder, study)
        if not os.path.exists(path):
            done = bench.run([os.path.join(FOLDER, "build"), "-o", folder, study])
            expect(done.status == 0 and not done.err, f"build {study}: {done.err[-300:]}")
        return path


class Verdicts:
    """What is said of one variant: of the program's own types what grows, is leaked, is abandoned."""

    def __init__(self, bench, study, variant):
        self.bench, self.module = bench, "".join(part.capitalize() for part in study.split("-")) + "."
        self.recording = bench.same([program(bench, study), variant], ["--leaks"])
        bench.needs_recorder()
        self.trace = self.recording.trace
        growth = self.recording.ask("growth")
        self.growth = {plain_name(row["type"]): row for row in growth["rows"]}
        self.threads = [row for row in growth["rows"] if row["kind"] == "thread" and "NSThreadStart" in row["type"]]
        self.linear = self.own(row for row in growth["rows"] if row["verdict"] == "linear")
        leaks = self.recording.ask("leaks")
        self.leak_rows, self.abandoned_rows = leaks["leaks"], leaks["abandoned"]
        self.leaked = self.own(leaks["leaks"])
        self.abandoned = self.own(row for row in leaks["abandoned"] if row["head"])

    def own(self, rows):
        return {plain_name(row["type"])[len(self.module) :] for row in rows if row["type"].startswith(self.module)}

    def are(self, linear=(), leaked=(), abandoned=()):
        got = self.linear, self.leaked, self.abandoned
        want = set(linear), set(leaked), set(abandoned)
        for word, have, should in zip(("linear", "leaked", "abandoned"), got, want):
            expect(have == should, f"{self.bench.what}: {word} are {sorted(have)}, not {sorted(should)}")
        return self

    def counts(self, name):
        return self.growth[self.module + name]["counts"]

    def path(self, name):
        """From a root to one that grows, by type and property."""
        return " → ".join(self.growth[self.module + name]["path"])

    def clean(self):
        """Nothing of the program's own is left over, for CI too."""
        self.bench.command("leaks", self.trace, "--fail-on", "leaked", "--fail-on", "abandoned")
        return self.are()


def verdicts(bench, study, variant):
    bench.what = f"{study} {variant}"
    return Verdicts(bench, study, variant)


@behaviour("case study device listener: the run loops that never end keep thread and listener, the others nothing")
def device_listener(bench):
    for variant in ("run", "stop-run", "flag"):
        one = verdicts(bench, "device-listener", variant)
        one.are(linear={"Listener", "Report"}, abandoned={"Listener", "Report"})
        expect(one.counts("Listener") == [1, 2, 3, 4, 5], f"{variant}: {one.counts('Listener')}")
        expect("Foundation.Thread _main" in one.path("Listener"), f"{variant}: held by {one.path('Listener')}")
        expect([row["counts"] for row in one.threads] == [[1, 2, 3, 4, 5]], f"{variant}: threads {one.threads}")
        threads = [row["state"] for row in one.recording.ask("threads")["threads"] if row["name"] == "listener"]
        expect(threads == ["living"] * 5, f"{variant}: threads {threads}")
    for variant in ("run-until", "flag-stop", "stop", "last-source", "perform-in-time", "other-mode", "time-out"):
        one = verdicts(bench, "device-listener", variant).clean()
        expect(not one.threads, f"{variant}: threads at the marks: {one.threads}")


@behaviour("case study device listener: a block on a loop that has ended keeps its target, and the path says by which block")
def perform_late(bench):
    one = verdicts(bench, "device-listener", "perform-late")
    one.are(linear={"Listener", "Report"}, abandoned={"Listener", "Report"})
    for step in ("DeviceListener.keptLoops", "(CFRunLoop).firstBlock", "Listener.deliver(_:)"):
        expect(step in one.path("Listener"), f"{step} is not in {one.path('Listener')}")
    expect(not one.threads, f"threads at the marks: {one.threads}")


@behaviour("case study device listener: a timer in a mode that is never run closes a cycle through the loop that the listener keeps")
def timer_in_other_mode(bench):
    one = verdicts(bench, "device-listener", "other-mode-timer").are(linear={"Listener"}, leaked={"Listener"})
    heads = [row for row in one.leak_rows if row["head"]]
    expect([(row["kind"], row["instances"]) for row in heads] == [("cycle", 5)], f"heads: {heads}")
    steps = " ".join(heads[0]["cycle"])
    for step in ("DeviceListener.Listener.loop", "(CFRunLoopMode).timers", "Foundation.Timer _fire"):
        expect(step in steps, f"{step} is not in {steps}")
    expect(not one.threads, f"threads at the marks: {one.threads}")


@behaviour("case study device listener: a singleton that is done is found by one round, and not called abandoned")
def singleton(bench):
    one = verdicts(bench, "device-listener", "singleton").are()
    expect(one.growth["DeviceListener.Listener"]["verdict"] == "plateau", "it grows")
    document = one.recording.ask("growth", "--round", "round 1", "round 2")
    rows = {row["type"]: row for row in document["rows"]}
    for name in ("DeviceListener.Listener", "DeviceListener.Manager", "DeviceListener.Report"):
        counts = [rows[name][key] for key in ("before_count", "inside_count", "after_count", "living_count")]
        expect(counts == [0, 1, 1, 1], f"{name}: before, inside, after, at the end are {counts}")
    path = rows["DeviceListener.Listener"]["stacks"][0]["path"]
    expect(path[0].endswith("Manager.shared"), f"the listener is held by {path}")
    threads = [row for row in document["rows"] if row["kind"] == "thread"]
    expect([row["inside_count"] for row in threads] == [1], f"threads of the round: {threads}")


@behaviour("case study timer owner: whose leak a timer is, and what a weak proxy and a timer source leave")
def timer_owner(bench):
    one = verdicts(bench, "timer-owner", "strong").are(linear={"ClockScreen"}, abandoned={"ClockScreen"})
    for step in ("CFRunLoopGetMain", "(CFRunLoopMode).timers", "Foundation.Timer _fire"):
        expect(step in one.path("ClockScreen"), f"{step} is not in {one.path('ClockScreen')}")
    one = verdicts(bench, "timer-owner", "invalidated").are(linear={"ClockScreen"}, leaked={"ClockScreen"})
    head = [row for row in one.leak_rows if row["head"]]
    expect([row["type"] for row in head] == ["Foundation.Timer"], f"heads: {head}")
    expect("Foundation's own: a Timer retains itself" in head[0]["reason"], f"no reason: {head[0]}")
    one = verdicts(bench, "timer-owner", "weak").clean()
    expect({row["toolchain"] for row in one.leak_rows} == {True}, f"whose leaks: {one.leak_rows}")
    # The proxy hangs below Foundation's timer, and is the program's; the screen has died.
    verdicts(bench, "timer-owner", "weak-timer").are(linear={"WeakTimer"}, leaked={"WeakTimer"})
    one = verdicts(bench, "timer-owner", "dispatch").clean()
    expect(not one.leak_rows, f"leaks: {one.leak_rows}")


@behaviour("case study task that awaits a stream: the feed holds the task, the task its page")
def task_stream(bench):
    one = verdicts(bench, "task-stream", "forever").are(linear={"Page"}, abandoned={"Page"})
    expect(one.path("Page").startswith("global static TaskStream.Feed.shared"), one.path("Page"))
    expect("Swift.Task" in one.path("Page"), f"no task in {one.path('Page')}")
    for variant in ("cancelled", "weak", "finished"):
        verdicts(bench, "task-stream", variant).clean()


@behaviour("case study cache: without limit it grows, with one and with the right key it stands still")
def cache(bench):
    one = verdicts(bench, "cache", "without-limit").are(linear={"Page"}, abandoned={"Page"})
    expect(one.counts("Page") == [20, 40, 60, 80, 100], f"pages: {one.counts('Page')}")
    expect(one.growth["Cache.Page"]["count_per_round"] == 20, f"{one.growth['Cache.Page']}")
    for variant, pages in (("with-limit", 8), ("right-key", 4)):
        one = verdicts(bench, "cache", variant).clean()
        expect(one.counts("Page") == [pages] * 5, f"{variant}: pages {one.counts('Page')}")


@behaviour("case study closure cycle: three that hold each other are one leak, with the property of each step")
def closure_cycle(bench):
    one = verdicts(bench, "closure-cycle", "strong").are(linear={"Document", "Editor"}, leaked={"Document", "Editor"})
    head = [row for row in one.leak_rows if row["head"]]
    expect(len(head) == 1 and head[0]["kind"] == "cycle" and head[0]["instances"] == 5, f"heads: {head}")
    steps = " ".join(head[0]["cycle"])
    expect("ClosureCycle.Document onChange: " in steps and "ClosureCycle.Editor.document" in steps, steps)
    for variant in ("weak", "cleared"):
        verdicts(bench, "closure-cycle", variant).clean()


@behaviour("case study handler and context: a cycle by design is no leak until its channel is dropped without teardown")
def handler_context(bench):
    one = verdicts(bench, "handler-context", "open").clean()
    expect(one.counts("Handler") == one.counts("Context") == [9] * 5, f"open: {one.counts('Handler')}")
    verdicts(bench, "handler-context", "torn-down").clean()
    one = verdicts(bench, "handler-context", "forgotten")
    one.are(linear={"Context", "Handler"}, leaked={"Context", "Handler"})
    expect(sum(row["instances"] for row in one.leak_rows) > 0, f"{one.leak_rows}")
    expect({row["kind"] for row in one.leak_rows} == {"cycle"}, f"kinds: {one.leak_rows}")


@behaviour("case study delegate session: what nobody invalidated is a leak of two, with the bodies below it")
def delegate_session(bench):
    names = {"Session", "Uploader", "Body"}
    one = verdicts(bench, "delegate-session", "forgotten").are(linear=names, leaked=names)
    head = [row for row in one.leak_rows if row["head"]]
    cycle = {"DelegateSession.Session.delegate", "DelegateSession.Uploader.session"}
    expect([set(row["cycle"]) for row in head] == [cycle], f"heads: {head}")
    for variant in ("invalidated", "shared"):
        verdicts(bench, "delegate-session", variant).clean()


@behaviour("case study slice: a few bytes keep a hundred thousand, and growth by bytes shows it")
def slice_(bench):
    rates = {}
    for variant in ("slice", "copy"):
        one = verdicts(bench, "slice", variant).are(linear={"Sender"}, abandoned={"Sender"})
        buffers = one.growth[plain_name("Swift._ContiguousArrayStorage<Swift.UInt8>")]
        expect(buffers["counts"] == [5, 10, 15, 20, 25], f"{variant}: {buffers['counts']}")
        rates[variant] = buffers["bytes_per_round"]
    # Five senders a round: each with its message, or with sixteen bytes and the header of an array.
    expect(rates["slice"] > 5 * 100_000 and rates["copy"] <= 5 * 64, f"bytes a round: {rates}")
    bench.command("growth", one.trace, "--type", "*UInt8*", "--fail-on", "growth=1K")


@behaviour("case study run loop order: what a turn does in its order, and what the loop keeps until there is one")
def run_loop_order(bench):
    text = bench.run([program(bench, "run-loop-order"), "turn"]).out.splitlines()
    expect(text[:3] == ["entry", "before timers", "before sources"] and text[-1] == "exit", f"{text}")
    order = [line.strip() for line in text if line.startswith("  ")]
    expect(order == ["block", "source", "timer"], f"order: {order}")
    names = {"BlockWork", "SourceWork"}
    one = verdicts(bench, "run-loop-order", "pending").are(linear=names, abandoned=names)
    for name, step in (("BlockWork", "(block to perform)"), ("SourceWork", "(CFRunLoopMode)")):
        path = one.path(name)
        expect("CFRunLoopGetMain" in path and step in path, f"{name} is held by {path}")
    verdicts(bench, "run-loop-order", "turned").clean()


@behaviour("explain tells growth, holder and the likely cause of each known pattern on one screen")
def explain(bench):
    for study, variant, name, verdict, path, likely in (
        ("cache", "without-limit", "Cache.Page", "linear", "global Cache.cache", "a collection below a global only grows"),
        ("cache", "with-limit", "Cache.Page", "plateau", "global Cache.cache", "a collection below a global holds it"),
        ("timer-owner", "strong", "TimerOwner.ClockScreen", "linear", "CFRunLoopTimer", "a run loop keeps its timers"),
        ("closure-cycle", "strong", "ClosureCycle.Document", "linear", "Document", "a closure captures its owner"),
        ("task-stream", "forever", "TaskStream.Page", "linear", "task's stack", "a task waits for what does not come"),
    ):
        one = verdicts(bench, study, variant)
        document = one.recording.ask("explain", name)
        what = f"{study} {variant}: {name}"
        expect(document["type"] == name and document["verdict"] == verdict, f"{what}: {document['verdict']}")
        expect(any(path in line for line in document["path"]), f"{what}: held by {document['path']}")
        expect((document["likely"] or "").startswith(likely), f"{what}: likely {document['likely']}")
        lines = bench.command("explain", one.trace, name).out.splitlines()
        expect(len(lines) <= 60 and max(map(len, lines)) <= 100, f"{what}: {len(lines)} lines")


@behaviour("the pages of the case studies show what the tool really prints")
def pages(bench):
    bench.needs_recorder()
    pages = case_pages.pages()
    expect(len(pages) >= 1, "there are no pages")
    for path in pages:
        text = open(path).read()
        fresh = case_pages.renewed(text, bench.lifespan, lambda study: program(bench, study), bench.folder, bench.env)
        if fresh != text:
            have, want = text.splitlines(), fresh.splitlines()
            place = next((n for n, pair in enumerate(zip(have, want)) if pair[0] != pair[1]), min(len(have), len(want)))
            raise Failure(
                f"{os.path.basename(path)}, line {place + 1}: page {have[place : place + 1]}, now {want[place : place + 1]};"
                " Tools/case-studies/page writes them anew"
            )
