// What unnamed marks are called. Used by the analysis for all marks of a trace and by `lifespan record` for the one that it has
// just set: both must say the same.

/// Names marks in their order: unnamed ones by the letters of their number, A, B, … Z, AA, or the next that no mark before
/// them has as its name.
public struct GenerationLetters: Sendable {
  private var used: Set<String> = []
  private var number: UInt32 = 0

  /// Nothing is named yet.
  public init() {}

  /// The name of the next mark; `given` is empty where it has none of its own.
  public mutating func name(_ given: String) -> String {
    var name = given
    var next = number
    while name.isEmpty || (given.isEmpty && used.contains(name)) {
      name = Generation(next).letters
      next &+= 1
    }
    used.insert(name)
    number &+= 1
    return name
  }
}
