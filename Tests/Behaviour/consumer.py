"""A package that depends on ours, as others do: by URL, at an exact version."""

import os, shutil

from harness import ROOT, behaviour, expect

MANIFEST = """// swift-tools-version: 6.1
import PackageDescription
let package = Package(
  name: "Consumer",
  dependencies: [.package(url: "file://{url}", exact: "0.1.0")],
  targets: [.executableTarget(name: "Consumer", dependencies: [.product(name: "Lifespan", package: "lifespan")])])
"""


@behaviour("a package that depends on ours by git URL at an exact version builds without a warning")
def by_url(bench):
    repository = bench.path("lifespan")
    os.makedirs(repository)
    for name in ("Package.swift", "Sources", "Tests", "Tools", "README.md"):  # the tree as it is, committed or not
        source = os.path.join(ROOT, name)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(repository, name), symlinks=True)
        elif os.path.exists(source):
            shutil.copy(source, repository)
    git = [
        "git",
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.org",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "init.defaultBranch=main",
    ]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "as it is"], ["tag", "0.1.0"]):
        result = bench.run([*git, *words], cwd=repository)
        expect(result.status == 0, f"git {words[0]}: {result.err[-200:]}")
    bench.file("Consumer/Package.swift", MANIFEST.format(url=repository))
    bench.file("Consumer/Sources/Consumer/main.swift", 'import Lifespan\n\nprint("consumer runs")\n')
    result = bench.run(["swift", "build", "--cache-path", bench.path("cache")], cwd=bench.path("Consumer"), timeout=500)
    text = result.out + result.err
    expect(result.status == 0, f"does not build: {text[-400:]}")
    expect("warning" not in text, f"warns: {next((x for x in text.splitlines() if 'warning' in x), '')}")
    result = bench.run([bench.path("Consumer/.build/debug/Consumer")])
    expect(result.out == "consumer runs\n", f"does not run: {result.err[-200:]}")
