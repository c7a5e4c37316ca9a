"""Size of the page of `lifespan report`, seconds to write it and to open it in a headless Chromium. Called by Tools/bench/page."""

import argparse, os, shutil, subprocess, sys, tempfile, time

from overhead import Bench, LIFESPAN

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Tests", "Behaviour"))
import chromium

VIEWS = ("timeline", "statistics", "flame", "objects")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", default="100,200,400", help="that swift-format formats, by commas")
    parser.add_argument("-n", type=int, default=5, help="runs; the middle one is told")
    options = parser.parse_args()
    swift_format = shutil.which("swift-format") or os.path.join(os.path.dirname(os.path.realpath(shutil.which("swift"))), "swift-format")
    print("| recording | events | page | written in | " + " | ".join(f"opened at {view} in" for view in VIEWS) + " |")
    print("|---|---:|---:|---:|" + "---:|" * len(VIEWS))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        for functions in map(int, options.functions.split(",")):
            trace, page = os.path.join(folder, "x.lifespan"), os.path.join(folder, "x.html")
            words = [LIFESPAN, "record", "--force", "-o", trace, "--", swift_format, bench.source(functions)]
            told = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True).stderr
            events = next(line for line in told.splitlines() if " events" in line).split(": ")[1].split(" ")[0]
            written = []
            for _ in range(options.n):
                start = time.monotonic()
                subprocess.run([LIFESPAN, "report", trace, "-o", page], check=True)
                written.append(time.monotonic() - start)
            opened = []
            with chromium.Browser(folder) as browser:
                for view in VIEWS:
                    opened.append(sorted(browser.open(page, fragment="#" + view) for _ in range(options.n))[options.n // 2])
            cells = [f"swift-format, {functions} functions", events, f"{os.path.getsize(page) / 1e6:.1f} MB",
                     f"{sorted(written)[options.n // 2]:.1f} s"] + [f"{one:.2f} s" for one in opened]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
