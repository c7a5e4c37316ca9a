"""Births, deaths and types, exact to the last object."""

from harness import behaviour, expect


@behaviour("eight threads that free each other's objects with address reuse are counted exactly, 20 runs")
def threads(bench):
    program = bench.program("threads.swift")
    for _ in range(20):
        bench.same([program, "12500"]).is_complete().tells()


@behaviour("objects of tasks, groups, async let, actors and AsyncStream are counted exactly")
def concurrency(bench):
    for optimised in (True, False):
        bench.same([bench.program("concurrency.swift", optimised=optimised)]).tells().lists_living("Program.Message")


@behaviour("every task is born once")
def tasks(bench):
    program = bench.program("concurrency.swift")
    none, some = bench.same([program, "0"]), bench.same([program, "40"])
    words = next(x for x in some.result.out.splitlines() if x.startswith("sum ")).split()
    made = some.of_kinds("task")[0] - none.of_kinds("task")[0]
    expect(made == int(words[-1]), f"{made} tasks, truth {words[-1]}")


@behaviour("objects made by Foundation's JSON coders are counted exactly")
def json_coders(bench):
    for optimised in (True, False):
        bench.same([bench.program("json.swift", optimised=optimised)]).is_complete().tells()


def grow(bench, kind, ask):
    """What N more of a kind add to (total, living)."""
    program = bench.program("containers.swift")
    none, some = bench.same([program, kind, "0"]), bench.same([program, kind, "1000"])
    before, after = ask(none), ask(some)
    got = after[0] - before[0], after[1] - before[1]
    expect(got == (1000, 500), f"{kind}: 1000 more made, 500 kept; the trace says {got}")


@behaviour("closure contexts and boxes are counted exactly")
def boxes(bench):
    for kind in ("closure", "box"):
        grow(bench, kind, lambda r: r.of_kinds("closure", "box"))


@behaviour("array, dictionary and set storages are counted exactly")
def storages(bench):
    names = {
        "array": "_ContiguousArrayStorage<Int>",
        "dictionary": "_DictionaryStorage<Int, Int>",
        "set": "_SetStorage<Int>",
    }
    for kind, name in names.items():

        def ask(recording):
            row = recording.row(name)
            return row["total_count"], row["persistent_count"]

        grow(bench, kind, ask)


@behaviour("an object whose deinit has run counts as destroyed while an unowned reference keeps its memory")
def unowned(bench):
    recording = bench.same([bench.program("unowned.swift")]).tells()
    kept = recording.row("Program.Parent")["persistent_bytes"]
    expect(kept >= 60 * 16, f"60 parents' memory is kept, the trace says {kept} bytes")


@behaviour("objects that CoreFoundation frees behind the runtime's back are dead")
def freed_behind(bench):
    program = bench.program("freed_behind.swift")
    none, some = bench.same([program, "0"]), bench.same([program, "200"])
    before, after = none.row("Foundation.NSURL"), some.row("Foundation.NSURL")
    expect(after["total_count"] - before["total_count"] >= 200, f"{after['total_count']} NSURL objects born, not 200")
    expect(
        after["persistent_count"] == before["persistent_count"],
        f"{after['persistent_count']} NSURL objects live, all were freed",
    )


@behaviour("with --events refcounts the history of any object is complete, and says so")
def refcounts(bench):
    recording = bench.same(bench.steps("make First 3"), options=["--events", "refcounts"]).tells()
    bench.needs_recorder()
    serial = recording.ask("objects", "--type", "Program.First")["objects"][0]["serial"]
    expect(recording.ask("history", f"@{serial}")["refcounts_recorded"], "history: refcounts are said not to be recorded")


@behaviour("events are stamped by the processor's counter where the kernel's own clock is that counter")
def clock(bench):
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as file:
        counter = file.read().strip() == "tsc"
    recording = bench.same([bench.program("unowned.swift")])
    header = bench.command("dump", recording.trace).out.split("\n", 1)[0]
    expect(("time stamp counter" in header) == counter, f"the kernel's clock is the counter: {counter}; {header}")
