"""Regions that the program maps: record --vm."""

import re

from harness import behaviour, expect
from recording import Recording

WAYS = ("kinds", "failing", "partly", "fixed", "moving", "threads", "forked")


def told(recording):
    """What the program says of itself, against the rows of kind vm: living and bytes of each."""
    expected = re.findall(r"^EXPECT (.*) (\d+) (\d+)$", recording.result.out, re.M)
    expect(expected and "as the kernel says" in recording.result.out, f"stdout is {recording.result.out[-300:]!r}")
    if not recording.trace:
        return
    rows = {row["type"]: row for row in recording.stats()["rows"] if row["kind"] == "vm"}
    for name, living, size in expected:
        row = rows.pop(name, {"persistent_count": 0, "persistent_bytes": 0})
        got = row["persistent_count"], row["persistent_bytes"]
        expect(got == (int(living), int(size)), f"{name}: living {got}, truth {(int(living), int(size))}")
    left = {name: row["persistent_count"] for name, row in rows.items() if row["persistent_count"]}
    expect(not left, f"regions that the program knows nothing of: {left}")


@behaviour("--vm: mmap, munmap, mremap, shared memory and the break, whole and in part, are as they are plain, and what lives is exact")
def calls(bench):
    program = bench.program("regions.c")
    for way in (*((way,) for way in WAYS), WAYS):
        # Addresses of two runs differ, and with them what lies beside what.
        recording = bench.same([program, *way], ["--vm"]).is_complete()
        told(recording)


@behaviour("--vm: what threads map and unmap at once is exact ten times, and with --keep living")
def at_once(bench):
    for options in [["--vm"]] * 9 + [["--vm", "--keep", "living"]]:
        words, trace = bench.record_words([bench.program("regions.c"), *["threads"] * 4], options)
        told(Recording(bench, trace, bench.run(words), []))


@behaviour("--vm: a mapping that is left behind in each round trip stands in each generation, with its file, and in no sum of the heap")
def left_behind(bench):
    recording = bench.same([bench.program("mapped.swift"), "5"], ["--vm"]).is_complete()
    bench.needs_recorder()
    recording.has("VM: mapped file book.data", 10, 5)
    recording.has("VM: anonymous", 6, 1)
    for generation in recording.ask("generations")["generations"]:
        regions = [(row["type"], row["persistent_count"], row["persistent_bytes"]) for row in generation["rows"] if row["kind"] == "vm"]
        first = [("VM: anonymous", 1, 1 << 20)] if generation["name"] == "round 1" else []
        expect(regions == first + [("VM: mapped file book.data", 1, 12288)], f"{generation['name']}: {regions}")
        heap = sum(row["persistent_bytes"] for row in generation["rows"] if row["kind"] not in ("vm", "thread"))
        expect(generation["growth_bytes"] == heap, f"growth is {generation['growth_bytes']}, the heap's rows {heap}")
    totals = recording.stats()["totals"]
    expect(totals["vm"]["persistent_bytes"] == (1 << 20) + 5 * 12288, f"totals: {totals['vm']}")
    objects = recording.ask("objects", "--kind", "vm", "--type", "*book.data")["objects"]
    expect(len(objects) == 5 and all(int(o["address"], 16) % 4096 == 0 for o in objects), f"{objects[:2]}")
    expect("map" in objects[0]["allocator"]["function"], f"allocated by {objects[0]['allocator']}")
    bench.command("generations", recording.trace, "--kind", "vm", "--fail-on", "survivors=0", status=1)
    bench.command("generations", recording.trace, "--fail-on", "survivors=1000000")


@behaviour("--vm with --children: a fork child's trace begins with the regions of its memory, and its own calls change its own")
def children(bench):
    words, _ = bench.record_words([bench.program("regions.c"), "forked"], ["--vm", "--children"])
    words[words.index("-o") + 1] = bench.path("tree.%p.lifespan")
    result = bench.run(words)
    expect(result.status == 0, f"exit status {result.status}: {result.err}")
    bench.needs_recorder()
    import glob

    seen = {}
    for trace in glob.glob(bench.path("tree.*.lifespan")):
        recording = Recording(bench, trace, result, [])
        row = recording.row("VM: anonymous")
        seen[row["persistent_count"]] = row["persistent_bytes"]
    # The parent has nine pages; the child eight in two pieces, and thirty more.
    expect(seen == {1: 9 * 4096, 3: 38 * 4096}, f"regions by process: {seen}")


@behaviour("without --vm there are no rows of kind vm, with --swift-only it is refused, and a program that maps nothing has none")
def none(bench):
    bench.recorder_only()
    recording = bench.same([bench.program("regions.c"), "kinds"])
    expect(not [row for row in recording.stats()["rows"] if row["kind"] == "vm"], "rows of kind vm")
    said = bench.command("stats", recording.trace, "--kind", "vm", status=2).err
    expect("kind vm was not recorded" in said, f"stats says {said!r}")
    quiet = bench.same([bench.program("no_runtime.c")], ["--vm"])
    expect(bench.command("stats", quiet.trace, "--kind", "vm").out, "no report")
    said = bench.command("record", "--vm", "--swift-only", "--", "true", status=64).err
    expect("exclude each other" in said, f"record says {said!r}")
