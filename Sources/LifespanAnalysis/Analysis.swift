// Questions to a trace: several share one pass over its events. Used by the command's subcommands and by tests.
import LifespanTrace

/// A question to a recording. One file a question; its collector sees every event once.
public protocol Question {
  /// What comes back.
  associatedtype Answer: Sendable & Codable
  /// Makes what collects the answer; throws where the question names what the recording does not hold.
  func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Answer>
}

/// What sees events go by and makes an answer of them.
open class Collector<Answer> {
  /// The columns that it needs.
  public let columns: EventColumns
  /// Wants these columns.
  public init(_ columns: EventColumns) { self.columns = columns }
  /// Takes the next events.
  open func take(_ batch: EventBatch) {}
  /// The answer, after the last event. Nil only of this base class.
  open func answer(_ information: TraceInformation) -> Answer? { nil }
}

/// An opened recording that can be asked.
///
/// ```swift
/// let analysis = Analysis(try Trace(path: "App.7.lifespan"))
/// let (statistics, generations) = try analysis.answer(StatisticsQuestion(), GenerationsQuestion())
/// ```
/// Each call of `answer` is one pass over the events. Memory: what lives, and the answers.
public final class Analysis {
  /// Why there is no answer.
  public enum Failure: Error, Sendable, CustomStringConvertible {
    /// The file can't be read any more.
    case trace(TraceError)
    /// The question names what isn't there.
    case question(QuestionError)
    /// One line.
    public var description: String {
      switch self {
      case .trace(let error): error.description
      case .question(let error): error.description
      }
    }
  }

  /// The trace.
  public let trace: Trace
  /// Its types by row.
  public let catalog: TypeCatalog
  /// Its marks, and those set afterwards.
  public let timeline: Timeline
  private let asOf: TraceTime?
  private var counted: TraceInformation?

  /// `laterMarks` split generations as if they had been set; `naming` decides what becomes a row; `asOf`: what time it is
  /// in a recording that still runs, to which its objects' ages count.
  public init(
    _ trace: Trace, laterMarks: [LaterMark] = [], asOf: TraceTime? = nil,
    naming: RowNaming = RowNaming()
  ) {
    self.trace = trace
    self.asOf = asOf
    catalog = TypeCatalog(trace, naming: naming)
    timeline = Timeline(trace, later: laterMarks)
  }

  /// Answers questions in one pass.
  public func answer<each Q: Question>(_ question: repeat each Q) throws(Failure) -> (repeat (each Q).Answer) {
    do {
      let collectors = (repeat try (each question).collector(self))
      var takers: [(EventBatch) -> Void] = []
      var columns: EventColumns = []
      for collector in repeat each collectors {
        takers.append { collector.take($0) }
        columns.formUnion(collector.columns)
      }
      let information = try pass(columns, takers)
      return (repeat try Analysis.unwrap((each collectors).answer(information)))
    } catch let error as QuestionError {
      throw .question(error)
    } catch let error as TraceError {
      throw .trace(error)
    } catch {
      throw .trace(TraceError(file: trace.name, problem: .unreadable("\(error)")))
    }
  }

  private struct NoAnswer: Error {}

  private static func unwrap<Answer>(_ answer: Answer?) throws -> Answer {
    guard let answer else { throw NoAnswer() }
    return answer
  }

  /// What every report says first. Makes a pass over the events only where none has been made yet.
  public func information() throws(TraceError) -> TraceInformation {
    if let counted { return counted }
    return try pass([], [])
  }

  @discardableResult
  private func pass(
    _ wanted: EventColumns, _ takers: [(EventBatch) -> Void]
  ) throws(TraceError) -> TraceInformation {
    // The time of the last event is the end of a trace that has no end.
    let needsTime = trace.end?["end"] == nil
    var holes = Holes()
    let counts = try trace.forEachBatch(needsTime ? wanted.union(.times) : wanted) { batch in
      for take in takers { take(batch) }
      holes.take(batch, withTimes: needsTime)
    }
    let information = TraceInformation(
      trace, timeline, events: counts.events, births: counts.births, holes: holes, asOf: asOf)
    counted = information
    return information
  }
}
