"""`lifespan growth`: levels at the marks as the program counted them, the verdict on each kind of growth, the suspects of a round."""

import json, re
import xml.etree.ElementTree as xml

from control import told
from harness import behaviour, expect
from recording import plain_name

VERDICTS = {
    "Page": "linear", "Slow": "linear", "Left": "linear", "Right": "linear",
    "Job": "noise",
    "Thumb": "plateau", "Template": "plateau", "Singleton": "plateau", "Entry": "plateau", "Backlog": "plateau",
    "Connection": "plateau",
}  # fmt: skip


def rows_of(document):
    return {plain_name(row["type"]): row for row in document["rows"] if row["type"].startswith("Program.")}


def rounds(bench, count=9, optimised=True, options=("--leaks",)):
    return bench.same([bench.program("rounds.swift", optimised=optimised), str(count)], list(options))


@behaviour("what lives at each mark is exact, and each kind of growth has its verdict")
def verdicts(bench):
    for optimised in (True, False):
        recording = rounds(bench, optimised=optimised)
        truth = recording.result.truth()["levels"]
        bench.needs_recorder()
        document = recording.ask("growth")
        expect(document["warm_up_marks"] == ["warm-up"], f"warm-up is {document['warm_up_marks']}")
        expect([r["name"] for r in document["rounds"]] == [f"round {n}" for n in range(1, 9)], f"{document['rounds']}")
        rows = rows_of(document)
        for name, levels in truth.items():
            expect(rows[name]["counts"] == levels, f"{name}: levels {rows[name]['counts']}, truth {levels}")
        got = {name[8:]: rows[name]["verdict"] for name in truth}
        expect(got == VERDICTS, f"verdicts: {sorted(set(got.items()) ^ set(VERDICTS.items()))}")
        page = rows["Program.Page"]
        expect(page["count_per_round"] == 10, f"Page: {page['count_per_round']} a round")
        expect(page["holding"] == "held" and page["path"][0] == "global Program.pages", f"Page: {page['path']}")
        expect(page["left_by_round"] == [10] * 8, f"Page: left {page['left_by_round']}")
        expect(rows["Program.Left"]["holding"] == "leaked", f"Left: {rows['Program.Left']['holding']}")
        expect(any("fill" in frame["function"] for frame in page["allocated_by"]), f"Page: {page['allocated_by']}")


@behaviour("of a round each survivor is a suspect, with stack and holder, and what died late is told")
def suspects(bench):
    recording = rounds(bench)
    bench.needs_recorder()
    levels = recording.result.truth()["levels"]
    document = recording.ask("growth", "--round", "round 3", "round 4", "--type", "Program.*")
    rows = rows_of(document)
    want = {"Page": (10, 10), "Slow": (2, 2), "Thumb": (32, 0), "Entry": (5, 0), "Job": (3, 0), "Connection": (3, 0)}
    want.update({"Left": (1, 1), "Right": (1, 1)})
    got = {name[8:]: (row["inside_count"], row["living_count"]) for name, row in rows.items()}
    expect(got == want, f"suspects: {sorted(set(got.items()) ^ set(want.items()))}")
    for name, row in rows.items():
        around = row["before_count"], row["after_count"]
        expect(around == tuple(levels[name][3:5]), f"{name}: before and after {around}, truth {levels[name][3:5]}")
    expect(document["suspects"] == 57, f"{document['suspects']} suspects")
    holding = {name[8:]: row["stacks"][0]["holding"] for name, row in rows.items()}
    expect(holding["Page"] == "held" and holding["Left"] == "leaked", f"holding: {holding}")
    expect(holding["Thumb"] == "not_in_picture", f"what died late has a holder: {holding}")
    text = bench.command("growth", recording.trace, "--round", "round 3", "round 4", "--type", "Program.Thumb").out
    expect("32 died late, 0 live at the end of the recording" in text, f"report: {text}")


@behaviour("a plateau passes --fail-on, growth does not, and too few rounds are no pass")
def limits(bench):
    recording = rounds(bench)
    bench.needs_recorder()
    trace = recording.trace
    for name, verdict in VERDICTS.items():
        words = ["growth", trace, "--type", f"Program.{name}", "--fail-on", "survivors"]
        bench.command(*words, status=1 if verdict == "linear" else 0)
    said = bench.command("growth", trace, "--type", "Program.Page", "--fail-on", "growth=0", status=1).err
    expect(said.startswith("lifespan: each round Program.Page grew by "), f"stderr: {said}")
    bench.command("growth", trace, "--fail-on", "survivors=1000000")
    few = rounds(bench, 4)
    result = bench.command("growth", few.trace, "--fail-on", "survivors=1000000", status=2)
    expect("not enough rounds: 3 after the warm-up, 4 are needed" in result.err, f"stderr: {result.err}")
    bench.command("growth", few.trace, "--warm-up", "0", "--fail-on", "survivors=1000000")


@behaviour("growth of a recording that runs: by its PID, of the marks by now")
def running(bench):
    said = {}

    def talk(session, pid):
        session.until("^up$")
        said.update(json.loads(bench.command("growth", str(pid), "--json").out))
        session.send("go\n")

    bench.recorder_only()
    steps = " ".join(f"make First {n + 1} mark round-{n}" for n in range(5))
    told(bench, steps + " say up wait make First 9 mark later", talk)
    expect(said["running"] and [r["name"] for r in said["rounds"]] == [f"round-{n}" for n in range(1, 5)], f"{said}")
    rows = rows_of(said)
    expect(rows["Program.First"]["verdict"] == "linear", f"{rows['Program.First']}")


@behaviour("growth as JUnit and as Markdown is well-formed, and names what grows")
def formats(bench):
    recording = rounds(bench)
    bench.needs_recorder()
    suite = xml.fromstring(bench.command("growth", recording.trace, "--format", "junit").out).find("testsuite")
    failed = {case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None}
    expect({f"Program.{n} grows" for n in ("Page", "Slow", "Left", "Right")} <= failed, f"failed: {failed}")
    expect(len(failed) == int(suite.get("failures")), f"{suite.attrib}")
    text = bench.command("growth", recording.trace, "--type", "Program.*", "--format", "markdown").out
    expect("4 types grow over 8 rounds" in text.splitlines()[0], f"first line: {text.splitlines()[0]}")
    expect(text.count("<details>") == text.count("</details>") == 4, text[:400])
    table = [line for line in text.splitlines() if re.match(r"\| linear .*Program\.Page \|$", line)]
    expect(len(table) == 1, f"no row of Program.Page: {text[:600]}")


@behaviour("with --keep living nothing is said of rounds of which the dead were discarded")
def discarded(bench):
    recording = rounds(bench, options=("--keep", "living"))
    bench.needs_recorder()
    document = recording.ask("growth")
    levels = recording.result.truth()["levels"]
    # The end of such a recording discards what is left to discard: only the last mark's levels can be known.
    expect(document["warm_up"] == "discarded" and not document["rounds"], f"{document['warm_up']}, {document['rounds']}")
    withheld = document["verdicts_withheld"] or ""
    expect("none after the discarded events" in withheld, f"withheld: {withheld}")
    expect({row["verdict"] for row in document["rows"]} == {None}, "there are verdicts")
    for name, row in rows_of(document).items():
        expect(row["counts"] == levels[name][-1:], f"{name}: {row['counts']}, truth {levels[name][-1:]}")
    bench.command("growth", recording.trace, "--fail-on", "survivors=1000000", status=2)
