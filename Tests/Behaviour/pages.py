"""A page of `lifespan report` in a browser, as behaviours of it use it (page.py, page_use.py): what is shown, clicked, typed.

Pictures of the views go to the folder that LIFESPAN_PICTURES names, where it is set.
"""

import json, os

import chromium
from harness import Skip, expect

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
        self.browser.frame()
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
