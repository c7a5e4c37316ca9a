"""Rounds of programs that know what they leak, counted. Called by Tools/leak-proof; a short turn of the same is among the behaviours."""

import argparse, os, shutil, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "Tests", "Behaviour"))
import harness, heap, leaks
from recording import Recording, plain_name

from free import Free


class Proof:
    """A bench, and what went wrong."""

    def __init__(self, bench, options):
        self.bench, self.options, self.wrong = bench, options, []

    def rounds(self):
        return range(self.options.rounds)

    def record(self, command, stdin=""):
        """One recorded run; its trace is gone with the next one."""
        trace = self.bench.path("proof.lifespan")
        words, _ = self.bench.record_words(command, ["--leaks", "--force"], trace)
        result = self.bench.run(words, stdin)
        harness.expect(result.status == 0, f"{command}: exit status {result.status}: {result.err[-300:]}")
        return Recording(self.bench, trace, result, [])

    def fails(self, what):
        self.wrong.append(what)
        print(what, file=sys.stderr, flush=True)

    # ---- Every kind of reference ----

    def zoo(self):
        print("| build | kinds of references | objects leaked, each run | runs | runs in which all was exact |\n|---|---|---|---|---|")
        for optimised in (True, False):
            name = "-O" if optimised else "-Onone"
            program, exact = self.bench.program("heap_zoo", optimised=optimised), 0
            for number in self.rounds():
                recording = self.record([program])
                wrong = heap.compared(recording)
                exact += not wrong
                if wrong:
                    self.fails(f"zoo {name}, run {number + 1}: (found, truth) {wrong}")
            truth = recording.result.truth()["leaked"]
            kinds = sum(1 for count in truth.values() if count)
            print(f"| {name} | {kinds} | {sum(truth.values()):,} | {self.options.rounds} | {exact} |", flush=True)

    # ---- Leaks as people make them ----

    def planted(self):
        columns, labels = {}, {}
        for optimised in (True, False):
            name = "-O" if optimised else "-Onone"
            program, found, truth, false = self.bench.program("planted.swift", optimised=optimised), {}, {}, 0
            for _ in self.rounds():
                recording = self.record([program])
                once, more = self.found_of(recording)
                false += more
                for key, (count, of) in once.items():
                    found[key], truth[key] = found.get(key, 0) + count, truth.get(key, 0) + of
            columns[name] = (found, truth, false)
            for key in truth:
                if found[key] != truth[key]:
                    self.fails(f"planted {name}: {key}: {found[key]} of {truth[key]}")
            if false:
                self.fails(f"planted {name}: {false} living objects are called leaked")
        print(f"\n{self.options.rounds} runs each, 100,000 living objects beside them.\n")
        print("| planted | found at -O | found at -Onone |\n|---|---|---|")
        for key in columns["-O"][1]:
            cells = [f"{columns[x][0][key]:,} of {columns[x][1][key]:,}" for x in ("-O", "-Onone")]
            print(f"| {key} | {cells[0]} | {cells[1]} |")
        print(f"| *living objects called leaked* | {columns['-O'][2]} | {columns['-Onone'][2]} |", flush=True)

    @staticmethod
    def found_of(recording):
        """By kind of leak (found, planted); and how many living objects are called leaked."""
        kinds = {
            "cycles of two": ["PairA", "PairB"],
            "cycles of three": ["TriangleA", "TriangleB", "TriangleC"],
            "rings of 1,000": ["RingOfThousand"],
            "parents and their children": ["Parent", "Child"],
            "closures that capture what keeps them": ["SelfCapturing", "SelfCapturingMore"],
            "a retain too much": ["LostRetain"],
            "Unmanaged, never released": ["LostUnmanaged", "OverwrittenPointer"],
            "lost lists of 11": ["LostHead", "LostLink"],
            "taken out of a dictionary": ["Removed"],
            "in lost arrays and dictionaries": ["InLostArray", "InLostTable"],
            "in tasks that nobody can resume": ["InSuspendedTask"],
            "in 201 calls within each other": ["AtDepth"],
            "by eight threads that live": ["OnLivingThread"],
            "by eight threads that have ended": ["OnEndedThread"],
        }
        truth = recording.result.truth()
        found, blocks, false = {}, 0, 0
        for row in recording.ask("leaks")["leaks"]:
            name = plain_name(row["type"])
            found[name] = found.get(name, 0) + row["count"]
            blocks += row["count"] if name.startswith("malloc ") else 0
        once = {"blocks of malloc": (blocks, truth["blocks"])}
        for kind, types in kinds.items():
            names = ["Program." + x for x in types]
            once[kind] = (sum(found.get(x, 0) for x in names), sum(truth["planted"][x] for x in names))
        # A hundred of them hang at closures that are leaked.
        for living, of in (("Program.Living", 100), ("Program.Node", 0)):
            false += found.get(living, 0) - of
        return once, false

    # ---- Programs that leak nothing ----

    def free(self):
        print("| program | runs | objects and blocks looked at, last run | false leaks | the toolchain's own |\n|---|---|---|---|---|")
        for name, run in Free(self).programs():
            if self.options.only not in name:
                continue
            false, own, checked = 0, {}, 0
            for _ in self.rounds():
                document = run()
                checked = document["evidence"]["objects_checked"]
                for row in document["leaks"]:
                    if row["toolchain"] and row["head"]:
                        own.setdefault(self.described(row), set()).add(row["instances"])
                    if not row["toolchain"]:
                        false += row["count"]
                        self.fails(f"free {name}: {row['count']} × {row['type']}, {row['allocated_by'][:8]}")
            texts = [f"{text} × {'/'.join(map(str, sorted(counts)))}" for text, counts in own.items()]
            print(f"| {name} | {self.options.rounds} | {checked:,} | {false} | {'; '.join(texts) or 'none'} |", flush=True)

    @staticmethod
    def described(row):
        note = f" ({row['note']})" if row.get("note") else ""
        makers = [x["function"] for x in row["allocated_by"] if x["module"] == row["module"] and not x["function"].startswith("_")]
        return f"{row['type']}{note} by `{makers[0] if makers else row['allocated_by'][0]['function']}`"

    # ---- LeakSanitizer ----

    def sanitizer(self):
        program, other = self.bench.program(leaks.SOURCE, *leaks.runtime_flags()), leaks.sanitized(self.bench, leaks.SOURCE)
        print("| program | leaked blocks | LeakSanitizer | lifespan |\n|---|---|---|---|")
        for case in self.bench.run([program]).out.split():
            says, found = set(), set()
            for _ in self.rounds():
                recording = self.record([program, case])
                truth = recording.result.truth()["leaked"]
                says.add(leaks.sanitizer_says(self.bench, [other, case]))
                found.add(leaks.leaked_blocks(recording))
            if found != {truth}:
                self.fails(f"sanitizer {case}: {found}, truth {truth}")
            print(f"| {case} | {truth} | {self.text(says)} | {self.text(found)} |", flush=True)
        for optimised in (True, False):
            program = self.bench.program("spare_bits.swift", optimised=optimised)
            found = {leaks.leaked_blocks(self.record([program])) for _ in self.rounds()}
            says = {leaks.sanitizer_says(self.bench, [leaks.sanitized(self.bench, "spare_bits.swift")]) for _ in self.rounds()}
            if found != {0}:
                self.fails(f"sanitizer spare_bits: {found}")
            build = "-O" if optimised else "-Onone"
            print(f"| Swift, weak references and spare bits, {build} | 0 | {self.text(says)} | {self.text(found)} |", flush=True)

    @staticmethod
    def text(counts):
        return "/".join(str(x) for x in sorted(counts))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[], metavar="zoo|planted|free|sanitizer")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each program")
    parser.add_argument("--only", default="", help="of `free`: programs whose name contains this")
    parser.add_argument("--lifespan", default=os.path.join(ROOT, ".build/release/lifespan"))
    options = parser.parse_args()
    parts = options.parts or ["zoo", "planted", "free", "sanitizer"]
    if any(x not in ("zoo", "planted", "free", "sanitizer") for x in parts) or options.rounds < 1:
        parser.error("what there is: zoo, planted, free, sanitizer; one round at least")
    folder = tempfile.mkdtemp(prefix="proof.")
    try:
        bench = harness.Bench(os.path.join(folder, "b"), os.path.abspath(options.lifespan), harness.Programs(os.path.join(folder, "p")))
        # What the toolchain's programs leave there goes with it.
        bench.env["TMPDIR"] = bench.folder
        proof = Proof(bench, options)
        for part in parts:
            print(f"\n## {part}\n", flush=True)
            getattr(proof, part)()
    except (harness.Failure, harness.Skip) as reason:
        sys.exit(f"leak-proof: {reason}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if proof.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
