#!/usr/bin/env python3
"""Behaviour tests: small programs (Tests/Programs), plain and under `lifespan record`, and what the trace says of them.

  Tests/Behaviour/run.py [--lifespan .build/release/lifespan] [--recorder COMMAND] [--modules NAME,…] [--only TEXT] [-j N] [--keep]
  Tests/Behaviour/run.py --plain      without a recorder: checks the programs themselves

One line for each behaviour; the last line is "N passed, N failed[, N unsteady][, N skipped]". With --again what fails is run once more,
alone, after all others: what passes then is unsteady, and said with its first reason, but does not fail the run. Called by Tools/test.
"""

import argparse, concurrent.futures, importlib, os, shutil, signal, subprocess, sys, tempfile, time, traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODULES = ("exactness refcounts blocks regions unwinders linking wrappers processes survival lifecycle terminal control refusals toolchain consumer"
           " linked_door testing scripts threads resident holders long_runs containers life_processes life_threads life_signals life_ends"
           " life_surroundings life_code life_programs heap leaks growth case_studies exports figures page page_use")
for module in MODULES.split():
    importlib.import_module(module)


def attempt(number, sentence, function, options, tmp, programs):
    """Returns the word and the reason."""
    bench = harness.Bench(os.path.join(tmp, str(number)), options.lifespan, programs)
    try:
        function(bench)
        return "ok", ""
    except harness.PlainDone:
        return "ok", ""
    except harness.Skip as reason:
        return "skip", str(reason)
    except harness.Failure as reason:
        return "FAIL", str(reason)
    except Exception as error:  # a mistake in the test, or output of another shape than promised
        place = traceback.extract_tb(error.__traceback__)[-1]
        return "FAIL", f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno})"
    finally:
        if not options.keep:
            shutil.rmtree(bench.folder, ignore_errors=True)


TWO_IN_ONE = """
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
  const char *records[] = {"record", "mark", "list", "start", "stop"};
  for (int i = 0; count > 1 && i < 5; i++)
    if (!strcmp(words[1], records[i])) return execv(RECORDER, words);
  return execv(WHOLE, words);
}
"""


def two_in_one(folder, whole, recorder):
    """A command that is the recorder where it records, and the whole one where it reads. No script: a shell needs descriptors."""
    path = os.path.join(folder, "lifespan")
    flags = [f'-DWHOLE="{whole}"', f'-DRECORDER="{recorder}"']
    subprocess.run(["clang", *flags, "-x", "c", "-", "-o", path], input=TWO_IN_ONE, text=True, check=True)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--lifespan", default=os.path.join(harness.ROOT, ".build", "release", "lifespan"), help="the command to test"
    )
    parser.add_argument("--plain", action="store_true", help="check the programs only, without a recorder")
    parser.add_argument("--recorder", help="another command (lifespan-recorder) for record, mark, list, start and stop")
    parser.add_argument("--modules", default="", help="behaviours of these files alone, by their names")
    parser.add_argument("--only", default="", help="behaviours whose sentence contains this")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 2, help="at once (default: one a core)")
    parser.add_argument("--again", action="store_true", help="run what fails once more, alone")
    parser.add_argument("--keep", action="store_true", help="keep the folder and print its name")
    options = parser.parse_args()
    options.lifespan = None if options.plain else os.path.abspath(options.lifespan)
    if options.lifespan and not os.path.exists(options.lifespan):
        sys.exit(f"behaviour: {options.lifespan} is not there; Tools/build makes it")

    chosen = [(n, s, f) for n, (s, f) in enumerate(harness.BEHAVIOURS) if options.only.lower() in s.lower()]
    if options.modules:
        chosen = [one for one in chosen if one[2].__module__ in options.modules.split(",")]
    tmp = tempfile.mkdtemp(prefix="lsb.")
    if options.recorder:
        options.lifespan = two_in_one(tmp, options.lifespan, os.path.abspath(options.recorder))
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    failed, unsteady = [], []
    try:
        programs = harness.Programs(os.path.join(tmp, "p"))
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:

            def timed(n, s, f):
                start = time.monotonic()
                return (n, s, f), *attempt(n, s, f, options, tmp, programs), time.monotonic() - start

            for task in concurrent.futures.as_completed([pool.submit(timed, *one) for one in chosen]):
                one, word, reason, seconds = task.result()
                counts[word] += 1
                if word == "FAIL":
                    failed.append(one)
                print(f"{word:4} {one[1]} ({seconds:.1f} s)" + (f"\n     {reason}" if reason else ""), flush=True)
        for one in failed if options.again else []:
            word, reason = attempt(*one, options, tmp, programs)
            if word == "ok":
                counts["FAIL"] -= 1
                counts["ok"] += 1
                unsteady.append(one)
                print(f"UNSTEADY {one[1]}\n     passes alone, failed above", flush=True)
            else:
                print(f"FAIL {one[1]}, once more\n     {reason}", flush=True)
    finally:
        if options.keep:
            print(f"kept in {tmp}")
        else:
            shutil.rmtree(tmp, ignore_errors=True)
    rest = [(len(unsteady), "unsteady"), (counts["skip"], "skipped")]
    print(f"{counts['ok']} passed, {counts['FAIL']} failed" + "".join(f", {n} {word}" for n, word in rest if n))
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    # A shell starts what runs in the background with both ignored, and every program below would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    sys.exit(main())
