// A pipeline as network libraries have it: a handler keeps its context, and the context its handler, as long as the channel is open. Closing
// the channel breaks the pairs. The cycle is meant.
//
// Variants:
//   torn-down  every channel is closed: nothing is left
//   open       three channels stay open over all rounds: they live, by design, and are no leak
//   forgotten  a channel of each round is dropped without being closed: its pairs hold each other for ever
import Glibc

final class Context {
  var handler: Handler?
  var next: Context?
}

final class Handler {
  private var context: Context?
  private(set) var seen = 0
  func added(to context: Context) {
    self.context = context
    context.handler = self
  }
  func read(_ bytes: Int) {
    seen += bytes
    context?.next?.handler?.read(bytes)
  }
  /// Where the cycle ends.
  func removed() {
    context?.handler = nil
    context?.next = nil
    context = nil
  }
}

final class Channel {
  private var handlers: [Handler] = []
  init() {
    var last: Context?
    for _ in 0..<3 {
      let handler = Handler()
      let context = Context()
      handler.added(to: context)
      last?.next = context
      last = context
      handlers.append(handler)
    }
  }
  func read(_ bytes: Int) { handlers.first?.read(bytes) }
  func close() {
    for handler in handlers { handler.removed() }
    handlers = []
  }
}

nonisolated(unsafe) var open: [Channel] = []

@inline(never) func serve(closes: Bool) {
  let channel = Channel()
  channel.read(100)
  if closes { channel.close() }
}

@main struct Main {
  static func main() {
    guard ["torn-down", "open", "forgotten"].contains(variant) else { unknownVariant("torn-down", "open", "forgotten") }
    if variant == "open" { open = (0..<3).map { _ in Channel() } }
    rounds { _ in
      for number in 0..<5 { serve(closes: variant != "forgotten" || number > 0) }
      for channel in open { channel.read(1) }
    }
    print("\(open.count) open")
    fflush(stdout)
    exit(0)
  }
}
