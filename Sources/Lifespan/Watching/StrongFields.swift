// Which objects an object holds strongly: by the runtime's field metadata, once for each class. Used where an expectation begins.
#if Recording
internal import CLinkedDoor

/// A stored property that holds one object, or an array of them, strongly.
struct StrongField {
  enum Shape { case object, array }
  var offset: Int
  var name: String
  /// A variable: another thread may change it at any time, so what it holds is never touched, only its address is taken.
  var isVariable: Bool
  var shape: Shape
}

enum StrongFields {
  /// Of a class and its superclasses. Objects of the language's own libraries are not followed: what they hold is not the program's.
  ///
  /// Cost: some microseconds for each property; callers keep the answer.
  static func of(_ type: any AnyObject.Type) -> [StrongField] {
    guard !isSystems(String(reflecting: type)) else { return [] }
    return (0..<recursiveCount(type)).compactMap { index in
      var field = Field()
      let held = recursiveChild(type, index, &field)
      defer { if let name = field.name { field.free?(name) } }
      guard field.isStrong, let shape = shape(of: held) else { return nil }
      if shape == .array && field.isVariable { return nil }
      return StrongField(
        offset: recursiveOffset(type, index), name: field.name.map { String(cString: $0) } ?? "?",
        isVariable: field.isVariable, shape: shape)
    }
  }

  static func isSystems(_ name: String) -> Bool {
    let module = name.prefix { $0 != "." }
    return ["Swift", "Foundation", "Dispatch", "Glibc", "__C", "Synchronization", "XCTest", "Testing"].contains(module)
      || module.hasPrefix("_")
  }

  private static func shape(of type: Any.Type) -> StrongField.Shape? {
    if let optional = type as? any AnyOptional.Type { return isObject(optional.wrapped) ? .object : nil }
    if let array = type as? any AnyArray.Type { return isObject(array.element) ? .array : nil }
    return isObject(type) ? .object : nil
  }

  /// A class, or a protocol that classes alone conform to: the first word is the object.
  private static func isObject(_ type: Any.Type) -> Bool {
    if type is AnyClass { return !isSystems(String(reflecting: type)) }
    let words = unsafeBitCast(type, to: UnsafePointer<UInt>.self)
    let isExistential = words[0] == 0x303
    let flags = UInt32(truncatingIfNeeded: words[1])
    let isSpecial = flags & 0x3f00_0000 != 0  // Error
    return isExistential && flags & 0x8000_0000 == 0 && !isSpecial
  }
}

private protocol AnyOptional { static var wrapped: Any.Type { get } }
extension Optional: AnyOptional { fileprivate static var wrapped: Any.Type { Wrapped.self } }
private protocol AnyArray { static var element: Any.Type { get } }
extension Array: AnyArray { fileprivate static var element: Any.Type { Element.self } }

// What Mirror is made of; Mirror itself copies every value, and takes a microsecond for each.
private struct Field {
  var name: UnsafePointer<CChar>?
  var free: (@convention(c) (UnsafePointer<CChar>?) -> Void)?
  var isStrong = false
  var isVariable = false
}
@_silgen_name("swift_reflectionMirror_recursiveCount") private func recursiveCount(_ type: Any.Type) -> Int
@_silgen_name("swift_reflectionMirror_recursiveChildMetadata")
private func recursiveChild(_ type: Any.Type, _ index: Int, _ field: UnsafeMutablePointer<Field>) -> Any.Type
@_silgen_name("swift_reflectionMirror_recursiveChildOffset")
private func recursiveOffset(_ type: Any.Type, _ index: Int) -> Int
#endif
