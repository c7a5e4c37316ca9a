"""Bytes of a trace and memory of a recording. Called by Tools/bench/size."""

import argparse, os, re, shutil, struct, subprocess, sys, tempfile, time

from overhead import Bench, LIFESPAN

CHUNKS = {1: "info", 2: "images", 3: "stacks", 4: "types", 5: "threads", 6: "sites", 7: "events", 8: "marks"}
COLUMNS = {0x81: "heads", 0x82: "kinds", 3: "threads", 4: "times", 0x85: "types, stacks and sizes (sites)", 0x86: "which object ends", 7: "addresses",
           9: "other stacks", 0x0a: "amounts", 0x0b: "tasks", 0x0c: "generations", 0x8d: "serials", 0x8f: "moves"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def zstd(data, *words):
    return subprocess.run(["zstd", "-q", "-c", *words], input=data, stdout=subprocess.PIPE, check=True).stdout


def shares(path):
    """Stored bytes by chunk, and the columns of the events' chunks, each compressed by itself."""
    with open(path, "rb") as file:
        data = file.read()
    at, chunks, columns = struct.unpack_from("<I", data, 12)[0], {}, {}
    while at + 24 <= len(data) and data[at:at + 4] == b"LSCK":
        kind, codec, stored = data[at + 4], data[at + 6], struct.unpack_from("<I", data, at + 12)[0]
        name = CHUNKS.get(kind, "other")
        chunks[name] = chunks.get(name, 0) + stored + 24
        if name == "events" and shutil.which("zstd"):
            payload = data[at + 24:at + 24 + stored]
            payload, place = zstd(payload, "-d") if codec else payload, 0
            while place < len(payload):
                tag = payload[place]
                length, place = varint(payload, place + 1)
                column = COLUMNS.get(tag, str(tag))
                columns[column] = columns.get(column, 0) + len(zstd(payload[place:place + length], "-1"))
                place += length
        at += 24 + stored
    return chunks, columns


def peak(words, folder):
    """Peak resident size in MB: of the process that is started (looked at every few milliseconds: what wait4 tells is the largest of
    it and its children), and what the program below says of itself."""
    highest = 0
    with open(f"{folder}/said", "w+") as file:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=file, cwd=folder)
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status") as status:
                    found = re.search(r"VmHWM:\s+(\d+)", status.read())
                highest = max(highest, int(found[1])) if found else highest
            except OSError:
                pass
            time.sleep(0.005)
        file.seek(0)
        said = file.read()
    if process.returncode:
        sys.exit(f"size: {' '.join(words)} failed: {said.strip()[-300:]}")
    own = re.search(r"^PEAK (\d+)$", said, re.MULTILINE)
    return highest / 1024, int(own[1]) / 1024 if own else None, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    swift_format = shutil.which("swift-format") or os.path.join(os.path.dirname(os.path.realpath(shutil.which("swift"))), "swift-format")
    folder = tempfile.mkdtemp(prefix="size-")
    try:
        bench = Bench(folder)
        programs = [("swift-format, 400 functions", [swift_format, bench.source(400)]),
                    ("JSON, 40 orders there and back", [bench.program("json"), "60"])]
        bar = "| " if options.markdown else ""
        row = lambda cells: print("| " + " | ".join(cells) + " |" if options.markdown else "  ".join(f"{cell:>22}" for cell in cells), flush=True)
        head = ["program", "events", "bytes an event", "heaptrack's file", "MB: plain", "MB: recorded", "MB: the command"]
        row(head)
        if options.markdown:
            print("|" + "---|" * len(head))
        traces = []
        for name, words in programs:
            # The program says its own peak: a shell below the command, which is no Swift program, starts it.
            measured = ["/usr/bin/time", "-f", "PEAK %M", *words]
            trace = os.path.join(folder, f"{len(traces)}.lifespan")
            _, plain, _ = peak(measured, folder)
            command, recorded, said = peak([LIFESPAN, "record", "--force", "-o", trace, "--", *measured], folder)
            events = int(re.search(r"([\d,]+) events", said)[1].replace(",", ""))
            theirs = "-"
            if shutil.which("heaptrack"):
                subprocess.run(["heaptrack", "-o", f"{folder}/h{len(traces)}", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
                files = [x for x in os.listdir(folder) if x.startswith(f"h{len(traces)}")]
                theirs = f"{os.path.getsize(os.path.join(folder, files[0])) / events:.3f}" if files else "-"
            row([name, f"{events:,}", f"{os.path.getsize(trace) / events:.3f}", theirs, f"{plain:.0f}", f"{recorded:.0f}", f"{command:.0f}"])
            traces.append((name, trace, events))
        for name, trace, events in traces:
            chunks, columns = shares(trace)
            print(f"\n{name}: bytes an event" + (", columns compressed one by one" if columns else ""))
            for part, size in sorted(chunks.items(), key=lambda one: -one[1])[:5]:
                print(f"  {bar}{size / events:8.4f}  {part}")
                if part == "events":
                    for column, own in sorted(columns.items(), key=lambda one: -one[1])[:6]:
                        print(f"  {bar}   {own / events:8.4f}  {column}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
