"""What a behaviour test works with: a folder, built programs, plain and recorded runs, and their comparison.

Every module beside this one defines behaviours with @behaviour("sentence"); run.py runs them. A behaviour gets a Bench.
"""

import json, os, shlex, shutil, signal, subprocess, threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "Tests", "Programs")
TOOLCHAIN = os.path.dirname(os.path.realpath(shutil.which("swift") or "swift"))
BEHAVIOURS = []


class Failure(Exception):
    """The first thing that is not as it should be."""


class Skip(Exception):
    """This machine cannot show the behaviour; says why."""


class PlainDone(Exception):
    """With --plain: the program itself behaved, what follows needs a recorder."""


def behaviour(sentence):
    def add(function):
        BEHAVIOURS.append((sentence, function))
        return function

    return add


def expect(condition, text):
    if not condition:
        raise Failure(text)


def first_difference(a, b):
    for number, (x, y) in enumerate(zip(a.splitlines() + ["(end)"], b.splitlines() + ["(end)"]), 1):
        if x != y:
            return f"line {number}: {x[:120]!r} against {y[:120]!r}"
    return "in the last line's end"


class Result:
    """How a command ended, as a shell says it, and what it printed."""

    def __init__(self, status, out, err):
        self.status = 128 - status if status < 0 else status
        self.out, self.err = out, err

    def truth(self):
        lines = [x for x in self.out.splitlines() if x.startswith("TRUTH ")]
        expect(lines, f"no TRUTH on stdout; stderr ends: {self.err[-200:]!r}")
        return json.loads(lines[-1][6:])


class Programs:
    """Builds the programs of Tests/Programs, each with each set of flags once, for all behaviours."""

    def __init__(self, folder):
        self.folder, self.lock, self.built = folder, threading.Lock(), {}
        self.life_lock = threading.Lock()

    def get(self, name, flags=(), optimised=True):
        key = (name, tuple(flags), optimised)
        with self.lock:
            one = self.built.setdefault(key, [threading.Lock(), None])
        with one[0]:
            if not one[1]:
                one[1] = self.build(name, flags, optimised, os.path.join(self.folder, str(list(self.built).index(key))))
            return one[1]

    def build(self, name, flags, optimised, folder):
        os.makedirs(folder, exist_ok=True)
        base, kind = os.path.splitext(os.path.basename(name))
        program = os.path.join(folder, base)
        source = os.path.join(PROGRAMS, name)
        if os.path.dirname(name) == "life":
            self.build_life(source, kind, flags, program)
        elif kind == ".swift" or os.path.isdir(source):
            sources = [os.path.join(source, x) for x in sorted(os.listdir(source))] if os.path.isdir(source) else [source]
            support = os.path.join(PROGRAMS, "Support")
            helpers = os.path.join(folder, "Helpers.o")
            compile_all(["clang", "-c", "-O2", os.path.join(support, "Helpers.c"), "-o", helpers])
            compile_all(
                [
                    "swiftc",
                    "-swift-version",
                    "5",
                    "-O" if optimised else "-Onone",
                    "-g",
                    "-Xcc",
                    "-fno-omit-frame-pointer",
                    "-parse-as-library",
                    "-module-name",
                    "Program",
                    "-import-objc-header",
                    os.path.join(support, "Helpers.h"),
                    *sources,
                    os.path.join(support, "Truth.swift"),
                    helpers,
                    *flags,
                    "-o",
                    program,
                ]
            )
        else:
            compile_all(["clang++" if kind == ".cpp" else "clang", "-O2", source, *flags, "-o", program, "-pthread"])
        return program

    def build_life(self, source, kind, flags, program):
        """C, C++ or async Swift with objects (Tests/Programs/life/things.swift) and what its programs share."""
        folder = os.path.dirname(source)
        flags = [os.path.join(folder, x) if x.endswith(".c") else x for x in flags]
        compiler = ["clang++", "-std=c++17"] if kind == ".cpp" else ["clang"]
        shared = self.life_objects(folder)
        objects = [program + ".o"]
        if kind == ".swift":
            objects = [source, "-g", "-parse-as-library", "-module-name", "Main"]
        else:
            compile_all([*compiler, "-O2", "-g", "-Wall", "-Wextra", "-c", source, "-o", objects[0]])
        for extra in [x for x in flags if x.endswith(".c")]:
            objects.append(f"{program}.{len(objects)}.o")
            compile_all(["clang", "-O2", "-g", "-fno-builtin", "-c", extra, "-o", objects[-1]])
        link = [x for x in flags if not x.endswith(".c")] + (["-lstdc++"] if kind == ".cpp" else [])
        compile_all(["swiftc", *objects, *shared, *link, "-o", program])

    def life_objects(self, folder):
        with self.life_lock:
            objects = [os.path.join(self.folder, x) for x in ("life.o", "things.o")]
            if not os.path.exists(objects[1]):
                os.makedirs(self.folder, exist_ok=True)
                compile_all(["clang", "-O2", "-g", "-c", os.path.join(folder, "life.c"), "-o", objects[0]])
                words = ["-O", "-g", "-parse-as-library", "-module-name", "Program"]
                compile_all(["swiftc", *words, "-c", os.path.join(folder, "things.swift"), "-o", objects[1]])
            return objects


def compile_all(command):
    done = subprocess.run(command, capture_output=True, text=True)
    errors = [x for x in done.stderr.splitlines() if "error" in x] or done.stderr.splitlines()[-3:]
    expect(done.returncode == 0, f"does not build: {' | '.join(errors[:3])}")


def library(name):
    """The path of a library of the system; without it the behaviour cannot be shown."""
    path = subprocess.run(["clang", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(path):
        raise Skip(f"{name} is not installed (Tools/setup --tests installs it)")
    return path


class Bench:
    """One behaviour's folder and tools. `lifespan` is None with --plain."""

    def __init__(self, folder, lifespan, programs):
        self.folder, self.lifespan, self.programs, self.traces = folder, lifespan, programs, 0
        os.makedirs(folder, exist_ok=True)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("LIFESPAN_") and k != "LD_PRELOAD"}
        self.env.update(XDG_RUNTIME_DIR=folder, SWIFT_BACKTRACE="enable=no", TERM="dumb")

    def path(self, *words):
        return os.path.join(self.folder, *words)

    def file(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def program(self, name, *flags, optimised=True):
        return self.programs.get(name, flags, optimised)

    def steps(self, text, *flags):
        """The program that does what its arguments say (Tests/Programs/steps.swift), and these arguments."""
        return [self.program("steps.swift", *flags), *shlex.split(text)]

    def run(self, command, stdin="", timeout=120, cwd=None):
        """Runs to the end; a hang is a failure and takes the whole process group with it."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=cwd or self.folder,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(stdin.encode(), timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failure(f"hangs: no end after {timeout} s: {' '.join(command)[:160]}")
        return Result(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def needs_recorder(self):
        """From here on there is nothing to check without one."""
        if not self.lifespan:
            raise PlainDone()

    def recorder_only(self):
        """A behaviour of the command alone."""
        if not self.lifespan:
            raise Skip("needs a recorder")

    def preload(self):
        """The library that `record` loads into programs."""
        installed = os.path.join(os.path.dirname(self.lifespan), "..", "lib", "lifespan", "liblifespan_preload.so")
        beside = os.path.join(os.path.dirname(self.lifespan), "liblifespan_preload.so")
        return beside if os.path.exists(beside) else os.path.abspath(installed)

    def command(self, *words, status=0):
        """Runs lifespan itself."""
        self.needs_recorder()
        result = self.run([self.lifespan, *words])
        expect(
            result.status == status,
            f"lifespan {words[0]}: exit status {result.status}, not {status}: {result.err.strip()[-200:]}",
        )
        return result

    def record_words(self, command, options=(), trace=None):
        """The words that run `command` under recording; with --plain the command alone."""
        if not self.lifespan:
            return list(command), None
        if trace is None:
            self.traces += 1
            trace = self.path(f"trace{self.traces}.lifespan")
        return [self.lifespan, "record", *options, "-o", trace, "--", *command], trace

    def same(
        self, command, options=(), stdin="", timeout=120, cwd=None, stdout=True, stderr=True, steady=True, launcher=()
    ):
        """Runs plain and under recording: same exit status, stdout and, but for our own lines, stderr.

        `steady`: the truth is the same each time, else it is left out of the comparison. `launcher`: words before both.
        """
        from recording import Recording

        plain = self.run([*launcher, *command], stdin, timeout, cwd)
        words, trace = self.record_words(command, options)
        recorded = self.run([*launcher, *words], stdin, timeout, cwd)
        expect(
            recorded.status == plain.status,
            f"exit status {recorded.status}, plain {plain.status}; stderr: {recorded.err.strip()[-200:]!r}",
        )
        got, want = (recorded.out, plain.out) if steady else (without_truth(recorded.out), without_truth(plain.out))
        if stdout and got != want:
            raise Failure(f"stdout differs from the plain run's, {first_difference(got, want)}")
        ours = our_lines(recorded.err, plain.err) if stderr else []
        expect(len(ours) <= 2, f"{len(ours)} lines of ours on stderr: {ours[:3]}")
        return Recording(self, trace, recorded, ours)

    def unrecorded(self, command, says, stdin=""):
        """A program that cannot be recorded: unchanged, and one line on stderr says why."""
        recording = self.same(command, stdin=stdin)
        self.needs_recorder()
        expect(len(recording.ours) == 1, f"{len(recording.ours)} lines on stderr, not one: {recording.ours}")
        expect(
            any(word in recording.ours[0].lower() for word in says),
            f"{recording.ours[0]!r} says nothing of {' or '.join(says)}",
        )
        return recording


def without_truth(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith("TRUTH "))


def our_lines(recorded, plain):
    """The lines of a recorded run's stderr that the plain run lacks; the plain ones must be there, in order."""
    ours, rest = [], plain.splitlines()
    for line in recorded.splitlines():
        if rest and line == rest[0]:
            rest.pop(0)
        else:
            ours.append(line)
    expect(not rest, f"stderr lacks {rest[0][:120]!r} of the plain run" if rest else "")
    return ours
