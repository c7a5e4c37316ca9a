// Test results for a CI server: JUnit's XML. Written by the reports of leaks and growth.

/// One suite of results. Cases stand in the order in which they were added.
struct JUnitSuite {
  private let name: String
  private var cases: [String] = []
  private var failures = 0
  private var skipped = 0

  /// `leaks`: its cases are of class `lifespan.leaks`.
  init(name: String) { self.name = name }

  var isEmpty: Bool { cases.isEmpty }

  /// Adds a case that passes.
  mutating func add(_ title: String) { cases.append(head(title) + "/>") }

  /// Adds a case that nobody is to be told of, and why.
  mutating func add(_ title: String, skip reason: String) {
    skipped += 1
    cases.append(head(title) + "><skipped message=\"\(XMLText.escaped(reason))\"/></testcase>")
  }

  /// Adds a case that fails: what happened, and where.
  mutating func add(_ title: String, failure: String, text: [String]) {
    failures += 1
    cases.append(
      head(title) + ">\n      <failure message=\"\(XMLText.escaped(failure))\">"
        + XMLText.escaped(text.joined(separator: "\n")) + "</failure>\n    </testcase>")
  }

  private func head(_ title: String) -> String {
    "    <testcase classname=\"lifespan.\(name)\" name=\"\(XMLText.escaped(title))\""
  }

  /// The whole document, ending with a newline.
  var text: String {
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"lifespan \(name)\" "
      + "tests=\"\(cases.count)\" failures=\"\(failures)\" errors=\"0\" skipped=\"\(skipped)\">\n"
      + cases.joined(separator: "\n") + "\n  </testsuite>\n</testsuites>\n"
  }
}

/// Text within XML.
enum XMLText {
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "\n", "\t": escaped.unicodeScalars.append(scalar)
      // XML has no way to write these.
      case _ where scalar.value < 0x20 || scalar.value == 0xfffe || scalar.value == 0xffff: escaped += "?"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
