"""Which process of a tree is the program: the first with a Swift runtime."""

import os

from harness import behaviour, expect


@behaviour("wrappers hand the recording on to the program below them")
def wrappers(bench):
    work = bench.steps("environment make First 7 mark one drop 2 make Second 4 exit 3")
    for wrapper in (
        ["timeout", "50"],
        ["env", "NAME=value"],
        ["nice", "-n", "1"],
        ["sh", "-c", 'echo before; "$@"; code=$?; echo after; exit $code', "sh"],
        ["sh", "-c", 'exec "$@"', "sh"],
        ["timeout", "50", "sh", "-c", 'ls / >/dev/null; "$@"', "sh"],
    ):
        bench.same(wrapper + work).tells()


PACKAGE = """// swift-tools-version: 6.1
import PackageDescription
let package = Package(
  name: "Tiny",
  targets: [
    .target(name: "Core"),
    .executableTarget(name: "App", dependencies: ["Core"]),
    .testTarget(name: "CoreTests", dependencies: ["Core"]),
  ])
"""
CORE = """public final class Node {
  public let next: Node?
  public init(_ next: Node?) { self.next = next }
}
nonisolated(unsafe) public var kept: [Node] = []
@inline(never) public func make(_ count: Int, keep: Int) {
  for number in 0..<count { let node = Node(nil); if number < keep { kept.append(node) } else { use(node) } }
  let counts = "\\"total\\":\\(count),\\"living\\":\\(keep),\\"destroyed\\":\\(count - keep)"
  print("\\nTRUTH {\\"types\\":{\\"Core.Node\\":{\\(counts)}}}")
}
@inline(never) @_optimize(none) public func use(_ node: Node) {}
"""
TESTS = """import Core
import XCTest
final class CoreTests: XCTestCase {
  func testMakes() { make(30, keep: 12); XCTAssertEqual(kept.count, 12) }
}
"""


def tiny_package(bench):
    bench.file("Tiny/Package.swift", PACKAGE)
    bench.file("Tiny/Sources/Core/Core.swift", CORE)
    bench.file(
        "Tiny/Sources/App/main.swift", "import Core\nmake(20, keep: 5)\nprint(CommandLine.arguments.dropFirst())\n"
    )
    bench.file("Tiny/Tests/CoreTests/CoreTests.swift", TESTS)
    return bench.path("Tiny")


def build(bench, folder, *words):
    result = bench.run(["swift", "build", *words], cwd=folder, timeout=400)
    expect(result.status == 0, f"the package does not build: {(result.out + result.err)[-300:]}")


@behaviour("swift run: the package's own program is the one recorded")
def swift_run(bench):
    folder = tiny_package(bench)
    build(bench, folder)
    bench.same(["swift", "run", "--skip-build", "App", "a", "b"], cwd=folder, stderr=False).tells()


@behaviour("swift test: the test bundle's process is the one recorded")
def swift_test(bench):
    folder = tiny_package(bench)
    build(bench, folder, "--build-tests")
    bench.same(["swift", "test", "--skip-build"], cwd=folder, stdout=False, stderr=False).tells()


@behaviour("a program that is reached through shims, each of which executes the next, has one trace")
def shims(bench):
    plain, swift = bench.program("no_runtime.c"), bench.program("steps.swift")
    for name, target in (("plain", [plain, "one"]), ("swift", [swift, "make", "First", "7", "drop", "2"])):
        last = bench.file(f"{name}-last", f"#!/usr/bin/env bash\nset -e\n: $(echo a | cat)\nexec {' '.join(target)}\n")
        first = bench.file(f"{name}-first", f'#!/bin/sh\nexec timeout 50 nice "{last}"\n')
        proxy = "import os; os.execv(%r, [%r])" % (first, first)
        for script in (last, first):
            os.chmod(script, 0o755)
        for words in ([last], ["env", last], [first], ["python3", "-c", proxy], ["sh", "-c", f"true; {first}; exit"]):
            bench.same(words, stdin="first\n")
            if not bench.lifespan:
                continue
            folder = bench.path(f"{name}{len(os.listdir(bench.folder))}")
            os.makedirs(folder)
            result = bench.run([bench.lifespan, "record", "--", *words], "first\n", cwd=folder)
            traces = os.listdir(folder)
            expect(len(traces) == 1, f"{words}: {traces}; {result.err}")
            program = os.path.basename(target[0])
            expect(traces[0].startswith(program + "."), f"{words}: not of {program}: {traces[0]}")
            expect(f"lifespan: {traces[0]}: " in result.err or result.err.startswith(traces[0]), f"{result.err}")


@behaviour("an exec in the recorded program goes on in a new trace")
def exec_goes_on(bench):
    steps = bench.program("steps.swift")
    command = bench.steps(f"make First 5 exec {steps} make Second 6 exit 4")
    bench.same(command)
    bench.needs_recorder()
    before = set(os.listdir(bench.folder))
    expect(bench.run([bench.lifespan, "record", "--", *command]).status == 4, "exit status is not the second program's")
    new = sorted(x for x in os.listdir(bench.folder) if x.endswith(".lifespan") and x not in before)
    expect(len(new) == 2, f"two programs, but the traces are {new}")
    from recording import Recording

    totals = sorted(
        (r.row("Program.First")["total_count"], r.row("Program.Second")["total_count"])
        for r in (Recording(bench, bench.path(x), None, []) for x in new)
    )
    expect(totals == [(0, 6), (5, 0)], f"the two traces say {totals}")
