// `lifespan threads`: every thread of the recording, who made it, and whether it still runs.
import LifespanAnalysis
import LifespanReport

enum ThreadsCommand {
  static let spec = CommandSpec(
    name: "threads", usage: "[TRACE] [options]", summary: "the threads: born, named, ended, made by whom",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let options =
    [OptionSpec.choice("--lifespan", of: ["all", "living", "destroyed"], help: "which threads: default all")]
    + [ReadingOption.symbols, ReadingOption.debugPath, ReadingOption.sysroot] + ReadingOption.table

  private static var discussion: String {
    """
    A thread that lives and whose last event is long ago is parked: waiting, or leaked. stats and generations
    count threads by what they run (--kind thread).
    \(ReadingOption.traceParagraph)
    \(ReadingOption.columnsParagraph(ThreadsReport.columnKeys))
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: ThreadsReport.columnKeys)
    let recording = try OpenedRecording(arguments.operands.first, options)
    let lifespan = arguments.value("--lifespan") == nil ? .all : options.lifespan
    let list = try recording.analysis.answer(ThreadsQuestion(lifespan: lifespan))
    let subject = try recording.subject()
    let report = ThreadsReport(list, subject: subject, names: recording.names)
    recording.print(report.render(options.report), options.report, subject)
    return .success
  }
}
