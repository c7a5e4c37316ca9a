"""What cannot be done is said in one line, with the right exit status."""

import os

from harness import behaviour, expect


def refuses(bench, words, status, says):
    result = bench.run([bench.lifespan, *words])
    expect(
        result.status == status,
        f"{' '.join(words)[:80]}: exit status {result.status}, not {status}: {result.err.strip()[-200:]!r}",
    )
    lines = result.err.strip().splitlines()
    expect(
        len(lines) == 1 or status == 64, f"{' '.join(words)[:80]}: {len(lines)} lines on stderr, not one: {lines[:3]}"
    )
    expect(any(says in line for line in lines), f"{' '.join(words)[:80]}: {lines[:2]} does not name {says!r}")
    expect(result.out == "", f"stdout is {result.out[:80]!r}")


@behaviour("a program that is not there is 127, one that cannot be executed 126")
def not_there(bench):
    bench.recorder_only()
    refuses(bench, ["record", "--", "./no-such-program"], 127, "no-such-program")
    refuses(bench, ["record", "--", "no-such-word"], 127, "no-such-word")
    refuses(bench, ["record", "--", bench.file("plain.txt", "text\n")], 126, "plain.txt")
    refuses(bench, ["record", "--", bench.folder], 126, os.path.basename(bench.folder))
    left = [x for x in os.listdir(bench.folder) if x.endswith(".lifespan")]
    expect(not left, f"leaves {left} behind")


@behaviour("an output that cannot be written is 2, before the program starts")
def unwritable(bench):
    bench.recorder_only()
    for output, named in (("/no-such-folder/t.lifespan", "/no-such-folder"), (bench.folder, bench.folder)):
        refuses(bench, ["record", "-o", output, "--", "touch", bench.path("started")], 2, named)
    expect(not os.path.exists(bench.path("started")), "the program was started")


@behaviour("a trace is never overwritten without --force")
def never_overwritten(bench):
    bench.recorder_only()
    steps = bench.steps("make First 1")
    for _ in range(2):
        expect(bench.run([bench.lifespan, "record", "-o", "t.lifespan", "--", *steps]).status == 0, "does not record")
    expect(os.path.exists(bench.path("t-2.lifespan")), f"no t-2.lifespan among {sorted(os.listdir(bench.folder))}")


@behaviour("wrong usage is 64")
def wrong_usage(bench):
    bench.recorder_only()
    for words, says in (
        (["record"], "PROGRAM"),
        (["record", "--no-such-option", "--", "true"], "--no-such-option"),
        (["no-such-command"], "no-such-command"),
        (["stats", "--lifespan", "sideways"], "sideways"),
        (["record", "--unwind", "magic", "--", "true"], "magic"),
    ):
        refuses(bench, words, 64, says)


@behaviour("a trace that is missing, empty, foreign or cut is 2 or is read as far as it goes, and says so")
def bad_traces(bench):
    bench.recorder_only()
    recording = bench.same([bench.program("threads.swift"), "2000"]).tells()
    refuses(bench, ["stats", "missing.lifespan"], 2, "missing.lifespan")
    refuses(bench, ["stats", bench.file("empty.lifespan", "")], 2, "empty.lifespan")
    refuses(bench, ["stats", bench.file("foreign.lifespan", "PK" + "x" * 5000)], 2, "foreign.lifespan")
    with open(recording.trace, "rb") as file:
        whole = file.read()
    with open(bench.path("cut.lifespan"), "wb") as file:
        file.write(whole[: len(whole) * 2 // 3])
    result = bench.run([bench.lifespan, "stats", "cut.lifespan"])
    expect(
        "cut" in (result.out + result.err),
        f"a cut trace is not called cut: {result.status}, {(result.out + result.err)[:200]!r}",
    )


@behaviour("an unknown type or mark is named, with the nearest one")
def unknown_names(bench):
    bench.recorder_only()
    recording = bench.same(bench.steps("make First 3 mark warm-up")).tells()
    refuses(bench, ["objects", recording.trace, "--type", "Program.Frist"], 2, "Program.First")
    refuses(bench, ["diff", recording.trace, "warm-up", "warmup"], 2, "warm-up")
