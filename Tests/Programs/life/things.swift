// Swift objects for the C programs of this folder (life.h). Compiled once, linked to each of them, as module Program.

final class Thing { var number = 1 }
final class Later { var number = 1 }

@_cdecl("swift_thing") func makeThing() -> UnsafeMutableRawPointer {
  Unmanaged.passRetained(Thing()).toOpaque()
}
@_cdecl("swift_later") func makeLater() -> UnsafeMutableRawPointer {
  Unmanaged.passRetained(Later()).toOpaque()
}
@_cdecl("swift_gone") func drop(_ thing: UnsafeMutableRawPointer) {
  Unmanaged<AnyObject>.fromOpaque(thing).release()
}
@_cdecl("swift_trap") func trap(_ number: Int) { fatalError("trap \(number)") }
