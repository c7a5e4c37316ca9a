// One finding of `lifespan doctor`. Made by MachineChecks and ProgramChecks, printed by DoctorCommand.

/// One thing that was looked at.
struct Check: Sendable {
  enum State: String, Sendable {
    case ok
    /// Works, with less.
    case limited
    /// Nothing can be recorded.
    case no
  }

  let name: String
  let state: State
  let detail: String
  /// What mends it; nil where nothing has to be.
  let cure: String?

  init(_ name: String, _ state: State, _ detail: String, cure: String? = nil) {
    self.name = name
    self.state = state
    self.detail = detail
    self.cure = cure
  }
}
