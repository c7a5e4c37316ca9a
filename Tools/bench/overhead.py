"""What recording costs: plain, lifespan and heaptrack in turn, several rounds, medians. Called by Tools/bench/overhead.

A program that times its own work ("TOOK … ns") is compared by that, so that a start of the tool does not count; another one by
the whole time that the command took.
"""

import argparse, os, re, shutil, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIFESPAN = os.path.join(ROOT, ".build/release/lifespan")


class Bench:
    """Programs built once, in a folder that goes at the end."""

    def __init__(self, folder):
        self.folder = folder
        self.built = {}

    def program(self, name):
        if name not in self.built:
            path = os.path.join(self.folder, name)
            done = subprocess.run(
                ["swiftc", "-O", "-g", "-parse-as-library", "-Xcc", "-fno-omit-frame-pointer", f"{HERE}/programs/{name}.swift", "-o", path],
                capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"overhead: swiftc {name}.swift: {done.stderr.strip()[-400:]}")
            self.built[name] = path
        return self.built[name]

    def source(self, functions):
        """A file for swift-format."""
        path = os.path.join(self.folder, f"functions{functions}.swift")
        if not os.path.exists(path):
            with open(path, "w") as file:
                for n in range(functions):
                    file.write(f"func compute{n}(_ values: [Int], name: String) -> [String: Int] {{\n"
                               f"    var result: [String: Int] = [:]\n    for (index, value) in values.enumerated() {{\n"
                               f"        if value > {n} && index % 2 == 0 {{ result[\"\\(name)-\\(index)\"] = value * {n} }}\n"
                               f"        else {{ result[name] = (result[name] ?? 0) + value }}\n    }}\n    return result\n}}\n\n")
        return path


def jobs(bench, swift_format):
    """Name, words, how often the work is done in one run (what the overhead is divided by)."""
    alloc = bench.program("alloc")
    pairs = 1_000_000
    return [
        ("alloc + free, 12 frames", [alloc, "6", str(pairs)]),
        ("alloc + free, 30 frames", [alloc, "24", str(pairs)]),
        ("alloc + free, 30 frames, 2 threads", [alloc, "24", str(pairs), "2"]),
        ("alloc on one thread, free on another", [alloc, "24", str(pairs), "2", "across"]),
        ("JSON, 40 orders there and back", [bench.program("json"), "60"]),
        ("50 tasks and an actor", [bench.program("tasks"), "2000"]),
        ("swift-format, 400 functions (whole run)", [swift_format, bench.source(400)]),
    ]


def took(words, folder):
    """Nanoseconds: what the program says of itself, else of the whole command."""
    begin = time.monotonic_ns()
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder)
    whole = time.monotonic_ns() - begin
    if done.returncode:
        sys.exit(f"overhead: {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    said = re.search(r"TOOK ([\d.]+) ns", done.stderr)
    lost = re.search(r"([\d,]+) lost", done.stderr)
    return float(said[1]) if said else float(whole), int(lost[1].replace(",", "")) if lost else 0


def measure(words, rounds, folder, heaptrack):
    tools = {"plain": [], "lifespan": [LIFESPAN, "record", "--force", "-o", f"{folder}/t.lifespan", "--"]}
    if heaptrack:
        tools["heaptrack"] = [heaptrack, "-o", f"{folder}/heap"]
    times, lost = {name: [] for name in tools}, 0
    for number in range(rounds + 1):
        for name, front in tools.items():
            value, missing = took(front + words, folder)
            lost = max(lost, missing)
            if number:  # the first warms up
                times[name].append(value)
    return times, lost


def figure(value):
    for unit, size in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]:
        if abs(value) >= size * 10:
            return f"{value / size:.0f} {unit}"
    return f"{value:.0f} ns"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--heaptrack", action="store_true", help="fail where heaptrack is missing")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    heaptrack = shutil.which("heaptrack")
    if options.heaptrack and not heaptrack:
        sys.exit("overhead: heaptrack is not installed")
    swift_format = shutil.which("swift-format") or os.path.join(
        os.path.dirname(os.path.realpath(shutil.which("swift"))), "swift-format")
    folder = tempfile.mkdtemp(prefix="overhead-")
    try:
        bench = Bench(folder)
        load, cores = os.getloadavg()[0], os.cpu_count()
        print(f"{cores} cores, load {load:.1f} before the run, {options.rounds} rounds, medians"
              + ("" if heaptrack else "; heaptrack is not installed"), flush=True)
        head = ["program", "plain", "lifespan", "heaptrack", "lifespan / plain", "overheads: lifespan / heaptrack", "lost"]
        if options.markdown:
            print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
        else:
            print(f"{head[0]:42}{head[1]:>9}{head[2]:>10}{head[3]:>11}{head[4]:>18}{head[5]:>33}{head[6]:>6}", flush=True)
        for name, words in jobs(bench, swift_format):
            if options.only not in name:
                continue
            times, lost = measure(words, options.rounds, folder, heaptrack)
            middle = {tool: statistics.median(values) for tool, values in times.items()}
            own = middle["lifespan"] - middle["plain"]
            other = middle.get("heaptrack", 0) - middle["plain"]
            cells = [name, figure(middle["plain"]), figure(middle["lifespan"]),
                     figure(middle["heaptrack"]) if heaptrack else "-", f"{middle['lifespan'] / middle['plain']:.2f} ×",
                     f"{own / other:.3f} ×" if heaptrack and other > 0 else "-", f"{lost:,}"]
            if options.markdown:
                print("| " + " | ".join(cells) + " |", flush=True)
            else:
                print(f"{cells[0]:42}{cells[1]:>9}{cells[2]:>10}{cells[3]:>11}{cells[4]:>18}{cells[5]:>33}{cells[6]:>6}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
