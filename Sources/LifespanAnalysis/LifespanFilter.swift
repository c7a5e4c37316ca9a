// The lifespan filter, as Instruments has it: which rows or objects a report shows.

/// Which objects: all that were created, those still living, those destroyed.
public enum LifespanFilter: String, Sendable, Codable, Hashable, CaseIterable {
  /// "All Objects Created".
  case all
  /// "Created & Still Living": also those whose memory is still kept.
  case living
  /// "Created & Destroyed".
  case destroyed

  /// Whether a row with these counts is shown.
  public func keeps(_ tally: Tally) -> Bool {
    switch self {
    case .all: tally.totalCount > 0 || tally.totalBytes != .zero
    case .living: tally.persistentCount > 0 || tally.persistentBytes != .zero
    case .destroyed: tally.transientCount > 0
    }
  }
}
