"""The page of `lifespan report` in a real browser: every view shows the figures of the other reports, and can be used without a pointer.

Pictures of the views go to the folder that LIFESPAN_PICTURES names, where it is set.
"""

import json, os

import chromium
from harness import Skip, behaviour, expect

PICTURES = os.environ.get("LIFESPAN_PICTURES")


class Page:
    """A page in a browser. What a test says of it is what a reader sees."""

    def __init__(self, bench, recording, *words):
        if not chromium.command():
            raise Skip("no chromium (Tools/setup --tests installs it)")
        self.bench, self.recording, self.path = bench, recording, bench.path("page.html")
        bench.command("report", recording.trace, "-o", self.path, *words)
        self.browser = chromium.Browser(bench.folder)

    def __enter__(self):
        self.browser.__enter__()
        return self

    def __exit__(self, *error):
        self.browser.__exit__(*error)

    def open(self, view, width=1280, height=800):
        self.browser.size(width, height)
        seconds = self.browser.open(self.path, fragment="#" + view)
        self.root = f"#view-{view}"
        expect(self.shown(self.root), f"{view} is not shown")
        return seconds

    def shown(self, selector):
        return self.browser.run(f"Boolean(document.querySelector({json.dumps(selector)})?.checkVisibility())")

    def texts(self, selector):
        """The text of every such element of the view, as it is shown."""
        found = f"document.querySelectorAll({json.dumps(self.root + ' ' + selector)})"
        return self.browser.run(f"[...{found}].filter(e => e.checkVisibility()).map(e => e.textContent)")

    def text(self, selector):
        return " ".join(self.texts(selector))

    def rows(self):
        """The cells of the rows of the view's table that are there, in order."""
        return self.browser.run(
            f"[...document.querySelectorAll({json.dumps(self.root + ' .table .row')})].map(r => [...r.children].map(c => c.textContent))")

    def click(self, selector, number=0):
        self.browser.click(self.root + " " + selector, number)

    def row(self, name):
        """Clicks on the row that has this name."""
        rows = self.rows()
        found = [at for at, cells in enumerate(rows) if name in cells]
        expect(found, f"no row {name!r} in {rows[:5]}")
        self.click(".table .row", found[0])

    def choose(self, title):
        """One of a row of choices."""
        expect(title in self.texts(".segments span"), f"no choice {title}")
        self.click(".segments label", self.texts(".segments span").index(title))

    def search(self, text):
        self.browser.run(f"(() => {{ const e = document.querySelector({json.dumps(self.root + ' .search')}); e.focus(); e.select(); }})()")
        if text:
            self.browser.type(text)
        else:
            self.browser.key("Backspace")

    def picture(self, name):
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
            self.browser.picture(os.path.join(PICTURES, name + ".png"))

    def is_clean(self):
        """It asked nobody for anything, and the browser had nothing to complain of."""
        others = [url for url in self.browser.requests if url.split("#")[0] != "file://" + self.path]
        expect(not others, f"the page asks for {others}")
        expect(not self.browser.complaints, f"the browser complains: {self.browser.complaints}")


def recorded(bench, *words, options=("--leaks",)):
    recording = bench.same([bench.program("page.swift"), *words], options).is_complete()
    bench.needs_recorder()
    return recording


def count(value):
    return f"{value:,}"


def size(value):
    """As Units.bytes writes it."""
    if value < 10_000:
        return f"{value:,} B"
    for place, unit in enumerate(("KiB", "MiB", "GiB", "TiB"), 1):
        hundredths = (value * 100 + 1024**place // 2) // 1024**place
        if hundredths < 102_400 or unit == "TiB":
            return f"{hundredths // 100:,}.{hundredths % 100:02} {unit}"


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
        expect([int(row[3].replace(",", "")) for row in page.rows()] == numbers[::-1] or sorted(numbers) ==
               [int(row[3].replace(",", "")) for row in page.rows()], "not sorted the other way round")
        page.click(".head button", 5)
        names = [row[5] for row in page.rows()]
        expect(names == sorted(names), f"not sorted by name: {names[:5]}")
        # Searched.
        page.search("program.s*n")
        expect([row[5] for row in page.rows()] == ["Program.Session"], f"search: {page.rows()}")
        expect(page.text(".state").startswith("1 of "), page.text(".state"))
        page.row("Program.Session")
        made = sum(int(one.split(" ×")[0].replace(",", "")) for one in page.texts(".details .amount"))
        expect("open(_:)" in page.text(".details summary") and made == 210, f"{made} objects: {page.text('.details')}")
        expect("page.swift:28" in page.text(".details .frames"), page.text(".details .frames"))
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
