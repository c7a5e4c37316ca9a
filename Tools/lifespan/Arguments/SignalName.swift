// Signals by name or number, as `--mark-signal` takes them. Used by RecordOptions.

import Glibc

enum SignalName {
  static let form = "a signal that a program may handle, e.g. USR1, SIGUSR2, 10, RTMIN+3"

  private static let names: [String: Int32] = [
    "HUP": SIGHUP, "INT": SIGINT, "QUIT": SIGQUIT, "USR1": SIGUSR1, "USR2": SIGUSR2, "ALRM": SIGALRM,
    "TERM": SIGTERM, "CONT": SIGCONT, "WINCH": SIGWINCH, "URG": SIGURG, "IO": SIGIO, "PROF": SIGPROF,
    "VTALRM": SIGVTALRM, "XCPU": SIGXCPU, "XFSZ": SIGXFSZ, "PWR": SIGPWR,
  ]
  /// glibc keeps the first two real-time signals for itself.
  private static let realTime: ClosedRange<Int32> = 34...64

  /// The number of a signal that a program can handle and that stands for no fault; nil otherwise.
  static func number(_ text: String) -> Int32? {
    var name = text.uppercased()
    if name.hasPrefix("SIG") { name.removeFirst(3) }
    if let known = names[name] { return known }
    if name.hasPrefix("RTMIN") {
      let rest = name.dropFirst(5)
      if rest.isEmpty { return realTime.lowerBound }
      guard rest.hasPrefix("+"), let offset = ValueParser.count(String(rest.dropFirst())) else { return nil }
      return offset <= 30 ? realTime.lowerBound + Int32(offset) : nil
    }
    guard let number = ValueParser.count(name), number <= 64 else { return nil }
    let signal = Int32(number)
    return names.values.contains(signal) || realTime.contains(signal) ? signal : nil
  }
}
