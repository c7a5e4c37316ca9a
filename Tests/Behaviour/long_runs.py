"""Long runs in bounded space: --keep living, --max-size, readers of long traces."""

import glob, json, os, re, signal, subprocess, sys, threading, time

from harness import ROOT, Failure, behaviour, expect
from recording import Recording
from session import Session, Terminal


def is_the_programs(name):
    """The runtime's blocks of malloc are not the same in each run."""
    return name.startswith("Program.")


def rows(recording):
    """Counts and bytes by type, which say nothing of when."""
    keys = ("persistent_count", "persistent_bytes", "transient_count", "total_count", "total_bytes")
    found = recording.stats()["rows"]
    return {row["type"]: tuple(row[key] for key in keys) for row in found if is_the_programs(row["type"])}


def growth(recording):
    document = recording.ask("generations", "--lifespan", "all")
    keys = ("persistent_count", "persistent_bytes", "transient_count", "transient_bytes")
    return [
        (g["name"], sorted((r["type"], *(r[key] for key in keys)) for r in g["rows"] if is_the_programs(r["type"])))
        for g in document["generations"]
    ]


def objects(recording):
    """What lives, but for where and when."""
    document = recording.ask("objects", "--type", "Program.*", "--lifespan", "living", "--limit", "1000000")
    return sorted((o["type"], o["size"], o["generation"]) for o in document["objects"])


class Sizes(threading.Thread):
    """Looks at a file's size, and at how many files have had its name, all the time.

    A file system gives the number of a file that is gone to the next one: each file is held open, so that no two of
    them have the same number."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.most, self.samples, self.held, self.running = path, 0, 0, {}, True

    @property
    def files(self):
        return len(self.held)

    def run(self):
        while self.running:
            try:
                status = os.stat(self.path)
                if status.st_ino not in self.held:
                    descriptor = os.open(self.path, os.O_RDONLY)
                    number = os.fstat(descriptor).st_ino
                    if number in self.held:
                        os.close(descriptor)
                    else:
                        self.held[number] = descriptor
                self.most = max(self.most, status.st_size)
                self.samples += 1
            except FileNotFoundError:
                pass
            time.sleep(0.0005)

    def until(self, files, seconds, process=None):
        """Waits until so many files have had the name."""
        end = time.monotonic() + seconds
        while self.files < files and time.monotonic() < end and (process is None or process.poll() is None):
            time.sleep(0.002)
        expect(self.files >= files, f"{self.files} files had the trace's name")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.join()
        for descriptor in self.held.values():
            os.close(descriptor)


def nothing_beside(bench):
    left = glob.glob(bench.path(".lifespan-*"))
    expect(not left, f"left behind: {left}")


@behaviour("--keep living counts what the whole recording counts, and the trace follows what lives")
def keep_living(bench):
    command = [bench.program("churn.swift"), "20000", "3000"]
    whole = bench.same(command).is_complete().tells()
    bench.needs_recorder()
    words, trace = bench.record_words(command, ["--keep", "living"])
    with Sizes(trace) as sizes:
        result = bench.run(words)
    recording = Recording(bench, trace, result, []).is_complete().tells().lists_living("Program.Kept")
    expect(rows(recording) == rows(whole), f"rows {rows(recording)}, whole recording {rows(whole)}")
    expect(growth(recording) == growth(whole), f"generations {growth(recording)[:1]}, whole {growth(whole)[:1]}")
    expect(objects(recording) == objects(whole), "the living objects differ from the whole recording's")
    # 8 million events in all; what lives takes some tens of KB, and the trace is made anew when it has 1 MiB.
    expect(os.path.getsize(trace) < 1 << 17, f"{os.path.getsize(trace)} bytes at the end")
    expect(sizes.most < 3 << 20, f"the trace had {sizes.most} bytes")
    expect(sizes.files > 2, f"{sizes.files} files had the trace's name")
    expect(os.path.getsize(whole.trace) > sizes.most, "the whole recording is no larger")
    discarded = recording.stats()["discarded"]
    expect(discarded["by"] == "--keep living", f"discarded: {discarded}")
    truth = result.truth()["types"]
    dead = sum(count["destroyed"] for count in truth.values())
    expect(discarded["objects"] >= dead, f"{discarded['objects']} objects discarded, {dead} died")
    expect(recording.stats()["events"]["recorded"] >= 2 * dead, "events recorded do not count the discarded ones")
    text = bench.command("stats", trace).out
    expect(
        re.search(r"events of what died before \d+\.\d s were\s+discarded \(--keep living\)", text),
        f"stats does not say so: {text[:300]!r}",
    )
    living = {row["serial"] for row in recording.ask("objects")["objects"]}
    dead_serial = next(number for number in range(1, 1 << 30) if number not in living)
    gone = bench.command("history", trace, f"@{dead_serial}", status=2)
    expect("discarded (--keep living)" in gone.err, f"history of a dead object: {gone.err!r}")
    nothing_beside(bench)


@behaviour("--max-size is never passed, and the newest events stay")
def max_size(bench):
    command = [bench.program("churn.swift"), "15000", "3000"]
    bench.same(command)
    bench.needs_recorder()
    words, trace = bench.record_words(command, ["--max-size", "1M"])
    with Sizes(trace) as sizes:
        result = bench.run(words)
    expect(sizes.samples > 100, f"only {sizes.samples} looks at the size")
    expect(sizes.most <= 1 << 20, f"the trace had {sizes.most} bytes")
    expect(os.path.getsize(trace) <= 1 << 20, f"{os.path.getsize(trace)} bytes at the end")
    recording = Recording(bench, trace, result, []).is_complete().tells().lists_living("Program.Kept")
    expect(recording.stats()["discarded"]["by"] == "--max-size", f"{recording.stats()['discarded']}")
    # What died lately is still there, each with its birth.
    late = recording.ask("objects", "--type", "Program.Short", "--lifespan", "destroyed", "--limit", "1000000")
    expect(late["count"] > 10_000, f"only {late['count']} dead objects are left")
    nothing_beside(bench)


@behaviour("what does not fit into --max-size is lost and said in every report")
def too_small(bench):
    command = [bench.program("churn.swift"), "6000", "400000"]
    words, trace = bench.record_words(command, ["--max-size", "1M"])
    bench.needs_recorder()
    with Sizes(trace) as sizes:
        result = bench.run(words)
    expect(max(sizes.most, os.path.getsize(trace)) <= 1 << 20, f"the trace had {sizes.most} bytes")
    truth = result.truth()["types"]
    total = sum(count["total"] for count in truth.values())
    document = Recording(bench, trace, result, []).ask("stats", "--lifespan", "all", "--type", "Program.*")
    lost = document["events"]["lost_births"]
    got = sum(row["total_count"] for row in document["rows"])
    expect(lost > 10_000, f"{lost} births lost")
    expect(got < total <= got + lost, f"{got} recorded and {lost} lost, the program made {total}")
    for report in ("stats", "generations", "objects"):
        text = " ".join(bench.command(report, trace, "--limit", "1").out.split())
        expect("did not fit into the trace any more (--max-size)" in text, f"{report} does not say so: {text[:200]!r}")


@behaviour("--keep living and --max-size hold for every process of a tree, each in its own trace")
def trees(bench):
    churn = bench.program("churn.swift")
    command = ["sh", "-c", '"$0" 9000 2000 & "$0" 9000 500; wait', churn]
    plain = bench.run(command)
    truths = sorted(line for line in plain.out.splitlines() if line.startswith("TRUTH "))
    bench.recorder_only()
    for options in (["--keep", "living"], ["--max-size", "1M"]):
        words, _ = bench.record_words(command, ["--children", *options])
        pattern = bench.path(f"{options[0][2:]}.%p.lifespan")
        words[words.index("-o") + 1] = pattern
        result = bench.run(words)
        told = sorted(line for line in result.out.splitlines() if line.startswith("TRUTH "))
        expect(told == truths, f"{options}: stdout differs: {told}")
        recordings = [Recording(bench, trace, result, []) for trace in glob.glob(pattern.replace("%p", "*"))]
        recordings = [one for one in recordings if one.row("Program.Kept")["total_count"]]
        expect(len(recordings) == 2, f"{options}: {len(recordings)} traces of the program")
        for truth in map(lambda line: json.loads(line[6:]), told):
            living = truth["types"]["Program.Kept"]["living"]
            one = next((r for r in recordings if r.row("Program.Kept")["persistent_count"] == living), None)
            expect(one, f"{options}: no trace has {living} living")
            one.is_complete().tells(truth)
            expect(one.stats()["discarded"]["by"] in ("--keep living", "--max-size"), f"{one.stats()['discarded']}")
            expect(options[0] == "--keep" or os.path.getsize(one.trace) <= 1 << 20, f"{os.path.getsize(one.trace)} bytes")
        nothing_beside(bench)


@behaviour("--keep living and --max-size with --rings: exact, and readable when program and command are killed at once")
def with_rings(bench):
    command = [bench.program("churn.swift"), "20000", "2000"]
    plain = bench.run(command).truth()
    bench.recorder_only()
    for number, options in enumerate((["--keep", "living"], ["--max-size", "1M"])):
        options = [*options, "--rings", bench.path(f"r{number}.rings")]
        words, trace = bench.record_words(command, options)
        result = bench.run(words)
        expect(result.truth() == plain, "the program's own truth differs")
        Recording(bench, trace, result, []).is_complete().tells()
        # Longer than anybody waits: it ends when it is killed.
        words, trace = bench.record_words([command[0], "100000000", "2000"], ["--force", *options])
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=bench.env, cwd=bench.folder, start_new_session=True)
        try:
            with Sizes(trace) as sizes:
                sizes.until(3, 120, process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        cut = Recording(bench, trace, result, [])
        row = cut.row("Program.Kept")
        # At any moment all but the first rounds' hundreds live as the program keeps them: what is replaced dies in the same step.
        expect(0 < row["persistent_count"] <= 2002, f"{options}: {row}")
        expect(row["total_count"] > row["persistent_count"], f"{options}: nothing died: {row}")
        expect(len(cut.ask("objects", "--type", "Program.Kept", "--limit", "100000")["objects"]) == row["persistent_count"], "objects and stats differ")


@behaviour("a command that is killed while the trace is made anew leaves a readable one")
def killed(bench):
    program = bench.program("churn.swift")
    bench.needs_recorder()
    for number in range(12):
        trace = bench.path(f"killed{number}.lifespan")
        words, _ = bench.record_words([program, "1000000", "30000"], ["--keep", "living"], trace)
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=bench.env,
            start_new_session=True,
        )
        try:
            # Wait until the trace has been made anew once, then for some part of the next time.
            with Sizes(trace) as sizes:
                sizes.until(2, 60)
                time.sleep(0.013 * number)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        document = Recording(bench, trace, None, []).ask("stats", "--lifespan", "all", "--type", "Program.*")
        living = sum(row["persistent_count"] for row in document["rows"])
        # At most 30,000 and the last one, and the pair that is being exchanged.
        expect(0 < living <= 30_003, f"{living} objects live in the trace")
        expect(document["discarded"]["objects"] > 0, "nothing was discarded yet")
        left = [f for f in glob.glob(bench.path(".lifespan-*"))]
        expect(len(left) <= 1, f"left behind: {left}")


@behaviour("a running recording is read while its trace is made anew")
def running(bench):
    words, trace = bench.record_words(
        [bench.program("churn.swift"), "20000", "2000", "wait"], ["--keep", "living"])
    bench.needs_recorder()
    with Sizes(trace) as sizes, Session(bench, words) as session:
        for number in range(10):
            session.until(rf"^round {number * 2000}$")
            listed = json.loads(bench.command("list", "--json").out)
            pid = next(r["pid"] for r in listed["recordings"] if r["trace"] == trace)
            # Meanwhile it goes on; what is read is of one moment. After its last stop nothing would keep it from ending.
            is_last = number == 9
            if not is_last:
                session.send("\n")
            for _ in range(3):
                document = json.loads(bench.command("stats", str(pid), "--type", "Program.*", "--json").out)
                living = {row["type"]: row["persistent_count"] for row in document["rows"]}
                expect(document["running"] and document["events"]["lost"] == 0, f"{document['notes']}")
                expect(0 < living.get("Program.Kept", 0) <= 2001, f"{living}")
                expect(0 < living.get("Program.Short", 0) <= 2, f"{living}")
        session.send("\n")
        out = session.finish()
    expect(sizes.files > 2, f"{sizes.files} files had the trace's name")
    Recording(bench, trace, out, []).tells()


@behaviour("a trace that was moved away is not replaced, and the closing line says so")
def moved(bench):
    words, trace = bench.record_words([bench.program("churn.swift"), "10000", "2000", "wait"], ["--keep", "living"])
    bench.needs_recorder()
    moved_to = bench.path("moved.lifespan")
    with Session(bench, words) as session:
        session.until(r"^round 0$")
        os.rename(trace, moved_to)
        bench.file("trace1.lifespan", "somebody else's")
        session.send("\n" * 12)
        out = session.finish()
    with open(trace) as file:
        expect(file.read() == "somebody else's", "a file of somebody else was replaced")
    said = "was moved or replaced" in out.err or "was removed or renamed" in out.err
    expect(said, f"stderr: {out.err!r}")
    Recording(bench, moved_to, out, []).tells()


@behaviour("a trace that is made anew keeps its owner and rights, and nothing is left beside it")
def rights(bench):
    words, trace = bench.record_words([bench.program("churn.swift"), "10000", "2000", "wait"], ["--keep", "living"])
    bench.needs_recorder()
    with Session(bench, words) as session:
        session.until(r"^round 0$")
        os.chmod(trace, 0o640)
        # Held open, so that no later file is given its number.
        with open(trace) as first:
            before = os.fstat(first.fileno())
            session.send("\n" * 12)
            session.finish()
            after = os.stat(trace)
    expect(after.st_ino != before.st_ino, "the trace was not made anew")
    same = (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    expect(same, f"mode {after.st_mode:o}, owner {after.st_uid}:{after.st_gid}; before {before.st_mode:o}")
    nothing_beside(bench)


@behaviour("the recording command's memory follows what lives in a long run")
def memory(bench):
    bench.needs_recorder()

    def peak(*words):
        words, trace = bench.record_words([bench.program("churn.swift"), *words, "wait"], ["--keep", "living"])
        with Session(bench, words) as session:
            for number in range(10):
                session.until(rf"^round {number * int(words[-3]) // 10}$")
                if number < 9:
                    session.send("\n")
            with open(f"/proc/{session.process.pid}/status") as file:
                status = file.read()
            session.send("\n")
            session.finish()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) << 10

    short, long = peak("3000", "2000"), peak("30000", "2000")
    expect(long < 64 << 20, f"{long >> 20} MB after 12 million events")
    expect(long < short + (24 << 20), f"{long >> 20} MB after 12 million events, {short >> 20} MB after 1.2 million")


@behaviour("reading a long trace shows how far it is on a terminal, and nothing elsewhere")
def progress(bench):
    bench.recorder_only()
    trace = bench.path("long.lifespan")
    with open(trace, "w") as file:
        subprocess.run([os.path.join(ROOT, "Tools", "long-trace"), "3000000", "20000"], stdout=file, check=True)
    # `dump` takes its time for each event; its text goes elsewhere, so that the terminal shows the status line alone.
    shell = ["sh", "-c", 'exec "$0" dump "$1" >/dev/null', bench.lifespan, trace]
    with Terminal(bench, shell) as terminal:
        terminal.until(r"lifespan: reading [^\n]*long\.lifespan: \d+ %")
        terminal.process.wait(120)
        rest = terminal.out
        while more := terminal.read_more():
            rest += more
    numbers = [int(n) for n in re.findall(r": (\d+) %", rest)]
    expect(len(numbers) > 1 and all(0 <= n <= 100 for n in numbers), f"percentages: {numbers}")
    expect(rest.endswith("\r") and rest.rstrip("\r ").count("\n") == 0, f"not taken away: {rest[-200:]!r}")
    quiet = bench.command("dump", trace)
    expect(quiet.err == "", f"stderr that is no terminal: {quiet.err[:200]!r}")


def peak_of(bench, words):
    """Peak memory of a command. Started by a process of its own: a child's figure begins with that of whoever forked it."""
    script = "import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1,"
    script += " '/dev/null', os.O_WRONLY, 0)]); _, status, usage = os.wait4(pid, 0); print(status, usage.ru_maxrss << 10)"
    done = subprocess.run([sys.executable, "-c", script, *words], env=bench.env, capture_output=True, text=True)
    status, peak = done.stdout.split()
    expect(status == "0", f"{words[1]}: wait status {status}")
    return int(peak)


@behaviour("a long trace is read in memory that follows what lives")
def reading(bench):
    bench.recorder_only()
    peaks = {}
    for events in ("1000000", "10000000"):
        trace = bench.path(f"{events}.lifespan")
        with open(trace, "w") as file:
            subprocess.run([os.path.join(ROOT, "Tools", "long-trace"), events, "20000"], stdout=file, check=True)
        for words in (["stats"], ["generations"], ["objects", "--type", "Server.Kind07", "--limit", "5"]):
            peaks[words[0], events] = peak_of(bench, [bench.lifespan, words[0], trace, *words[1:]])
    for report in ("stats", "generations", "objects"):
        short, long = peaks[report, "1000000"], peaks[report, "10000000"]
        expect(long < short + (12 << 20), f"{report}: {short >> 10} KB for 1 million events, {long >> 10} KB for 10 million")
