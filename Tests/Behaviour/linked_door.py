"""A program that links the library: it compares the library's answers with what it knows itself, in all linkings, and prints its
statistics, which the command must find in the saved file, or in its own trace, too."""
import json, os, re, shutil, subprocess, threading

from harness import PROGRAMS, ROOT, behaviour, compile_all, expect

LINKINGS = {
    "dynamic": [], "static stdlib": ["--static-swift-stdlib"], "static executable": ["-Xswiftc", "-static-executable"],
    "static stdlib, stripped, equal functions folded":
        ["--static-swift-stdlib", "-Xswiftc", "-use-ld=lld", "-Xlinker", "--icf=all", "-Xlinker", "-s"],
}
MODES = [["tracked"], ["swift"], ["tracked", "--busy"], ["swift", "--busy"]]
ONE_BUILD = threading.Lock()


def linked(linking):
    """Builds the program, in a folder that later runs find again."""
    scratch = os.path.join(ROOT, ".build", "linked-" + linking.replace(",", "").replace(" ", "-"))
    words = ["swift", "build", "-c", "release", "--package-path", os.path.join(PROGRAMS, "linked"), "--scratch-path", scratch]
    with ONE_BUILD:
        done = subprocess.run([*words, *LINKINGS[linking]], capture_output=True, text=True)
        if done.returncode:  # an older build may not see that a package by path has a new source file: anew
            shutil.rmtree(scratch, ignore_errors=True)
            done = subprocess.run([*words, *LINKINGS[linking]], capture_output=True, text=True)
    text = done.stdout + done.stderr  # swift build says what is wrong on stdout
    errors = [line for line in text.splitlines() if "error" in line] or text.splitlines()[-3:]
    expect(done.returncode == 0, f"does not build: {' | '.join(errors[:3])}")
    return os.path.join(scratch, "release", "linked")


def compare(bench, printed, trace):
    """The program's own statistics against the command's of a trace."""
    truth = json.loads(printed)
    expect(truth, "the program printed no statistics")
    result = bench.run([bench.lifespan, "stats", trace, "--json", "--lifespan", "all"])
    expect(result.status == 0, f"stats: exit {result.status}: {result.err[-200:]}")
    rows = {row["type"]: row for row in json.loads(result.out)["rows"]}
    for name, counts in truth.items():
        got = {key: rows.get(name, {}).get(key) for key in counts}
        expect(got == counts, f"{os.path.basename(trace)}: {name} is {got}, the program says {counts}")


def counts_itself(linking):
    def run(bench):
        program = linked(linking)
        for mode in MODES:
            trace = bench.path("-".join(mode) + ".lifespan")
            result = bench.run([program, *mode, trace])
            expect(result.status == 0, f"{' '.join(mode)}: exit {result.status}: {result.err[-400:]}")
            if bench.lifespan:
                compare(bench, result.out, trace)
    return run


for name in LINKINGS:
    behaviour(f"a program that links the library counts exactly, and its saved file says the same: {name}")(counts_itself(name))


def below_record(linking):
    def run(bench):
        program = linked(linking)
        bench.needs_recorder()
        trace = bench.path("run.lifespan")
        saved = bench.path("saved.lifespan")
        # A relative path is the program's: its folder, not the command's.
        shell = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh"]
        result = bench.run([bench.lifespan, "record", "-o", trace, "--", *shell, os.path.dirname(saved), program, "record",
                            os.path.basename(saved)])
        expect(result.status == 0, f"exit {result.status}: {result.err[-400:]}")
        compare(bench, result.out, trace)
        compare(bench, result.out, saved)
        for file in (trace, saved):
            stats = json.loads(bench.run([bench.lifespan, "stats", file, "--json"]).out)
            expect(any("recording was stopped between" in note for note in stats["notes"]), f"{file}: {stats['notes']}")
    return run


def finds_leaks(linking):
    def run(bench):
        program = linked(linking)
        stripped = ["env", "LINKED_STRIPPED=1"] if "stripped" in linking else []
        result = bench.run([*stripped, program, "heap", "12" if linking == "dynamic" else "4"], timeout=300)
        expect(result.status == 0, f"alone: exit {result.status}: {result.err[-400:]}")
        if not bench.lifespan or linking not in ("dynamic", "static stdlib"):
            return
        for options in (["--leaks"], ["--keep", "living", "--leaks"]):
            trace = bench.path("heap%d.lifespan" % len(options))
            result = bench.run([bench.lifespan, "record", *options, "-o", trace, "--", program, "heap", "record"], timeout=300)
            expect(result.status == 0, f"below record {options}: exit {result.status}: {result.err[-400:]}")
    return run


for name in LINKINGS:
    behaviour(f"a linked program finds its leaks and who holds what, alone, while threads begin, end and fork, and below record: {name}")(
        finds_leaks(name))


@behaviour("where the system lets nobody look at a linked program's heap the call says why, and the program goes on")
def not_looked_at(bench):
    program = linked("dynamic")
    launch = bench.program("launch.c")
    filter_at_load = bench.path("filter_at_load.so")
    compile_all(["clang", "-shared", "-fPIC", "-O1", os.path.join(PROGRAMS, "filter_at_load.c"), "-o", filter_at_load])

    def refused(text, *words, **variables):
        environment = [f"{name}={value}" for name, value in {"LINKED_REFUSED": text, **variables}.items()]
        result = bench.run(["env", *environment, *words])
        expect(result.status == 0, f"{text}: exit {result.status}: {result.err[-400:]}")

    refused("ends a process that reads memory", launch, "no-reading", program)
    refused("the process cannot be copied: Operation not permitted", launch, "no-copies", program)
    refused("has forbidden itself system calls", program, LINKED_FILTER=filter_at_load)
    if os.geteuid() == 0:
        no_proc = 'umount -l /proc && exec "$0"'
        if bench.run(["unshare", "--mount", "sh", "-c", no_proc, "true"]).status == 0:
            refused("/proc is not there", "unshare", "--mount", "sh", "-c", no_proc, program)
        setuid = bench.path("setuid_linked")
        shutil.copy(program, setuid)
        os.chown(setuid, 65534, 65534)
        os.chmod(setuid, 0o4755)
        if not os.statvfs(setuid).f_flag & os.ST_NOSUID:
            refused("cannot be read: Permission denied (a setuid program", setuid)


for name in ("dynamic", "static stdlib"):
    behaviour(f"under record the command answers the questions of a program that links the library: {name}")(below_record(name))


@behaviour("a linked program says so where the recording command is of another version, records another process, or is gone")
def refused(bench):
    library = bench.path("fake_door.so")
    includes = [f"-I{os.path.join(ROOT, 'Sources', name, 'include')}" for name in ("CRecorder", "CTraceFormat")]
    compile_all(["clang", "-shared", "-fPIC", "-O1", *includes, os.path.join(PROGRAMS, "fake_door.c"), "-o", library])
    program = linked("dynamic")
    with open(os.path.join(ROOT, "Sources", "CTraceFormat", "include", "lifespan_map.h")) as header:
        abi = re.search(r"#define LIFESPAN_ABI (\d+)u", header.read())[1]
    for door in ("abi", "inactive", "gone", "silent"):
        result = bench.run(["env", f"LD_PRELOAD={library}", f"DOOR={door}", program, "refused", door, abi])
        expect(result.status == 0, f"{door}: exit {result.status}: {result.err[-400:]}")
