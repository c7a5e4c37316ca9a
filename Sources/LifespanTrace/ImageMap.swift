// The load map of a trace over time. Filled by Trace from IMAGES chunks; LifespanSymbols and the reports ask it which
// image a return address belongs to.

/// Which images lay where, and when.
public struct ImageMap: Sendable {
  /// One image while it was loaded.
  public struct Image: Sendable, Codable, Hashable {
    /// Its number.
    public var id: ImageID
    /// Where its file lay.
    public var path: String
    /// The GNU build id's bytes; empty without one.
    public var buildID: [UInt8]
    /// Address in memory − address in the file.
    public var bias: UInt64
    /// First address.
    public var start: UInt64
    /// The address after the last.
    public var end: UInt64
    /// The epoch that its loading made.
    public var loaded: Epoch
    /// The epoch that its unloading made; nil while it stays.
    public var unloaded: Epoch?
  }

  /// An address in an image.
  public struct Location: Sendable, Hashable {
    /// The image.
    public var image: Image
    /// The address as the image's own symbol tables have it (address − load bias).
    public var offset: UInt64
  }

  /// Every load, in the order of the file.
  public private(set) var images: [Image] = []
  private var newestLoad: [ImageID: Int] = [:]
  // Indices of `images` by start, and the largest end up to each: a search goes backwards until that ends it.
  private var order: [Int] = []
  private var reach: [UInt64] = []

  /// Empty.
  public init() {}

  /// Takes rows of IMAGES chunks in the order of the file.
  public mutating func add(_ records: [ImageRecord]) {
    for record in records {
      if record.isLoad {
        newestLoad[record.id] = images.count
        images.append(
          Image(
            id: record.id, path: record.path, buildID: record.buildID, bias: record.bias, start: record.start,
            end: record.end, loaded: record.epoch))
      } else if let index = newestLoad[record.id], images[index].unloaded == nil {
        images[index].unloaded = record.epoch
      }
    }
    order = images.indices.sorted { (images[$0].start, $0) < (images[$1].start, $1) }
    var largest: UInt64 = 0
    reach = order.map { index in
      largest = max(largest, images[index].end)
      return largest
    }
  }

  /// The image that a frame belongs to: the newest load with an epoch ≤ the frame's that had not been unloaded by then.
  public func locate(_ frame: StackNode) -> Location? { locate(frame.pc.lookup, epoch: frame.epoch) }

  /// The image at an address. Without an epoch: the newest that was ever loaded there.
  public func locate(_ address: UInt64, epoch: Epoch? = nil) -> Location? {
    var low = 0
    var high = order.count
    while low < high {
      let middle = (low + high) / 2
      if images[order[middle]].start <= address { low = middle + 1 } else { high = middle }
    }
    var best: Int?
    while low > 0, reach[low - 1] > address {
      low -= 1
      let image = images[order[low]]
      guard image.end > address, epoch.map({ isLoaded(image, at: $0) }) ?? true else { continue }
      if best.map({ newer(order[low], than: $0) }) ?? true { best = order[low] }
    }
    return best.map { Location(image: images[$0], offset: address &- images[$0].bias) }
  }

  private func isLoaded(_ image: Image, at epoch: Epoch) -> Bool {
    image.loaded <= epoch && (image.unloaded.map { $0 > epoch } ?? true)
  }

  private func newer(_ one: Int, than other: Int) -> Bool {
    (images[one].loaded, one) > (images[other].loaded, other)
  }
}
