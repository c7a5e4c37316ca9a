"""Rows by something else than types, lifetimes, the peak, and where symbols are looked for: sums and moments that a program
knows of itself, whatever order its threads run in."""
import csv
import io
import json
import os
import re
import shutil
import subprocess

from harness import Skip, behaviour, expect
from exports import exported

GROUPINGS = ("module", "package", "file", "thread", "size", "caller")
SUMS = ("persistent_count", "persistent_bytes", "transient_count", "transient_bytes", "kept_count", "kept_bytes",
        "total_count", "total_bytes", "temporary_count")


@behaviour("every object is in one row, by whatever its rows are, and the rows add up to what stats counts by type")
def groups(bench):
    recording = bench.same([bench.program("threads.swift", "-g"), "300"], steady=False).is_complete()
    bench.needs_recorder()
    for words in ([], ["--type", "*.Node"], ["--at-peak"]):
        wanted = ["--lifespan", "all", "--columns", "temporary", *words]
        totals = recording.ask("stats", *wanted)["totals"]["all"]
        for by in GROUPINGS:
            document = recording.ask("stats", "--by", by, *wanted)
            expect(document["totals"]["all"] == totals, f"by {by} {words}: totals {document['totals']['all']}, not {totals}")
            for key in SUMS:
                got = sum(row[key] for row in document["rows"])
                expect(got == totals[key], f"by {by} {words}: the rows' {key} are {got}, the total is {totals[key]}")
    nodes = recording.ask("stats", "--by", "thread", "--type", "*.Node", "--lifespan", "all")["rows"]
    expect(sorted(row["total_count"] for row in nodes)[-8:] == [300] * 8, f"eight threads made 300 each: {nodes}")
    files = recording.ask("stats", "--by", "file", "--type", "*.Node", "--lifespan", "all")["rows"]
    expect(any(row["group"].endswith("/threads.swift") and row["is_known"] for row in files), f"files: {files}")
    whole = recording.ask("tree", "--lifespan", "all")["total"]
    document = recording.ask("tree", "--lifespan", "all", "--separate-by", "thread")
    expect(document["total"] == whole == {key: sum(node[key] for node in document["tree"]) for key in whole},
           f"trees of threads: {document['total']}, in all {whole}")


@behaviour("the peak is the moment of most living bytes, and what is made and freed around it is not there")
def peak(bench):
    words = "make First 50 drop 50 make Second 4000 mark top drop 4000 make Third 30"
    recording = bench.same(bench.steps(words)).is_complete()
    bench.needs_recorder()
    truth = recording.ask("stats", "--at-peak")
    expect(truth["peak"]["living_bytes"] == truth["totals"]["all"]["persistent_bytes"], f"{truth['peak']}")
    expect(truth["peak"]["living_count"] == truth["totals"]["all"]["persistent_count"], f"{truth['peak']}")
    rows = {row["type"].rsplit(".", 1)[-1]: row["persistent_count"] for row in truth["rows"]}
    expect((rows.get("First", 0), rows.get("Second", 0), rows.get("Third", 0)) == (0, 4000, 0), f"at the peak: {rows}")
    whole = recording.ask("stats")["totals"]["all"]["persistent_bytes"]
    expect(truth["peak"]["living_bytes"] > whole, f"the peak is {truth['peak']}, at the end {whole} live")
    listed = recording.ask("objects", "--at-peak", "--type", "*.Second")
    expect(listed["count"] == 4000, f"objects at the peak: {listed['count']}")
    tree = recording.ask("tree", "--at-peak")["total"]
    expect(tree["bytes"] == truth["peak"]["living_bytes"], f"tree {tree}, peak {truth['peak']}")
    text = bench.command("stats", recording.trace, "--at-peak").out
    expect("at the peak of the heap: " in text, text[:200])
    done = bench.command("stats", recording.trace, "--at-peak", "--format", "csv")
    expect("at the peak of the heap: " in done.err and "peak" not in done.out, done.err)


@behaviour("lifetimes are those of the single objects: the ends exactly, the median within 1.6 %")
def lifetimes(bench):
    recording = bench.same([bench.program("churn.swift", "-g"), "20", "50"]).is_complete()
    bench.needs_recorder()
    words = ["--lifespan", "all", "--columns", "lifetime_min,lifetime_median,lifetime_max,temporary"]
    rows = {row["type"]: row for row in recording.ask("stats", *words, "--type", "Program.*")["rows"]}
    for name in ("Program.Kept", "Program.Short"):
        objects = recording.ask("objects", "--type", name, "--lifespan", "destroyed")["objects"]
        ages = sorted(max(0, one["died_ns"] - one["born_ns"]) for one in objects)
        row, exact = rows[name], ages[(len(ages) - 1) // 2]
        ends = (row["lifetime_min_ns"], row["lifetime_max_ns"])
        expect(ends == (ages[0], ages[-1]), f"{name}: {ends}, the objects say {(ages[0], ages[-1])}")
        expect(abs(row["lifetime_median_ns"] - exact) * 64 <= exact, f"{name}: median {row['lifetime_median_ns']}, not {exact}")
    expect("lifetime_min_ns" not in recording.ask("stats")["rows"][0], "lifetimes that nobody asked for")


GENERATIONS = "make First 30 mark one make Second 20 drop 10 mark two make Third 5"


@behaviour("go tool pprof shows the types and generations of a profile")
def labels(bench):
    recording = bench.same(bench.steps(GENERATIONS, "-g")).is_complete()
    bench.needs_recorder()
    if not shutil.which("go"):
        raise Skip("go is not installed (Tools/setup --tests installs it)")
    path = exported(bench, recording, "pprof")[0]
    born = {"one": "First", "two": "Second", "(open)": "Third"}
    for generation, name in born.items():
        words = ["go", "tool", "pprof", "-tags", "-sample_index=alloc_objects", f"-tagfocus=generation={re.escape(generation)}", path]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "HOME": bench.folder})
        expect(done.returncode == 0, done.stderr)
        found = {other for other in born.values() if f"Program.{other}" in done.stdout}
        expect(found == {name} and "generation: Total" in done.stdout, f"of generation {generation}: {done.stdout[:800]}")


@behaviour("Python's csv module reads the exported sites whole, no cell is a formula, and their sums are those of stats")
def tables(bench):
    recording = bench.same(bench.steps(GENERATIONS, "-g")).is_complete()
    bench.needs_recorder()
    total = recording.ask("stats", "--lifespan", "all")["totals"]["all"]
    everything = exported(bench, recording, "csv", "--lifespan", "all")[1].decode()
    rows = list(csv.DictReader(io.StringIO(everything)))
    for key in ("total_count", "total_bytes", "persistent_count", "persistent_bytes"):
        got = sum(int(row[key]) for row in rows)
        expect(got == total[key], f"csv {key}: {got}, stats says {total[key]}")
    born = {g: sum(int(r["total_count"]) for r in rows if r["type"].endswith(f".{t}") and r["generation"] == g)
            for g, t in (("one", "First"), ("two", "Second"), ("", "Third"))}
    expect(born == {"one": 30, "two": 20, "": 5}, f"csv by generation: {born}")
    for row in rows:
        expect(None not in row and None not in row.values(), f"a line of another length: {row}")
        for cell in row.values():
            expect(cell[:1] not in ("=", "+", "-", "@", "\t", "\r") or cell.lstrip("-").isdigit(), f"a formula: {cell!r}")
    document = json.loads(exported(bench, recording, "json", "--lifespan", "all")[1])
    expect(sum(site["total_bytes"] for site in document["sites"]) == total["total_bytes"] == document["totals"]["all"]["total_bytes"],
           f"json: {document['totals']['all']}")
    expect({site["stack"] for site in document["sites"]} == {stack["stack"] for stack in document["stacks"]}, "json: stacks")
    text = exported(bench, recording, "markdown", "--limit", "2")[1].decode()
    table = [line for line in text.splitlines() if line.startswith("|")]
    expect(text.startswith("### Allocations of ") and len({line.count("|") for line in table}) == 1, text[:400])


@behaviour("a stripped program with its debug file gives the report of the whole one, wherever that lies; another build is said")
def debug_files(bench):
    # A copy: other behaviours run the same program.
    ran = bench.path("app", "churn")
    os.makedirs(bench.path("app"))
    shutil.copy(bench.program("churn.swift", "-g", "-Xlinker", "--build-id=sha1"), ran)
    recording = bench.same([ran, "5", "5", "stacks"]).is_complete()
    bench.needs_recorder()

    def report(*words):
        return recording.ask("tree", "--lifespan", "all", *words)

    whole = report()
    expect("/churn.swift" in json.dumps(whole) and whole["symbol_notes"] == [], f"{whole['symbol_notes']}")
    notes = subprocess.run(["readelf", "-n", ran], capture_output=True, text=True, check=True).stdout
    build = notes.split("Build ID: ")[1].split()[0]
    # A system's root with the stripped program at its own path, and debug files apart: by link and by build-id.
    root, debug = bench.path("root"), bench.path("debug")
    inside = root + os.path.dirname(ran)
    by_build = f"{debug}/.build-id/{build[:2]}"
    for folder in (inside, by_build):
        os.makedirs(folder, exist_ok=True)
    place = f"{inside}/{os.path.basename(ran)}"
    separate = bench.path("churn.debug")
    subprocess.run(["objcopy", "--only-keep-debug", ran, separate], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={separate}", ran, place], check=True)
    shutil.copy(separate, f"{by_build}/{build[2:]}.debug")
    links = bench.path("links")
    os.makedirs(links, exist_ok=True)
    shutil.copy(separate, f"{links}/churn.debug")
    # The program is gone from where it ran: only what is named can be read.
    hidden = ran + ".hidden"
    os.rename(ran, hidden)
    try:
        for words in (["--sysroot", root, "--debug-path", debug], ["--sysroot", root, "--debug-path", links],
                      ["--debug-path", debug], ["--debug-path", links, "--debug-path", debug]):
            got = report(*words)
            expect(got == whole, f"{words}: another report than that of the whole program; {got['symbol_notes']}")
        said = report("--sysroot", root)["symbol_notes"]
        expect(any(f"stripped and there is no debug file for build-id {build}" in note for note in said), f"{said}")
        shutil.copy("/bin/true", place)
        for other in ("No such file or directory", "is another build"):
            document = report("--sysroot", root)
            said = document["symbol_notes"]
            expect(any(ran in note and other in note for note in said), f"{said}")
            expect("descend" not in json.dumps(document["tree"]), "a function was guessed")
            shutil.copy("/bin/true", ran)
        expect(report("--debug-path", debug) == whole, "its debug file does not name what was replaced since")
    finally:
        os.replace(hidden, ran)
