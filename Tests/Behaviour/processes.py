"""Which processes of a tree are recorded, and what becomes of their children."""

import glob, os, re, resource

from harness import behaviour, expect
from recording import Recording

OURS = ("LIFESPAN_SESSION", "LD_PRELOAD")


def recordings(bench, result, name):
    """The traces that were named NAME.PID.lifespan, by PID."""
    found = {}
    for path in glob.glob(bench.path(f"{name}.*.lifespan")):
        pid = path.split(".")[-2]  # with -2 where that process has executed another program
        found[int(pid) if pid.isdigit() else pid] = Recording(bench, path, result, [])
    return found


@behaviour("a program that a shell leaves in the background is recorded, though the shell ends first")
def background(bench):
    work = bench.steps("make First 7 mark one drop 2 make Second 4 exit 3")
    for _ in range(10):
        recording = bench.same(["sh", "-c", '"$@" & exit 6', "sh", *work])
        expect(recording.result.status == 6, f"exit status {recording.result.status}, not the shell's 6")
        recording.tells()


@behaviour("no program of the tree finds our variables in its environment, and each is asked all the same")
def environments(bench):
    work = bench.program("steps.swift")
    names = "|".join(OURS)
    show = f"env | grep -cE '{names}'; tr '\\\\0' '\\\\n' </proc/self/environ >/dev/null"
    python = "import os, sys; print([k for k in os.environ if k in %r], flush=True); " % (OURS,)
    for start in (
        "os.system(' '.join(sys.argv[1:]))",
        "print(os.popen(' '.join(sys.argv[1:])).read())",
        "os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); os.wait()",
        "os.fork() or os.execv(sys.argv[1], sys.argv[1:]); os.wait()",
        "import subprocess; subprocess.run(sys.argv[1:])",
        "os.execv(sys.argv[1], sys.argv[1:])",
    ):
        bench.same(["python3", "-c", python + start, work, "environment", "make", "First", "7", "drop", "2"]).tells()
    bench.same(["sh", "-c", f'{show}; "$@"', "sh", work, "environment", "make", "First", "3"]).tells()


@behaviour("fork children are off without --children: whatever they are made by, the parent's trace does not have them")
def forks_are_off(bench):
    for way in ("fork", "_Fork", "clone"):
        recording = bench.same([bench.program("forks.swift"), way, "0", "3", "1"], stdout=False).tells()
        recording.has("Program.Own", 0, 0)


@behaviour("with --children a forked process's trace begins with what lives in its memory, whatever the threads do")
def forks_are_recorded(bench):
    program = bench.program("forks.swift")
    for way in ("fork", "_Fork"):
        for threads in (0, 3):
            words = [program, way, str(threads), "4", "1"]
            plain = bench.run(words)
            expect(plain.status == 0, f"plain: exit status {plain.status}")
            bench.needs_recorder()
            name = f"{way}{threads}"
            result = bench.run([bench.lifespan, "record", "--children", "-o", f"{name}.%p.lifespan", "--", *words])
            expect(result.status == 0, f"exit status {result.status}: {result.err[-300:]}")
            found = recordings(bench, result, name)
            children = re.findall(r"^child (\d+) (\d+)$", result.out, re.M)
            expect(len(children) == 8, f"{len(children)} children, not 8: {result.out[-300:]}")
            expect(len(found) == 9, f"{len(found)} traces, not 9: {result.err}")
            for number, (pid, living) in enumerate(children):
                row = found[int(pid)].row("Program.Node")
                # A thread that was between an object and its count when it was forked.
                off = abs(row["persistent_count"] - int(living))
                expect(off <= threads, f"{name}: child {pid} holds {row}, as it says {living}")
                own = 10 * (1 + number % 2)  # each second one is the child of the first
                found[int(pid)].has("Program.Own", own, own)
            parent = int(re.search(r"^parent (\d+)", result.out).group(1))
            found[parent].tells()
            found[parent].has("Program.Own", 0, 0)


@behaviour("with --children what a forked process executes has a trace of its own, and the time between has none")
def executed_children(bench):
    work = bench.program("steps.swift")
    bench.needs_recorder()
    script = f"{work} make First 5; ({work} make Second 6); exec {work} make Third 4"
    words = ["record", "--children", "-o", "e.%p.lifespan", "--", "bash", "-c", script]
    result = bench.command(*words)
    rows = [
        tuple(r.row(f"Program.{name}")["total_count"] for name in ("First", "Second", "Third"))
        for r in recordings(bench, result, "e").values()
    ]
    rows = sorted(row for row in rows if any(row))
    expect(rows == [(0, 0, 4), (0, 6, 0), (5, 0, 0)], f"the traces say {rows}: {result.err}")


@behaviour("with --children a daemon is recorded to its end")
def daemon(bench):
    program = bench.program("forks.swift")
    bench.needs_recorder()
    # The parent ends at once; the child goes on alone.
    script = "import os, sys\nif os.fork(): os._exit(4)\nos.setsid()\nos.execv(sys.argv[1], sys.argv[1:])"
    words = ["python3", "-c", script, program, "fork", "0", "2"]
    result = bench.run([bench.lifespan, "record", "--children", "-o", "d.%p.lifespan", "--", *words])
    expect(result.status == 4, f"exit status {result.status}, not 4: {result.err[-300:]}")
    own = [r.row("Program.Own")["total_count"] for r in recordings(bench, result, "d").values()]
    expect(sorted(x for x in own if x) == [10, 10], f"the traces say {own}: {result.err}")


@behaviour("few descriptors, a folder for the socket that cannot be used: recorded, or refused before the program starts")
def narrow_places(bench):
    bench.recorder_only()
    work = bench.steps("make First 3 exit 5")

    def limited(hard):
        def limit():
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5 if hard else most))

        return limit

    import subprocess

    def start(limit=None, **changes):
        words = [bench.lifespan, "record", "--force", "-o", bench.path("t.lifespan"), "--", "sh", "-c"]
        words += ['ulimit -n; exec "$@"', "sh", *work]
        return subprocess.run(
            words, env={**bench.env, **changes}, preexec_fn=limit, capture_output=True, text=True, cwd=bench.folder
        )

    soft = start(limited(False))
    expect(soft.returncode == 5, f"soft limit: exit status {soft.returncode}: {soft.stderr}")
    expect(soft.stdout.startswith("5\n"), f"the program does not get its own limit: {soft.stdout[:20]!r}")
    hard = start(limited(True))
    expect(hard.returncode == 2 and hard.stdout == "", f"hard limit: {hard.returncode}, {hard.stdout!r}")
    expect("ulimit -n" in hard.stderr and hard.stderr.count("\n") == 1, f"hard limit: {hard.stderr!r}")
    for place in ("/proc", "/tmp/" + "x" * 120, bench.file("file", "")):
        result = start(XDG_RUNTIME_DIR=place)
        expect(result.returncode == 5, f"{place}: exit status {result.returncode}: {result.stderr}")
        expect("0 lost" in result.stderr, f"{place}: {result.stderr}")


@behaviour("a session's folder that another user has prepared, or a link in its place, is not used")
def prepared_folder(bench):
    bench.recorder_only()
    work = bench.steps("make First 3")
    other = bench.path("other")
    os.makedirs(other)
    for prepare in (lambda p: os.symlink(other, p), lambda p: os.makedirs(p, 0o777), lambda p: bench.file("lifespan", "")):
        place = bench.path("lifespan")
        prepare(place)
        if not os.path.islink(place) and os.path.isdir(place):
            os.chmod(place, 0o777)
        result = bench.run([bench.lifespan, "record", "--force", "-o", "t.lifespan", "--", *work])
        expect(result.status == 0 and "0 lost" in result.err, f"not recorded elsewhere: {result.err}")
        expect(not os.listdir(other), f"writes through a link: {os.listdir(other)}")
        if os.path.islink(place) or os.path.isfile(place):
            os.unlink(place)
        else:
            expect(not os.listdir(place), "uses a folder that is open to others")
            os.rmdir(place)
    # A program that is told of a session that is none, or of somebody else's.
    plain = bench.run(work)
    for session in ("/nowhere/1.sock", bench.file("no.sock", ""), "x" * 300, bench.path("lifespan")):
        env, bench.env = bench.env, {**bench.env, "LIFESPAN_SESSION": session, "LD_PRELOAD": bench.preload()}
        result = bench.run(work)
        bench.env = env
        expect((result.status, result.out) == (plain.status, plain.out), f"{session[:40]}: {result.status} {result.err}")


def without_runtime(bench, command, options=()):
    """A program without a Swift runtime: recorded for malloc, and the closing line says so."""
    recording = bench.same(command, options)
    if recording.trace:
        expect("no Swift runtime: malloc blocks only" in recording.ours[-1], f"says {recording.ours}")
        stats = recording.stats()
        expect(stats["totals"]["all"]["total_count"] > 20, f"{command}: {stats['totals']['all']}")
        expect(any("no Swift runtime" in note for note in stats["notes"]), f"notes: {stats['notes']}")
    return recording


def program_of(recording):
    return os.path.basename(recording.stats()["program"]) if recording.trace else None


@behaviour("without a Swift runtime the program itself is recorded, below wrappers the one that they were started for")
def without_runtime_below_wrappers(bench):
    python = ["python3", "-c", "print(sum(range(100000)))"]
    quoted = 'python3 -c "print(len([str(x) for x in range(20000)]))"'
    for words, meant in (
        (python, "python3"),
        (["timeout", "50", *python], "python3"),
        (["env", "A=b", "nice", "-n", "1", *python], "python3"),
        (["sh", "-c", quoted], "python3"),
        (["sh", "-c", f"{quoted}; exit 3"], "python3"),
        (["bash", "-c", f"mkdir -p x; ls / >/dev/null; {quoted}; ls / >/dev/null; rmdir x"], "python3"),
        (["bash", bench.file("script.sh", f"ls / >/dev/null\n{quoted}\nexit 4\n")], "bash"),
        (["sh", "-c", "echo nothing else"], "sh"),
    ):
        recording = without_runtime(bench, words)
        if not recording.trace:
            continue
        name = program_of(recording)
        real = {"sh": ("sh", "dash", "bash")}.get(meant, (meant,))
        expect(any(name.startswith(word) for word in real), f"{words}: the trace is of {name}, not {meant}")
        left = [x for x in os.listdir(bench.folder) if "-2" in x or x.startswith(".lifespan-")]
        expect(not left, f"{words}: leaves {left} behind")


@behaviour("a program with a Swift runtime below one without is the program, and no other trace stays")
def runtime_below(bench):
    work = bench.program("steps.swift")
    script = "import subprocess, sys; x = [str(y) for y in range(50000)]; subprocess.run(sys.argv[1:]); x += x; print(len(x))"
    for words in (["python3", "-c", script], ["sh", "-c", '"$@"; ls / >/dev/null', "sh"]):
        bench.same([*words, work, "make", "First", "9", "mark", "one", "drop", "4"]).tells()
        traces = [x for x in os.listdir(bench.folder) if x.endswith(".lifespan")]
        expect(len(traces) <= bench.traces, f"traces: {traces}")


@behaviour("a program with a stripped static runtime is recorded for malloc, with --swift-only not at all")
def swift_only(bench):
    recording = bench.same(["python3", "-c", "print(7)"], ["--swift-only"])
    bench.needs_recorder()
    expect(not os.path.exists(recording.trace), "a trace in spite of --swift-only")
    expect("no Swift runtime" in recording.ours[-1], f"says {recording.ours}")


@behaviour("a Swift library that a program without a runtime loads while it runs is recorded by type from then on")
def late_runtime(bench):
    program = bench.program("late.c")
    library = bench.path("libLate.so")
    source = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Programs", "LateLibrary.swift")
    import harness

    harness.compile_all(
        ["swiftc", "-O", "-swift-version", "5", "-emit-library", "-parse-as-library", "-module-name", "LateLibrary"]
        + [source, "-o", library]
    )
    for threads in ("0", "3"):
        recording = bench.same([program, library, "1000", threads], timeout=60)
        if recording.trace:
            recording.is_complete()
        recording.has("LateLibrary.Late", 1000, 500)
        if recording.trace:
            notes = recording.stats()["notes"]
            expect(any("the Swift runtime was loaded" in note for note in notes), f"notes: {notes}")
            early = [r for r in recording.stats()["rows"] if r["type"] == "malloc 3 KiB"]
            expect(sum(r["total_count"] for r in early) >= 10, f"blocks from before: {early}")
