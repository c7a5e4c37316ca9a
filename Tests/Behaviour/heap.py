"""Pictures of the heap: what they find, and that nobody notices them."""

import json, re

from harness import behaviour, expect
from recording import Recording, plain_name
from session import Session


def pictures(recording):
    """The lines of the trace's pictures, as `dump` shows them."""
    text = recording.bench.command("dump", recording.trace).out
    return re.findall(r"^  picture (\d+) at \d+, (.*?), paused (\d+) ns, (\d+) objects checked, (\w+)", text, re.M)


def leaked(recording, kind=None):
    """Leaked objects by type; of that kind of leak alone."""
    counts = {}
    for row in recording.ask("leaks")["leaks"]:
        name = plain_name(row["type"])
        counts[name] = counts.get(name, 0) + (row["count"] if kind in (None, row["kind"]) else 0)
    return counts


def compared(recording):
    """Leaked objects by type, found and in truth, where the two differ; what a task holds that nobody can resume is told as that."""
    truth, found = recording.result.truth()["leaked"], leaked(recording)
    wrong = {name: (found.get(name, 0), count) for name, count in truth.items() if found.get(name, 0) != count}
    suspended = leaked(recording, "suspended-task")
    of_tasks = {name: count for name, count in truth.items() if "InTask." in name or "InFrame" in name}
    expect(len(of_tasks) > 10, f"only {len(of_tasks)} types that tasks hold")
    for name, count in of_tasks.items():
        if suspended.get(name, 0) != count:
            wrong[name + ", suspended"] = (suspended.get(name, 0), count)
    return wrong


@behaviour("every kind of reference: what is leaked is found, what is held is not")
def zoo(bench):
    for optimised in (True, False):
        program = bench.program("heap_zoo", optimised=optimised)
        recording = bench.same([program], ["--leaks"])
        bench.needs_recorder()
        wrong = compared(recording)
        expect(not wrong, f"optimised {optimised}: leaked (found, truth): {wrong}")


@behaviour("a picture at the end changes no program, however it ends, and one that has none says so")
def ends(bench):
    program = bench.program("life/ends.c")
    for way in "exit _exit raw quick abort trap segv kill term alarm thread".split():
        recording = bench.same([program, "ends", way], ["--leaks"]).is_complete().tells()
        bench.needs_recorder()
        taken = [point for _, point, *_ in pictures(recording)]
        if way in ("exit", "thread"):
            expect(taken == ["at exit"], f"{way}: pictures {taken}")
        said = any("no picture of the heap" in line for line in recording.ours)
        expect(said == (not taken), f"{way}: pictures {taken}, said: {recording.ours}")


def looked_at(bench, way, times):
    """The program of pictured.c, looked at so often while it runs."""
    words, trace = bench.record_words([bench.program("pictured.c"), way], ["--leaks"])
    with Session(bench, words) as session:
        pid = session.until(r"^pid (\d+)$").group(1)
        for number in range(times if bench.lifespan else 0):
            bench.command("mark", pid, f"look {number}", "--leaks")
        result = session.finish(120)
    expect(result.status == 3, f"{way}: exit status {result.status}: {result.err[-200:]!r}")
    expect("children left: none, wrong: 0" in result.out, f"{way}: {result.out[-100:]!r}")
    bench.needs_recorder()
    recording = Recording(bench, trace, result, [])
    expect(recording.stats()["events"]["lost"] == 0, f"{way}: events were lost")
    taken = pictures(recording)
    expect(len(taken) == times + 1, f"{way}: {len(taken)} pictures, not {times + 1}: {result.err[-200:]!r}")
    return recording


@behaviour("a program is looked at while 200 threads allocate, or one forks all the time, and does not notice it")
def busy(bench):
    looked_at(bench, "threads", 3)
    looked_at(bench, "forks", 5)


@behaviour("where a filter would end the program for a copy, it stands still meanwhile, and the picture says so")
def filtered(bench):
    recording = looked_at(bench, "filtered", 2)
    text = bench.command("dump", recording.trace).out
    expect("stood still for all of it" in text, "no note says that the program stood still")


@behaviour("what the recorder itself has kept of a program's registers holds nothing")
def own_memory(bench):
    recording = looked_at(bench, "register", 0)
    text = bench.command("dump", recording.trace).out
    roots = re.findall(r"^  root \d+, mapping.*$", text, re.M)
    expect(not roots, f"the program has mapped nothing, but: {roots}")
    expect(sum(leaked(recording).values()) == 2, f"leaked: {leaked(recording)}")


@behaviour("where blocks cannot be read no leak is told, and it is said why")
def protected(bench):
    recording = looked_at(bench, "protected", 0)
    expect([state for *_, state in pictures(recording)] == ["incomplete"], f"pictures: {pictures(recording)}")
    document = recording.ask("leaks")
    expect(not document["leaks"], f"leaked: {document['leaks']}")
    text = " ".join(bench.command("leaks", recording.trace).out.split())
    expect("16384 bytes of its blocks could not be read" in text, f"does not say why: {text[-400:]}")


@behaviour("what 200 threads hold in locals and thread-specific data is not leaked")
def held_by_threads(bench):
    recording = looked_at(bench, "held", 1)
    lost = leaked(recording)
    expect(not lost, f"leaked at the end: {lost}")


def talked(bench, steps, options, talk):
    """Runs steps that say `one` and wait; `talk` gets the pid then."""
    words, trace = bench.record_words(bench.steps("pid " + steps), options)
    with Session(bench, words) as session:
        pid = session.until(r"^pid (\d+)$").group(1)
        session.until("^one$")
        if bench.lifespan:
            talk(pid)
        session.send("\n")
        result = session.finish(120)
    bench.needs_recorder()
    return Recording(bench, trace, result, []).tells()


@behaviour("leaks and holders of a running recording take a picture of it, once for each question")
def on_request(bench):
    def talk(pid):
        for _ in range(2):
            found = json.loads(bench.command("leaks", pid, "--json").out)
            expect(not [x for x in found["leaks"] if x["module"] == "Program"], f"leaked: {found['leaks']}")
        text = bench.command("holders", pid, "Program.First").out
        expect("First" in text, f"holders PID says nothing of it: {text[-200:]!r}")

    recording = talked(bench, "make First 5 say one wait make First 2", [], talk)
    taken = [point for _, point, *_ in pictures(recording)]
    expect(taken == ["on request"] * 3, f"pictures: {taken}")
    text = bench.command("dump", recording.trace).out
    expect("recorded without --leaks" in text, "no note says that new blocks were not filled with zeros")


@behaviour("a picture stays in a trace that keeps what lives alone")
def kept(bench):
    steps = "make First 5 say one wait" + " make Second 100000 drop 100000" * 12
    recording = talked(bench, steps, ["--keep", "living"], lambda pid: bench.command("mark", pid, "early", "--leaks"))
    taken = [point for _, point, *_ in pictures(recording)]
    expect(len(taken) == 1 and "mark" in taken[0], f"pictures: {taken}")
    discarded = recording.ask("stats", "--lifespan", "all")["events"]
    expect(discarded["recorded"] > 2000000, f"too few events to discard some: {discarded}")


@behaviour("what the recorder leaves out counts as held, and the picture says so")
def left_out(bench):
    program = bench.program("heap_zoo")
    recording = bench.same([program], ["--leaks", "--ignore", "*Anchor*"], steady=False)
    bench.needs_recorder()
    found = leaked(recording)
    held = {name: count for name, count in found.items() if name.startswith("Program.Held")}
    expect(not held, f"leaked, though it is held: {held}")
    text = bench.command("dump", recording.trace).out
    expect("does not know counts as held" in text, "no note says that leaks may be missed")
