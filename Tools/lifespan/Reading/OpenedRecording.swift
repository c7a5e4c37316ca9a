// An opened trace with all that a report needs of it: its information, its names, its marks. Used by reading subcommands.
import LifespanAnalysis
import LifespanReport
import LifespanSymbols
import LifespanTrace

/// A trace, ready to be asked.
struct OpenedRecording {
  let operand: TraceOperand
  let trace: Trace
  let names: ReportNames
}
