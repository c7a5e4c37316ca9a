"""The real output in the pages of the case studies and of the tutorial: made from a run, and the same for every run. Used by case_studies.py and, as a
script, by Tools/case-studies/page, which writes the pages anew.

A block of a page stands between ```console and ```. Its lines that begin with `$ lifespan` are run; what follows each is its output. A
recording is named STUDY-VARIANT.lifespan, and made when it is first asked for. `| head -N` leaves out the rest, as in a shell.
"""

import glob, os, re, shlex, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "Sources", "LifespanReport", "LifespanReport.docc", "CaseStudies")
BLOCK = re.compile(r"```console\n(.*?)\n```", re.S)


def pages():
    return sorted(glob.glob(os.path.join(FOLDER, "*.md"))) + [os.path.join(os.path.dirname(FOLDER), "FirstAbandonedObject.md")]


def studies():
    return sorted(path.split(os.sep)[-2] for path in glob.glob(os.path.join(ROOT, "Tools", "case-studies", "*", "*.swift")))


class Numbers:
    """Numbers of objects: in every run others, the same ones at the same places."""

    def __init__(self):
        self.known = {}

    def __call__(self, match):
        return f"@{self.known.setdefault(match.group(1), len(self.known) + 1)}"


def steady(text):
    """An output without what differs between two runs: times, rates of an hour, numbers of objects, events and threads, the system's lines."""
    # How long this sentence is decides where it is broken.
    text = re.sub(r"^(picture of the heap [^,\n]+), .*(\n  .+)?$", r"\1: …", text, flags=re.M)
    lines = []
    numbers = Numbers()
    for line in text.splitlines():
        line = re.sub(r"\(pid \d+\): [\d.]+ s, [\d,]+ events", "(pid 7): …", line)
        line = re.sub(r"of [\d.]+ s on average", "of … on average", line)
        line = re.sub(r"closed at [\d.]+ s", "closed at …", line)
        line = re.sub(r"^  at this pace .* an hour", "  at this pace … an hour", line)
        line = re.sub(r"@(\d+)", numbers, line)
        line = re.sub(r"thread \d+ ", "thread … ", line)
        line = re.sub(r" \+ (0x[0-9a-f]+|\d+) \[", " [", line)
        # Whether the C library's lines are known depends on what is installed.
        line = re.sub(r" \S+:\d+ \[c\]$", " [c]", line)
        lines.append(line)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(line.rstrip() for line in lines)


def renewed(page, lifespan, program, folder, env):
    """The page with the output of now in its blocks."""

    def run(command):
        command, _, lines = command.partition(" | head -")
        words = shlex.split(command)
        for word in words:
            found = re.fullmatch(r"(.*)\.lifespan", word)
            if found and not os.path.exists(os.path.join(folder, word)):
                study = max((s for s in studies() if found.group(1).startswith(s + "-")), key=len)
                variant = found.group(1)[len(study) + 1 :]
                record = [lifespan, "record", "--leaks", "-o", word, "--", program(study), variant]
                subprocess.run(record, cwd=folder, env=env, check=True, capture_output=True, timeout=120)
        done = subprocess.run([lifespan, *words[1:]], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        out = "".join(done.stdout.splitlines(True)[: int(lines)]) if lines else done.stdout
        return steady(out) + (f"\n{done.stderr.strip()}" if done.stderr else "")

    def block(match):
        commands = [line[2:] for line in match.group(1).splitlines() if line.startswith("$ lifespan ")]
        return "```console\n" + "\n".join(f"$ {command}\n{run(command)}" for command in commands) + "\n```"

    return BLOCK.sub(block, page)


def main():
    """Writes all pages anew: case_pages.py LIFESPAN FOLDER-OF-PROGRAMS FOLDER-FOR-TRACES"""
    lifespan, programs, folder = (os.path.abspath(word) for word in sys.argv[1:4])
    for path in pages():
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(renewed(text, lifespan, lambda study: os.path.join(programs, study), folder, dict(os.environ)))


if __name__ == "__main__":
    main()
