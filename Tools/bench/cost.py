"""Costs that do not depend on the machine's load, each within limits in both directions: what got dearer is a defect, and what
got cheaper moves its limits. Called by Tools/bench/cost.

Instructions: callgrind's, as the difference between two runs of different length, so that starts do not count. The reader's
allocations are what `lifespan record` sees of a `lifespan stats`.
"""

import json, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIFESPAN = os.path.join(ROOT, ".build/release/lifespan")
FEW, MANY = 20_000, 60_000

# Figure: least, most.
LIMITS = {
    "instructions of an object's birth and death, all blocks recorded": (600, 690),
    "instructions of the same, --swift-only": (600, 690),
    "instructions of the same, --unwind none": (315, 370),
    "instructions of the start, in millions": (1, 6),
    "instructions of the command for an event": (530, 650),
    "instructions of a retain or release that is filtered out": (25, 30),
    "instructions of one that is recorded, --unwind none": (80, 96),
    "instructions of one that is recorded, 12 frames": (800, 920),
    "bytes of an event, one thread": (0.02, 0.2), # a slow machine closes more chunks: one every 25 ms
    "allocations of the reader for a million events": (0, 400),
    "MB of the reader for four million events more": (-3, 3),
    "MB of the reader": (10, 25),
    "instructions of the reader for an event": (70, 115),
    "instructions of a mark, 10 living": (150, 230),
    "instructions of a mark, 10,000 living, less those": (-10, 10),
}


def run(words, env=None):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode:
        sys.exit(f"cost: {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stderr


class Cost:
    def __init__(self, folder):
        self.folder = folder
        self.program = os.path.join(folder, "alloc")
        run(["swiftc", "-O", "-parse-as-library", f"{HERE}/programs/alloc.swift", "-o", self.program])
        self.references = os.path.join(folder, "references")
        run(["swiftc", "-O", f"{HERE}/programs/references.swift", "-o", self.references])
        self.marks = os.path.join(folder, "marks")
        run(["swiftc", "-O", "-parse-as-library", f"{HERE}/programs/marks.swift", "-o", self.marks])
        # valgrind reads no DWARF 5 of this kind, and needs none.
        self.preload = os.path.join(folder, "liblifespan_preload.so")
        shutil.copy(os.path.join(ROOT, ".build/release/liblifespan_preload.so"), self.preload)
        run(["strip", "--strip-debug", self.preload])

    def valgrind(self, program, options):
        """Instructions of a whole run; `options` None: not recorded."""
        valgrind = ["valgrind", "--tool=callgrind", "--smc-check=all", "--callgrind-out-file=/dev/null", *program]
        words = valgrind
        if options is not None:
            words = [LIFESPAN, "record", "--force", "-o", f"{self.folder}/v.lifespan", *options, "--", *valgrind]
        return int(re.search(r"Collected : (\d+)", run(words, {"LIFESPAN_PRELOAD": self.preload}))[1])

    def recorded(self):
        """The statistics of the last run."""
        return json.loads(self.ask("stats", "--lifespan", "all", f"{self.folder}/v.lifespan", "--json"))

    def instructions(self, pairs, options):
        """Of a run that makes and ends objects."""
        # On two threads: valgrind's main thread has a stack of its own kind, which is not walked.
        count = self.valgrind([self.program, "24", str(pairs), "2"], options)
        if options is not None:
            stats = self.recorded()
            nodes = sum(row["total_count"] for row in stats["rows"] if row["type"] == "alloc.Node")
            if stats["capture"] != "complete" or nodes < pairs:
                sys.exit(f"cost: capture {stats['capture']} of {nodes} objects, {pairs} were made: {stats.get('notes')}")
        return count

    def referring(self, kind, options):
        """Instructions of one retain or release."""
        counts = []
        for pairs in (FEW, MANY):
            counts.append(self.valgrind([self.references, kind, "8", str(pairs)], options))
            if options is None:
                continue
            stats = self.recorded()
            retains = sum(row["retains"] or 0 for row in stats["rows"] if row["type"].startswith("references."))
            # Each object has some of its own.
            if stats["capture"] != "complete" or not (pairs if kind == "recorded" else 0) <= retains <= pairs + 41_000:
                sys.exit(f"cost: capture {stats['capture']}, {retains} retains of {kind}, {pairs} were made: {stats.get('notes')}")
        return (counts[1] - counts[0]) / (MANY - FEW) / 2

    def command_instructions(self, pairs):
        """Of the recording command, which drains and writes; the program below it runs as it is."""
        command = os.path.join(self.folder, "lifespan")
        if not os.path.exists(command):
            shutil.copy(LIFESPAN, command)
            run(["strip", "--strip-debug", command])
        said = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", command, "record", "--force",
                    "-o", f"{self.folder}/c.lifespan", "--", self.program, "24", str(pairs)], {"LIFESPAN_PRELOAD": self.preload})
        return int(re.search(r"Collected : (\d+)", said)[1])

    def reader_instructions(self, path):
        command = os.path.join(self.folder, "lifespan")
        said = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", command, "stats", path])
        return int(re.search(r"Collected : (\d+)", said)[1])

    def mark_instructions(self, living):
        """Of a mark inside the program, while so many objects live."""
        few, many = (self.valgrind([self.marks, str(living), str(count)], []) for count in (100, 1100))
        return (many - few) / 1000

    def ask(self, *words):
        return subprocess.run([LIFESPAN, *words], capture_output=True, text=True, check=True).stdout

    def trace(self, name, pairs):
        path = f"{self.folder}/{name}.lifespan"
        run([LIFESPAN, "record", "--force", "-o", path, "--", self.program, "24", str(pairs)])
        events = json.loads(self.ask("stats", path, "--json"))["events"]["recorded"]
        return path, events

    def peak(self, path):
        """Largest resident size of reading it, in MB."""
        code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        said = subprocess.run([sys.executable, "-c", code, LIFESPAN, "stats", path], capture_output=True, text=True, check=True)
        return int(said.stdout) / 1024

    def reader_allocations(self, path):
        own = f"{self.folder}/reader.lifespan"
        run([LIFESPAN, "record", "--force", "-o", own, "--", LIFESPAN, "stats", path])
        return json.loads(self.ask("stats", "--lifespan", "all", own, "--json"))["totals"]["all"]["total_count"]

    def figures(self):
        plain = [self.instructions(pairs, None) for pairs in (FEW, MANY)]
        each = (plain[1] - plain[0]) / (MANY - FEW)
        names = list(LIMITS)
        start = None
        for name, options in zip(names, [[], ["--swift-only"], ["--unwind", "none"]]):
            recorded = [self.instructions(pairs, options) for pairs in (FEW, MANY)]
            more = (recorded[1] - recorded[0]) / (MANY - FEW) - each
            yield name, more
            start = start or (recorded[0] - plain[0] - FEW * more) / 1e6
        yield names[3], start
        plain = self.referring("ignored", None)
        counted = ["--events", "refcounts"]
        few, many = 100_000, 300_000
        yield names[4], (self.command_instructions(many) - self.command_instructions(few)) / (2 * (many - few))
        yield names[5], self.referring("ignored", [*counted, "--ignore", "references.Ignored"]) - plain
        yield names[6], self.referring("recorded", [*counted, "--unwind", "none"]) - plain
        yield names[7], self.referring("recorded", counted) - plain
        (short, few), (long, many) = self.trace("short", 100_000), self.trace("long", 2_100_000)
        yield names[8], os.path.getsize(long) / many
        yield names[9], (self.reader_allocations(long) - self.reader_allocations(short)) / (many - few) * 1e6
        peak = self.peak(short)
        yield names[10], self.peak(long) - peak
        yield names[11], peak
        middle, more = self.trace("middle", 600_000)
        yield names[12], (self.reader_instructions(middle) - self.reader_instructions(short)) / (more - few)
        each = self.mark_instructions(10)
        yield names[13], each
        yield names[14], self.mark_instructions(10_000) - each


def main():
    show = "--show" in sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="cost-")
    bad = 0
    try:
        for name, value in Cost(folder).figures():
            least, most = LIMITS[name]
            word = "" if least <= value <= most else f"  OUTSIDE {least} to {most}"
            bad += bool(word)
            print(f"{name}: {value:,.2f}{'' if show else word}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if bad and not show else 0)


main()
