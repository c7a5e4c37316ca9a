// Runs the examples of the documentation: the one that is named by its number; without one, prints how many there are. Built and run by
// Tests/Behaviour/testing.py.
import Glibc

if let number = CommandLine.arguments.dropFirst().first.flatMap({ Int($0) }) {
  do {
    try await snippets[number]()
  } catch {
    print("example \(number): \(error)")
    exit(1)
  }
} else {
  print(snippets.count)
}
