"""Recordings that end badly, again and again: what must hold each time is counted. Called by Tools/soak/run.

A busy program with four threads counts in shared memory what it has published, that is, after the call that made or ended
an object has returned. Each trial holds the trace against these numbers.
"""

import argparse, concurrent.futures, ctypes, json, os, random, re, shutil, signal, struct, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
THREADS, LOG = 4, 4096
HEAD = struct.Struct("<5Q3Q")
ENTRY = struct.Struct("<3Q")
THREAD_BYTES = HEAD.size + LOG * ENTRY.size
SHORT = dict(kill=24, both=4, rings=4, command=6, stop=1, full=12)
LONG = dict(kill=1000, both=200, rings=200, command=100, stop=100, full=400)
TYPES = [f"Program.Busy{n}" for n in range(THREADS)]


class Broken(Exception):
    """What should have held and did not."""


def expect(holds, text):
    if not holds:
        raise Broken(text)


class Counters:
    """What the program says of itself, also after its end."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.truncate(THREAD_BYTES * THREADS)

    def read(self, logs=True):
        with open(self.path, "rb") as file:
            data = file.read()
        threads = []
        for number in range(THREADS):
            at = number * THREAD_BYTES
            births, deaths, blocks, frees, moment = HEAD.unpack_from(data, at)[:5]
            log = {}
            for place in range(LOG if logs else 0):
                when, born, died = ENTRY.unpack_from(data, at + HEAD.size + place * ENTRY.size)
                if when:
                    log[when] = (born, died)
            threads.append(dict(births=births, deaths=deaths, blocks=blocks, frees=frees, moment=moment, log=log))
        return threads


class Trial:
    """One recording of the busy program in a folder of its own."""

    def __init__(self, soak, number):
        self.soak, self.number = soak, number
        self.folder = tempfile.mkdtemp(prefix="trial-", dir=soak.folder)
        self.counters = Counters(os.path.join(self.folder, "counters"))
        self.trace = os.path.join(self.folder, "t.lifespan")
        self.random = random.Random(soak.seed * 1_000_003 + number)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("LIFESPAN_")}
        self.env.update(XDG_RUNTIME_DIR=self.folder, SWIFT_BACKTRACE="enable=no")

    def start(self, *words, options=(), env=None, trace=None):
        command = [self.soak.lifespan, "record", *options, "-o", trace or self.trace, "--", self.soak.program]
        command += [self.counters.path, str(THREADS), *words] + (["malloc"] if self.soak.mallocs else [])
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
            env={**self.env, **(env or {})}, start_new_session=True,
        )

    def pid_of_program(self, seconds=10):
        """The process that `record` started, as soon as it runs the program; None when there is none any more."""
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            try:
                for pid in open(children).read().split():
                    if os.readlink(f"/proc/{pid}/exe") == self.soak.program:
                        return int(pid)
            except OSError:
                pass
        return None

    def wait_busy(self, seconds=10):
        """Until every thread has made something."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if all(thread["births"] for thread in self.counters.read(logs=False)):
                return
            time.sleep(0.001)
        raise Broken("the program does nothing")

    def end(self, seconds=60):
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise Broken(f"no end after {seconds} s")
        return self.process.returncode, out.decode(), err.decode()

    def stats(self):
        """The trace's own numbers by thread, and what it says of itself; None where there is no trace."""
        if not os.path.exists(self.trace):
            return None
        done = subprocess.run(
            [self.soak.lifespan, "stats", self.trace, "--json", "--lifespan", "all"], capture_output=True, text=True,
            env=self.env, cwd=self.folder,
        )
        if done.returncode != 0:
            expect(os.path.getsize(self.trace) < 64, f"stats: status {done.returncode}: {done.stderr.strip()[-300:]}")
            return None
        document = json.loads(done.stdout)
        rows = {row["type"]: row for row in document["rows"]}
        empty = dict(total_count=0, transient_count=0)
        found = [rows.get(name, empty) for name in TYPES]
        return dict(
            births=[row["total_count"] for row in found], deaths=[row["transient_count"] for row in found],
            events=document["events"], notes=document["notes"], capture=document["capture"],
            blocks=sum(row["total_count"] for row in document["rows"] if row["type"].startswith("malloc")),
        )

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def check_published(trial, slack=1):
    """Every event that was published is in the trace, and no more than was in flight beside it."""
    truth, stats = trial.counters.read(), trial.stats()
    published = sum(t["births"] + t["deaths"] for t in truth)
    if stats is None:
        expect(published == 0, f"no trace, but {published} events were published")
        return 0
    for number, thread in enumerate(truth):
        for what in "births", "deaths":
            got, least = stats[what][number], thread[what]
            expect(least <= got <= least + slack, f"thread {number}: {got} {what} in the trace, {least} were published")
    expect(stats["events"]["lost"] == 0, f"{stats['events']['lost']} events lost")
    if trial.soak.mallocs:
        blocks = sum(t["blocks"] for t in truth)
        expect(stats["blocks"] >= blocks, f"{stats['blocks']} blocks of malloc in the trace, {blocks} were published")
    return published


def kill_program(trial):
    """SIGKILL at a random moment."""
    trial.start("0")
    pid = trial.pid_of_program()
    expect(pid is not None, "the program did not start")
    # Most while it is busy, one in eight anywhere in its start.
    if trial.number % 8:
        trial.wait_busy()
    time.sleep(trial.random.uniform(0, 0.12))
    os.kill(pid, signal.SIGKILL)
    status, _, err = trial.end()
    expect(status == 137, f"exit status {status}, not 137")
    return check_published(trial)


def kill_both(trial, options=(), words=("0",)):
    """Program and command killed at once, as a container's end does."""
    trial.start(*words, options=options)
    pid = trial.pid_of_program()
    expect(pid is not None, "the program did not start")
    trial.wait_busy()
    time.sleep(trial.random.uniform(0, 0.3))
    os.killpg(trial.process.pid, signal.SIGKILL)
    trial.end()
    wait_gone(pid)


def kill_both_plain(trial):
    """Without --rings the last moments are missing, and the trace says that it was cut. The program makes 200,000 events a
    second: one that makes more than the command can take has its rings full, and those are missing, too."""
    most = trial.soak.most_missing
    kill_both(trial, words=("0", "pause", "500"))
    truth, stats = trial.counters.read(), trial.stats()
    expect(stats is not None, "no trace")
    worst = 0
    for number, thread in enumerate(truth):
        born, died = stats["births"][number], stats["deaths"][number]
        expect(born <= thread["births"] + 1, f"{born} births in the trace, {thread['births']} were published")
        there = [when for when, (births, deaths) in thread["log"].items() if births <= born and deaths <= died]
        if thread["moment"]:
            worst = max(worst, thread["moment"] - max(there, default=min(thread["log"]) - 1))
    expect(worst <= most, f"the last {worst} ms are missing, at most {most} may")
    expect(says_cut(stats), f"the trace does not say that it was cut: {stats['notes']}")
    return worst


def says_cut(stats):
    return any(note.startswith("trace: ") for note in stats["notes"])


def kill_both_rings(trial):
    """With --rings nothing is missing."""
    kill_both(trial, options=("--rings", os.path.join(trial.folder, "rings")))
    return check_published(trial)


def kill_command(trial):
    """The command alone is killed: the program goes on to its own end."""
    rounds = 20000
    trial.start(str(rounds), "pause", "100")
    pid = trial.pid_of_program()
    expect(pid is not None, "the program did not start")
    time.sleep(trial.random.uniform(0, 0.4))
    os.kill(trial.process.pid, signal.SIGKILL)
    out, _ = trial.process.communicate(timeout=120)
    status = reap(pid)
    expect(out.decode() == "done\n", f"stdout is {out.decode()!r}")
    expect(status is None or status == 7, f"exit status {status}, not 7")
    truth = trial.counters.read()
    expect(all(t["births"] == rounds == t["deaths"] for t in truth), "the program did less than its work")
    stats = trial.stats()
    if stats is not None:
        for number in range(THREADS):
            expect(stats["births"][number] <= rounds, "more births than the program made")
    return 0


def stop_command(trial, seconds=5):
    """The command is stopped for a while: what did not fit is counted, to the last event."""
    rounds = 16 * 1000 * (seconds + 2)
    trial.start(str(rounds), "pause", "900", options=("--buffer", "1M"))
    pid = trial.pid_of_program()
    expect(pid is not None, "the program did not start")
    time.sleep(trial.random.uniform(0.1, 0.5))
    os.kill(trial.process.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(trial.process.pid, signal.SIGCONT)
    status, out, err = trial.end(120)
    expect(status == 7 and out == "done\n", f"exit status {status}, stdout {out!r}")
    truth, stats = trial.counters.read(), trial.stats()
    made, lost = sum(t["births"] for t in truth), stats["events"]["lost_births"]
    got = sum(stats["births"])
    expect(made == rounds * THREADS, "the program did less than its work")
    # What else was lost is blocks of malloc that libraries took meanwhile.
    expect(made <= got + lost <= made + 64, f"{got} births in the trace and {lost} lost, {made} were made")
    said = re.search(r"([\d,]+) lost", err)
    expect(said and int(said[1].replace(",", "")) == stats["events"]["lost"], f"the closing line says {err.strip()!r}")
    return lost


def full_at(trial, position):
    """The disk is full behind that many bytes."""
    env = dict(LD_PRELOAD=trial.soak.full_disk, FULL_AT=str(position), FULL_BELOW=trial.folder)
    trial.start("400", env=env)
    return check_full(trial, f"full at byte {position}")


def full_tmpfs(trial, size):
    """A real file system of that size, which is full."""
    place = os.path.join(trial.folder, "small")
    os.mkdir(place)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True)
    if done.returncode != 0:
        return None  # not ours to mount
    try:
        trial.trace = os.path.join(place, "t.lifespan")
        trial.start("400000", trace=trial.trace)
        return check_full(trial, f"tmpfs of {size} bytes")
    finally:
        subprocess.run(["umount", "-l", place], capture_output=True)


def check_full(trial, what):
    status, out, err = trial.end()
    expect(status == 7 and out == "done\n", f"{what}: exit status {status}, stdout {out!r}, stderr {err[-200:]!r}")
    cut = "is cut:" in err
    size = os.path.getsize(trial.trace) if os.path.exists(trial.trace) else 0
    stats = trial.stats()
    truth = trial.counters.read()
    if stats is None:
        expect(size < 64 and cut, f"{what}: no trace of {size} bytes, and stderr says {err.strip()!r}")
        return 1
    complete = all(stats["births"][n] == t["births"] for n, t in enumerate(truth))
    expect(cut or complete, f"{what}: the trace lacks events and stderr says {err.strip()!r}")
    if cut:
        expect(says_cut(stats), f"{what}: the trace does not say that it is cut: {stats['notes']}")
    for number, thread in enumerate(truth):
        expect(stats["births"][number] <= thread["births"], f"{what}: more births than there were")
    return 1 if cut else 0


def wait_gone(pid):
    for _ in range(1000):
        if not os.path.exists(f"/proc/{pid}") or reap(pid, os.WNOHANG) is not None:
            return
        time.sleep(0.005)
    raise Broken("a killed program lives on")


def reap(pid, flags=0):
    """The status of an orphan that was given to us; None where it was not."""
    try:
        got, status = os.waitpid(pid, flags)
        return os.waitstatus_to_exitcode(status) if got else None
    except ChildProcessError:
        return None


class Soak:
    def __init__(self, lifespan, folder, seed, mallocs, parallel, most_missing):
        self.lifespan, self.folder, self.seed = lifespan, folder, seed
        self.mallocs, self.parallel, self.failed = mallocs, parallel, 0
        self.most_missing = most_missing
        # Orphans come to us, so that their status can be told.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        self.program = os.path.join(folder, "busy")
        self.build("swiftc", "-swift-version", "5", "-O", "-g", "-Xcc", "-fno-omit-frame-pointer", "-parse-as-library",
                   "-module-name", "Program", "-import-objc-header", f"{HERE}/busy.h", f"{HERE}/busy.swift", "-o", self.program)
        self.full_disk = os.path.join(folder, "full_disk.so")
        self.build("clang", "-O2", "-shared", "-fPIC", f"{HERE}/full_disk.c", "-o", self.full_disk)

    def build(self, *command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"soak: {command[0]}: {done.stderr.strip()[-500:]}")

    def turn(self, name, trials, parallel=None):
        """Runs the trials; one line says how many held."""
        began, results, problems = time.monotonic(), [], []

        def one(number, function):
            trial = Trial(self, number)
            try:
                return function(trial), None
            except Broken as problem:
                return None, f"trial {number}: {problem}"
            finally:
                if getattr(trial, "process", None) and trial.process.poll() is None:
                    os.killpg(trial.process.pid, signal.SIGKILL)
                    trial.process.wait()
                trial.remove()

        with concurrent.futures.ThreadPoolExecutor(parallel or self.parallel) as pool:
            for result, problem in pool.map(lambda pair: one(*pair), enumerate(trials)):
                (problems if problem else results).append(problem or result or 0)
        held = len(results)
        self.failed += len(problems)
        print(f"{name}: {held} of {held + len(problems)}, sum {sum(results):,}, most {max(results, default=0):,} ({time.monotonic() - began:.0f} s)",
              *("  " + problem for problem in problems[:5]), sep="\n", flush=True)


def trace_size(soak):
    trial = Trial(soak, 0)
    trial.start("400")
    trial.end()
    size = os.path.getsize(trial.trace)
    trial.remove()
    return size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lifespan", default=os.path.join(ROOT, ".build/release/lifespan"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--malloc", action="store_true", help="also count blocks of malloc")
    for name, text in [
        ("kill", "SIGKILLs of the program"), ("both", "of program and command at once"), ("rings", "the same with --rings"),
        ("command", "of the command alone"), ("stop", "stops of the command for 5 s"), ("full", "positions of a full disk"),
    ]:
        parser.add_argument(f"--{name}", type=int, default=0, metavar="N", help=text)
    parser.add_argument("--short", action="store_true", help="a few of each, as .ci/run does")
    parser.add_argument("--long", action="store_true", help="as many of each as the documentation tells of")
    options = parser.parse_args()
    for name, count in (SHORT if options.short else LONG if options.long else {}).items():
        setattr(options, name, count)
    folder = tempfile.mkdtemp(prefix="soak-")
    try:
        soak = Soak(os.path.abspath(options.lifespan), folder, options.seed, options.malloc, options.parallel,
                    # A machine that runs other things too gives the command its turn late: a short run is no measurement.
                    most_missing=250 if options.short else 50)
        print(f"seed {soak.seed}", flush=True)
        if options.kill:
            soak.turn("program killed, events published", [kill_program] * options.kill)
        if options.both:
            soak.turn("program and command killed, ms missing", [kill_both_plain] * options.both)
        if options.rings:
            soak.turn("program and command killed with --rings, events published", [kill_both_rings] * options.rings)
        if options.command:
            soak.turn("command killed", [kill_command] * options.command)
        if options.stop:
            soak.turn("command stopped for 5 s, births lost and counted", [stop_command] * options.stop, parallel=4)
        if options.full:
            size = trace_size(soak)
            places = sorted({round(n * size / options.full) for n in range(options.full + 1)})
            soak.turn("disk full, traces cut", [lambda trial, at=at: full_at(trial, at) for at in places])
            sizes = [4096 * n for n in range(1, 1 + min(options.full, 64))]
            soak.turn("tmpfs full, traces cut", [lambda trial, size=size: full_tmpfs(trial, size) for size in sizes])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if soak.failed else 0)


main()
