// Puts the page together: the viewer's code, the data, and the policy that lets nothing else run. Used by PageReport.

/// The page's own code, which the command carries.
public struct PageViewer: Sendable {
  /// The document, with `{{…}}` where the rest goes.
  public var document: String
  /// Its style sheet.
  public var style: String
  /// Its program.
  public var script: String

  /// Memberwise.
  public init(document: String, style: String, script: String) {
    self.document = document
    self.style = style
    self.script = script
  }
}

/// One HTML file that needs nothing else.
enum PageDocument {
  /// The policy names style and program by their digests; all else is forbidden: other code, connections, images, frames, forms.
  static func html(_ viewer: PageViewer, title: String, data: [UInt8]) -> [UInt8] {
    let policy =
      "default-src 'none'; script-src '\(source(viewer.script))'; style-src '\(source(viewer.style))'; "
      + "base-uri 'none'; form-action 'none'"
    var bytes: [UInt8] = []
    var rest = viewer.document[...]
    while let open = rest.firstRange(of: "{{"), let close = rest[open.upperBound...].firstRange(of: "}}") {
      bytes += rest[..<open.lowerBound].utf8
      switch rest[open.upperBound..<close.lowerBound] {
      case "policy": bytes += policy.utf8
      case "title": bytes += escaped(title).utf8
      case "style": bytes += viewer.style.utf8
      case "script": bytes += viewer.script.utf8
      case "data": bytes += data
      default: bytes += rest[open.lowerBound..<close.upperBound].utf8
      }
      rest = rest[close.upperBound...]
    }
    return bytes + rest.utf8
  }

  private static func source(_ code: String) -> String { "sha256-" + base64(SHA256.digest(of: code.utf8)) }

  private static func escaped(_ text: String) -> String {
    text.printable.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let part = bytes[start..<min(start + 3, bytes.count)]
      let word = part.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - part.count))
      for place in 0..<4 {
        text.append(place <= part.count ? letters[Int(word >> (18 - 6 * UInt32(place)) & 63)] : "=")
      }
    }
    return text
  }
}
