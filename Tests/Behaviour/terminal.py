"""Ctrl-C and Ctrl-Z on a real terminal, where both processes get what the terminal sends."""

import shlex, time

from harness import behaviour, expect
from recording import Recording
from session import Terminal


@behaviour("Ctrl-C reaches the program once, and it may go on")
def interrupt(bench):
    command = bench.steps("make First 4 catch 2 caught exit 6")
    words, trace = bench.record_words(command)
    with Terminal(bench, words) as terminal:
        terminal.until(r"^ready$")
        terminal.send("\x03")
        terminal.until(r"first$")  # the terminal echoes ^C before it
        terminal.send("go\n")
        times = terminal.until(r"^caught (\d+)$").group(1)
        terminal.until(r"^TRUTH .*$")
        status = terminal.process.wait(60)
    expect(times == "1", f"one Ctrl-C came {times} times")
    expect(status == 6, f"exit status {status}, not the program's 6")
    bench.needs_recorder()
    Recording(bench, trace, None, []).has("Program.First", 4, 4)


@behaviour("a program that Ctrl-C kills ends with 130, and its trace is whole")
def interrupt_kills(bench):
    words, trace = bench.record_words(bench.steps("make First 4 say here wait"))
    with Terminal(bench, words) as terminal:
        terminal.until(r"^here$")
        terminal.send("\x03")
        status = terminal.process.wait(60)
    expect(status in (130, -2), f"exit status {status}, not 130")
    bench.needs_recorder()
    Recording(bench, trace, None, []).has("Program.First", 4, 4)


def reaches_state(pid, wanted, seconds=10):
    """Each process of the group stops in its own time."""
    end = time.monotonic() + seconds
    while True:
        with open(f"/proc/{pid}/stat") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        if state == wanted:
            return
        expect(time.monotonic() < end, f"the program's state is {state}, not {wanted}")
        time.sleep(0.01)


@behaviour("Ctrl-Z stops the program and its recording, fg continues both")
def suspend(bench):
    words, trace = bench.record_words(bench.steps("make First 4 pid wait make Second 3 exit 6"))
    with Terminal(bench, ["bash", "--norc", "--noprofile", "-i"]) as shell:
        shell.send("PS1='ready> '\n")
        shell.until(r"^ready> $")
        shell.send(shlex.join(words) + "\n")
        pid = shell.until(r"^pid (\d+)$").group(1)
        shell.send("\x1a")
        shell.until(r"Stopped")
        shell.until(r"ready> $")
        reaches_state(pid, "T")
        shell.send("fg\n")
        shell.send("go\n")
        shell.until(r"^TRUTH ")
        shell.until(r"ready> $")
        shell.send("echo status $?\n")
        status = shell.until(r"^status (\d+)$").group(1)
        shell.send("exit\n")
    expect(status == "6", f"exit status {status}, not the program's 6")
    bench.needs_recorder()
    recording = Recording(bench, trace, None, [])
    recording.has("Program.First", 4, 4)
    recording.has("Program.Second", 3, 3)


@behaviour("reading that takes above a second says on a terminal how far it is, and takes the line away before the report")
def progress(bench):
    bench.recorder_only()
    words, trace = bench.record_words(bench.steps("make First 4 exit 0"))
    bench.run(words)
    # A clock that runs ahead: neither a large trace nor a slow machine is needed.
    late = ["env", "LD_PRELOAD=" + bench.program("late_clock.c", "-shared", "-fPIC"), bench.lifespan, "stats", trace]
    with Terminal(bench, late) as terminal:
        percent = int(terminal.until(r"\rlifespan: reading .*trace\d+\.lifespan: (\d+) %").group(1))
        terminal.until(r"\r +\r")
        terminal.until(r"Program\.First")
        status = terminal.process.wait(60)
    expect(status == 0 and 0 <= percent <= 100, f"exit status {status}, {percent} %")
    report = terminal.out[terminal.out.rindex("\r", 0, terminal.out.index("Program.First")) + 1 :]
    expect("reading" not in report, f"the line is still there: {report[:200]!r}")
    for options in [[], ["--json"]]:
        result = bench.run([*late, *options])
        expect(result.status == 0 and "reading" not in result.out + result.err, f"no terminal, but: {result.err[:200]!r}")
