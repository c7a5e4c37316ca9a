// Programs that do nothing but start another: whoever records them means that other. Asked by RecordingChoice.

enum WrapperPrograms {
  /// By the file's own name. A name that is missing here costs a trace of the wrapper instead of the program below it.
  private static let names: Set<String> = [
    "env", "timeout", "nice", "nohup", "setsid", "stdbuf", "time", "ionice", "chrt", "taskset", "numactl", "prlimit",
    "setpriv", "setarch", "linux32", "linux64", "x86_64", "unshare", "nsenter", "chroot", "flock", "script", "xargs",
    "tini", "dumb-init", "catatonit", "runuser", "timelimit",
  ]
  private static let shells: Set<String> = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "rbash"]

  /// True for these and for a shell that was given its commands with -c. A shell that runs a script is a program.
  static func contains(_ facts: ProcessFacts) -> Bool {
    if shells.contains(facts.name), isCommandString(facts.arguments.dropFirst()) { return true }
    return names.contains(facts.name)
  }

  static func isShell(_ facts: ProcessFacts) -> Bool { shells.contains(facts.name) }

  /// `-c`, also among other letters (`-ec`), before the first word that is no option.
  private static func isCommandString(_ words: ArraySlice<String>) -> Bool {
    var takesValue = false
    for word in words {
      if takesValue {
        takesValue = false
      } else if word.hasPrefix("--") {
        if word == "--" || word == "--command" { return word == "--command" }
      } else if word.hasPrefix("-") || word.hasPrefix("+"), word.count > 1 {
        if word.hasPrefix("-"), word.contains("c") { return true }
        takesValue = word.hasSuffix("o") || word.hasSuffix("O")
      } else {
        return false
      }
    }
    return false
  }
}
