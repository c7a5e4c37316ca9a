"""Programs that leak nothing of their own: five of the toolchain's, five that use much of Foundation. Used by proof.py."""

import json

from session import Session

SOURCE = "".join(f"func function{n}(  a:Int,b : String ) ->Int {{ if a>{n} {{ return b.count+{n} }} else {{ return a }} }}\n" for n in range(40))
MANIFEST = """// swift-tools-version: 6.0
import PackageDescription
let package = Package(
  name: "Thing", products: [.library(name: "Thing", targets: ["Thing"])],
  targets: [.target(name: "Thing"), .testTarget(name: "ThingTests", dependencies: ["Thing"])])
"""
ARTICLE = "# Thing\n\nA thing that does something.\n\n## Overview\n\n- one\n- two `code`\n\n```swift\nlet a = 1\n```\n"


class Free:
    """Each program: its name, and what makes one recorded run of it and gives the document of its leaks."""

    def __init__(self, proof):
        self.proof, self.bench = proof, proof.bench

    def programs(self):
        source = self.bench.file("Source.swift", SOURCE)
        table = self.bench.file("table.json", json.dumps({"a": [1, 2.5, {"b": "c" * 50}], "d": [True] * 50}))
        plist = self.bench.path("table.plist")
        self.bench.run(["plutil", "-convert", "xml1", "-o", plist, table])
        self.bench.file("Thing.docc/Thing.md", ARTICLE)
        self.bench.file("package/Package.swift", MANIFEST)
        self.bench.file("package/Sources/Thing/Thing.swift", "public struct Thing {}\n")
        self.bench.file("package/Tests/ThingTests/ThingTests.swift", "import Thing\n")
        package = ["swift", "package", "--package-path", self.bench.path("package"), "describe", "--type", "json"]
        docc = ["docc", "convert", self.bench.path("Thing.docc"), "--output-path", self.bench.path("out")]
        docc += ["--fallback-display-name", "Thing", "--fallback-bundle-identifier", "org.example.thing"]
        self.bench.run(package)
        yield "`swift-format`, 40 functions", lambda: self.ends(["swift-format", "format", source])
        yield "`docc convert`, one article", lambda: self.ends(docc)
        yield "`plutil`, from JSON", lambda: self.ends(["plutil", "-p", table])
        yield "`plutil`, from XML to binary", lambda: self.ends(
            ["plutil", "-convert", "binary1", "-o", self.bench.path("binary.plist"), plist]
        )
        yield "`sourcekit-lsp`, initialize and shutdown", self.language_server
        yield "`swift package describe`", lambda: self.ends(package)
        for way in ("json", "url", "regex", "formatter", "tasks"):
            for optimised in (True, False):
                program = self.bench.program("leak_free.swift", optimised=optimised)
                build = "-O" if optimised else "-Onone"
                yield f"{way}, 20 rounds, {build}", lambda p=program, w=way: self.ends([p, w])

    def ends(self, command):
        """At its end."""
        return self.proof.record(command).ask("leaks")

    def language_server(self):
        """It ends by _exit: the picture is taken when it has answered and waits for more."""
        words, trace = self.bench.record_words(["sourcekit-lsp"], ["--leaks", "--force"], self.bench.path("lsp.lifespan"))
        with Session(self.bench, words) as session:
            self.ask(session, {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}})
            session.until('"id":1')
            self.ask(session, {"method": "initialized", "params": {}})
            running = json.loads(self.bench.command("list", "--json").out)["recordings"]
            pid = str([x for x in running if x["trace"] == trace][0]["pid"])
            self.bench.command("mark", pid, "answered", "--leaks")
            self.ask(session, {"id": 2, "method": "shutdown"})
            session.until('"id":2')
            self.ask(session, {"method": "exit"})
            session.finish()
        return json.loads(self.bench.command("leaks", trace, "--json").out)

    @staticmethod
    def ask(session, message):
        text = json.dumps({"jsonrpc": "2.0", **message})
        session.send(f"Content-Length: {len(text)}\r\n\r\n{text}")
