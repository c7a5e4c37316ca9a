"""The scripts in Tools say what they need, and do nothing twice."""

import os, re, shutil

import command_pages
from harness import ROOT, Failure, behaviour, expect, first_difference


def tools(bench, *without):
    """A PATH with everything that is on ours but some programs."""
    folder = bench.path("bin")
    os.makedirs(folder)
    for place in reversed(os.environ["PATH"].split(":")):
        for name in os.listdir(place) if os.path.isdir(place) else []:
            target = os.path.join(folder, name)
            if os.path.islink(target):
                os.unlink(target)
            if name not in without:
                os.symlink(os.path.join(place, name), target)
    bench.env["PATH"] = folder
    return folder


def setup(bench, *words):
    return bench.run([os.path.join(ROOT, "Tools", "setup"), *words])


@behaviour("Tools/setup does nothing where everything is there, without apt-get")
def nothing_to_do(bench):
    tools(bench, "apt-get", "sudo")
    result = setup(bench, "--tests")
    expect((result.status, result.out, result.err) == (0, "", ""), f"{result.status}: {result.out}{result.err}")


@behaviour("Tools/setup names what is missing where there is no apt-get, and stops")
def no_debian(bench):
    tools(bench, "apt-get", "g++")
    result = setup(bench, "--tests")
    expect(result.status == 1 and "Debian packages: g++\n" in result.err, f"{result.status}: {result.err}")
    expect(setup(bench).status == 0, "g++ is needed for tests only")


@behaviour("Tools/setup says where to get a Swift that is missing or too old")
def old_swift(bench):
    folder = tools(bench, "swift")
    result = setup(bench)
    expect(result.status == 1 and "https://www.swift.org/install" in result.err, f"{result.status}: {result.err}")
    with open(os.path.join(folder, "swift"), "w") as file:
        file.write("#!/bin/sh\necho 'Swift version 5.10.1 (swift-5.10.1-RELEASE)'\n")
    os.chmod(os.path.join(folder, "swift"), 0o755)
    result = setup(bench)
    expect(result.status == 1 and "this is 5.10" in result.err, f"{result.status}: {result.err}")


def complete(bench, *words):
    """What bash offers for the last word."""
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lifespan; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = os.path.join(ROOT, "Tools", "completions", "lifespan.bash")
    result = bench.run(["bash", "-c", script, "bash", path, bench.lifespan, *words])
    expect(result.status == 0 and not result.err, f"completion of {words}: {result.err[-200:]}")
    return set(result.out.split())


@behaviour("every command has an article, with the output and the help that the command prints")
def commands(bench):
    bench.recorder_only()
    command_pages.build(bench.folder)
    pages = command_pages.pages(os.path.abspath(bench.lifespan), os.path.realpath(bench.folder), bench.env)
    articles = {os.path.basename(path) for path, _ in pages[1:]}
    there = set(os.listdir(os.path.join(command_pages.MANUAL, "Commands")))
    expect(articles == there, f"articles of no command: {sorted(there - articles)}")
    for path, now in pages:
        with open(path) as file:
            page = file.read()
        if now != page:
            raise Failure(f"{os.path.basename(path)}: {first_difference(now, page)}; Tools/commands-page writes it anew")


@behaviour("bash completes every command, and the options of each")
def completions(bench):
    bench.recorder_only()
    listed = set(re.findall(r"^  ([a-z]+) ", bench.command("--help").out, re.M))
    expect({"record", "stats", "generations", "doctor"} <= listed, f"--help lists {sorted(listed)}")
    offered = complete(bench, "")
    expect(listed <= offered, f"bash does not offer {sorted(listed - offered)}")
    expect(complete(bench, "rec") == {"record"}, f"rec becomes {complete(bench, 'rec')}")
    for command, options in (
        ("record", {"-o", "--unwind", "--paused", "--mark-signal"}),
        ("stats", {"--json", "--lifespan", "--type"}),
    ):
        missing = options - complete(bench, command, "-")
        expect(not missing, f"bash does not offer {sorted(missing)} after {command}")


@behaviour("an installed command finds its preload library, and the checkout is not needed")
def installed(bench):
    bench.recorder_only()
    prefix = bench.path("prefix")
    result = bench.run([os.path.join(ROOT, "Tools", "install"), prefix], timeout=600)
    expect(result.status == 0, f"Tools/install: {result.err[-200:]}")
    for name in ("bin/lifespan", "lib/lifespan/liblifespan_preload.so", "include/lifespan.h"):
        expect(os.path.exists(os.path.join(prefix, name)), f"no {name} under the prefix")
    shutil.move(prefix, bench.path("elsewhere"))
    bench.lifespan = bench.path("elsewhere", "bin", "lifespan")
    bench.same(bench.steps("make First 3")).is_complete().tells()
