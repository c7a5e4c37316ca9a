// Kinds of events as plain numbers, for the loops that see every event: the same as EventKind's, which another module has to
// be asked for. Used by StatisticsQuestion, GenerationsQuestion and LifeTracker.

/// Kinds and sets of kinds, a bit each.
enum KindSets {
  /// EventKind.birth.
  @inline(__always) static var birth: UInt8 { 1 }
  /// EventKind.moved.
  @inline(__always) static var moved: UInt8 { 9 }
  /// EventKind.deinitEnded.
  @inline(__always) static var deinitEnded: UInt8 { 3 }
  /// By which an object's memory goes: death, free, plainFree, endNotSeen.
  @inline(__always) static var freeing: UInt64 { 1 << 2 | 1 << 4 | 1 << 5 | 1 << 10 }
  /// By which an object ends or becomes another: those, deinitEnded, moved.
  @inline(__always) static var changing: UInt64 { freeing | 1 << 3 | 1 << 9 }

  /// Whether a set has a kind.
  @inline(__always)
  static func has(_ set: UInt64, _ kind: UInt8) -> Bool { set &>> UInt64(kind) & 1 != 0 }
}
