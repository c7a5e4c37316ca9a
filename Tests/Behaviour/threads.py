"""Threads: every one is born where it was made, named, and ended or not; the program does not notice."""

import json, os

from harness import TOOLCHAIN, behaviour, expect
from recording import Recording
from session import Session

RUNTIME = os.path.join(os.path.dirname(TOOLCHAIN), "lib", "swift", "linux")
# A C++ program with the Swift runtime in it is recorded.
WITH_RUNTIME = ("-std=c++20", "-Wl,--no-as-needed", f"-L{RUNTIME}", "-lswiftCore", f"-Wl,-rpath,{RUNTIME}")

# way: what its threads run, and the function that made them
WAYS = {
    "at-once": ("waiting", "at_once"),
    "small": ("waiting", "at_once"),
    "waves": ("returning", "one_after_another"),
    "exit": ("exiting", "exits"),
    "cancel": ("cancelled", "cancels"),
    "detached": ("counting", "detaches"),
    "standard": ("libstdc++", "standard"),
    "c11": ("in_c11", "c11"),
    "fails": ("returning", "fails"),
}


def program(bench):
    return bench.program("thread_lives.cpp", *WITH_RUNTIME)


def truth(recording):
    words = [x for x in recording.result.out.splitlines() if x.startswith("threads ")]
    return tuple(int(x) for x in words[-1].split()[1:])


def names_of(stack):
    return " ".join(frame["function"] for frame in stack)


def tells(recording, approximate=0):
    """The trace's threads are the program's, as rows of threads and as objects; gives the rows without main's."""
    made, living = truth(recording)
    document = recording.ask("threads")
    rows = [row for row in document["threads"] if row["thread"] != 1]
    states = {state: sum(row["state"] == state for row in rows) for state in ("living", "ended", "gone")}
    expect(len(rows) == made, f"{len(rows)} threads, truth {made}")
    expect(states["gone"] == approximate, f"{states['gone']} threads were found gone, not {approximate}")
    expect(states["living"] == living, f"{states['living']} threads live, truth {living}")
    counts = recording.of_kinds("thread")
    expect(counts == (made, living), f"stats: threads (total, living) are {counts}, truth {(made, living)}")
    expect(recording.stats()["totals"].get("thread", {}).get("total_bytes") == 0, "threads have bytes")
    for row in rows:
        expect(row["origin_known"] and row["stack_ending"] is None, f"thread {row['thread']}: {row}")
        expect(row["ended_ns"] is None or row["born_ns"] <= row["ended_ns"], f"thread {row['thread']} ends before it is born")
    return rows


def made_by(rows, start, maker):
    for row in rows:
        expect(start in row["start"]["function"], f"thread {row['thread']} runs {row['start']['function']}, not {start}")
        expect(maker in names_of(row["created_by"]), f"thread {row['thread']} was made by {names_of(row['created_by'])}")
        expect("liblifespan" not in str(row["created_by"]), f"the recorder in the stack: {row['created_by']}")
        expect(row["creator"] == 1, f"thread {row['thread']} was made by thread {row['creator']}")


def check(bench, way):
    recording = bench.same([program(bench), way])
    bench.needs_recorder()
    recording.is_complete()
    made_by(tells(recording), *WAYS[way])


@behaviour("200 threads at once, and 2,000 one after another, are counted exactly, with who made them")
def many(bench):
    for way in ("at-once", "waves"):
        check(bench, way)


@behaviour("threads with 16 KB of stack are counted exactly, and go on as without us")
def small(bench):
    check(bench, "small")


@behaviour("threads that exit, are cancelled at a point or at once, are detached, are std::thread's or C11's end exactly")
def ends(bench):
    for way in ("exit", "cancel", "detached", "standard", "c11"):
        check(bench, way)


@behaviour("a thread that could not be made is none")
def fails(bench):
    check(bench, "fails")


@behaviour("a thread made by a thread has that one as its creator")
def nested(bench):
    recording = bench.same([program(bench), "nested"])
    bench.needs_recorder()
    rows = {row["start"]["function"]: row for row in tells(recording)}
    expect(rows["maker"]["creator"] == 1, f"the maker was made by {rows['maker']['creator']}")
    inner = rows["returning"]
    expect(inner["creator"] == rows["maker"]["thread"], f"the inner one was made by {inner['creator']}")
    expect("maker" in names_of(inner["created_by"]), names_of(inner["created_by"]))


@behaviour("threads have the names that they gave themselves, or others gave them")
def names(bench):
    recording = bench.same([program(bench), "names"])
    bench.needs_recorder()
    got = sorted((row["name"], row["state"]) for row in tells(recording))
    want = [("by another", "ended"), ("by itself", "ended"), ("by prctl, which", "ended"), ("parked", "living")]
    expect(got == want, f"names are {got}")


@behaviour("threads that were made behind the recorder's back are seen, and found gone while the program runs")
def behind(bench):
    words, trace = bench.record_words([program(bench), "behind"])
    with Session(bench, words) as session:
        pid = session.until(r"^pid (\d+)$").group(1)
        for _ in range(500 if bench.lifespan else 0):
            rows = json.loads(bench.command("threads", pid, "--json").out)["threads"]
            if [row["state"] for row in rows] == ["living", "gone", "gone", "gone"]:
                break
        session.send("\n")
        recording = Recording(bench, trace, session.finish(), [])
    bench.needs_recorder()
    rows = recording.ask("threads")["threads"][1:]
    expect([row["name"] for row in rows] == ["unheard 0", "unheard 1", "unheard 2"], f"{rows}")
    expect(not any(row["origin_known"] for row in rows), f"an origin that nobody saw: {rows}")
    expect(recording.of_kinds("thread") == (3, 0), f"stats: threads (total, living) are {recording.of_kinds('thread')}")
    text = bench.command("threads", trace).out
    expect("no pthread_create made is born where it was first seen" in text and "gone: found" in text, text)


@behaviour("a fork child's threads are its own")
def fork(bench):
    recording = bench.same([program(bench), "fork"])
    bench.needs_recorder()
    made_by(tells(recording), "returning", "forks")


@behaviour("an exception that nobody catches in a thread ends the program as it does plain")
def uncaught(bench):
    recording = bench.same([program(bench), "uncaught"])
    bench.needs_recorder()
    total, living = recording.of_kinds("thread")
    expect((total, living) == (1, 1), f"threads (total, living) are {(total, living)}, truth (1, 1)")


@behaviour("main may end by pthread_exit before the others: its end is in the trace, and theirs")
def main_exits(bench):
    recording = bench.same([program(bench), "main-exits"])
    bench.needs_recorder()
    rows = {row["thread"]: row for row in recording.ask("threads")["threads"]}
    expect(rows[1]["state"] == "ended", f"main is {rows[1]['state']}")
    tells(recording)


@behaviour("a thread parked in a run loop lives, with its name; dispatch's workers are seen with what they run")
def parked(bench):
    recording = bench.same([bench.program("parked.swift")]).tells()
    bench.needs_recorder()
    rows = [row for row in recording.ask("threads", "--lifespan", "living")["threads"] if row["thread"] != 1]
    loop = [row for row in rows if row["name"].startswith("event loop")]
    expect(len(loop) == 1, f"threads that live: {[row['name'] for row in rows]}")
    expect("startRunner" in names_of(loop[0]["created_by"]), names_of(loop[0]["created_by"]))
    workers = [row for row in rows if "_dispatch_worker_thread" in row["start"]["function"]]
    expect(len(workers) >= 2, f"{len(workers)} dispatch workers live")
    living = recording.of_kinds("thread")[1]
    expect(living == len(rows), f"stats: {living} threads live, threads: {len(rows)}")


@behaviour("a thread belongs to the generation in which it was made")
def generations(bench):
    recording = bench.same([bench.program("parked.swift"), "mark"])
    bench.needs_recorder()
    first = recording.ask("generations", "--kind", "thread")["generations"][0]
    expect(first["persistent_count"] == 1, f"generation A: {first['persistent_count']} threads live, not the run loop's one")
    expect(first["growth_bytes"] == 0, f"generation A grew by {first['growth_bytes']} bytes of threads")
