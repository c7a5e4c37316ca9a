"""Threads, and how they end."""

from harness import behaviour


def threads(bench, *words, **options):
    return bench.same([bench.program("life/threads.c"), *words], **options).is_complete()


@behaviour("threads that return, exit, are cancelled, or leave objects to destructors are counted exactly")
def end_well(bench):
    threads(bench, "end-well").tells()


@behaviour("threads that are cancelled anywhere, also in the middle of a hook, harm neither the program nor the trace")
def cancelled(bench):
    recording = bench.same([bench.program("life/threads.c"), "cancelled"], steady=False).losing().is_complete()
    recording.about("Program.Thing", 100).has("Program.Later", 1000, 100)


@behaviour("200 threads at once with 16 KB of stack are counted exactly")
def many(bench):
    threads(bench, "many").tells()


@behaviour("the main thread may end before the others")
def main_leaves(bench):
    threads(bench, "main-leaves").tells()


@behaviour("threads that allocate until the program's end do not disturb it")
def outlived(bench):
    threads(bench, "outlived", steady=False).has("Program.Thing", 100, 10)
