// Loads each library that its arguments name, makes 100 objects by its function `plugin_make`, drops them, and unloads it again.

import Glibc

@main
enum Program {
  static func main() {
    for path in CommandLine.arguments.dropFirst() {
      guard let library = dlopen(path, RTLD_NOW), let address = dlsym(library, "plugin_make") else {
        say("not loaded: \(String(cString: dlerror()))")
        exit(1)
      }
      let make = unsafeBitCast(address, to: (@convention(c) () -> UnsafeMutableRawPointer).self)
      for _ in 0..<100 { Unmanaged<AnyObject>.fromOpaque(make()).release() }
      dlclose(library)
    }
    say("all unloaded")
    exit(0)
  }
}
