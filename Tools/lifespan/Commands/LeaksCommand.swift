// `lifespan leaks`: leaked and abandoned objects, from a picture of the heap.
import LifespanAnalysis
import LifespanHeap
import LifespanReport
import LifespanTrace

enum LeaksCommand {
  static let spec = CommandSpec(
    name: "leaks", usage: "[TRACE] [options]", summary: "leaked and abandoned objects, cycles, fingerprints",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let offers = [FailOn.leakedForm, FailOn.abandonedForm]

  private static let options: [OptionSpec] = [
    OpenedHeap.pictureOption,
    .option("--suppressions", value: "FILE", help: "leave out leaks by rules: leak:PATTERN # reason"),
    .option("--baseline", value: "FILE", help: "tell new leaks from those whose fingerprints are in the file"),
    .flag("--update-baseline", help: "write the leaks that there are now into that file"),
    .option(
      "--fail-on", value: offers.joined(separator: "|"), repeatable: true,
      help: "status 1 when there are more new leaks, or more abandoned objects, than that"),
    ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath, ReadingOption.sysroot, .json,
    .choice("--format", of: ["table", "json", "junit"], help: "default table"),
    .option("--limit", value: "N", help: "so many kinds of leaks and abandoned types at most, from 1"),
    ReadingOption.color,
  ]

  private static var discussion: String {
    """
    Leaked is what no root reaches: each kind of leak by its head, a cycle with the property of each
    step, with what only it holds below it. Abandoned is a type that roots reach and of which every
    marked generation since its first, at least 4, still has living objects.
    A fingerprint is the same in every run in which the leak is: types, properties, functions.
    Leaks of the toolchain's own libraries are listed apart and pass every --fail-on. A pattern of
    --suppressions is a part of a type, function, file or module; * stands for anything.
    \(ReadingOption.traceParagraph)
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: [])
    let limits = try FailOn.parse(arguments, offers: offers)
    let baselineFile = arguments.value("--baseline")
    let updates = arguments.has("--update-baseline")
    if updates, baselineFile == nil { throw UsageError.missingOperand("--baseline FILE with --update-baseline") }
    let suppressions = try arguments.value("--suppressions").map(readSuppressions) ?? Suppressions()
    let baseline = try baselineFile.map { try readBaseline($0, mayBeMissing: updates) }
    let opened = try OpenedHeap(arguments.operands.first, options, picture: try OpenedHeap.picture(arguments))
    let subject = try opened.recording.subject(countsDiscarded: false)
    let report = LeaksReport(
      opened.heap, subject: subject, names: opened.recording.names, suppressions: suppressions, baseline: baseline)
    opened.recording.print(report.render(options.report), options.report, subject)
    if updates, let baselineFile {
      if let withheld = report.leaksWithheld { throw CommandFailure("\(baselineFile): not written: \(withheld)") }
      try TextFile.write(report.updatedBaseline.text, to: baselineFile)
    }
    try FailOn.check(limits, against: subject)
    return try conclude(limits, report)
  }

  /// A limit that can't be held against anything must not pass.
  private static func conclude(_ limits: [FailOn], _ report: LeaksReport) throws -> ExitStatus {
    let verdicts = try limits.compactMap { limit -> String? in
      switch limit {
      case .leaked(let most):
        if let withheld = report.leaksWithheld { throw CommandFailure("--fail-on leaked: can't be told: \(withheld)") }
        let count = report.newLeaks
        return count > most ? "\(Units.things(count, "new leak")), over \(Units.count(most))" : nil
      case .abandoned(let most):
        if let withheld = report.abandonedWithheld {
          throw CommandFailure("--fail-on abandoned: can't be told: \(withheld)")
        }
        let count = report.abandonedObjects
        return count > most ? "\(Units.things(count, "abandoned object")), over \(Units.count(most))" : nil
      default: return nil
      }
    }
    return FailOn.conclude(verdicts)
  }

  private static func readSuppressions(_ path: String) throws -> Suppressions {
    let text = try TextFile.read(path)
    do throws(Suppressions.Problem) {
      return try Suppressions(text)
    } catch {
      throw CommandFailure("\(path): \(error)")
    }
  }

  private static func readBaseline(_ path: String, mayBeMissing: Bool) throws -> LeakBaseline {
    guard let text = try TextFile.read(path, mayBeMissing: mayBeMissing) else { return LeakBaseline() }
    let (baseline, badLine) = LeakBaseline.parse(text)
    if let badLine {
      throw CommandFailure("\(path): line \(badLine): expected a fingerprint of 16 hexadecimal digits, then # and text")
    }
    return baseline
  }
}
