"""The page of `lifespan report` in a real browser: every view shows the figures of the other reports."""

import json, os

from harness import PROGRAMS, behaviour, expect
from recording import Recording
from session import Session
from pages import Page, count, recorded, size


def cells(row):
    """A row of `stats` as the page's table has it."""
    return [count(row["persistent_count"]), size(row["persistent_bytes"]), count(row["transient_count"]), count(row["total_count"]),
            size(row["total_bytes"]), row["type"]]


@behaviour("the page's statistics are those of stats: each lifespan's rows, sorted, searched, and down to the stacks")
def statistics(bench):
    recording = recorded(bench)
    with Page(bench, recording) as page:
        page.open("statistics", height=2000)
        for lifespan, title in (("living", "Living"), ("destroyed", "Destroyed"), ("all", "All")):
            page.choose(title)
            rows = sorted(cells(row) for row in recording.ask("stats", "--lifespan", lifespan)["rows"])
            expect(sorted(page.rows()) == rows, f"{lifespan}: {len(rows)} rows in stats, the page: {page.rows()[:3]}")
            expect(page.text(".state") == f"{len(rows)} types", page.text(".state"))
        total = recording.stats()["totals"]["all"]
        for words in (count(total["persistent_count"]) + " objects living", size(total["persistent_bytes"]), size(total["total_bytes"])):
            expect(words in page.text(".sums"), f"{words!r} is not in {page.text('.sums')!r}")
        # Sorted by a column, and the other way round.
        page.click(".head button", 3)
        numbers = [int(row[3].replace(",", "")) for row in page.rows()]
        expect(numbers == sorted(numbers, reverse=True), f"not sorted by total: {numbers[:8]}")
        page.click(".head button", 3)
        expect([int(row[3].replace(",", "")) for row in page.rows()] == sorted(numbers), "not sorted the other way round")
        page.click(".head button", 5)
        names = [row[5] for row in page.rows()]
        expect(names == sorted(names), f"not sorted by name: {names[:5]}")
        # Searched.
        page.search("program.s*n")
        expect([row[5] for row in page.rows()] == ["Program.Session"], f"search: {page.rows()}")
        expect(page.text(".state").startswith("1 of "), page.text(".state"))
        page.row("Program.Session")
        expect("open(_:)" in page.text(".details summary") and made(page) == 210, f"{made(page)} objects: {page.text('.details')}")
        with open(os.path.join(PROGRAMS, "page.swift")) as file:
            line = next(at for at, one in enumerate(file, 1) if "Session()) }" in one)
        expect(f"page.swift:{line}" in page.text(".details .frames"), page.text(".details .frames"))
        page.picture("statistics")
        page.search("")
        expect(len(page.rows()) == len(names), "the search does not end")
        page.is_clean()


@behaviour("the page's timeline ends with what lives, peaks where nothing lived more, and has every mark")
def timeline(bench):
    recording = recorded(bench)
    with Page(bench, recording) as page:
        page.open("timeline")
        total = recording.stats()["totals"]["all"]
        figures = dict(zip(page.texts(".figure dt"), page.texts(".figure dd")))
        for title, kind in (("Living", "persistent"), ("Destroyed", "transient"), ("Total", "total")):
            want = total[kind + "_bytes"] if kind != "transient" else total["total_bytes"] - total["persistent_bytes"]
            objects = total[kind + "_count"]
            expect(figures[title] == f"{size(want)}{count(objects)} objects", f"{title}: {figures[title]}, {total}")
        marks = [one["name"] for one in recording.ask("generations")["generations"]]
        titles = page.browser.run("[...document.querySelector('.chart').querySelectorAll('line.mark title')].map(e => e.textContent)")
        # Marks that lie on one pixel share a line.
        titles = [one for title in titles for one in title.split("\n")]
        expect(len(titles) == len(marks), f"{len(titles)} marks, not {len(marks)}")
        for title, name in zip(titles, marks):
            expect(title.startswith(name.split("\u202e")[0]), f"mark {title!r}, not {name!r}")
        # Moved through with the keys: its last step is what lives at the end.
        page.browser.run("document.querySelector('.chart svg').focus()")
        page.browser.key("End")
        words = page.texts(".readout")[0]
        expect(f"{size(total['persistent_bytes'])} in {count(total['persistent_count'])} objects" in words, words)
        page.browser.key("ArrowLeft")
        expect(page.texts(".readout")[0] != words, "the arrow key moves nothing")
        page.picture("timeline")
        page.is_clean()


def made(page):
    """How many objects the list of stacks beside a table tells of."""
    return sum(int(one.split(" ×")[0].replace(",", "")) for one in page.texts(".details .amount"))


@behaviour("the page's generations are those of generations, down to a generation's types and the stacks of one")
def generations(bench):
    recording = recorded(bench)
    document = recording.ask("generations", "--lifespan", "all")
    with Page(bench, recording) as page:
        page.open("generations")
        every = document["generations"] + [document["open"]]
        rows = page.rows()
        expect(len(rows) == len(every), f"{len(rows)} generations, not {len(every)}")
        for row, one in zip(rows, every):
            want = [size(one["growth_bytes"]), count(one["persistent_count"]), count(one["transient_count"]), size(one["transient_bytes"])]
            expect(row[1:5] == want, f"{row}, not {want}")
        # Down to the types of the third, and to the stacks of one of them.
        page.choose("All")
        page.click(".table .row", 2)
        types = {row[4]: row for row in page.rows()[len(every):]}
        for one in every[2]["rows"]:
            want = [count(one["persistent_count"]), size(one["persistent_bytes"]), count(one["transient_count"]), one["kind"], one["type"]]
            expect(types[one["type"]] == want, f"{types[one['type']]}, not {want}")
        expect(len(types) == len(every[2]["rows"]), f"{sorted(types)}")
        page.row("Program.Request")
        expect(made(page) == 100, page.text(".details"))
        page.choose("Living")
        expect("Program.Request" not in [row[4] for row in page.rows()[len(every):]], "destroyed ones among the living")
        page.row("Program.Session")
        expect(made(page) == 50, page.text(".details"))
        page.picture("generations")
        page.is_clean()


def boxes(page):
    """The boxes of the flame graph by their labels: function → (value, share, left, width)."""
    return page.browser.run(
        "[...document.querySelectorAll('.flame [role=treeitem]')].map(e => [e.getAttribute('aria-label'), e.offsetTop, "
        "parseFloat(e.style.left), parseFloat(e.style.width), e.className])")


@behaviour("the page's flame graph holds what the call tree holds, zooms, searches, turns round, and is walked with keys")
def flame(bench):
    recording = recorded(bench)
    with Page(bench, recording) as page:
        page.open("flame")

        def outermost():
            found = boxes(page)
            return [one for one in found if one[1] == min(box[1] for box in found if box[1] > 0)]

        def holds(title, words):
            tree = recording.ask("tree", *words)
            whole = size(tree["total"]["bytes"])
            root = page.browser.run("document.querySelector('.flame .root').getAttribute('aria-label')")
            expect(f": {whole}, 100.0 %" in root, f"{title}: {root}, the tree has {whole}")
            want = {(node["function"], size(node["bytes"])) for node in tree["tree"] if node["bytes"] * 1000 > tree["total"]["bytes"]}
            # Each says: function [module]: bytes, share.
            labels = [label.rsplit(": ", 1) for label, *_ in outermost()]
            got = {(name.rsplit(" [", 1)[0], words.rsplit(", ", 1)[0]) for name, words in labels}
            expect(want <= got, f"{title}: {want - got} is not in the graph: {sorted(got)[:4]}")

        holds("living", ["--lifespan", "living"])
        page.choose("All")
        holds("all", ["--lifespan", "all"])
        page.choose("Inverted")
        holds("inverted", ["--lifespan", "all", "--invert"])
        page.choose("Top-down")
        page.picture("flame")
        # A generation alone.
        pick = "(() => { const s = document.querySelector('#view-flame select'); s.value = '%d'; s.dispatchEvent(new Event('change')); })()"
        one = recording.ask("generations", "--lifespan", "all")["generations"][1]
        page.browser.run(pick % 1)
        root = page.browser.run("document.querySelector('.flame .root').getAttribute('aria-label')")
        whole = size(one["growth_bytes"] + one["transient_bytes"])
        expect(f"{one['name']}: {whole}," in root, f"{root}, not {whole} in {one['name']}")
        page.browser.run(pick % -1)
        # Zoomed in, a function is as wide as everything; what called it stays above.
        number = next(at for at, one in enumerate(boxes(page)) if one[0].startswith("serve(_:)"))
        before = boxes(page)[number]
        expect(before[3] < 100, f"{before[0]} fills the graph already")
        page.click(".flame [role=treeitem]", number)
        after = next(one for one in boxes(page) if one[0].startswith("serve(_:)"))
        expect(after[3] == 100, f"zoomed in it is {after[3]} % wide")
        expect(any("above" in one[4] for one in boxes(page)), "the way back is gone")
        page.browser.key("Escape")
        expect(not any("above" in one[4] for one in boxes(page)), "Escape does not zoom out")
        # With keys alone: down to the only child, and in.
        page.browser.key("ArrowDown")
        label = page.browser.run("document.activeElement.getAttribute('aria-label')")
        expect(label in [one[0] for one in outermost()], f"the arrow leads to {label}")
        page.browser.key("ArrowDown")
        page.browser.key("Enter")
        expect(any("above" in one[4] for one in boxes(page)), "Enter does not zoom in")
        page.click(".plain")
        # What is searched for is told with its share.
        page.search("serve")
        found = [one for one in boxes(page) if "found" in one[4]]
        expect(found and all("serve" in one[0] for one in found), f"found: {[one[0] for one in found]}")
        expect("found " in page.text(".flame-place"), page.text(".flame-place"))
        page.is_clean()


@behaviour("the page's single objects are those of objects, with the history of each, and those that are not there are counted")
def objects(bench):
    recording = bench.same([bench.program("page.swift")], ["--events", "refcounts"]).is_complete()
    bench.needs_recorder()
    with Page(bench, recording) as page:
        page.open("objects")
        page.search("program.shared")
        want = recording.ask("objects", "--type", "Program.Shared")["objects"]
        rows = [row for row in page.rows() if row[6] == "Program.Shared"]
        expect([row[0] for row in rows] == [f"@{one['serial']}" for one in want], f"{rows[:2]}, not {want[:2]}")
        expect([row[1] for row in rows] == [size(one["size"]) for one in want], f"sizes: {rows[:2]}")
        page.row(f"@{want[0]['serial']}")
        history = recording.ask("history", f"@{want[0]['serial']}")["history"]
        expect(len(history) > 2, f"only {len(history)} events in history")
        words = page.texts(".history summary strong")
        expect(len(words) == len(history), f"{words}, history has {[one['event'] for one in history]}")
        for shown, one in zip(page.texts(".history summary"), history):
            expect(shown.startswith(one["event"].split("_")[0]) and f"thread {one['thread']}" in shown, f"{shown}, not {one['event']}")
            after = one["count_after"]
            expect(after is None or shown.endswith(f"count {after}") or one["event"] == "birth", f"{shown}, count {after}")
        page.picture("objects")
        page.choose("Destroyed")
        page.search("program.request")
        expect(len(page.rows()) > 0 and all(row[3] != "–" for row in page.rows()), f"{page.rows()[:2]}")
        all_of_them = recording.ask("objects", "--lifespan", "all")
        living = recording.stats()["totals"]["all"]["persistent_count"]
        expect("Here: all " in page.text(".sums") and len(all_of_them["objects"]) >= living, page.text(".sums"))
        page.is_clean()
    with Page(bench, recording, "--objects", "30") as page:
        page.open("objects")
        expect("of each type the newest" in page.text(".sums") and "the first ones" in page.text(".sums"), page.text(".sums"))
        shown = int(page.text(".state").split()[0])
        expect(0 < shown <= 30, f"{shown} objects")


@behaviour("the page's threads, memory, leaks and holders are those of the other reports, and a recording without a picture has no such view")
def others(bench):
    recording = recorded(bench)
    with Page(bench, recording) as page:
        page.open("threads")
        want = recording.ask("threads")["threads"]
        rows = page.rows()
        expect([row[0] for row in rows] == [str(one["thread"]) for one in want], f"{rows}")
        expect([row[2] for row in rows] == [one["state"] for one in want], f"{rows}")
        expect(rows[-1][1] == "<b>bold</b>", f"the thread's name is {rows[-1][1]!r}")
        page.click(".table .row", len(rows) - 1)
        expect("Made by thread 1" in page.text(".details"), page.text(".details"))
        page.open("memory")
        last = recording.stats()["resident"]["last"]
        expect(size(last["resident_bytes"]) in page.text(".figure dd") and size(last["living_bytes"]) in page.text(".figure dd"), page.text(".figure"))
        page.open("heap")
        leaks = [one for one in recording.ask("leaks")["leaks"] if one["head"] and not one["toolchain"]]
        expect(page.text(".leaked").startswith(f"{sum(one['instances'] for one in leaks)} leak"), page.text(".leaked"))
        page.click(".stacks summary", 0)
        for words in (leaks[0]["fingerprint"], "Program.Lost.other", "lose()"):
            expect(words in page.text("details"), f"{words!r} is not in {page.text('details')[:400]}")
        holders = recording.ask("holders", "Program.Session")
        page.browser.run("document.querySelectorAll('#view-heap details').forEach(e => { e.open = true; })")
        page.browser.frame()
        expect(f"{count(holders['count'])} × Program.Session" in page.text("summary"), page.text("summary"))
        expect("sessions" in page.text(".path"), page.text(".path"))
        page.picture("heap")
        page.is_clean()
    plain = recorded(bench, options=())
    with Page(bench, plain) as page:
        page.open("timeline")
        tabs = page.browser.run("[...document.querySelectorAll('[role=tab]')].map(e => e.textContent)")
        expect("Leaks & holders" not in tabs and "Threads" in tabs, f"{tabs}")
        page.browser.run("location.hash = '#heap'")
        page.browser.frame()
        expect(page.shown("#view-timeline"), "a view that is not there is shown")


@behaviour("the page of a recording that runs, was cut, or lost what died says so before its first figure, as stats does")
def labelled(bench):
    bench.recorder_only()
    churn, trace = bench.program("churn.swift"), bench.path("full.lifespan")
    with Session(bench, [bench.lifespan, "record", "-o", bench.path("runs.lifespan"), "--", churn, "100", "100", "wait"]) as session:
        session.until("^round 0$")
        pid = json.loads(bench.command("list", "--json").out)["recordings"][0]["pid"]
        with Page(bench, Recording(bench, str(pid), None, [])) as page:
            page.open("timeline")
            head = page.browser.run("document.getElementById('head').textContent")
            expect("as of " in head and "the recording runs" in head, head)
            page.is_clean()
        session.send("\n" * 10)
        expect("TRUTH" in session.finish().out, "the program did not come to its end")
    # More than the limit holds.
    done = bench.run([bench.lifespan, "record", "--max-size", "1M", "-o", trace, "--", churn, "8000", "500"])
    expect(done.status == 0, done.err)
    whole = recorded(bench)
    with open(whole.trace, "rb") as file:
        data = file.read()
    cut = bench.path("cut.lifespan")
    with open(cut, "wb") as file:
        file.write(data[:len(data) * 2 // 3])
    for path in (trace, cut):
        recording = Recording(bench, path, None, [])
        document = recording.ask("stats")
        expect(document["notes"], f"{path}: nothing is missing")
        with Page(bench, recording) as page:
            page.open("timeline")
            notes = page.browser.run("[...document.querySelectorAll('.notes li')].map(e => e.textContent)")
            expect(notes[:len(document["notes"])] == document["notes"], f"{notes}, not {document['notes']}")
            total = document["totals"]["all"]
            expect(f"{size(total['persistent_bytes'])}{count(total['persistent_count'])} object" in page.text(".figure dd"), page.text(".figure dd"))
            page.picture(os.path.basename(path))
            page.is_clean()
