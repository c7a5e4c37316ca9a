"""Pictures of the heap: what they find, and that nobody notices them."""

import json, os, re, shutil

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


@behaviour("a heap of more than half a million objects has its picture, all of them checked and held")
def large(bench):
    # So many that each list of the scan grows several times by whole mappings.
    recording = bench.same(bench.steps("make First 600000"), ["--leaks"], steady=False)
    bench.needs_recorder()
    taken = [(point, int(objects)) for _, point, _, objects, _ in pictures(recording)]
    expect(len(taken) == 1 and taken[0][0] == "at exit" and taken[0][1] >= 600000, f"pictures: {taken}")
    expect(not any("First" in name for name in leaked(recording)), "a held object is called leaked")


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


@behaviour("what objects retain is told for each picture of a trace: a list that grows behind objects whose number stands still")
def grows(bench):
    words, trace = bench.record_words([bench.program("leaky_rounds.swift"), "3"], ["--leaks"])
    with Session(bench, words) as session:
        pid = session.until(r"^pid (\d+)$").group(1)
        for number in range(3):
            session.until(f"^round {number + 1}$")
            if bench.lifespan:
                bench.command("mark", pid, f"round {number + 1}", "--leaks")
            session.send("\n")
        result = session.finish(120)
    expect(result.status == 0, f"exit status {result.status}")
    bench.needs_recorder()
    rows = json.loads(bench.command("holders", trace, "Program.Page", "--retained-size", "--json").out)["retained_growth"]
    expect([row["point"] for row in rows] == ["at mark round 1", "at mark round 2", "at mark round 3", "at exit"], f"rows: {rows}")
    expect([row["count"] for row in rows] == [2] * 4, f"counts: {rows}")
    steps = [after["retained_bytes"] - before["retained_bytes"] for before, after in zip(rows, rows[1:])]
    # 100 numbers of 8 bytes more in each of 2 lists; an array may have a few bytes of its own beside.
    expect(all(1600 <= step <= 1700 for step in steps[:2]) and steps[2] == 0, f"growth {steps}: {rows}")
    text = " ".join(bench.command("holders", trace, "Program.Page", "--retained-size").out.split())
    expect("retained in each picture of this trace" in text and "as before" in text, f"text: {text[-600:]}")


@behaviour("a program under another tracer has no picture, which is said in one line, and it goes on")
def traced(bench):
    for way in ("goes", "stay"):
        words, trace = bench.record_words([bench.program("traced.c"), way], ["--leaks"])
        with Session(bench, words) as session:
            pid = session.until(r"^pid (\d+)$").group(1)
            session.until("^traced$")
            if bench.lifespan:
                refused = bench.run([bench.lifespan, "mark", pid, "now", "--leaks"])
                expect(refused.status == 2, f"mark --leaks: exit status {refused.status}: {refused.err}")
                lines = refused.err.strip().splitlines()
                expect(len(lines) == 1 and "threads cannot be stopped" in lines[0], f"mark --leaks says {lines}")
            result = session.finish(120)
        expect(result.status == 3, f"{way}: exit status {result.status}: {result.err[-200:]}")
        bench.needs_recorder()
        said = [line for line in result.err.splitlines() if "no picture of the heap" in line]
        expect(len(said) == (1 if way == "stay" else 0), f"{way}: says {result.err[-300:]}")


@behaviour("where nobody may trace, for a setuid program, and without /proc: the program runs as plain, with a picture or a line that says why not")
def forbidden(bench):
    launch, program = bench.program("launch.c"), bench.program("pictured.c")
    plain = bench.run([program, "register"], stdin="\n")
    words, trace = bench.record_words([program, "register"], ["--leaks"])
    result = bench.run([launch, "no-tracing", *words], stdin="\n")
    expect(result.status == plain.status == 3, f"no tracing: exit status {result.status}")
    if bench.lifespan:
        expect("no picture of the heap: its threads cannot be stopped: Operation not permitted" in result.err, f"says {result.err}")
        asked = bench.run([bench.lifespan, "leaks", trace])
        lines = asked.err.splitlines()
        expect(asked.status == 2 and len(lines) == 1 and "holds no picture of the heap" in lines[0], f"leaks: {asked.status}, {lines}")
    if os.geteuid() != 0:
        return
    setuid = bench.path("setuid_pictured")
    shutil.copy(program, setuid)
    os.chown(setuid, 65534, 65534)
    os.chmod(setuid, 0o4755)
    words, trace = bench.record_words([setuid, "register"], ["--leaks"])
    result = bench.run(words, stdin="\n")
    expect(result.status == 3, f"setuid: exit status {result.status}")
    if bench.lifespan and not os.statvfs(setuid).f_flag & os.ST_NOSUID:
        expect("cannot be recorded: it changes its user, group or capabilities" in result.err, f"setuid: says {result.err}")
        expect(not os.path.exists(trace), "setuid: leaves a trace that holds nothing")
    no_proc = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$0" "$@"']
    if bench.run([*no_proc, "true"]).status != 0:
        return
    bench.env["STEPS"] = "make First 6 drop 2 exit 3"
    steps = [bench.program("steps.swift")]
    words, trace = bench.record_words([*no_proc, *steps], ["--leaks"])
    result = bench.run(words)
    expect(result.status == 3, f"without /proc: exit status {result.status}")
    if not bench.lifespan:
        return
    recording = Recording(bench, trace, result, [])
    expect([point for _, point, *_ in pictures(recording)] == ["at exit"], f"without /proc: {pictures(recording)}")
    expect(not leaked(recording), f"without /proc: leaked {leaked(recording)}")
    blind = bench.run([*no_proc, bench.lifespan, "leaks", trace])
    expect(blind.status == 2 and "/proc is not there" in blind.err, f"the command without /proc: {blind.status}, {blind.err}")


@behaviour("each process of a tree has a picture of its own end")
def children(bench):
    program = bench.program("life/ends.c")
    words = [bench.lifespan, "record", "--children", "--leaks", "-o", "tree.%p.lifespan", "--"]
    bench.recorder_only()
    result = bench.run([*words, "sh", "-c", 'for way in exit exit _exit; do "$0" ends $way; done', program])
    traces = sorted(name for name in os.listdir(bench.folder) if name.startswith("tree.") and name.endswith(".lifespan"))
    points = {name: re.findall(r"^  picture \d+ at \d+, (.*?), paused", bench.command("dump", name).out, re.M) for name in traces}
    with_picture = [name for name, found in points.items() if found == ["at exit"]]
    # What ends by _exit (the shell may) has none, and says so.
    expect(len(with_picture) >= 2 and len(traces) > len(with_picture), f"pictures: {points}: {result.err[-300:]}")
    expect("no picture of the heap" in result.err, f"says nothing of it: {result.err[-300:]}")
