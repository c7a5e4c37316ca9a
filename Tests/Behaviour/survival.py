"""The recording's life: its command is killed or stopped, both are killed, its disk is full, its file goes."""

import json, os, random, re, signal, struct, subprocess, time

from harness import behaviour, expect, our_lines


def counted(path, threads):
    """(made, freed) as the program had counted when it was killed."""
    with open(path, "rb") as file:
        data = file.read()
    words = [struct.unpack_from("qq", data, 64 * thread) for thread in range(threads)]
    return sum(x for x, _ in words), sum(x for _, x in words)


def start_counted(bench, threads, options=(), rest=0):
    """A program that counts, under recording; the command's process and the program's pid."""
    program = bench.program("counted.swift")
    words = [bench.lifespan, "record", "--force", "-o", bench.path("k.lifespan"), *options, "--", program]
    words += [bench.path("counts"), str(threads), str(rest)]
    for name in ("k.lifespan", "k.rings"):
        if os.path.exists(bench.path(name)):
            os.unlink(bench.path(name))
    command = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=bench.env, cwd=bench.folder, start_new_session=True
    )
    line = command.stdout.readline().decode()
    if not line.startswith("pid "):  # reading its stderr would wait for a program that has begun
        expect(False, f"the program does not begin: {line!r}, {command.stderr.read1()!r}")
    return command, int(line.split()[1])


def gone(pid):
    """Waits until a process that nobody here waits for has ended."""
    while True:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return
        except OSError:
            return
        time.sleep(0.001)


def nodes(bench):
    result = bench.run([bench.lifespan, "stats", "k.lifespan", "--lifespan", "all", "--json"])
    expect(result.status == 0, f"cannot be read: {result.err}")
    document = json.loads(result.out)
    row = {"total_count": 0, "transient_count": 0}
    for each in document["rows"]:
        row = each if each["type"].endswith(".Node") else row
    return document, row["total_count"], row["transient_count"], result.err


def close(pipes):
    for pipe in pipes:
        pipe.close()


@behaviour("with --rings nothing is lost when program and command are killed at once")
def killed_together(bench):
    bench.recorder_only()
    threads, random_moment = 4, random.Random(3)
    for round in range(int(os.environ.get("LIFESPAN_KILLS", "12"))):
        command, pid = start_counted(bench, threads, ["--rings", bench.path("k.rings")], rest=20)
        mode = os.stat(bench.path("k.rings")).st_mode & 0o777
        expect(mode == 0o600, f"the rings are open to others: {mode:o}")
        if round % 3:  # else at once: the trace has hardly more than a beginning
            time.sleep(random_moment.random() * 0.3)
        for victim in (command.pid, pid) if round % 2 else (pid, command.pid):
            os.kill(victim, signal.SIGKILL)
        command.wait()
        gone(pid)
        close((command.stdout, command.stderr))
        document, made, freed, said = nodes(bench)
        want_made, want_freed = counted(bench.path("counts"), threads)
        # A thread may have been killed between an object and its count.
        expect(0 <= made - want_made <= threads, f"round {round}: {made} made, the program counted {want_made}: {said}")
        expect(0 <= freed - want_freed <= threads, f"round {round}: {freed} freed, counted {want_freed}: {said}")
        expect(document["events"]["lost"] == 0, f"{document['events']}")
        # The command may have had the time to end the trace, where the program was killed first.
        cut = any("no end" in note for note in document["notes"]) or os.path.exists(bench.path("k.rings"))
        expect(not cut or "k.rings" in said, f"round {round}: does not say where the rest came from: {said!r}")


@behaviour("rings that are another trace's, damaged or a link are not used, and the trace is read as far as it goes")
def wrong_rings(bench):
    bench.recorder_only()
    command, pid = start_counted(bench, 2, ["--rings", bench.path("k.rings")], rest=20)
    time.sleep(0.2)
    for victim in (command.pid, pid):
        os.kill(victim, signal.SIGKILL)
    command.wait()
    gone(pid)
    close((command.stdout, command.stderr))
    with open(bench.path("k.rings"), "rb") as file:
        whole = file.read()
    _, made, _, _ = nodes(bench)
    spoilt = [b"", whole[:100], whole[: len(whole) // 2], b"\0" * len(whole)]
    for number in range(12):  # bytes of the header, the commits and the rings' own words
        bytes_ = bytearray(whole)
        for _ in range(20):
            bytes_[random.Random(number).randrange(1_400_000)] ^= 1 << (number % 8)
        spoilt.append(bytes(bytes_))
    for bytes_ in spoilt:
        with open(bench.path("k.rings"), "wb") as file:
            file.write(bytes_)
        result = bench.run([bench.lifespan, "stats", "k.lifespan"], timeout=60)
        expect(result.status in (0, 2), f"exit status {result.status}: {result.err[-200:]}")
    os.rename(bench.path("k.rings"), bench.path("moved"))
    os.symlink("moved", bench.path("k.rings"))
    result = bench.run([bench.lifespan, "stats", "k.lifespan"])
    expect(result.status == 0 and "no end" in result.out, f"{result.status}: {result.out[:200]} {result.err}")


@behaviour("a rings file is never written over, and is gone after a clean end")
def rings_end(bench):
    bench.recorder_only()
    work = bench.steps("make First 3 exit 4")
    bench.file("r.rings", "mine")
    result = bench.run([bench.lifespan, "record", "--force", "-o", "r.lifespan", "--rings", "r.rings", "--", *work])
    expect(result.status == 4 and "0 lost" in result.err, f"{result.status}: {result.err}")
    with open(bench.path("r.rings")) as file:
        expect(file.read() == "mine", "a file of somebody else was written over")
    expect(sorted(x for x in os.listdir(bench.folder) if "rings" in x) == ["r.rings"], f"{os.listdir(bench.folder)}")


@behaviour("killed at once without --rings: at most the last moment is lost, and the trace says that it was cut")
def killed_without_rings(bench):
    bench.recorder_only()
    missing = []
    for round in range(5):
        command, pid = start_counted(bench, 1, rest=200)
        time.sleep(0.4)
        os.kill(command.pid, signal.SIGSTOP)  # now all that was drained is known
        before, _ = counted(bench.path("counts"), 1)
        for victim in (command.pid, pid):
            os.kill(victim, signal.SIGKILL)
        command.wait()
        gone(pid)
        close((command.stdout, command.stderr))
        document, made, _, _ = nodes(bench)
        said = any("no end" in note or "cut at" in note for note in document["notes"])
        expect(said, f"does not say that it was cut: {document['notes']}")
        missing.append(before - made)
    # 200 µs and more for each object: 50 ms are 250 of them at most. Twice that on a machine that does other things, and not in every round: the
    # command may have had no processor for longer.
    expect(sorted(missing)[2] <= 500, f"{missing} objects are missing")


@behaviour("the command alone is killed: the program goes on to its end, unharmed and at once")
def command_killed(bench):
    program = [bench.program("threads.swift"), "20000"]
    plain = bench.run(program)
    bench.needs_recorder()
    for delay in (0.05, 0.2, 0.5):
        words, _ = bench.record_words(program)
        words[words.index("record") + 1 : 1 + words.index("record")] = ["--force"]
        command = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=bench.env, cwd=bench.folder, text=True
        )
        time.sleep(delay)
        os.kill(command.pid, signal.SIGKILL)
        out, err = command.communicate(timeout=60)  # both ends: the program's own as well
        if command.returncode == -9:
            truth = [x for x in out.splitlines() if x.startswith("TRUTH")]
            expect(truth == [x for x in plain.out.splitlines() if x.startswith("TRUTH")] or out == plain.out, out[-200:])
        # Killed before the program has said hello, on a busy machine: one line says that nothing is recorded.
        # The program may also have ended before the kill: then the closing line stands there.
        said = [line for line in err.splitlines() if line.startswith("lifespan:") and "nothing recorded" not in line]
        expect(not said, f"says {err!r}")


@behaviour("the command is stopped for five seconds: the program goes on, and what was lost is counted")
def command_stopped(bench):
    bench.recorder_only()
    program = [bench.program("threads.swift"), "200000"]
    words, trace = bench.record_words(program)
    command = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=bench.env, cwd=bench.folder, text=True
    )
    time.sleep(0.3)
    os.kill(command.pid, signal.SIGSTOP)
    time.sleep(5)
    os.kill(command.pid, signal.SIGCONT)
    out, err = command.communicate(timeout=120)
    truth = json.loads(re.search(r"^TRUTH (.*)$", out, re.M).group(1))["types"]["Program.Node"]
    expect(command.returncode == 0, f"exit status {command.returncode}: {err}")
    result = bench.command("stats", trace, "--lifespan", "all", "--json")
    document = json.loads(result.out)
    seen = next(row["total_count"] for row in document["rows"] if row["type"].endswith(".Node"))
    lost = document["events"]["lost_births"]
    expect(seen <= truth["total"] <= seen + lost, f"{seen} seen, {lost} births lost, truth {truth}")


@behaviour("a place for the trace that cannot be one is refused before the program starts, by name")
def no_place(bench):
    bench.recorder_only()
    os.mkfifo(bench.path("fifo"))
    for place in ("/dev/stdout", "/dev/full", "/dev/null", "/proc/self/fd/1", bench.path("fifo"), "/proc/x"):
        result = bench.run([bench.lifespan, "record", "-o", place, "--", "touch", bench.path("started")])
        expect(result.status == 2, f"{place}: exit status {result.status}: {result.err}")
        expect(place.rsplit("/", 1)[0] in result.err and result.err.count("\n") == 1, f"{place}: {result.err!r}")
        expect(not os.path.exists(bench.path("started")), f"{place}: the program was started")
    with open(bench.path("redirected"), "wb") as file:
        status = subprocess.run(
            [bench.lifespan, "record", "-o", "/dev/stdout", "--", "true"], stdout=file, stderr=subprocess.DEVNULL
        ).returncode
    expect(status == 2 and os.path.getsize(bench.path("redirected")) == 0, f"/dev/stdout of a file: {status}")


@behaviour("the trace's folder is removed while it is written: the program goes on, and the closing line says so")
def folder_removed(bench):
    plain = bench.run(bench.steps("make First 5 exit 6"))
    bench.needs_recorder()
    os.makedirs(bench.path("gone"))
    work = bench.steps("make First 5 exit 6")
    script = 'rm -rf "$0"; exec "$@"'
    from session import Session

    words = [bench.lifespan, "record", "-o", bench.path("gone", "t.lifespan"), "--"]
    with Session(bench, [*words, *bench.steps("make First 5 say up wait exit 6")]) as session:
        session.until(r"^up$")
        os.unlink(bench.path("gone", "t.lifespan"))
        os.rmdir(bench.path("gone"))
        session.send("\n")
        result = session.finish()
    expect(result.status == plain.status, f"exit status {result.status}, plain {plain.status}")
    expect("is gone" in result.err, f"says {result.err!r}")
    os.makedirs(bench.path("gone"))
    result = bench.run([*words, "sh", "-c", script, bench.path("gone"), *work])
    expect(result.status == 6, f"removed before it begins: exit status {result.status}: {result.err}")
