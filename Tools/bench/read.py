"""What reading costs: `stats` and `generations` of a trace, and heaptrack_print of heaptrack's recording of the same program, in
turn, several rounds, medians. Called by Tools/bench/read.

Each is a whole run of a command that prints its report to /dev/null: its start, the file, the names of what is shown. An event is an
allocation or its end; heaptrack's are the lines + and - of its file.
"""

import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time

from overhead import Bench, LIFESPAN

READERS = ["stats", "stats --json", "generations", "generations --json"]


def jobs(bench, swift_format):
    return [
        ("alloc + free, 30 frames", [bench.program("alloc"), "24", "5000000"]),
        ("JSON, 40 orders there and back", [bench.program("json"), "300"]),
        ("swift-format, 400 functions", [swift_format, bench.source(400)]),
    ]


def run(words):
    """Seconds and the largest resident size in MB of one run."""
    with open(os.devnull, "w") as nothing:
        begin = time.monotonic_ns()
        process = subprocess.Popen(words, stdout=nothing, stderr=nothing)
        _, status, usage = os.wait4(process.pid, 0)
        took = (time.monotonic_ns() - begin) / 1e9
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"read: {' '.join(words)} ended with {process.returncode}")
    return took, usage.ru_maxrss / 1024


def record(words, folder, heaptrack):
    """Records the program with both; what to run, and the events of each recording."""
    trace = f"{folder}/t.lifespan"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "cwd": folder}
    subprocess.run([LIFESPAN, "record", "--force", "-o", trace, "--", *words], **quiet)
    said = json.loads(subprocess.run([LIFESPAN, "stats", trace, "--json"], capture_output=True, text=True, check=True).stdout)
    events = said["events"]["recorded"]
    tools = {name: ([LIFESPAN, name.split()[0], trace, *name.split()[1:]], events) for name in READERS}
    if heaptrack:
        subprocess.run([heaptrack, "-o", f"{folder}/heap", *words], **quiet)
        # Counted elsewhere: what this process has held once would be the least that its children are said to take.
        lines = subprocess.run(f"zstd -dc {folder}/heap.zst | LC_ALL=C grep -c '^[+-]'", shell=True, capture_output=True, check=True)
        count = int(lines.stdout)
        tools["heaptrack_print"] = (["heaptrack_print", f"{folder}/heap.zst"], count)
    return tools


def measure(tools, rounds):
    """Medians of seconds and MB."""
    seconds, memory = {name: [] for name in tools}, {name: [] for name in tools}
    for number in range(rounds + 1):
        for name, (words, _) in tools.items():
            took, size = run(words)
            if number:  # the first warms up
                seconds[name].append(took)
                memory[name].append(size)
    return {name: (statistics.median(seconds[name]), statistics.median(memory[name])) for name in tools}


def show(cells, markdown, widths=(34, 20, 12, 10, 14, 10, 26)):
    if markdown:
        print("| " + " | ".join(cells) + " |", flush=True)
    else:
        print("".join(f"{cell:{'<' if place < 2 else '>'}{width}}" for place, (cell, width) in enumerate(zip(cells, widths))), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--heaptrack", action="store_true", help="fail where heaptrack is missing")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    heaptrack = shutil.which("heaptrack")
    if options.heaptrack and not heaptrack:
        sys.exit("read: heaptrack is not installed")
    swift_format = shutil.which("swift-format") or os.path.join(
        os.path.dirname(os.path.realpath(shutil.which("swift"))), "swift-format")
    folder = tempfile.mkdtemp(prefix="read-")
    try:
        bench = Bench(folder)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run, {options.rounds} rounds, medians"
              + ("" if heaptrack else "; heaptrack is not installed"), flush=True)
        head = ["program", "reader", "events", "time", "events/s", "MB", "events/s: heaptrack_print"]
        show(head, options.markdown)
        if options.markdown:
            print("|---|---|" + "--:|" * 5, flush=True)
        for name, words in jobs(bench, swift_format):
            if options.only not in name:
                continue
            tools = record(words, folder, heaptrack)
            middle = measure(tools, options.rounds)
            rate = {tool: tools[tool][1] / middle[tool][0] for tool in tools}
            for tool in tools:
                ratio = f"{rate[tool] / rate['heaptrack_print']:.1f} ×" if heaptrack and tool != "heaptrack_print" else "-"
                show([name, tool, f"{tools[tool][1]:,}", f"{middle[tool][0] * 1000:.0f} ms", f"{rate[tool] / 1e6:.1f} M",
                      f"{middle[tool][1]:.0f}", ratio], options.markdown)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
