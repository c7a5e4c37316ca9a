"""Call trees and stacks in other programs' formats: their sums are those of `stats`, and their own consumers read them."""
import gzip
import json
import re
import subprocess

from harness import behaviour, expect


def totals(recording, lifespan="living"):
    """(objects, bytes) that `stats` gives for the heap."""
    total = recording.ask("stats", "--lifespan", lifespan)["totals"]["all"]
    name = {"living": "persistent", "destroyed": "transient", "all": "total"}[lifespan]
    return total[f"{name}_count"], total[f"{name}_bytes"]


def exported(bench, recording, form, *words):
    path = bench.path(f"export.{form}" + (".gz" if form == "pprof" else ""))
    bench.command("export", recording.trace, "--format", form, "-o", path, *words)
    with open(path, "rb") as file:
        return path, file.read()


def fields(data):
    """A protocol buffer's fields, in order: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def numbers(packed):
    """Packed varints, by way of fields: each behind a key of its own."""
    found, value, shift = [], 0, 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


@behaviour("the call tree holds what stats counts, whichever way it is turned, and names the lines of the program")
def tree(bench):
    recording = bench.same([bench.program("churn.swift", "-g"), "20", "50", "stacks"]).is_complete()
    bench.needs_recorder()
    for lifespan in ("living", "destroyed", "all"):
        whole = totals(recording, lifespan)
        for words in ([], ["--invert"], ["--hide-system", "--flatten-recursion"], ["--separate-by", "type"]):
            document = recording.ask("tree", "--lifespan", lifespan, *words)
            total = document["total"]
            expect((total["count"], total["bytes"]) == whole, f"{lifespan}, {words}: {total}, stats says {whole}")
            for one in ("count", "bytes"):
                tops = sum(node[one] for node in document["tree"])
                expect(tops == total[one], f"{lifespan}, {words}: the trees have {tops} {one}, not {total[one]}")

    def check(node):
        for one in ("count", "bytes"):
            below = sum(child[one] for child in node["children"])
            expect(node[one] == node["self_" + one] + below, f"{node['function']}: {one}")
    files = set()

    def visit(node):
        check(node)
        files.add((node["function"], (node["file"] or "").rsplit("/", 1)[-1]))
        for child in node["children"]:
            visit(child)

    for node in recording.ask("tree", "--lifespan", "all")["tree"]:
        visit(node)
    expect(("descend(_:_:)", "churn.swift") in files, f"functions and files: {sorted(files)[:20]}")
    out = bench.command("tree", recording.trace, "--lifespan", "all", "--hide-system").out
    expect(re.search(r"(?m)^ +[\d.,]+ \S+ +\d+\.\d +[\d,]+ +static Program\.main\(\) \[churn\]$", out), out[:600])


@behaviour("collapsed stacks, speedscope, pprof and heaptrack hold what stats counts, and heaptrack_print reads its own")
def formats(bench):
    recording = bench.same([bench.program("churn.swift", "-g"), "20", "50", "stacks"]).is_complete()
    bench.needs_recorder()
    living, everything = totals(recording), totals(recording, "all")
    for weight, index in (("count", 0), ("bytes", 1)):
        lines = exported(bench, recording, "collapsed", "--weight", weight)[1].decode().splitlines()
        got = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        expect(got == living[index], f"collapsed {weight}: {got}, stats says {living[index]}")
    document = json.loads(exported(bench, recording, "speedscope", "--lifespan", "all")[1])
    got = tuple(sum(p["weights"]) for p in reversed(document["profiles"]))
    expect(got == everything, f"speedscope: {got}, stats says {everything}")

    message = gzip.decompress(exported(bench, recording, "pprof")[1])
    sums = [0, 0, 0, 0]
    for number, value in fields(message):
        if number == 2:
            values = next(numbers(inner) for field, inner in fields(value) if field == 2)
            sums = [a + b for a, b in zip(sums, values)]
    expect(tuple(sums) == everything + living, f"pprof: {sums}, stats says {everything + living}")

    path, text = exported(bench, recording, "heaptrack")
    births, deaths = (len(re.findall(rb"(?m)^\%s " % sign, text)) for sign in (b"+", b"-"))
    times = [int(word, 16) for word in re.findall(rb"(?m)^c ([0-9a-f]+)$", text)]
    end = recording.stats()["end_ns"] // 1_000_000
    expect(times == sorted(set(times)) and (times or [0])[-1] == end, f"heaptrack: times {times[-3:]}, the end is {end} ms")
    # A realloc is a free and an allocation there.
    moves = len(re.findall(r": moved @", bench.command("dump", recording.trace).out))
    got = (births - moves, births - deaths)
    expect(got == (everything[0], living[0]), f"heaptrack: {births} births, {moves} moves, {deaths} deaths")
    done = subprocess.run(["heaptrack_print", path], capture_output=True, text=True, check=True)
    calls = int(re.search(r"calls to allocation functions: (\d+)", done.stdout).group(1))
    expect(calls == births, f"heaptrack_print: {calls} calls, {births} were written")


@behaviour("an export says on stderr what its format has no room for, and refuses what it cannot hold")
def refusals(bench):
    recording = bench.same([bench.program("churn.swift", "-g"), "10", "5"]).is_complete()
    bench.needs_recorder()
    for words, said in (
        ([], "--format pprof|collapsed|speedscope|heaptrack|json|csv|markdown|dot"), (["--format", "pprof"], "-o FILE"),
        (["--format", "svg", "-o", "x"], "pprof"), (["--format", "heaptrack", "-o", "x", "--from", "1s"], "whole recording"),
        (["--format", "collapsed", "-o", "x", "--weight", "kilos"], "bytes"),
    ):
        done = bench.command("export", recording.trace, *words, status=64)
        expect(said in done.err, f"{words}: {done.err!r}")
    done = bench.command("export", recording.trace, "--format", "collapsed", "-o", bench.path("none/x"), status=2)
    expect("can't be written" in done.err, done.err)


@behaviour("two runs of one program compare as equal, by type and by stack; more rounds are growth, and unlike recordings are refused")
def compare(bench):
    program = bench.program("churn.swift", "-g")
    traces = [bench.same([program, *words], options).is_complete().trace if bench.lifespan else bench.same([program, *words])
              for words, options in ((["20", "50"], []), (["20", "50"], []), (["20", "400"], []), (["20", "50"], ["--swift-only"]))]
    bench.needs_recorder()
    base, again, larger, unlike = traces
    ours = ["--type", "Program.*"]

    def living(trace):
        rows = json.loads(bench.command("stats", trace, "--type", "Program.Kept", "--json").out)["rows"]
        return rows[0]["persistent_count"]

    grown = living(larger) - living(base)
    expect(grown > 300, f"{grown} more live in the larger run")
    for by in ("type", "stack"):
        document = json.loads(bench.command("compare", base, again, "--by", by, *ours, "--json", "--fail-on", "growth=0").out)
        expect(document["rows"] == [] and document["total"]["change_bytes"] == 0, f"by {by}: {document['rows'][:2]}")
        done = bench.command("compare", base, larger, "--by", by, *ours, "--json", "--fail-on", "growth=10%", status=1)
        rows = {}
        for row in json.loads(done.out)["rows"]:
            rows[row["type"]] = rows.get(row["type"], 0) + row["change_count"]
        expect(rows.get("Program.Kept") == grown, f"by {by}: {rows}, {grown} more live")
        expect("the candidate grew by" in done.err, done.err)
    done = bench.command("compare", base, unlike, status=2)
    expect("blocks of malloc all against none" in done.err and "--unlike" in done.err, done.err)
    document = json.loads(bench.command("compare", base, unlike, "--unlike", *ours, "--json").out)
    expect(document["rows"] == [] and document["unlike"] == ["blocks of malloc all against none"], f"{document['unlike']}")
    expect("no type matches" in bench.command("compare", base, again, "--type", "Nobody", status=2).err, "a type that neither has")
