"""What a trace says, asked by `lifespan stats|generations|objects --json`, held against a program's truth."""

import json, re

from harness import Failure, expect


def plain_name(name):
    """A type's name without what differs between correct demanglings: discriminators of private types, and `Swift.`"""
    name = re.sub(r"\(unknown context at \$[0-9a-fA-F]+\)\.", "", name)
    name = re.sub(r"\((\w+) in [_$][0-9A-Za-z]+\)", r"\1", name)
    return re.sub(r"\bSwift\.", "", name)


class Recording:
    """One recorded run. With --plain there is no trace: its truth is checked, other questions end the behaviour."""

    def __init__(self, bench, trace, result, ours):
        self.bench, self.trace, self.result, self.ours, self.document = bench, trace, result, ours, None
        self.may_lose = False

    def ask(self, *words):
        text = self.bench.command(words[0], self.trace, *words[1:], "--json").out
        try:
            return json.loads(text)
        except ValueError as error:
            raise Failure(f"lifespan {words[0]} --json prints no JSON: {error}")

    def stats(self):
        """The statistics; whatever the program, nothing may be lost and every row must add up."""
        if self.document is None:
            document = self.ask("stats", "--lifespan", "all")
            expect(document.get("format") == 1, f"stats: format is {document.get('format')}")
            lost = document["events"]["lost"]
            expect(self.may_lose or lost == 0, f"stats: {lost} events lost")
            for row in document["rows"]:
                living, dead, total = row["persistent_count"], row["transient_count"], row["total_count"]
                expect(
                    total == living + dead,
                    f"stats: {row['type']}: total {total} is not living {living} + destroyed {dead}",
                )
            self.document = document
        return self.document

    def row(self, name):
        """A type's row, zeros where there is none."""
        keys = ("persistent_count", "persistent_bytes", "transient_count", "total_count", "total_bytes")
        found = dict.fromkeys(keys, 0)
        for row in self.stats()["rows"]:
            if plain_name(row["type"]) == plain_name(name):
                for key in keys:
                    found[key] += row[key]
        return found

    def of_kinds(self, *kinds):
        """(total, living) of all rows of these kinds."""
        rows = [row for row in self.stats()["rows"] if row["kind"] in kinds]
        return sum(row["total_count"] for row in rows), sum(row["persistent_count"] for row in rows)

    def has(self, name, total, living):
        if not self.trace:
            return
        row = self.row(name)
        got = row["total_count"], row["persistent_count"]
        expect(got == (total, living), f"stats: {name}: (total, living) is {got}, truth {(total, living)}")

    def has_living(self, prefix, count):
        """So many objects live of the types whose names begin like this."""
        if not self.trace:
            return
        got = sum(r["persistent_count"] for r in self.stats()["rows"] if plain_name(r["type"]).startswith(prefix))
        expect(got == count, f"stats: {got} objects of {prefix}… live, not {count}")

    def losing(self):
        """The program does what no recorder can see whole: what it loses is counted."""
        self.may_lose = True
        return self

    def about(self, name, most):
        """So many of a type as the program counted, but for `most`: it was interrupted between the deed and the count."""
        if not self.trace:
            return self
        want, row = self.result.truth()["types"][name], self.row(name)
        for key, kind in (("total", "total_count"), ("living", "persistent_count")):
            far = abs(row[kind] - want[key])
            expect(far <= most, f"stats: {name}: {key} is {row[kind]}, truth {want[key]}: more than {most} apart")
        return self

    def is_complete(self):
        if not self.trace:
            return self
        expect(self.stats()["capture"] == "complete", f"capture is {self.stats()['capture']}: {self.ours}")
        return self

    def tells(self, truth=None):
        """The trace says what the program counted: statistics and generations."""
        truth = truth or self.result.truth()
        for name, count in truth["types"].items():
            expect(
                count["total"] == count["living"] + count["destroyed"],
                f"the program's own truth of {name} does not add up: {count}",
            )
        if not self.trace:
            return self
        self.stats()
        for name, count in truth["types"].items():
            self.has(name, count["total"], count["living"])
        if truth.get("generations"):
            self.tells_generations(truth)
        return self

    def tells_generations(self, truth):
        got = self.ask("generations")["generations"]
        names = [generation["name"] for generation in truth["generations"]]
        expect([g["name"] for g in got] == names, f"generations are {[g['name'] for g in got]}, truth {names}")
        for have, want in zip(got, truth["generations"]):
            rows = {}
            for row in have["rows"]:
                rows[plain_name(row["type"])] = rows.get(plain_name(row["type"]), 0) + row["persistent_count"]
            for name, count in want["growth"].items():
                expect(
                    rows.get(name, 0) == count,
                    f"generation {want['name']}: {name} is {rows.get(name, 0)}, truth {count}",
                )

    def lists_living(self, name):
        """`objects` lists as many living ones as the truth says."""
        if not self.trace:
            return self
        want = self.result.truth()["types"][name]["living"]
        objects = self.ask("objects", "--type", name, "--lifespan", "living", "--limit", "1000000")["objects"]
        expect(len(objects) == want, f"objects: {len(objects)} living {name}, truth {want}")
        return self
