// Actors, groups, async let, streams, continuations, task locals, cancellation.

import Foundation

actor Counter {
  var items: [Shared] = []
  func add(_ item: Int) -> Int {
    items.append(Shared(item))
    return items.count
  }
  func sum() -> Int { items.reduce(0) { $0 + $1.number } }
}

enum Local {
  @TaskLocal static var tag: Tag?
}
final class Tag: Sendable {
  let text: String
  init(_ text: String) { self.text = text }
}

func asyncLet(_ number: Int) async -> Int {
  async let one = Counter().add(number)
  async let two = Counter().add(number + 1)
  return await one + two
}

func groups() async -> Int {
  let sum = await withTaskGroup(of: Int.self) { group in
    let counter = Counter()
    for number in 0..<20 {
      group.addTask {
        await Task.yield()
        return await counter.add(number)
      }
    }
    return await group.reduce(0, +)
  }
  let thrown = try? await withThrowingTaskGroup(of: Tag.self) { group in
    for number in 0..<10 {
      group.addTask {
        if number == 7 { throw CancellationError() }
        try await Task.sleep(nanoseconds: 100_000)
        return Tag("group \(number)")
      }
    }
    var tags: [String] = []
    while let tag = try await group.next() { tags.append(tag.text) }
    return tags.count
  }
  await withDiscardingTaskGroup { group in
    for number in 0..<10 { group.addTask { _ = await Counter().add(number) } }
  }
  return sum + (thrown ?? 0)
}

func streams() async -> Int {
  let (stream, continuation) = AsyncStream<Shared>.makeStream(bufferingPolicy: .bufferingNewest(16))
  let producer = Task {
    for number in 0..<50 {
      continuation.yield(Shared(number))
      if number % 10 == 0 { await Task.yield() }
    }
    continuation.finish()
  }
  var sum = 0
  for await shared in stream { sum += shared.number }
  await producer.value
  let unfinished = AsyncThrowingStream<Int, any Error> { continuation in
    continuation.yield(1)
    keep(continuation)
  }
  var iterator = unfinished.makeAsyncIterator()
  while sum < 1, let number = try? await iterator.next() { sum += number }
  return sum
}

func continuations() async -> Int {
  var sum = 0
  for number in 0..<20 {
    let shared = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: SendableBox(Shared(number))) }
    }
    sum += shared.value.number
    let failed: Int = await withUnsafeContinuation { $0.resume(returning: number) }
    sum += failed
    _ = try? await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int, any Error>) in
      continuation.resume(throwing: CancellationError())
    }
  }
  return sum
}

struct SendableBox: @unchecked Sendable {
  let value: Shared
  init(_ value: Shared) { self.value = value }
}

func cancelled() async -> Int {
  var sum = 0
  for number in 0..<10 {
    let task = Task.detached {
      await Local.$tag.withValue(Tag("local \(number)")) {
        try? await Task.sleep(nanoseconds: 1_000_000_000)
        return Local.tag?.text.count ?? 0
      }
    }
    task.cancel()
    sum += await task.value
    await withTaskCancellationHandler {
      await Task.yield()
    } onCancel: {
      keep(task)
    }
    if number % 2 == 0 { keep(task) }
  }
  return sum
}

@MainActor final class OnMain {
  var shared = Shared(1)
  func change() { shared = Shared(shared.number + 1) }
}

func tasks() {
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    var sum = 0
    for number in 0..<10 { sum += await asyncLet(number) }
    keep(sum)
    rest()
    sum += await groups()
    rest()
    sum += await streams()
    rest()
    sum += await continuations()
    rest()
    sum += await cancelled()
    let counter = Counter()
    for number in 0..<10 { sum += await counter.add(number) }
    let waiting = Task { try? await Task.sleep(nanoseconds: 1_000_000_000_000) }
    keep(waiting)
    keep(counter)
    keep(sum)
    done.signal()
  }
  done.wait()
}
