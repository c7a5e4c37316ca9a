"""The page of `lifespan report` in use: without a pointer, in light and dark, with names that would do harm, with many rows."""

from harness import behaviour, expect
from pages import Page, recorded


@behaviour("nothing in a recording runs in the page: names that are markup, code, or turned round are text")
def hostile(bench):
    recording = recorded(bench)
    with Page(bench, recording) as page:
        for view in ("timeline", "statistics", "generations", "flame", "objects", "threads", "heap"):
            page.open(view)
            for number in range(len(page.rows()[:3])):
                page.click(".table .row", number)
            expect(page.browser.run("document.title") == "page – Lifespan", page.browser.run("document.title"))
            strange = page.browser.run("document.querySelectorAll('img, iframe, object, link, b, body script:not([type]) ~ script').length")
            expect(strange == 0, f"{view}: {strange} elements out of a name")
            page.is_clean()
        page.open("statistics", height=2000)
        name = "</script><img src=x onerror=document.title='taken'>"
        # The compiler writes a blank in a name as one that does not break.
        expect(any(name in row[5].replace("\xa0", " ") for row in page.rows()), f"the type's name is not shown as it is: {[row[5] for row in page.rows()]}")
        # Even if markup came in: the policy lets no other code run and nothing be loaded.
        page.browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=\"http://127.0.0.1:9/x\" onerror=\"document.title=1\">"
                         "<div style=\"display:none\" onclick=\"document.title=2\" id=\"taken\"></div>')")
        page.browser.run("document.getElementById('taken').click()")
        page.browser.frame()
        expect(page.browser.run("document.title") == "page – Lifespan", "foreign code runs")
        expect(any("Content Security Policy" in one for one in page.browser.complaints), f"no policy: {page.browser.complaints}")
    with open(page.path, encoding="utf-8") as file:
        text = file.read()
    expect(text.count("<script") == 2 and "\u202e" not in text and "\u2028" not in text, "a name is in the file as it is")


@behaviour("the page can be used with keys alone, says what it is to those who can't see it, and is readable in light and dark, wide and narrow")
def accessible(bench):
    recording = recorded(bench)
    with Page(bench, recording) as page:
        page.open("timeline")
        page.browser.run("document.querySelector('[role=tab][aria-selected=true]').focus()")
        seen = []
        for _ in range(8):
            seen.append(page.browser.run("document.querySelector('[role=tabpanel]:not([hidden])').id"))
            page.browser.key("ArrowRight")
        expect(len(set(seen)) == 8, f"the arrow key leads through {seen}")
        # A table: walked and chosen with keys, and its place is told.
        page.open("statistics")
        page.browser.run("document.querySelector('#view-statistics .table').focus()")
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            page.browser.key(key)
        chosen = page.browser.run("document.querySelector('#view-statistics [aria-selected=true]')?.getAttribute('aria-rowindex')")
        active = page.browser.run("(() => { const t = document.querySelector('#view-statistics .table');"
                                  " return document.getElementById(t.getAttribute('aria-activedescendant'))?.getAttribute('aria-rowindex'); })()")
        expect(chosen == active == "4", f"chosen {chosen}, active {active}")
        expect(page.text(".details h3") == page.rows()[2][5], "Enter opens another type")
        page.browser.key("s")
        expect(page.browser.run("document.querySelectorAll('#view-statistics [aria-sort=descending], #view-statistics [aria-sort=ascending]').length") == 1,
               "s sorts by nothing")
        outline = page.browser.run("getComputedStyle(document.activeElement).outlineStyle")
        expect(outline != "none", "where the keys go is not to be seen")
        nameless = page.browser.run(
            "[...document.querySelectorAll('button, input, select, [role=grid], [role=tree]')].filter(e => e.checkVisibility() &&"
            " !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML.slice(0, 80))")
        expect(not nameless, f"without a name: {nameless}")
        views = ("timeline", "statistics", "generations", "flame", "objects", "threads", "memory", "heap")
        for scheme, width in (("light", 800), ("dark", 1280)):
            page.browser.prefer(scheme)
            for view in views:
                page.open(view, width=width)
                wide = page.browser.run("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
                expect(wide <= width, f"{view}: {wide} wide on {width}")
                cut = page.browser.run("[...document.querySelectorAll('.table, .details')].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth)"
                                       ".map(e => e.getAttribute('aria-label'))")
                expect(not cut, f"{view}, {width}: wider than their place: {cut}")
                low = page.browser.run(CONTRAST)
                expect(not low, f"{view}, {scheme}: hard to read: {low[:3]}")
                page.picture(f"{view}-{scheme}-{width}")
        # The button overrules the system.
        ground = "getComputedStyle(document.body).backgroundColor"
        before = page.browser.run(ground)
        page.browser.click(".theme")
        expect(page.browser.run(ground) != before, "the button changes nothing")
        page.is_clean()


# Texts whose colour is less than 4.5 times as bright, or dark, as what lies behind them (WCAG).
CONTRAST = """
(() => {
  const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const low = [];
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || e.closest('.above, .hidden') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e);
    const [one, other] = [light(numbers(e instanceof SVGElement ? style.fill : style.color)), light(behind(e))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) low.push(`${e.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return low;
})()
"""


@behaviour("a page of a hundred thousand objects is filtered, sorted and walked to its end, and draws only what can be seen")
def large(bench):
    recording = recorded(bench, "2", "1000", "100000", options=())
    with Page(bench, recording) as page:
        page.open("objects")
        rows = int(page.text(".state").split()[0].replace(",", ""))
        expect(rows == 100_000, f"{rows} objects, not as many as a page holds")
        expect("100,000 of 10" in page.text(".sums"), page.text(".sums"))
        # The browser draws what can be seen, whatever there is.
        expect(len(page.rows()) < 100, f"{len(page.rows())} rows are drawn")
        page.browser.run("document.querySelector('#view-objects .table').focus()")
        page.browser.key("End")
        last = page.browser.run("document.querySelector('#view-objects .row.active').getAttribute('aria-rowindex')")
        expect(last == "100001", f"the last row is {last}")
        page.click(".head button", 1)
        sizes = [row[1] for row in page.rows()]
        expect(sizes and page.rows()[0][1] == max(sizes, key=lambda one: (one.endswith("MiB"), one.endswith("KiB"), float(one.split()[0].replace(",", "")))),
               f"not sorted by size: {sizes[:5]}")
        page.search("program.session")
        expect(0 < int(page.text(".state").split()[0].replace(",", "")) < rows, page.text(".state"))
        page.is_clean()
