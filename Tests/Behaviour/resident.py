"""Resident memory against what lives: the last line of stats where they part."""

from harness import behaviour, expect
from threads import WITH_RUNTIME

LINE = "resident memory and the heap part"


def measured(bench, way, megabytes):
    program = bench.program("resident.c", *WITH_RUNTIME[1:])
    recording = bench.same([program, way, str(megabytes)])
    bench.needs_recorder()
    text = bench.command("stats", recording.trace).out
    return text, recording.stats()["resident"]


@behaviour("500 MB freed but for 1 MB that lies between: stats says what the allocator holds, and what to do")
def freed(bench):
    text, resident = measured(bench, "freed", 500)
    last = resident["last"]
    expect(resident["verdict"] == "held_free", f"verdict {resident['verdict']}: {last}")
    expect(LINE in text and "malloc_trim(0)" in text, f"stats ends with {text[-300:]!r}")
    expect(last["living_bytes"] < 4 << 20, f"{last['living_bytes']} bytes live, 1 MB was kept")
    expect(last["heap_bytes"] > 400 << 20, f"{last['heap_bytes']} bytes of the heap's pages are there")
    expect(resident["held_free_bytes"] > 400 << 20, f"{resident['held_free_bytes']} bytes are held free")
    expect(resident["peak"]["resident_bytes"] >= last["resident_bytes"], f"the peak is below the end: {resident}")


@behaviour("memory that keeps growing, or all of which went back, is no matter of the allocator's")
def other(bench):
    for way in ("grows", "returned"):
        text, resident = measured(bench, way, 200)
        expect(resident["whole_heap"] and resident["last"]["heap_bytes"] is not None, f"{way}: {resident}")
        expect(resident["verdict"] is None, f"{way}: verdict {resident['verdict']}: {resident['last']}")
        expect(LINE not in text, f"{way}: stats ends with {text[-300:]!r}")
