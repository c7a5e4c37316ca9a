#!/usr/bin/env python3
"""Tools/demo.d/readme.py: writes the README's terminal session and the page's pictures anew, from a real run of the demo.

After Tools/demo. The session stands between <!-- session --> and <!-- end -->; the pictures are LifespanReport.docc/Resources/page.png, and
page~dark.png for dark surroundings. Needs chromium (Tools/setup --tests).
"""

import os, re, shutil, subprocess, sys, tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "Tests", "Behaviour"))
import chromium

DEMO = os.path.join(ROOT, ".build", "demo")
LIFESPAN = os.path.join(ROOT, ".build", "release", "lifespan")
PICTURES = os.path.join(ROOT, "Sources", "LifespanReport", "LifespanReport.docc", "Resources")
SESSION = ["lifespan record --leaks -o service.lifespan -- ./service", "lifespan generations service.lifespan --type 'Service.*'",
           "lifespan report service.lifespan -o service.html"]


def run(line, folder):
    """A command as a user types it; what it prints, in both streams."""
    env = dict(os.environ, PATH=os.path.dirname(LIFESPAN) + ":" + os.environ["PATH"], TERM="dumb")
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"readme: {line}: {done.stdout}")
    return done.stdout


def session(folder):
    lines = []
    for number, line in enumerate(SESSION):
        printed = run(line, folder).splitlines()
        # Of a report its table: what is above it names the run.
        lines += ["$ " + line] + (printed[printed.index("") + 1:] if number == 1 else printed)
    return "```\n" + "\n".join(lines) + "\n```\n"


def pictures(page):
    os.makedirs(PICTURES, exist_ok=True)
    with chromium.Browser(width=1180, height=680) as browser:
        for scheme, name in (("light", "page.png"), ("dark", "page~dark.png")):
            browser.prefer(scheme)
            browser.open(page, fragment="#generations")
            browser.click("#view-generations .table .row", 2)
            browser.run("[...document.querySelectorAll('#view-generations .below .row')].find(e => e.textContent.includes('Service.Session')).click()")
            browser.run("document.activeElement.blur()")
            browser.picture(os.path.join(PICTURES, name))


def main():
    service = os.path.join(DEMO, "service")
    if not os.path.exists(service):
        sys.exit("readme: Tools/demo builds the service first")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy2(service, folder)
        text = session(folder)
        pictures(os.path.join(folder, "service.html"))
    readme = os.path.join(ROOT, "README.md")
    with open(readme) as file:
        old = file.read()
    new = re.sub(r"(<!-- session -->\n).*?(<!-- end -->)", lambda found: found[1] + text + found[2], old, count=1, flags=re.S)
    if new == old and text not in old:
        sys.exit("readme: README.md has no <!-- session --> … <!-- end -->")
    with open(readme, "w") as file:
        file.write(new)


if __name__ == "__main__":
    main()
