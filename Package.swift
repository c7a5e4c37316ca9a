// swift-tools-version: 6.1
import PackageDescription

// Left of the line (in the process under test): CTraceFormat, CRecorder, CDrain, CHeap, CLinkedDoor, Lifespan. They link libc alone.
// Right of it (after the fact): LifespanTrace, LifespanAnalysis, LifespanHeap, LifespanSymbols, LifespanReport, the command.
// Tools/check-layers holds this picture against the imports.
let inTheProgram: [Target] = [
  .target(name: "CTraceFormat"),
  .target(name: "CDrain", dependencies: ["CTraceFormat"]),
  .target(name: "CRecorder", dependencies: ["CTraceFormat"]),
  .target(name: "CHeap", dependencies: ["CTraceFormat"]),
  .target(name: "CLinkedDoor", dependencies: ["CRecorder", "CDrain", "CHeap", "CTraceFormat"]),
  .target(
    name: "Lifespan",
    dependencies: [
      .target(name: "CLinkedDoor", condition: .when(traits: ["Recording"])),
      .target(name: "CDrain", condition: .when(traits: ["Recording"])),
      .target(name: "CHeap", condition: .when(traits: ["Recording"])),
    ]),
]

// In test processes: the assertions. Foundation is allowed here, as XCTest needs it.
let inTests: [Target] = [
  .target(name: "CLifespanTesting"),
  .target(name: "LifespanTesting", dependencies: ["Lifespan", "CLifespanTesting"]),
]

// The command and all tests are Linux's; elsewhere only the library compiles, and says at run time that it can't record.
#if os(Linux)
let viewer = [
  "page.html", "page.css", "format.js", "dom.js", "data.js", "table.js", "chart.js", "stacks.js", "timeline.js",
  "statistics.js", "generations.js", "flame.js", "objects.js", "threads.js", "memory.js", "heap.js", "main.js",
]
let afterTheFact: [Target] = [
  .systemLibrary(name: "CZstd"),
  .systemLibrary(name: "CElf"),
  .systemLibrary(name: "CZlib"),
  .target(name: "LifespanTrace", dependencies: ["CTraceFormat", "CZstd"]),
  .target(name: "LifespanAnalysis", dependencies: ["LifespanTrace"]),
  .target(name: "LifespanHeap", dependencies: ["LifespanAnalysis", "LifespanTrace"]),
  .target(name: "CLineTables", linkerSettings: [.linkedLibrary("dw")]),
  .target(name: "LifespanSymbols", dependencies: ["CElf", "CLineTables"]),
  .target(
    name: "LifespanReport", dependencies: ["LifespanAnalysis", "LifespanHeap", "LifespanSymbols", "LifespanTrace"]),
  .target(name: "CSession", dependencies: ["CTraceFormat", "CDrain"], path: "Tools/CSession"),
  .executableTarget(
    name: "LifespanCommand",
    dependencies: [
      "CDrain", "CHeap", "CSession", "CTraceFormat", "CZlib", "CZstd", "LifespanAnalysis", "LifespanHeap",
      "LifespanReport",
      "LifespanSymbols", "LifespanTrace",
    ],
    path: "Tools/lifespan",
    // The page's program and style, compiled into the command: it is one file wherever it lies.
    resources: viewer.map { .embedInCode("Viewer/\($0)") }),
]
let tests: [Target] = [
  // Fake mappings: what a recorder would write, by hand.
  .target(name: "CDrainTestSupport", dependencies: ["CDrain"], path: "Tests/CDrainTestSupport"),
  .testTarget(name: "CDrainTests", dependencies: ["CDrain", "CDrainTestSupport", "LifespanTrace"]),
  .testTarget(name: "CRecorderTests", dependencies: ["CRecorder"]),
  .testTarget(name: "LifespanTests", dependencies: ["Lifespan", "LifespanAnalysis", "LifespanTrace"]),
  .testTarget(name: "LifespanTraceTests", dependencies: ["LifespanTrace"]),
  .testTarget(name: "LifespanAnalysisTests", dependencies: ["LifespanAnalysis"]),
  .testTarget(name: "LifespanHeapTests", dependencies: ["LifespanHeap", "LifespanAnalysis", "LifespanTrace"]),
  .testTarget(
    name: "LifespanReportTests",
    dependencies: ["LifespanReport", "LifespanHeap", "LifespanSymbols", "LifespanAnalysis", "LifespanTrace"],
    exclude: ["Goldens"]),
  // Run the built command, as a user does.
  .testTarget(name: "CommandTests", dependencies: ["LifespanCommand"], exclude: ["Fixtures"]),
]
let commands: [Product] = [.executable(name: "lifespan", targets: ["LifespanCommand"])]
#else
let afterTheFact: [Target] = []
let tests: [Target] = []
let commands: [Product] = []
#endif

let package = Package(
  name: "lifespan",
  products: [
    .library(name: "Lifespan", targets: ["Lifespan"]),
    .library(name: "LifespanTesting", targets: ["LifespanTesting"]),
  ] + commands,
  traits: [
    .default(enabledTraits: ["Recording"]),
    .trait(
      name: "Recording",
      description: "Records and watches. Without it every call is an empty body, and nothing of the recorder is linked."
    ),
  ],
  targets: inTheProgram + inTests + afterTheFact + tests
)
