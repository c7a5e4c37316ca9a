"""LifespanTesting: a suite (Tests/Programs/testing) in which every test passes, and with a planted fault every one fails with the whole
text, in both frameworks, one after another and side by side."""

import os, re, subprocess, threading

from harness import PROGRAMS, ROOT, behaviour, compile_all, expect

SCRATCH = os.path.join(ROOT, ".build", "testing")
PACKAGE = os.path.join(PROGRAMS, "testing")
LOCK = threading.Lock()
BUILT = []
REPETITIONS = int(os.environ.get("REPETITIONS", "1"))

SESSION = """  1 × ShopTests.Session, 24 B: @N
    allocated by
      Session.__allocating_init() + N [shopPackageTests.xctest]
      visit() + N [shopPackageTests.xctest]
"""
IN_TASKS = "      closure #1 in closure #1 in visitInTasks() + N [shopPackageTests.xctest]\n"
PAGE = """  1 × ShopTests.Page, 24 B, 1 strong reference: @N
    allocated by
      Page.__allocating_init() + N [shopPackageTests.xctest]
      open() + N [shopPackageTests.xctest]
      closure #1 in {caller} + N [shopPackageTests.xctest]
"""


def held(name):
    return f"    held by global static ShopTests.Registry.shared → ShopTests.Registry.kept → Swift._ContiguousArrayStorage<Swift.AnyObject>[N] → ShopTests.{name}\n"


def lives(name, rest=IN_TASKS):
    return f"{name}(of: ShopTests.Session, 0): 1 object lives, 0 expected\n{SESSION}{rest}{held('Session')}"


def grows(title, types, iterations, count, each, rest):
    serials = " ".join(["@N"] * count)
    return (f"{title}(of: {types}): 1 type grows in each of {iterations} iterations\n"
            f"  {count} × ShopTests.Session, {24 * count} B, by iteration {each}: {serials}\n" + SESSION.split("\n", 1)[1] + rest + held("Session"))


TIED_IN_TASKS = IN_TASKS.replace("visitInTasks", "tieInTasks")


def tied(title, rest=TIED_IN_TASKS):
    return f"""{title}: 2 objects leaked, none expected
  2 × ShopTests.Basket, 80 B: @N @N
    leaked: a cycle of 2, ShopTests.Basket.other → ShopTests.Basket.other
    allocated by
      Basket.__allocating_init() + N [shopPackageTests.xctest]
      tie() + N [shopPackageTests.xctest]
{rest}"""


def captured(title, caller):
    return f"""{title}(of: module ShopTests): 1 object leaked, none expected
  1 × ShopTests.Basket, 40 B: @N
    leaked: a cycle of 1, ShopTests.Basket.whenEmpty (closure #1 () -> () in ShopTests.capture() -> ())
    allocated by
      Basket.__allocating_init() + N [shopPackageTests.xctest]
      capture() + N [shopPackageTests.xctest]
      closure #1 in {caller} + N [shopPackageTests.xctest]
"""


def own(function, extra=""):
    return f"      closure #1 in {function} + N [shopPackageTests.xctest]\n{extra}"


ALLOCATIONS = "expectAllocations(atMost: 12, of: ShopTests.Receipt): 13 allocations, at most 12 expected\n  13 × ShopTests.Receipt\n"
RETAINS = "expectRetains(atMost: 200, of: ShopTests.Page): R retains, at most 200 expected\n  R × ShopTests.Page\n"
RELEASED = ": ShopTests.Page lives 50 ms after the body was over\n"

# What each test says with the fault, without what others make meanwhile and the trace's line.
TESTING = {
    "liveCount": lives("expectLiveCount"),
    "liveCountAtOnce": lives("expectLiveCount", own("Visits.liveCountAtOnce()")),
    "released": "expectReleased" + RELEASED + PAGE.format(caller="Visits.released()") + held("Page"),
    "releasedAtOnce": "expectReleased" + RELEASED + PAGE.format(caller="Visits.releasedAtOnce()") + held("Page"),
    "noGrowth": grows("expectNoGrowth", "module ShopTests", 3, 5, "1 1 1", IN_TASKS),
    "noGrowthAtOnce": grows("expectNoGrowth", "module ShopTests", 3, 5, "1 1 1", own("Visits.noGrowthAtOnce()")),
    "noGrowthTrait": grows("noGrowth", "ShopTests.Session", 4, 5, "1 1 1 1", IN_TASKS),
    "allocations": ALLOCATIONS,
    "retains": RETAINS,
    "fromADetachedTask": lives("expectLiveCount"),
    "fromAQueue": lives("expectLiveCount", own("closure #1 in closure #1 in Visits.fromAQueue()")),
    "onTheMainActor": lives("expectLiveCount"),
    "nested": lives("expectLiveCount"),
    "whatOthersMakeIsNamedAndNotCounted": lives("expectLiveCount", own("Visits.whatOthersMakeIsNamedAndNotCounted()")),
    "knownSurvivors": """expectNoGrowth(of: module ShopTests): 1 type grows in each of 3 iterations
  3 × ShopTests.Page, 72 B, by iteration 1 1 1: @N @N @N
    allocated by
      Page.__allocating_init() + N [shopPackageTests.xctest]
      closure #1 in closure #1 in Visits.knownSurvivors() + N [shopPackageTests.xctest]
""" + held("Page") + "  not counted: 6 known to stay: #412\n",
    "noLeaks": tied("expectNoLeaks"),
    "noLeaksAtOnce": captured("expectNoLeaks", "Visits.noLeaksAtOnce()"),
    "noLeaksTrait": tied("noLeaks(of: module ShopTests)"),
    "whatIsHeldIsNotLeaked": tied("expectNoLeaks", own("Visits.whatIsHeldIsNotLeaked()")),
    "ofASuite": tied("noLeaks", "      Checkout.ofASuite() + N [shopPackageTests.xctest]\n"),
}
XCTEST = {
    "testLiveCount": lives("XCTAssertLiveCount"),
    "testLiveCountAtOnce": lives("XCTAssertLiveCount", own("VisitTests.testLiveCountAtOnce()")),
    "testLiveCountByTheOtherName": lives("expectLiveCount", own("VisitTests.testLiveCountByTheOtherName()")),
    "testReleased": "XCTAssertReleased" + RELEASED + PAGE.format(caller="VisitTests.testReleased()") + held("Page"),
    "testReleasedAtOnce": "XCTAssertReleased" + RELEASED + PAGE.format(caller="VisitTests.testReleasedAtOnce()") + held("Page"),
    "testNoGrowth": grows("XCTAssertNoGrowth", "module ShopTests", 3, 5, "1 1 1", IN_TASKS),
    "testNoGrowthAtOnce": grows("XCTAssertNoGrowth", "module ShopTests", 3, 5, "1 1 1", own("VisitTests.testNoGrowthAtOnce()")),
    "testAllocations": ALLOCATIONS,
    "testRetains": RETAINS,
    "testNoLeaks": tied("XCTAssertNoLeaks"),
    "testNoLeaksAtOnce": captured("XCTAssertNoLeaks", "VisitTests.testNoLeaksAtOnce()"),
    "testFromADetachedTask": lives("XCTAssertLiveCount"),
    "testFromAQueue": lives("XCTAssertLiveCount", own("closure #1 in VisitTests.testFromAQueue()")),
    "testTasksOfASynchronousBody": lives("XCTAssertLiveCount"),
    "testOnTheMainActor": lives("XCTAssertLiveCount"),
}
LOOSE = ("fromADetachedTask", "fromAQueue")  # Swift Testing knows no test there: the run fails, and names the place


def build():
    """Once in a run of the behaviours."""
    with LOCK:
        if not BUILT:
            BUILT.append(True)
            done = subprocess.run(["swift", "build", "--build-tests", "--package-path", PACKAGE, "--scratch-path", SCRATCH],
                                  capture_output=True, text=True)
            expect(done.returncode == 0, f"does not build: {[x for x in done.stdout.splitlines() if 'error' in x][:3]}")


def suite(bench, *words, **environment):
    """Runs the suite."""
    build()
    settings = {**os.environ, "LIFESPAN_TRACES": bench.path("traces"), "LIFESPAN_CLI": bench.lifespan or "", **environment}
    command = ["swift", "test", "--skip-build", "--package-path", PACKAGE, "--scratch-path", SCRATCH, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=settings)
    return done.returncode, done.stdout + done.stderr


def plain(text):
    """Without numbers that differ from run to run, what other tests make meanwhile, and the trace's line."""
    text = re.sub(r"@\d+", "@N", text)
    text = re.sub(r" \+ \d+ \[", " + N [", text)
    text = re.sub(r"(?m) \w+\.swift:\d+$", " + N [shopPackageTests.xctest]", text)
    text = re.sub(r"\[(\d+|…)\] →", "[N] →", text)
    text = re.sub(r"\b\d+( retains|(?= × ShopTests.Page$))", lambda m: "R" + m[1] if m[1] else m[0], text, flags=re.M)
    text = re.sub(r"(R retains.*\n  )\d+ ×", r"\1R ×", text)
    macros = re.compile(r"      \$s\w+ #1 @Sendable")  # what the macro @Test makes of a function
    lines = [x for x in text.splitlines() if "born meanwhile outside" not in x and not x.startswith("trace: ") and not macros.match(x)]
    return "\n".join(lines) + "\n"


def issues(text):
    """Of Swift Testing: (test, message) by the lines of its report."""
    found = []
    for part in re.split(r"(?m)^(?=[^\s])", text):
        head = re.match(r"\S+ Test (\S+?)(?:\(\))? recorded an issue at \S+: Issue recorded\n?$", part.split("\n", 1)[0] + "\n")
        if head:
            found.append([head[1], None])
        elif part.startswith("↳ ") and found and found[-1][1] is None:
            found[-1][1] = plain(re.sub(r"(?m)^  ", "", part[2:]))
    return found


def failures(text):
    """Of XCTest: test -> message."""
    pieces = re.split(r"(?m)^\S+: error: VisitTests\.(\w+) : failed - ", text)
    return {pieces[i]: plain(re.split(r"(?m)^Test (?:Case|Suite) ", pieces[i + 1])[0]) for i in range(1, len(pieces) - 1, 2)}


def same(got, wanted, what):
    expect(got is not None, f"{what} says nothing")
    if got != wanted:
        a, b = got.splitlines(), wanted.splitlines()
        place = next((i for i in range(max(len(a), len(b))) if a[i:i + 1] != b[i:i + 1]), 0)
        expect(False, f"{what}, line {place + 1}: {a[place:place + 1]}, expected {b[place:place + 1]}")


def check_planted(text):
    xctest = failures(text)
    for name, wanted in XCTEST.items():
        same(xctest.get(name), wanted, name)
    expect(set(xctest) == set(XCTEST), f"other failures: {set(xctest) - set(XCTEST)}")
    found = issues(text)
    named = {name: message for name, message in found if name != "«unknown»"}
    loose = {message for name, message in found if name == "«unknown»"}
    for name, wanted in TESTING.items():
        if name in LOOSE:
            expect(wanted in loose, f"{name} says nothing like {wanted!r}")
        else:
            same(named.get(name), wanted, name)
    expect(set(named) <= set(TESTING), f"other issues: {set(named) - set(TESTING)}")


@behaviour("every assertion of LifespanTesting passes on a suite without a fault, in both frameworks, alone and in parallel")
def mended(bench):
    for turn in range(REPETITIONS):
        for words in ([], ["--parallel"]):
            status, text = suite(bench, *words)
            wrong = [x for x in text.splitlines() if "error:" in x or "recorded an issue" in x]
            expect(status == 0, f"turn {turn}, {words}: exit {status}: {(wrong or text.splitlines()[-3:])[:3]}")
            expect(not os.path.exists(bench.path("traces")), "a trace was kept though nothing failed")


@behaviour("every assertion of LifespanTesting fails on a planted fault with its whole text, from tasks, queues and actors, alone and in parallel")
def planted(bench):
    bench.needs_recorder()
    for turn in range(REPETITIONS):
        status, text = suite(bench, PLANTED="1", LIFESPAN_SETTLE="0.2")
        expect(status != 0, "the run passes")
        expect(re.search(r"(?m)^ +visit\(\) Shop\.swift:19$", text), "no line of the source is named")
        check_planted(text)
        traces = os.listdir(bench.path("traces"))
        expect(len(traces) >= len(XCTEST), f"{len(traces)} traces are kept")
    status, text = suite(bench, "--parallel", PLANTED="1", LIFESPAN_SETTLE="0.2")
    expect(status != 0, "the parallel run passes")


@behaviour("where nothing can be recorded every assertion fails with the reason, or is skipped where that is allowed")
def unrecorded(bench):
    status, text = suite(bench, "--filter", "VisitTests.testAllocations")
    expect(status == 0, f"exit {status}: {text[-200:]!r}")
    library = bench.path("fake_door.so")
    includes = [f"-I{os.path.join(ROOT, 'Sources', name, 'include')}" for name in ("CRecorder", "CTraceFormat")]
    compile_all(["clang", "-shared", "-fPIC", "-O1", *includes, os.path.join(PROGRAMS, "fake_door.c"), "-o", library])
    program = os.path.join(SCRATCH, "debug", "shopPackageTests.xctest")
    reason = "this process runs below lifespan record, which records another process"
    door = ["env", f"LD_PRELOAD={library}", "DOOR=inactive"]
    for words, tests in (([], XCTEST), (["--testing-library", "swift-testing"], TESTING)):
        result = bench.run([*door, program, *words])
        failed = (result.out + result.err).count(f": nothing is asserted, as {reason}. LIFESPAN_REQUIRED=0 makes a warning of this.")
        expect(result.status != 0 and failed >= len(tests), f"{words}: exit {result.status}, {failed} of {len(tests)} fail")
        result = bench.run([*door, "LIFESPAN_REQUIRED=0", program, *words])
        skipped = (result.out + result.err).count(f": skipped, as {reason}.")
        expect(result.status == 0 and skipped >= len(tests), f"{words}: exit {result.status}, {skipped} of {len(tests)} are skipped")


@behaviour("below lifespan record the command answers the assertions, and one that it does not record the ground of says so")
def below_record(bench):
    bench.needs_recorder()
    suite(bench, "--filter", "VisitTests.testAllocations")
    program = os.path.join(SCRATCH, "debug", "shopPackageTests.xctest")
    record = [bench.lifespan, "record", "--swift-only", "-o", bench.path("%p.lifespan")]
    tests = ["--", "env", f"LIFESPAN_CLI={bench.lifespan}", f"LIFESPAN_TRACES={bench.path('traces')}"]
    counted = [*record, "--events", "refcounts", *tests]
    result = bench.run([*counted, program])
    expect(result.status == 0, f"exit {result.status}: {list(failures(result.out + result.err))}")
    result = bench.run([*counted, "PLANTED=1", "LIFESPAN_SETTLE=0.2", program])
    xctest = failures(result.out + result.err)
    for name, wanted in XCTEST.items():
        same(xctest.get(name, "").split("\n")[0], wanted.split("\n")[0], name)
    # The library's own recorder does not run beside the command's: its hooks would stand in every stack.
    expect("lifespan_hook" not in result.out + result.err, "two recorders run in one process")
    result = bench.run([*record, *tests, program])
    reason = "nothing is asserted, as reference counts are not recorded: record with --events refcounts."
    expect([name for name, text in failures(result.out + result.err).items() if reason in text] == ["testRetains"], f"{result.out[-300:]!r}")


@behaviour("the examples of the documentation compile and run, as they are printed there")
def examples(bench):
    checked = subprocess.run([os.path.join(ROOT, "Tools", "snippets"), "--check"], capture_output=True, text=True)
    expect(checked.returncode == 0, checked.stderr)
    build()
    for name in ("snippets", "test-snippets"):
        program = os.path.join(SCRATCH, "debug", name)
        count = int(bench.run([program]).out)
        expect(count > 5, f"{count} examples of {name}")
        for number in range(count):
            result = bench.run([program, str(number)])
            said = (result.out + result.err).splitlines()[:3]
            expect(result.status == 0 and "expected" not in result.err, f"{name} {number}: exit {result.status}: {said}")
