"""What a retain or release costs: plain, filtered out, recorded, in turn, several rounds, medians. Called by Tools/bench/refcounts."""

import argparse, os, re, shutil, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIFESPAN = os.path.join(ROOT, ".build/release/lifespan")
COUNTED = ["--events", "refcounts"]
# Name, kind of object, options of record (None: not recorded), the largest overhead of one event that is allowed, in ns.
CASES = [
    ("plain", "ignored", None, None),
    ("filtered out (--ignore TYPE)", "ignored", [*COUNTED, "--ignore", "references.Ignored"], 3),
    ("recorded, without stacks", "recorded", [*COUNTED, "--unwind", "none"], 15),
    ("recorded, 12 frames", "recorded", COUNTED, None),
]


def once(program, folder, kind, options, pairs):
    """Nanoseconds of one retain or release, by the program's own clock."""
    words = [program, kind, "8", str(pairs)]
    if options is not None:
        # What is lost is not recorded: the program waits for its ring, and that counts.
        words = [LIFESPAN, "record", "--force", "-o", f"{folder}/t.lifespan", *options, "--", *words]
    done = subprocess.run(words, capture_output=True, text=True)
    said = re.search(r"TOOK ([\d.]+) ns", done.stderr)
    if done.returncode or not said or (options is not None and ", 0 lost" not in done.stderr):
        sys.exit(f"refcounts: {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return float(said[1]) / 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=0, help="default 500,000, and 15,000 where events are recorded: they fit into the ring")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="refcounts-")
    try:
        program = os.path.join(folder, "references")
        subprocess.run(["swiftc", "-O", f"{HERE}/programs/references.swift", "-o", program], check=True)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run, {options.rounds} rounds, medians", flush=True)
        times = {name: [] for name, *_ in CASES}
        for number in range(options.rounds + 1):
            for name, kind, record, _ in CASES:
                pairs = options.pairs or (15_000 if kind == "recorded" else 500_000)
                value = once(program, folder, kind, record, pairs)
                if number:  # the first warms up
                    times[name].append(value)
        middle = {name: statistics.median(values) for name, values in times.items()}
        plain, least = middle["plain"], min(times["plain"])
        print(f"{'one retain or release':32}{'median':>12}{'overhead':>12}{'/ plain':>10}{'least overhead':>17}{'limit':>9}")
        for name, _, _, limit in CASES:
            more = middle[name] - plain
            word = "" if limit is None else f"{limit} ns" + ("" if more <= limit else " !")
            print(f"{name:32}{middle[name]:>9.1f} ns{more:>9.1f} ns{middle[name] / plain:>8.2f} ×{min(times[name]) - least:>14.1f} ns"
                  f"{word:>9}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
