// Addresses of births are predicted: malloc gives the block freed last out first. The same on both sides of the file.
// AddressDecoder is EventDecoder's, AddressEncoder is EventEncoder's.

/// What both sides keep per size: the last birth's address, and up to 1,024 addresses freed last (a ring: the oldest falls
/// out).
struct AddressPrediction {
  static let depth = 1024
  private(set) var last: UInt64 = 0
  private var slots: [UInt64] = []
  private var bottom = 0
  private var count = 0

  var top: UInt64? { count == 0 ? nil : slots[(bottom &+ count &- 1) & (slots.count &- 1)] }

  mutating func push(_ address: UInt64) {
    if count == slots.count {
      if count == AddressPrediction.depth {
        slots[bottom] = address
        bottom = (bottom &+ 1) & (slots.count &- 1)
        return
      }
      slots = Array(slots[bottom...] + slots[..<bottom]) + Array(repeating: 0, count: max(16, count))
      bottom = 0
    }
    slots[(bottom &+ count) & (slots.count &- 1)] = address
    count &+= 1
  }

  mutating func pop() { if count > 0 { count &-= 1 } }

  mutating func reset() {
    last = 0
    bottom = 0
    count = 0
  }

  /// The code of a birth at that address; takes the top as the reader will.
  mutating func encode(_ address: UInt64) -> UInt64 {
    defer {
      pop()
      last = address
    }
    return top == address ? 0 : Int64(bitPattern: address &- last).zigzag &+ 1
  }

  /// The address of that code; nil where it takes the top of an empty stack.
  mutating func decode(_ code: UInt64) -> UInt64? {
    let address = code == 0 ? top : last &+ UInt64(bitPattern: Int64(zigzag: code &- 1))
    pop()
    if let address { last = address }
    return address
  }
}

/// Addresses of everything that lives, and the predictions of the chunk.
final class AddressDecoder {
  private struct Living: BitwiseCopyable {
    var address: UInt64
    var sizeClass: UInt32
  }

  private let classOfSite: [UInt32]
  // Behind constant pointers, which are not checked for exclusive access at every event.
  private let predictions: UnsafeMutablePointer<AddressPrediction>
  private let classes: Int
  private var used: [Int] = []
  private let isUsed: UnsafeMutablePointer<Bool>
  private let living = ObjectTable<Living>(empty: Living(address: 0, sizeClass: 0))

  init(sites: [SiteRecord]) {
    var numbers: [ByteCount: UInt32] = [:]
    classOfSite = sites.map { site in
      if let known = numbers[site.size] { return known }
      let number = UInt32(numbers.count)
      numbers[site.size] = number
      return number
    }
    classes = numbers.count
    predictions = .allocate(capacity: classes)
    predictions.initialize(repeating: AddressPrediction(), count: classes)
    isUsed = .allocate(capacity: classes)
    isUsed.initialize(repeating: false, count: classes)
  }

  deinit {
    predictions.deinitialize(count: classes)
    predictions.deallocate()
    isUsed.deallocate()
  }

  func beginChunk() {
    for index in used {
      predictions[index].reset()
      isUsed[index] = false
    }
    used.removeAll(keepingCapacity: true)
  }

  private func touch(_ sizeClass: Int) {
    guard !isUsed[sizeClass] else { return }
    isUsed[sizeClass] = true
    used.append(sizeClass)
  }

  /// A birth's address out of its code in the column; nil for a code that can't be.
  func birth(_ object: Int, site: UInt32, _ code: UInt64) -> UInt64? {
    let sizeClass = Int(classOfSite[Int(site)])
    touch(sizeClass)
    guard let address = predictions[sizeClass].decode(code) else { return nil }
    living.insert(object, Living(address: address, sizeClass: UInt32(sizeClass)))
    return address
  }

  /// The address of an object at another event; 0 where it is not known.
  func event(_ object: Int, kind: UInt8, moved: Int64, site: UInt32) -> UInt64 {
    guard let place = living.place(object), place.pointee.address != 0 else { return 0 }
    if kind == EventKind.moved.rawValue {
      place.pointee.address &+= UInt64(bitPattern: moved)
      place.pointee.sizeClass = classOfSite[Int(site)]
      return place.pointee.address
    }
    let state = place.pointee
    let frees =
      kind == EventKind.death.rawValue || kind == EventKind.free.rawValue || kind == EventKind.plainFree.rawValue
    if frees {
      touch(Int(state.sizeClass))
      predictions[Int(state.sizeClass)].push(state.address)
    }
    if frees || kind == EventKind.endNotSeen.rawValue { living.remove(object) }
    return state.address
  }
}
