// The version that `lifespan --version` prints and that every trace carries.

enum Version {
  static let text = "0.1.0"
  static let line = "lifespan \(text)"
}
