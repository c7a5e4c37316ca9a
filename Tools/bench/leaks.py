"""Pauses and speeds of looking for leaks, lifespan beside LeakSanitizer. Called by Tools/bench/leaks."""

import argparse, json, os, re, shutil, statistics, subprocess, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIFESPAN = os.path.join(ROOT, ".build/release/lifespan")
SWIFT = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("swift"))))


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Sanitized:
    """The program with LeakSanitizer in it: it looks when it is told to, and tells how long that took."""

    def __init__(self, program, objects):
        env = {**os.environ, "LSAN_OPTIONS": "exitcode=0"}
        self.process = subprocess.Popen([program, str(objects)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.bytes = int(self.process.stdout.readline().split()[1])
        self.times = []

    def look(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        taken, found = re.match(r"took (\d+) found (\d+)", self.process.stdout.readline()).groups()
        if found != "0":
            raise SystemExit("leaks: LeakSanitizer finds leaks where there are none")
        self.times.append(int(taken) / 1e9)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Recorded:
    """The recorded program: pictures at marks."""

    def __init__(self, program, objects, folder):
        self.trace = os.path.join(folder, f"{objects}.lifespan")
        words = [LIFESPAN, "record", "--leaks", "--force", "-o", self.trace, "--", program, str(objects)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdout.readline()
        running = json.loads(output(LIFESPAN, "list", "--json"))["recordings"]
        self.pid = str([x for x in running if x["trace"] == self.trace][0]["pid"])
        self.marks, self.verdicts = [], []

    def look(self):
        began = time.monotonic()
        output(LIFESPAN, "mark", self.pid, "look", "--leaks")
        self.marks.append(time.monotonic() - began)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        # Rows of information are too small to be compressed; `dump` of ten million objects takes minutes.
        with open(self.trace, "rb") as file:
            scans = re.findall(rb"heap\.scan\.\d+.{1,2}?(\d+) bytes in (\d+) ns", file.read(), re.S)
        self.scans = [int(ns) / 1e9 for _, ns in scans[: len(self.marks)]]
        self.pauses = []
        for number in range(len(self.marks)):
            began = time.monotonic()
            found = json.loads(output(LIFESPAN, "leaks", self.trace, "--json", "--picture", str(number + 1)))
            self.verdicts.append(time.monotonic() - began)
            self.pauses.append(found["evidence"]["pause_ns"] / 1e9)
            if found["leaks"] or found["leaks_withheld"]:
                raise SystemExit(f"leaks: lifespan finds leaks where there are none: {found['leaks'][:3]} {found['leaks_withheld']}")
        if len(self.scans) != len(self.marks):
            raise SystemExit(f"leaks: {len(self.scans)} scans of {len(self.marks)} pictures")


def range_of(times, unit=1e3):
    return f"{statistics.median(times) * unit:,.0f} ({min(times) * unit:,.0f}–{max(times) * unit:,.0f})"


def measure(programs, objects, rounds, folder):
    sanitized, recorded = Sanitized(programs["sanitized"], objects), Recorded(programs["plain"], objects, folder)
    for _ in range(rounds):
        sanitized.look()
        recorded.look()
    sanitized.end()
    recorded.end()
    megabytes = sanitized.bytes / 1e6
    rows = [
        ("LeakSanitizer", sanitized.times, sanitized.times, sanitized.times),
        ("lifespan", recorded.pauses, recorded.scans, [a + b for a, b in zip(recorded.marks, recorded.verdicts)]),
    ]
    for name, pauses, scans, whole in rows:
        speed = megabytes / statistics.median(scans)
        print(f"| {objects:,} objects, {megabytes:,.0f} MB | {name} | {range_of(pauses)} | {range_of(scans)} | {speed:,.0f} | {range_of(whole)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, action="append")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="leaks.")
    try:
        source = os.path.join(HERE, "programs", "heap.cpp")
        programs = {name: os.path.join(folder, name) for name in ("plain", "sanitized")}
        libraries = os.path.join(SWIFT, "lib", "swift", "linux")
        # record records what has a Swift runtime.
        runtime = ["-Wl,--no-as-needed", f"-L{libraries}", "-lswiftCore", f"-Wl,-rpath,{libraries}"]
        output("clang++", "-O2", source, *runtime, "-o", programs["plain"])
        output("clang++", "-O2", "-fsanitize=leak", source, "-o", programs["sanitized"])
        print("| heap | | program stands still, ms | scan, ms | MB/s | until the verdict is there, ms |\n|---|---|---|---|---|---|", flush=True)
        for objects in options.objects or [1_000_000, 10_000_000]:
            measure(programs, objects, options.rounds, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
