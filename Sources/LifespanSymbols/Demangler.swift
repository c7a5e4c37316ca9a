// Mangled names of Swift, C++ and Rust as a person reads them. Used by Symbolizer.
import Glibc

/// Demangles one name at a time. Holds the runtime's entry points, found once.
public struct Demangler {
  private typealias SwiftShort =
    @convention(c) (
      UnsafePointer<CChar>, Int, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?
    ) -> UnsafeMutablePointer<CChar>?
  private typealias SwiftLong =
    @convention(c) (
      UnsafePointer<CChar>, Int, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UInt32
    ) -> UnsafeMutablePointer<CChar>?
  private typealias Cxx =
    @convention(c) (
      UnsafePointer<CChar>, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int32>?
    ) -> UnsafeMutablePointer<CChar>?

  private let swiftShort: SwiftShort?
  private let swiftLong: SwiftLong?
  private let cxx: Cxx?

  /// Looks the entry points up in this process: libswiftCore's short form (which its own backtraces use) or, in a
  /// runtime without it, swift_demangle; and libstdc++'s __cxa_demangle.
  public init() {
    func find<T>(_ name: String, as type: T.Type) -> T? {
      dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }
    swiftShort = find("_swift_backtrace_demangle", as: SwiftShort.self)
    swiftLong = find("swift_demangle", as: SwiftLong.self)
    if dlsym(nil, "__cxa_demangle") == nil { _ = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL) }
    cxx = find("__cxa_demangle", as: Cxx.self)
  }

  /// The readable name, or the name itself where it is not mangled.
  public func demangle(_ mangled: String) -> String {
    if Self.isSwift(mangled) {
      guard let name = swift(mangled) else { return mangled }
      // The short form leaves modules out, also where a closure of top-level code is in nothing but its module.
      return name.hasSuffix(" in ") ? name + (Self.swiftModule(mangled) ?? "top-level code") : name
    }
    // `async_Main`, by which the compiler calls `main`, has parts like any async function.
    if Symbolizer.isContinuation(mangled), let part = mangled.lastIndex(of: "T") { return String(mangled[..<part]) }
    guard mangled.hasPrefix("_Z"), let name = take(cxx?(mangled, nil, nil, nil)) else { return mangled }
    return Self.rustLegacy(name) ?? name
  }

  /// Whether a name carries one of Swift's prefixes.
  static func isSwift(_ name: String) -> Bool {
    ["$s", "$S", "_$s", "_$S", "$e", "_$e", "_T0"].contains { name.hasPrefix($0) }
  }

  /// The module in which a Swift function is declared or, of an extension or a specialisation, whose type it is for;
  /// nil where the name does not begin with one.
  static func swiftModule(_ mangled: String) -> String? {
    guard isSwift(mangled), let dollar = mangled.firstIndex(of: "$") else { return nil }
    let rest = mangled[dollar...].dropFirst(2)
    if let first = rest.first, first == "s" || first == "S" { return "Swift" }
    let digits = rest.prefix { $0.isNumber }
    guard let length = Int(digits), length > 0 else { return nil }
    return String(rest.dropFirst(digits.count).prefix(length))
  }

  private func swift(_ mangled: String) -> String? {
    let length = mangled.utf8.count
    if let name = take(swiftShort?(mangled, length, nil, nil)) { return name == mangled ? nil : name }
    return take(swiftLong?(mangled, length, nil, nil, 0))
  }

  private func take(_ text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text else { return nil }
    defer { free(text) }
    return String(cString: text)
  }

  /// Rust's older mangling is C++'s with a hash as the last part and escapes inside; nil when it is not that.
  static func rustLegacy(_ name: String) -> String? {
    guard let tail = name.lastRange(of: "::h"), name[tail.upperBound...].count == 16,
      name[tail.upperBound...].allSatisfy(\.isHexDigit)
    else { return nil }
    var readable = String(name[..<tail.lowerBound])
    let escapes = [
      ("$LT$", "<"), ("$GT$", ">"), ("$LP$", "("), ("$RP$", ")"), ("$C$", ","), ("$RF$", "&"), ("$BP$", "*"),
      ("$SP$", "@"), ("$u20$", " "), ("$u27$", "'"), ("$u5b$", "["), ("$u5d$", "]"), ("$u7b$", "{"), ("$u7d$", "}"),
      ("$u7e$", "~"), ("$u2b$", "+"), ("..", "::"),
    ]
    for (escape, text) in escapes { readable.replace(escape, with: text) }
    readable.replace("::_<", with: "::<")
    return readable.hasPrefix("_<") ? String(readable.dropFirst()) : readable
  }
}

extension String {
  /// The last occurrence of `part`.
  fileprivate func lastRange(of part: String) -> Range<String.Index>? { ranges(of: part).last }
}
