"""The toolchain's own programs: large, optimised, not ours, not rebuilt."""

import os

from harness import TOOLCHAIN, behaviour, expect
from wrappers import tiny_package

FUNCTION = """
  /// Adds up what is left of `values` after number {n}.
func function{n}(values: [Int],   scale : Double = {n}.5) throws -> [String:Int] {{
  guard values.count>{n} else {{ return [ "none" : {n} ] }}
    var result=[String:Int]()
  for (index,value) in values.enumerated() where value % 2==0 {{ result["key \\(index)"]=value*{n} }}
  switch result.count {{ case 0: return [:]
    case 1...{n}: result["few"]={n}; default: let text=result.map{{ $0.key }}.joined(separator:","); result[text]={n} }}
  if let first=values.first,first>{n} {{ print("first",first,scale) }} else {{ try nothing(of:{{ $0+{n} }}) }}
  return result
}}
"""


def tool(name):
    return os.path.join(TOOLCHAIN, name)


def exact(recording):
    """Rows add up and nothing is lost (checked by stats), and there is something to see."""
    classes = recording.is_complete().of_kinds("class")
    expect(classes[0] > 0, "the trace has no class instance at all")
    return classes


@behaviour("swift-format on a file of 400 functions: stdout byte-identical, nothing lost, every type adds up")
def swift_format(bench):
    source = bench.file("sample.swift", "".join(FUNCTION.format(n=n) for n in range(400)))
    recording = bench.same([tool("swift-format"), "format", source])
    expect(len(recording.result.out) > 100_000, f"swift-format printed only {len(recording.result.out)} bytes")
    total, living = exact(recording)
    expect(total > 100_000 and living < total / 2, f"{total} class instances, {living} of them living")


@behaviour("docc convert on a small catalog: output as plain, nothing lost, every type adds up")
def docc(bench):
    bench.file(
        "Guide.docc/Guide.md", "# Guide\n\nWhat it is.\n\n## Topics\n\n### First\n\n- <doc:Start>\n- <doc:End>\n"
    )
    for name in ("Start", "End"):
        bench.file(
            f"Guide.docc/{name}.md",
            f"# {name}\n\nSome text with `code`, a [link](https://example.org) and\n\n- a list\n- of two\n",
        )
    exact(
        bench.same(
            [
                tool("docc"),
                "convert",
                "Guide.docc",
                "--output-path",
                "out",
                "--fallback-display-name",
                "Guide",
                "--fallback-bundle-identifier",
                "org.example.guide",
            ]
        )
    )


@behaviour("swift package describe: output as plain, nothing lost, every type adds up")
def package_describe(bench):
    exact(bench.same(["swift", "package", "describe", "--type", "json"], cwd=tiny_package(bench)))


@behaviour("plutil: output as plain, nothing lost, every type adds up")
def plutil(bench):
    rows = "".join(
        f"<key>key {n}</key><array><string>value {n}</string><integer>{n}</integer></array>" for n in range(200)
    )
    plist = bench.file(
        "sample.plist", f'<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>{rows}</dict></plist>'
    )
    exact(bench.same([tool("plutil"), "-p", plist]))
