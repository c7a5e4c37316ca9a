"""What a mark costs, by how much lives: inside the program, and as a run of `lifespan mark PID`. Called by Tools/bench/mark."""

import argparse, os, re, shutil, statistics, subprocess, sys, tempfile, time

from overhead import Bench, LIFESPAN

LIVING = [10, 10_000, 10_000_000]
MARKS = 1000


def inside(program, living, folder):
    """Nanoseconds of a mark, as the program measured a thousand of them."""
    done = subprocess.run([LIFESPAN, "record", "--force", "-o", f"{folder}/t.lifespan", "--", program, str(living), str(MARKS)],
                          capture_output=True, text=True)
    said = re.search(r"TOOK ([\d.]+) ns", done.stderr)
    if done.returncode or not said:
        sys.exit(f"mark: ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return float(said[1])


def outside(program, living, folder, rounds):
    """Milliseconds of each `lifespan mark PID`."""
    process = subprocess.Popen([LIFESPAN, "record", "--force", "-o", f"{folder}/t.lifespan", "--", program, str(living), "0", "wait"],
                               stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while "TOOK" not in process.stderr.readline():  # everything lives
            if process.poll() is not None:
                sys.exit(f"mark: ended with {process.returncode}")
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            pid = file.read().split()[0]
        times = []
        for _ in range(rounds + 1):
            begin = time.monotonic_ns()
            subprocess.run([LIFESPAN, "mark", pid], stdout=subprocess.DEVNULL, check=True)
            times.append((time.monotonic_ns() - begin) / 1e6)
        return times[1:]
    finally:
        process.communicate("")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="mark-")
    try:
        program = Bench(folder).program("marks")
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run, {options.rounds} rounds, medians", flush=True)
        within, without = {living: [] for living in LIVING}, {}
        for _ in range(options.rounds):
            for living in LIVING:
                within[living].append(inside(program, living, folder))
        for living in LIVING:
            without[living] = outside(program, living, folder, options.rounds)
        if options.markdown:
            print("| living objects | inside the program | `lifespan mark PID`, whole run |\n|--:|--:|--:|")
        for living in LIVING:
            cells = [f"{living:,}", f"{statistics.median(within[living]):.0f} ns", f"{statistics.median(without[living]):.1f} ms"]
            print("| " + " | ".join(cells) + " |" if options.markdown else f"{cells[0]:>12} living: {cells[1]} inside, {cells[2]} a `lifespan mark`")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
