"""How programs begin and end: exit codes, signals, fork, PID 1, streams."""

import os, subprocess

from harness import Skip, behaviour, expect
from session import Session

WORK = "make First 6 mark one drop 2 make Second 3"


@behaviour("the exit status is the program's own")
def exit_status(bench):
    for code in ("0", "1", "66", "255"):
        bench.same(bench.steps(f"{WORK} exit {code}")).tells()


@behaviour("a program that dies of a signal or a Swift trap ends as it does plain, and its trace is exact")
def signals(bench):
    for end in ("segv", "abort", "trap", "kill 9", "kill 15"):
        bench.same(bench.steps(f"{WORK} {end}")).tells()


@behaviour("signals that are sent to record alone reach the program")
def passed_on(bench):
    command = bench.steps(f"{WORK} catch 15 caught exit 6")
    words, _ = bench.record_words(command)
    with Session(bench, words) as session:
        session.until(r"^ready$")
        os.kill(session.process.pid, 15)
        session.until(r"^first$")
        session.send("\n")
        result = session.finish()
    expect("caught 1\n" in result.out and result.status == 6, f"exit status {result.status}, {result.out[-100:]!r}")


@behaviour("a fork child's objects are its own: the parent's trace does not have them")
def fork(bench):
    bench.same(bench.steps(f"{WORK} fork 500 make Third 2 exit 3")).tells()


@behaviour("stdin is piped through, stdout and stderr are the program's own")
def streams(bench):
    text = "".join(f"line {number}\n" for number in range(100_000))
    recording = bench.same(bench.steps(f"environment note 'to stderr' copy note again {WORK}"), stdin=text)
    expect("100000 lines\n" in recording.result.out, recording.result.out[-200:])
    expect("left in the environment: []\n" in recording.result.out, recording.result.out[:200])
    recording.tells()


@behaviour("record works as PID 1")
def first_process(bench):
    enter = ["unshare", "--pid", "--fork", "--mount-proc"]
    allowed = subprocess.run([*enter, "true"], capture_output=True, text=True)
    if allowed.returncode != 0:
        raise Skip(f"this machine allows no pid namespace: {allowed.stderr.strip()}")
    # An orphan that ends after its parent: PID 1 gets it, and must neither wait for ever nor take its status.
    script = 'sh -c "(sleep 0.2; exit 77) &"; exec "$@"'
    command = ["sh", "-c", script, "sh", *bench.steps(f"{WORK} exit 5")]
    plain = bench.run([*enter, *command])
    expect(plain.status == 5, f"plain: exit status {plain.status}")
    words, trace = bench.record_words(command)
    result = bench.run([*enter, *words])
    expect(result.status == 5, f"exit status {result.status}, plain 5: {result.err[-200:]!r}")
    expect(result.out == plain.out, "stdout differs from the plain run's")
    from recording import Recording

    Recording(bench, trace, result, []).tells()


@behaviour("a program executes another from a thread with the smallest of stacks")
def execute_in_little_room(bench):
    program = bench.program("narrow.swift")
    expect(bench.run([program, "exec", "16384", "/bin/true"]).status == 0, "plain: not executed")
    bench.same([program, "exec", "16384", "/bin/true"], stderr=False)
    bench.same([program, "exec", "16384", "/nowhere"]).tells()


@behaviour("types are named on threads with the smallest of stacks")
def name_in_little_room(bench):
    program = bench.program("narrow.swift")
    for size in (16384, 24576, 65536):
        recording = bench.same([program, "stack", str(size)]).is_complete()
        recording.has_living("Program.Holder<", 1)


@behaviour("a block that the program can no longer read is freed as it is plain")
def unreadable(bench):
    bench.same([bench.program("narrow.swift"), "unreadable"]).is_complete().tells()


@behaviour("threads that come and go in another pid namespace are counted exactly")
def pid_namespace(bench):
    enter = ["unshare", "--pid", "--fork", "--kill-child"]
    allowed = subprocess.run([*enter, "true"], capture_output=True, text=True)
    if allowed.returncode != 0:
        raise Skip(f"this machine allows no pid namespace: {allowed.stderr.strip()}")
    for _ in range(5):
        bench.same([*enter, bench.program("narrow.swift"), "waves", "100", "18"]).is_complete().tells()


@behaviour("a limit of the size of files that stops the recording lets the program be")
def file_size(bench):
    words, _ = bench.record_words(bench.steps(f"{WORK} exit 5"))
    result = bench.run(["bash", "-c", 'ulimit -f 10; exec "$@"', "bash", *words])
    expect(result.status == 5, f"exit status {result.status}, plain 5: {result.err[-200:]!r}")
