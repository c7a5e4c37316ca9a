"""The packed recorder (Tools/package) where little is: a root of glibc, libstdc++ and one program, no /proc, no /tmp, no rights."""

import filecmp, json, os, re, shutil, signal, subprocess, threading, time

from harness import ROOT, Result, Skip, behaviour, expect, our_lines
from recording import Recording
from session import Session

WORK = "make First 60 mark one drop 20 make Second 30"
RECORDER = "/opt/lifespan/bin/lifespan"
LIBRARIES = "/opt/lifespan/lib/lifespan"
packed = {}
packing = threading.Lock()


def package(bench, kind):
    """The folder of one of the two tarballs, unpacked; packed once for all behaviours."""
    bench.recorder_only()
    with packing:
        if not packed:
            folder = os.path.join(bench.programs.folder, "package")
            os.makedirs(folder)
            done = subprocess.run(
                [os.path.join(ROOT, "Tools", "package"), "--built", "-o", folder], capture_output=True, text=True
            )
            expect(done.returncode == 0, f"Tools/package: {done.stderr.strip()[-300:]}")
            for name in os.listdir(folder):
                place = os.path.join(folder, name.split("-")[1])
                os.mkdir(place)
                subprocess.run(["tar", "xzf", os.path.join(folder, name), "-C", place], check=True)
                packed[name.split("-")[1]] = place
    return packed[kind]


def needs(program):
    """What the dynamic linker loads for it: paths, with the linker itself."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", text)


def may(*namespaces):
    """This machine lets us have namespaces of these kinds."""
    allowed = subprocess.run(["unshare", *namespaces, "true"], capture_output=True, text=True)
    if allowed.returncode != 0:
        raise Skip(f"this machine allows no such namespaces: {allowed.stderr.strip()}")


class Image:
    """A root that holds the recorder and, each with the libraries that it needs, some programs."""

    def __init__(self, bench, **programs):
        if os.geteuid() != 0:
            raise Skip("needs root, to enter a root of its own")
        self.bench, self.root = bench, bench.path("root")
        for name in ("app", "data", "opt"):
            os.makedirs(os.path.join(self.root, name))
        shutil.copytree(package(bench, "recorder"), os.path.join(self.root, "opt"), dirs_exist_ok=True)
        for name, program in programs.items():
            shutil.copy(program, os.path.join(self.root, "app", name))
            for library in needs(program):
                place = self.root + library
                os.makedirs(os.path.dirname(place), exist_ok=True)
                if not os.path.exists(place):
                    shutil.copy(library, place)

    def words(self, *command, user=None, namespaces=()):
        """The words that run a command in it, as a user of that number; with namespaces of its own."""
        enter = ["chroot"] + ([f"--userspec={user}:{user}"] if user else [])
        return [*(["unshare", *namespaces] if namespaces else []), *enter, self.root, *command]

    def trace(self, name="trace.lifespan"):
        return os.path.join(self.root, "data", name)

    def same(self, *command, record=(), around=(), **how):
        """Runs a command plain and recorded, both in the image: same exit status, stdout and, but for our lines, stderr."""
        plain = self.bench.run(self.words(*around, *command, **how))
        words = self.words(*around, RECORDER, "record", "-o", "/data/trace.lifespan", *record, "--", *command, **how)
        recorded = self.bench.run(words)
        ours = our_lines(recorded.err, plain.err)
        expect(recorded.status == plain.status, f"exit status {recorded.status}, plain {plain.status}: {ours}")
        expect(recorded.out == plain.out, f"stdout differs from the plain run's: {ours}")
        expect(len(ours) <= 1, f"{len(ours)} lines of ours on stderr: {ours[:3]}")
        return Recording(self.bench, self.trace(), recorded, ours)

    def unrecorded(self, says, *command, **how):
        """The program is as it is plain, nothing is recorded, and one line says why."""
        recording = self.same(*command, **how)
        expect(len(recording.ours) == 1 and says in recording.ours[0], f"{recording.ours} does not say {says!r}")
        left = os.listdir(os.path.join(self.root, "data"))
        expect(not left, f"leaves {left} behind")


def whole_stacks(image, recording, name):
    """Objects of that type were made below main, and their stacks say so. The files lie in the image alone."""
    document = recording.ask("objects", "--type", name, "--lifespan", "all", "--limit", "3", "--symbols", image.root)
    expect(document["stacks"] and not document["symbol_notes"], f"no stacks of {name}, or {document['symbol_notes']}")
    for one in document["stacks"]:
        functions = [frame["function"] for frame in one["allocated_by"]]
        whole = one["stack_ending"] is None and functions[-1] == "_start" and "main" in functions and len(functions) > 4
        expect(whole, f"a stack of {name} is {functions} ({one['stack_ending']})")


def steps(bench, text, *flags):
    """An image with the program that does what it is told, and the words to run it there. Without /proc a Swift program sees no arguments."""
    bench.env["STEPS"] = text
    return Image(bench, program=bench.program("steps.swift", *flags)), ["/app/program"]


@behaviour("in a root of glibc, libstdc++ and one program alone, the packed recorder records exactly and whole stacks")
def alone(bench):
    for flags in ((), ("-static-stdlib",)):
        image, command = steps(bench, WORK + " environment exit 3", *flags)
        expect(not any(os.path.exists(os.path.join(image.root, x)) for x in ("proc", "sys", "dev", "tmp")), "too much is there")
        recording = image.same(*command).is_complete().tells()
        whole_stacks(image, recording, "Program.Second")
        expect(os.listdir(os.path.join(image.root, "data")) == ["trace.lifespan"], "leaves more than the trace behind")
        shutil.rmtree(image.root)


@behaviour("the packed recorder records threads that free each other's objects exactly, in a root without /proc")
def alone_threads(bench):
    image = Image(bench, program=bench.program("threads.swift"))
    image.same("/app/program", "20000").is_complete().tells()


@behaviour("the libunwind in the package is the one that is used, and its stacks are equal")
def own_libunwind(bench):
    image, command = steps(bench, WORK)
    recording = image.same(*command, record=["--swift-only", "--check-unwind", "1"]).is_complete().tells()
    found = re.search(r"checked against libunwind: ([\d,]+), equal ([\d,]+)", recording.ours[0])
    expect(found and found.group(1) == found.group(2) != "0", f"not all stacks were checked and equal: {recording.ours}")
    os.remove(recording.trace)
    recording = image.same(*command, record=["--unwind", "libunwind"]).is_complete().tells()
    whole_stacks(image, recording, "Program.First")
    os.remove(image.root + LIBRARIES + "/libunwind-x86_64.so.8")
    without = image.same(*command, record=["--unwind", "libunwind"])
    expect("libunwind" in without.ours[0], f"nothing says that there is no libunwind: {without.ours}")


@behaviour("a read-only root with one writable folder, a user without a name, no new privileges and Docker's filter: exact")
def locked_down(bench):
    may("-m")
    image = Image(bench, program=bench.program("steps.swift"), sandbox=bench.program("sandbox.c"))
    enter = (
        'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t tmpfs -o mode=755,uid=12345 data "$0/data"'
        ' && chroot --userspec=12345:12345 "$0" "$@"; status=$?; cp "$0"/data/*.lifespan "$TRACES"; exit $status'
    )
    bench.env.update(TRACES=bench.path(""), STEPS=f"{WORK} exit 7")
    for which in ("docker", "old"):
        inside = ["/app/sandbox", "locked", "filter", which, "run"]
        # In the older filter's case the recorded process is no child of the recorder, whose end it then has to look for.
        below = ["/app/sandbox", "wrap", "run"] if which == "old" else []
        command = [*below, "/app/program"]
        record = [RECORDER, "record", "-o", f"/data/{which}.lifespan", "--", *command]
        result = bench.run(["unshare", "-m", "sh", "-c", enter, image.root, *inside, *record])
        expect(result.status == 7, f"{which}: exit status {result.status}, not 7: {result.err[-300:]!r}")
        Recording(bench, bench.path(f"{which}.lifespan"), result, result.err.splitlines()).is_complete().tells()


@behaviour("without the right or the room to record, the program in an image is as it is plain, and one line says why")
def without_room(bench):
    image = Image(bench, program=bench.program("steps.swift", "-static-stdlib"), sandbox=bench.program("sandbox.c"))
    bench.env["STEPS"] = f"{WORK} exit 7"
    command = ["/app/program"]
    for limits, says in ((["limit", "memory", str(1 << 30)], "memory"), (["limit", "size", "100000"], "large")):
        image.unrecorded(says, *command, around=["/app/sandbox", *limits, "run"])
    recording = image.same(*command, around=["/app/sandbox", "limit", "files", "16", "run"]).is_complete().tells()
    os.remove(recording.trace)
    result = bench.run(image.words(RECORDER, "record", "-o", "/data/t", "--", *command, user=12345))
    expect(result.status == 2 and "/data" in result.err, f"a folder of another user: {result.status}, {result.err!r}")
    expect(result.out == "", "the program was started")


@behaviour("a writable folder that is full ends the packed recorder's recording, not the program; the trace says that it is cut")
def full(bench):
    may("-m")
    image = Image(bench, program=bench.program("threads.swift"))
    plain = bench.run(image.words("/app/program"))
    enter = 'mount -t tmpfs -o size=64k data "$0/data" && chroot "$0" "$@"; status=$?; cp "$0"/data/*.lifespan "$TRACES"; exit $status'
    bench.env["TRACES"] = bench.path("")
    record = [RECORDER, "record", "-o", "/data/full.lifespan", "--", "/app/program"]
    result = bench.run(["unshare", "-m", "sh", "-c", enter, image.root, *record])
    expect(result.status == plain.status and result.out == plain.out, f"not as plain: {result.status} {result.err!r}")
    expect("/data/full.lifespan is cut: No space left on device." in result.err, f"does not say so: {result.err!r}")
    read = bench.run([bench.lifespan, "stats", bench.path("full.lifespan"), "--json"])
    expect(read.status == 0 and '"trace: cut' in read.out, f"the trace is not called cut: {read.status} {read.out[:300]}")


class First(Session):
    """A command as PID 1 of an image; `record` is its pid here."""

    def __init__(self, bench, image, *command):
        namespaces = ["--pid", "--fork", "--kill-child"]
        words = image.words(RECORDER, "record", "-o", "/data/trace.lifespan", "--", *command, namespaces=namespaces)
        super().__init__(bench, words)
        self.image = image

    def record(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return int(file.read().split()[0])


@behaviour("docker stop: as PID 1 the recorder hands SIGTERM to the program, and the trace is complete either way")
def stopped(bench):
    may("--pid", "--fork")
    for text, status in ((f"{WORK} say ready caught", 143), (f"{WORK} catch 15 caught exit 6", 6)):
        image, command = steps(bench, text)
        with First(bench, image, *command) as session:
            session.until(r"^ready$")
            os.kill(session.record(), signal.SIGTERM)
            if status == 6:
                session.until(r"^first$")
                session.send("\n")
            result = session.finish()
        expect(result.status == status, f"exit status {result.status}, not {status}: {result.err[-200:]!r}")
        recording = Recording(bench, image.trace(), result, []).is_complete()
        recording.has("Program.First", 60, 40)
        recording.has("Program.Second", 30, 30)
        shutil.rmtree(image.root)


def objects(bench, image):
    """(total, living) of First and Second as far as they stand in the trace."""
    result = bench.run([bench.lifespan, "stats", image.trace(), "--lifespan", "all", "--type", "Program.*", "--json"])
    rows = {row["type"]: (row["total_count"], row["persistent_count"]) for row in json.loads(result.out or "{}").get("rows", [])}
    return [rows.get(f"Program.{name}", (0, 0)) for name in ("First", "Second")]


@behaviour("docker kill: what the program did a moment before is in the trace, which says that it was cut")
def killed(bench):
    may("--pid", "--fork")
    image, command = steps(bench, f"{WORK} say ready wait")
    with First(bench, image, *command) as session:
        session.until(r"^ready$")
        # What is drained is written soon, without being asked for.
        end = time.monotonic() + 30
        while objects(bench, image) != [(60, 40), (30, 30)]:
            expect(time.monotonic() < end, f"after 30 s the trace holds {objects(bench, image)}")
        os.kill(session.record(), signal.SIGKILL)
        session.process.wait()
    expect(objects(bench, image) == [(60, 40), (30, 30)], f"the trace holds {objects(bench, image)}")
    result = bench.run([bench.lifespan, "stats", image.trace(), "--json"])
    expect("the recorder was killed" in result.out, f"the trace is not called cut: {result.out[:300]}")


@behaviour("kubectl exec: another process of the image lists, marks, pauses and resumes the recording")
def from_beside(bench):
    image, command = steps(bench, "pid make First 5 say one wait marked round make First 3 drop 2 say two wait make Second 4")
    bench.env["TMPDIR"] = "/data"
    words = image.words(RECORDER, "record", "-o", "/data/trace.lifespan", "--", *command)
    with Session(bench, words) as session:
        pid = session.until(r"^pid (\d+)$").group(1)
        session.until(r"^one$")
        for asked, answered in ((["list"], f"{pid}  "), (["mark", pid, "round"], "round"), (["list", "--json"], '"events":')):
            result = bench.run(image.words(RECORDER, *asked))
            expect(result.status == 0 and answered in result.out, f"{asked}: {result.status} {result.out!r} {result.err!r}")
        session.send("\n")
        session.until(r"^two$")
        for asked, answered in (("stop", f"{pid}: paused"), ("stop", f"{pid}: already paused"), ("start", f"{pid}: recording")):
            result = bench.run(image.words(RECORDER, asked))
            expect(result.out.strip() == answered, f"{asked}: {result.out!r} {result.err!r}")
        session.send("\n")
        result = session.finish()
    expect(result.status == 0, f"exit status {result.status}: {result.err[-200:]!r}")
    Recording(bench, image.trace(), result, []).is_complete().tells()


@behaviour("the small command and the whole one talk to each other's recordings, found wherever they lie")
def both_commands(bench):
    bench.recorder_only()
    small = os.path.join(package(bench, "recorder"), "lifespan", "bin", "lifespan")
    for recorder, other in ((small, bench.lifespan), (bench.lifespan, small)):
        trace = bench.path(f"by-{'small' if recorder is small else 'whole'}.lifespan")
        words = bench.steps("pid make First 5 say one wait marked A make First 3 mark B say two wait marked C")
        with Session(bench, [recorder, "record", "-o", trace, "--", *words]) as session:
            pid = session.until(r"^pid (\d+)$").group(1)
            answers = []
            for word in ("one", "two"):
                session.until(f"^{word}$")
                answers.append(bench.run([other, "mark", pid]))
                expect(pid in bench.run([other, "list"]).out, f"{other} list lacks {pid}")
                session.send("\n")
            result = session.finish()
        # The program named one B itself: the third is C.
        got = [answer.out for answer in answers]
        expect(got == ["A\n", "C\n"], f"marks are called {got}: {answers[0].err} {answers[1].err}")
        Recording(bench, trace, result, []).is_complete().tells()
    bench.env["TMPDIR"] = bench.path("")
    del bench.env["XDG_RUNTIME_DIR"]
    with Session(bench, [small, "record", "-o", bench.path("t"), "--", *bench.steps("pid make First 5 say one wait")]) as session:
        pid = session.until(r"^pid (\d+)$").group(1)
        session.until(r"^one$")
        del bench.env["TMPDIR"]
        expect(bench.run([small, "mark", pid]).out == "A\n", "a recording in another TMPDIR is not found")
        session.send("\n")
        session.finish()


@behaviour("the small command and the whole one describe the options that both have in the same words")
def same_words(bench):
    bench.recorder_only()
    small = os.path.join(package(bench, "recorder"), "lifespan", "bin", "lifespan")
    for command in ("record", "mark", "list", "start", "stop"):
        texts = [bench.run([one, command, "--help"]).out.split("options:\n")[1].split("\n\n")[0] for one in (small, bench.lifespan)]
        parts = [re.split(r"\n(?=  -)", text) for text in texts]
        strange = [part for part in parts[0] if part not in parts[1]]
        expect(not strange, f"{command}: the whole command has no such option: {strange}")
        missing = [part.split()[0] for part in parts[1] if part not in parts[0]]
        known = {"record": ["--rings", "--leaks", "--children", "--stats"], "mark": ["--leaks"]}.get(command, [])
        expect(missing == known, f"{command}: the small command lacks {missing}")
    for words in (["record"], ["record", "--buffer", "7", "--", "x"], ["mark", "0"], ["recrod"], ["record", "--unwind", "up", "x"], ["list", "x"]):
        got = [bench.run([one, *words]) for one in (small, bench.lifespan)]
        expect(got[0].status == got[1].status == 64 and got[0].err == got[1].err, f"{words}: {got[0].err!r} and {got[1].err!r}")


@behaviour("a package is the same, byte for byte, when it is made again, and its recorder is small")
def reproducible(bench):
    first = os.path.dirname(package(bench, "recorder"))
    done = bench.run([os.path.join(ROOT, "Tools", "package"), "--built", "-o", bench.folder])
    expect(done.status == 0, done.err[-300:])
    names = [name for name in os.listdir(bench.folder) if name.endswith(".tar.gz")]
    expect(len(names) == 2, f"two tarballs, not {names}")
    for name in names:
        expect(filecmp.cmp(bench.path(name), os.path.join(first, name), shallow=False), f"{name} differs")
    held = sum(os.path.getsize(os.path.join(at, name)) for at, _, files in os.walk(packed["recorder"]) for name in files)
    expect(held <= 5_000_000, f"the recorder has {held} bytes")


@behaviour("the packed analyser reads a trace in a root without Swift, as the one that was built does here")
def analyser(bench):
    may("-m")
    recording = bench.same(bench.steps(WORK)).tells()
    place = package(bench, "analyser")
    command = os.path.join(place, "lifespan", "lib", "lifespan", "lifespan")
    root = bench.path("elsewhere")
    shutil.copytree(place, root, symlinks=True)
    folder = os.path.dirname(command)
    for name in [command, *(os.path.join(folder, name) for name in os.listdir(folder))]:
        for library in needs(name):
            if library.startswith((folder, "/opt/")):
                continue
            os.makedirs(os.path.dirname(root + library), exist_ok=True)
            if not os.path.exists(root + library):
                shutil.copy(library, root + library)
    shutil.copy(recording.trace, os.path.join(root, "t.lifespan"))
    os.mkdir(os.path.join(root, "proc"))
    inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" /lifespan/bin/lifespan "$@"'
    for words in (["stats", "--lifespan", "all", "--json"], ["generations", "--json"]):
        here = bench.command(words[0], recording.trace, *words[1:]).out
        there = bench.run(["unshare", "-m", "sh", "-c", inside, root, words[0], "/t.lifespan", *words[1:]])
        expect(there.status == 0, f"{words[0]}: exit status {there.status}: {there.err[-300:]!r}")
        expect(there.out == here, f"{words[0]}: another document than here")
