"""Programs that change what is around them, or give up what they may do."""

import os

from harness import Skip, behaviour, expect


def life(bench, program, *words, **options):
    return bench.same([bench.program(f"life/{program}.c"), *words], **options).is_complete()


@behaviour("a program that closes all descriptors gets its own numbers back, by close or closefrom")
def descriptors(bench):
    for words in (["descriptors"], ["descriptors", "closefrom"]):
        recording = life(bench, "surroundings", *words).tells()
        expect("opened 3 and 4\n" in recording.result.out, recording.result.out[-200:])


@behaviour("a program may change its folder and its mask of rights; the trace lies where it was asked for")
def folder(bench):
    life(bench, "surroundings", "folder").tells()
    if bench.lifespan:
        program = bench.program("life/surroundings.c")
        expect(bench.run([bench.lifespan, "record", "-o", "here.lifespan", "--", program, "folder"]).status == 0, "fails")
        expect(os.stat(bench.path("here.lifespan")).st_mode & 0o600 == 0o600, "no trace here that its owner may read")


@behaviour("a program may clear its environment, write over its title, and name its threads")
def environment(bench):
    recording = life(bench, "surroundings", "environment").tells()
    expect("left: " not in recording.result.out, recording.result.out)
    life(bench, "surroundings", "title").tells()


@behaviour("limits that a program sets for itself leave it what they leave it plain")
def limits(bench):
    recording = life(bench, "surroundings", "address-space").tells()
    expect("100 MiB: there, 700 MiB: refused\n" in recording.result.out, recording.result.out)
    life(bench, "surroundings", "limits").has("Program.Thing", 100100, 110)


@behaviour("locked memory, small or unlimited stacks and fixed addresses change nothing")
def memory(bench):
    life(bench, "surroundings", "locked").tells()
    life(bench, "surroundings", "locked", "later").tells()
    for words in (["setarch", "-R"], ["prlimit", "--stack=unlimited"], ["prlimit", "--stack=131072"], ["nice"]):
        life(bench, "stacks", "jumps", launcher=words).tells()


@behaviour("a limit of the address space from outside: recorded, or a line says why not")
def small_from_outside(bench):
    program = bench.program("life/surroundings.c")
    for limit in ("400000", "2000000", "20000000"):
        recording = bench.same([program, "born-small"], launcher=["sh", "-c", f'ulimit -v {limit}; exec "$@"', "sh"])
        if not bench.lifespan:
            continue
        expect(len(recording.ours) == 1, f"ulimit -v {limit}: {recording.ours}")
        if os.path.exists(recording.trace):
            recording.tells()
        else:
            expect("nothing recorded" in recording.ours[0], recording.ours[0])


def as_root():
    if os.geteuid() != 0:
        raise Skip("only root can give up its rights")


@behaviour("a program that becomes another user, drops its capabilities or its root folder is recorded to its end")
def privileges(bench):
    life(bench, "privileges", "dumpable").tells()
    as_root()
    for way in ("user", "capabilities", "root"):
        life(bench, "privileges", way).tells()


@behaviour("a program in namespaces of its own is recorded to its end")
def namespaces(bench):
    as_root()
    program = bench.program("life/privileges.c")
    if bench.run([program, "namespaces"]).status != 0:
        raise Skip("this machine allows no namespaces")
    life(bench, "privileges", "namespaces").tells()


@behaviour("a seccomp filter that kills for every call of the recorder's does not kill; what is lost is counted")
def seccomp(bench):
    for words in (["1000"], ["200000"], ["200000", "by seccomp()"]):
        life(bench, "privileges", "filter", *words).tells()


@behaviour("seccomp's strict mode stops the recording of its thread, and what is not seen is counted")
def strict(bench):
    recording = bench.same([bench.program("life/privileges.c"), "strict"]).losing().is_complete()
    recording.has("Program.Thing", 100, 10)
    if recording.trace:
        expect(recording.stats()["events"]["lost"] >= 200000, f"{recording.stats()['events']}")
