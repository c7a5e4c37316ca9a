"""The articles on the commands (LifespanReport.docc/Commands): their prose is written by hand, in them; their outputs and the help at their end come
from here. Used by scripts.py and, as a script, by Tools/commands-page, which writes the pages anew.

A block of an article stands between ```console and ```. Its lines that begin with `$ ` are run, by bash, in a folder with the program shop
(Tests/Programs/shop.swift); what follows each is its output, without what differs from run to run. Recordings are made when they are first named:
shop.lifespan, mended.lifespan, counts.lifespan. A command that ends with ` &` goes on until its article ends; its program waits until then, and
its PID is written 4711. ` | head -N` and ` | tail -N` cut the output after it was made steady. `$ echo $?` is the status of the command above.
"""

import os, re, subprocess, sys, tempfile

import case_pages

ROOT = case_pages.ROOT
MANUAL = os.path.join(ROOT, "Sources", "LifespanReport", "LifespanReport.docc")
INDEX = os.path.join(MANUAL, "Commands.md")
HOME = "/home/me"  # the folder of the examples, as the articles call it
HELP = re.compile(r"(?<=\n## Help\n\n```\n).*?(?=```\n\Z)", re.S)
MADE = {"shop": "--leaks -o shop.lifespan -- ./shop", "mended": "--leaks -o mended.lifespan -- ./shop mended",
        "counts": "--events refcounts -o counts.lifespan -- ./shop"}
# Columns that are others in each run, and as wide as they are.
CHANGING = re.compile(r"(?:^| )(Mark set|Time|Born|Age|Idle|Last event|Growth / hour|elapsed|events|living)(?=  )")


def article(command):
    return os.path.join(MANUAL, "Commands", f"Command{command.capitalize()}.md")


def build(folder):
    """The program of the examples, with the stacks of a debug build."""
    source = os.path.join(ROOT, "Tests", "Programs", "shop.swift")
    words = ["swiftc", "-Onone", "-g", "-parse-as-library", "-module-name", "Shop", source, "-o", os.path.join(folder, "shop")]
    subprocess.run(words, check=True, timeout=300)


def still(lines):
    """A table without what its changing columns hold: the cells, and the width that they give the column."""
    lines = list(lines)
    for first, header in enumerate(lines):
        last = first
        while last < len(lines) and lines[last].strip():
            last += 1
        for found in reversed(list(CHANGING.finditer(header))):
            end, name = found.end(), found.group(1)
            rows = [n for n in range(first, last) if len(lines[n]) > end and lines[n][end] == " "]
            begins = {n: max(lines[n].rfind("  ", 0, end - 1) + 2, 0) for n in rows}
            begins = {n: begin if lines[n].rfind("  ", 0, end - 1) >= 0 else 0 for n, begin in begins.items()}
            begin = min(begins.values())
            for n in rows:
                cell = lines[n][begins[n] : end].strip()
                cell = cell if n == first or cell in ("-", "0 B") else "…"
                lines[n] = lines[n][:begin] + cell.rjust(len(name)) + lines[n][end:]
            for n in range(first, last):
                if re.fullmatch("-+", lines[n]):
                    lines[n] = lines[n][: len(lines[n]) - (end - begin - len(name))]
    return lines


def steady(text, folder, pid):
    """An output without what differs between two runs: what case_pages leaves out, and times, addresses, PIDs and paths of this run."""
    text = text.replace(folder + "/", HOME + "/")
    if pid:
        text = re.sub(rf"^ *{pid}(?=  )", "4711", text, flags=re.M)
        text = re.sub(r"^ *PID(?=  elapsed)", " PID", text, flags=re.M)
        text = re.sub(rf"\b{pid}\b", "4711", text)
    lines = case_pages.steady("\n".join(still(text.splitlines()))).splitlines()
    table = False
    for n, line in enumerate(lines):
        table = line.startswith("Serial ") or (table and line.startswith("@"))
        if table and line.startswith("@"):  # the numbers are shorter than they were
            line = re.sub(r"^@\d+ ", lambda found: found[0].ljust(len("Serial  ")), re.sub(r"^(@\d+) +", r"\1 ", line))
        line = re.sub(r"0x[0-9a-f]{8,}", "0x…", line)
        line = re.sub(r"^(\S+\.lifespan: )[\d,]+ events", r"\1… events", line)
        line = re.sub(r"\b(born|age) [\d.]+ s\b", r"\1 … s", line)
        line = re.sub(r"^(#\d+  )[\d.]+ s\b", r"\1… s", line)
        # How many counts and moments there are depends on runtime and machine; that all were exact does not.
        line = re.sub(r"\b(\d+) of \1 counts exact at \d+ moments", "… of … counts exact at … moments", line)
        lines[n] = line
    return "\n".join(lines)


class Session:
    """The shell that an article's examples are typed into."""

    def __init__(self, lifespan, folder, env):
        self.lifespan, self.folder, self.recording, self.pid, self.status = lifespan, folder, None, None, 0
        self.env = dict(env, XDG_RUNTIME_DIR=folder, TERM="dumb", PATH=os.path.join(folder, "bin") + ":" + env["PATH"])
        os.chmod(folder, 0o700)
        os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
        link = os.path.join(folder, "bin", "lifespan")
        if not os.path.islink(link):
            os.symlink(lifespan, link)

    def shell(self, line):
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        self.status = done.returncode
        return done.stdout

    def free(self, line):
        """The name that the line writes to: with a file of another article there, a recording would get another one."""
        for name in re.findall(r" -o (\S+)", line):
            if os.path.exists(os.path.join(self.folder, name)):
                os.unlink(os.path.join(self.folder, name))

    def record(self, line):
        """Begins a recording that goes on, and returns once its program says that it waits."""
        words = line.removesuffix(" &").split()
        self.free(line)
        self.recording = subprocess.Popen(words, cwd=self.folder, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True)
        said = self.recording.stdout.readline()
        self.pid = re.search(r'"pid":(\d+)', self.shell("lifespan list --json"))[1]
        return said

    def end(self):
        if self.recording:
            self.recording.communicate("\n", timeout=120)
        self.recording = self.pid = None

    def typed(self, line):
        """What a line that somebody types prints, made steady."""
        if line == "echo $?":
            return str(self.status)
        for name in re.findall(r"\b(\w+)\.lifespan", line):
            if name in MADE and f"-o {name}.lifespan" not in line and not os.path.exists(os.path.join(self.folder, name + ".lifespan")):
                self.shell("lifespan record " + MADE[name])
        if line.endswith(" &"):
            return steady(self.record(line), self.folder, self.pid)
        self.free(line)
        line, cut, count = re.fullmatch(r"(.*?)(?: \| (head|tail) -(\d+))?", line).groups()
        lines = steady(self.shell(line.replace("4711", self.pid or "4711")), self.folder, self.pid).splitlines()
        if cut:
            lines = lines[: int(count)] if cut == "head" else lines[-int(count) :]
        return "\n".join(lines)


def renewed(text, command, session):
    """An article with the output of now in its blocks, and the help of now at its end."""

    def block(match):
        lines = []
        for line in match.group(1).splitlines():
            if line.startswith("$ "):
                lines += [line] + session.typed(line[2:]).splitlines()
        return "```console\n" + "\n".join(lines) + "\n```"

    try:
        text = case_pages.BLOCK.sub(block, text)
    finally:
        session.end()
    shown = session.shell(f"lifespan {command} --help")
    return HELP.sub(lambda _: shown, text)


def commands(session):
    part = session.shell("lifespan --help").split("commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", part, re.M)


def index(session, articles):
    """Commands.md: each command with its question, the sentence below its article's title."""
    rows = [f"| `{command}` | {text.splitlines()[2]} | <doc:Command{command.capitalize()}> |" for command, text in articles.items()]
    return (
        "# Commands\n\nOne article for each command of `lifespan`: the question that it answers, an example, how to read what it prints.\n\n"
        "Every output in them is a real one, of a small program (`Tests/Programs/shop.swift`) that keeps the sessions of its visitors and loses\n"
        "their carts. `…` stands for what differs from run to run; processes are written 7 and 4711, objects are counted anew from @1.\n"
        "`Tools/commands-page` writes the outputs, and a test holds them against the command.\n\n"
        "| command | what it is for | article |\n|---|---|---|\n" + "\n".join(rows) + "\n\n"
        "## Help\n\nWhat `lifespan --help` prints; each article ends with its command's.\n\n```\n" + session.shell("lifespan --help") + "```\n\n"
        "## Topics\n\n" + "\n".join(f"- <doc:Command{command.capitalize()}>" for command in articles) + "\n"
    )


def pages(lifespan, folder, env):
    """(path, text as it should be) of the index and of each article; the program is in the folder."""
    session = Session(lifespan, folder, env)
    articles = {}
    for command in commands(session):
        if not os.path.exists(article(command)):
            raise FileNotFoundError(f"{command} has no article: {article(command)}")
        with open(article(command)) as file:
            articles[command] = renewed(file.read(), command, session)
    return [(INDEX, index(session, articles)), *((article(command), text) for command, text in articles.items())]


def main():
    """Writes all pages anew: command_pages.py LIFESPAN"""
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        for path, text in pages(os.path.abspath(sys.argv[1]), os.path.realpath(folder), dict(os.environ)):
            with open(path, "w") as file:
                file.write(text)


if __name__ == "__main__":
    main()
