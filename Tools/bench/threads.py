"""What a recorded thread costs beside another one that records. Called by Tools/bench/threads."""

import argparse, os, re, shutil, statistics, subprocess, sys, tempfile

from overhead import Bench, LIFESPAN

# What fits into a ring of 1 MiB while nobody drains it: three cells a pair.
PAIRS, TURNS = 16_000, 25


def run(words, folder):
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
    took = re.search(r"TOOK ([\d.]+) ns a pair, USED ([\d.]+) ns a pair", done.stderr)
    if done.returncode or not took:
        sys.exit(f"threads: {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    lost = re.search(r"([\d,]+) lost", done.stderr)
    return float(took[1]), float(took[2]), int(lost[1].replace(",", "")) if lost else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="threads-")
    try:
        program = Bench(folder).program("threads")
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run, {options.rounds} rounds, medians", flush=True)
        record = [LIFESPAN, "record", "--buffer", "32M", "--force", "-o", f"{folder}/t.lifespan", "--"]
        kinds = {"plain": ([], []), "recorded": (record, []), "recorded, command stands still": (record, ["paused"])}
        seen = {(kind, busy): [] for kind in kinds for busy in (1, 2)}
        for _ in range(options.rounds):
            for kind, (front, behind) in kinds.items():
                for busy in (1, 2):
                    seen[kind, busy].append(run([*front, program, str(busy), str(TURNS), str(PAIRS), *behind], folder))
        head = ["", "CPU a pair, 1 thread", "each of 2", "ratio", "pairs a second, 1 thread", "2 threads", "ratio", "lost"]
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head) if options.markdown else
              f"{head[0]:32}{head[1]:>21}{head[2]:>11}{head[3]:>7}{head[4]:>25}{head[5]:>11}{head[6]:>7}{head[7]:>7}", flush=True)
        for kind in kinds:
            one, two = ([statistics.median(run[place] for run in seen[kind, busy]) for place in (0, 1)] for busy in (1, 2))
            lost = max(run[2] for busy in (1, 2) for run in seen[kind, busy])
            cells = [kind, f"{one[1]:.0f} ns", f"{two[1]:.0f} ns", f"{two[1] / one[1]:.2f}", f"{1e3 / one[0]:.1f} M", f"{1e3 / two[0]:.1f} M",
                     f"{one[0] / two[0]:.2f}", f"{lost:,}"]
            print("| " + " | ".join(cells) + " |" if options.markdown else
                  f"{cells[0]:32}{cells[1]:>21}{cells[2]:>11}{cells[3]:>7}{cells[4]:>25}{cells[5]:>11}{cells[6]:>7}{cells[7]:>7}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
