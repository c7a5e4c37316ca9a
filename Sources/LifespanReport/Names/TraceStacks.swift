// Answers the renderers' questions about addresses from an opened trace: its stack tree and its load map.
import LifespanSymbols
import LifespanTrace

/// The stacks of a trace. A frame belongs to the image that was loaded in the frame's own epoch.
public struct TraceStacks: StackSource {
  private let trace: Trace

  /// The stacks of this trace.
  public init(_ trace: Trace) { self.trace = trace }

  /// See `StackSource`.
  public func stack(_ id: StackID) -> StackTrace {
    let stack = trace.stacks.stack(id)
    let locations = stack.frames.map { location(of: $0.pc, in: trace.images.locate($0)) }
    return StackTrace(locations: locations.filter { !Self.isOurs($0) }, ending: Self.words(stack.end))
  }

  /// A function of the preload library that stands between the program and the C library's: no frame of the program's.
  private static func isOurs(_ location: CodeLocation) -> Bool {
    location.image?.path.hasSuffix("/liblifespan_preload.so") ?? false
  }

  /// See `StackSource`. An address that was recorded alone has no epoch: the newest image that lay there.
  public func location(of address: ReturnAddress) -> CodeLocation {
    location(of: address, in: trace.images.locate(address.lookup))
  }

  private func location(of address: ReturnAddress, in place: ImageMap.Location?) -> CodeLocation {
    guard let image = place?.image else {
      return CodeLocation(image: nil, address: .returnAddress(address.rawValue))
    }
    return CodeLocation(
      image: CodeImage(path: image.path, buildID: BuildID(image.buildID)),
      address: .returnAddress(address.rawValue &- image.bias))
  }

  /// Nil where nothing is missing.
  static func words(_ end: StackEnd) -> String? {
    switch end {
    case .whole, .asyncComplete: return nil
    case .cut: return "cut at the depth limit"
    case .noRow: return "no unwind information for the next frame"
    case .noImage: return "the next frame lies in no known image"
    case .outOfRange: return "the next frame lies outside the thread's stack"
    case .foreign: return "on a stack that is not the thread's own"
    default: return "ended for a reason that this lifespan does not know (\(end))"
    }
  }
}
