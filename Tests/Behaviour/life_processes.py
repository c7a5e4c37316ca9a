"""Programs that make processes: no child's object is ever in the parent's trace, and nothing of the parent's is lost."""

import glob, os

from harness import behaviour, expect
from recording import Recording


def processes(bench, *words, **options):
    return bench.same([bench.program("life/processes.c"), *words], **options).is_complete().tells()


@behaviour("children by fork, _Fork, and raw fork, clone and clone3 are their own; so are grandchildren")
def forks(bench):
    processes(bench, "forks")


@behaviour("children made while four threads allocate put nothing into the parent's trace")
def busy_forks(bench):
    processes(bench, "busy-forks", steady=False)


@behaviour("a child that a signal handler forks in the middle of a hook puts nothing into the parent's trace")
def handler_forks(bench):
    for _ in range(3):
        processes(bench, "handler-forks", steady=False)


@behaviour("with --children such a child goes back to the hook that its parent's handler has interrupted, and has a trace")
def recorded_handler_forks(bench):
    program = bench.program("life/processes.c")
    bench.needs_recorder()
    result = bench.command("record", "--children", "-o", "h.%p.lifespan", "--", program, "handler-forks", "20")
    expect("children that did not end well: 0\n" in result.out, result.out[-300:])
    traces = glob.glob(bench.path("h.*.lifespan"))
    expect(len(traces) == 22, f"{len(traces)} traces, not 22: {result.err[-300:]}")
    later = []
    for trace in traces:
        recording = Recording(bench, trace, result, []).losing()
        row = recording.row("Program.Thing")
        # One is kept. The signal came between an object and its name, or in the hook that was about to write of one.
        expect(row["persistent_count"] <= 3, f"{os.path.basename(trace)}: {row}")
        later.append(recording.row("Program.Later")["total_count"])
    expect(sorted(later) == [0, 0] + [30] * 20, f"objects that the children made: {later}")


@behaviour("a vfork child, and a clone that shares the memory, make the program's own objects")
def sharing_children(bench):
    processes(bench, "vforks")
    processes(bench, "clones")


@behaviour("posix_spawn, system and popen start programs that know nothing of a recording")
def spawns(bench):
    processes(bench, "spawns")


@behaviour("a program that makes daemons is recorded to its own end")
def daemons(bench):
    processes(bench, "daemons")
    processes(bench, "becomes-daemon")


@behaviour("whatever way a program executes another, the next one is recorded in a new trace")
def execs(bench):
    program = bench.program("life/processes.c")
    for way in ("execve", "execl", "execle", "execvpe", "fexecve", "execveat", "thread"):
        bench.same([program, "exec", way])
        if not bench.lifespan:
            continue
        words, trace = bench.record_words([program, "exec", way])
        expect(bench.run(words).status == 0, f"{way}: the second program's exit status is not 0")
        second = trace.replace(".lifespan", "-2.lifespan")
        expect(os.path.exists(second), f"{way}: no second trace")
        Recording(bench, trace, None, []).is_complete().has("Program.Thing", 100, 40)
        Recording(bench, second, None, []).is_complete().has("Program.Later", 7, 3)


@behaviour("a raw execve system call ends the recording, and the next program runs")
def raw_exec(bench):
    recording = bench.same([bench.program("life/processes.c"), "exec", "raw"]).is_complete()
    recording.has("Program.Thing", 100, 40)
