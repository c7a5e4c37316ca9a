"""Marks from every side, start and stop, a look at a running recording."""

import json, os, signal

from harness import ROOT, behaviour, expect
from recording import Recording
from session import Session


@behaviour("marks set from inside close generations")
def marks_inside(bench):
    command = bench.steps(
        "make First 5 mark warm-up make First 3 drop 2 make Second 2"
        " mark \"ü, 'quoted'\" drop 1 mark 'nothing new' make Third 9"
    )
    bench.same(command).tells().lists_living("Program.First")


def told(bench, steps, talk, *options):
    """Runs steps that wait for lines; `talk` gets the session and the program's pid. Returns the recording."""
    words, trace = bench.record_words(bench.steps("pid " + steps), options)
    with Session(bench, words) as session:
        pid = int(session.until(r"^pid (\d+)$").group(1))
        talk(session, pid)
        result = session.finish()
    return Recording(bench, trace, result, [])


@behaviour("lifespan mark PID NAME closes a generation from outside")
def marks_outside(bench):
    steps = (
        "make First 5 say one wait marked 'from outside' make First 4 drop 2 say two wait marked second make Second 1"
    )

    def talk(session, pid):
        for word, name in (("one", "from outside"), ("two", "second")):
            session.until(f"^{word}$")
            if bench.lifespan:
                bench.command("mark", str(pid), name)
            session.send("\n")

    told(bench, steps, talk).tells()


@behaviour("--mark-signal closes an unnamed generation")
def marks_by_signal(bench):
    def talk(session, pid):
        session.until(r"^one$")
        os.kill(pid, signal.SIGUSR1 if bench.lifespan else 0)
        session.send("\n")

    steps = "make First 5 say one wait marked A make First 4"
    told(bench, steps, talk, "--mark-signal", "SIGUSR1").tells()


@behaviour("a program started with --paused is recorded between start and stop only")
def paused(bench):
    def talk(session, pid):
        for word, command in (("one", "start"), ("two", "stop")):
            session.until(f"^{word}$")
            if bench.lifespan:
                bench.command(command, str(pid))
            session.send("\n")

    steps = "make First 10 say one wait drop 3 make Second 20 say two wait drop 12 make Third 30"
    recording = told(bench, steps, talk, "--paused")
    recording.has("Program.First", 0, 0)
    recording.has("Program.Second", 20, 15)  # deaths after the stop count: 12 dropped, 7 of them First
    recording.has("Program.Third", 0, 0)


@behaviour("a running recording is listed, and read by its PID")
def running(bench):
    def talk(session, pid):
        session.until(r"^one$")
        if bench.lifespan:
            expect(str(pid) in bench.command("list").out, f"lifespan list lacks {pid}")
            stats = json.loads(bench.command("stats", str(pid), "--lifespan", "all", "--json").out)
            counts = [row["persistent_count"] for row in stats["rows"] if row["type"] == "Program.First"]
            expect(counts == [6], f"stats PID: Program.First is {counts}, truth 6")
        session.send("\n")

    told(bench, "make First 8 drop 2 say one wait drop 1", talk).tells()


def asked(bench, way, status):
    """`mark` of a recording whose command is no recorder, but answers like one that is starved or hangs."""
    sources = [os.path.join(ROOT, x) for x in ("Tools/CSession/session_socket.c",)]
    folders = [f"-I{os.path.join(ROOT, x)}" for x in ("Tools/CSession/include", "Sources/CTraceFormat/include", "Sources/CDrain/include")]
    program = bench.program("fake_session.c", *sources, *folders)
    with Session(bench, [program, bench.path("lifespan"), way]) as session:
        pid = session.until(r"^ready (\d+)$").group(1)
        result = bench.command("mark", pid, "late", status=status)
        return result, session.finish().out


@behaviour("mark waits for a command that is at work, however long, and gives up one that sleeps")
def patient(bench):
    bench.recorder_only()
    result, out = asked(bench, "busy", 0)
    expect(result.out == "after a while\n" and "marks 1" in out, f"mark: {result.out!r}, the command: {out!r}")
    result, out = asked(bench, "asleep", 2)
    expect("does not answer" in result.err and "marks 1" in out, f"mark: {result.err!r}, the command: {out!r}")
