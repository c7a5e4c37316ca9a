// What tasks hold: in a frame across an await, in their locals.

final class HeldInFrame: Animal, @unchecked Sendable {}
final class LeakedInFrame: Animal, @unchecked Sendable {}
final class HeldTaskLocal: Animal, @unchecked Sendable {}
final class LeakedTaskLocal: Animal, @unchecked Sendable {}
enum Local {
  @TaskLocal static var animal: Animal?
}
/// A task that waits for a continuation: which a global holds, or nobody. On one thread with this function, so that it does wait when this goes on.
@MainActor func tasks() async {
  for leaks in [false, true] {
    for _ in 0..<times {
      let local: Animal = leaks ? LeakedTaskLocal() : HeldTaskLocal()
      await withCheckedContinuation { (ready: CheckedContinuation<Void, Never>) in
        Local.$animal.withValue(local) {
          _ = Task { @MainActor in
            let frame: Animal = leaks ? LeakedInFrame() : HeldInFrame()
            await withUnsafeContinuation { (end: UnsafeContinuation<Void, Never>) in
              if !leaks { ends.append(end) }
              ready.resume()
            }
            print(frame.mark)
          }
        }
      }
    }
  }
  expected += [
    ("Program.HeldInFrame", 0), ("Program.LeakedInFrame", times), ("Program.HeldTaskLocal", 0),
    ("Program.LeakedTaskLocal", times),
  ]
}
nonisolated(unsafe) var ends: [UnsafeContinuation<Void, Never>] = []

enum InTask {
  enum DeepFrame {}
  enum ChildFrame {}
  enum GroupFrame {}
  enum ActorFrame {}
  enum Stream {}
  enum Handle {}
  enum AwaitedByTask {}
}

/// What a task waits for in these: a global has it in the end, or nobody.
@MainActor func suspend(_ leaks: Bool, _ ready: CheckedContinuation<Void, Never>) async {
  await withUnsafeContinuation { (end: UnsafeContinuation<Void, Never>) in
    if !leaks { ends.append(end) }
    ready.resume()
  }
}

/// `body` becomes a task of its own, which has come to rest when this returns.
@MainActor func rests<Kind>(
  _ kind: Kind.Type, _ body: @escaping @MainActor (Animal, Bool, CheckedContinuation<Void, Never>) async -> Void
) async {
  for leaks in [false, true] {
    for _ in 0..<times {
      await withCheckedContinuation { ready in
        _ = Task { @MainActor in
          let animal: Animal = leaks ? Leaked<Kind>() : Held<Kind>()
          await body(animal, leaks, ready)
          print(animal.mark)
        }
      }
    }
  }
  expected.append((String(reflecting: Held<Kind>.self), 0))
  expected.append((String(reflecting: Leaked<Kind>.self), times))
}

@MainActor func deep(_ level: Int, _ leaks: Bool, _ ready: CheckedContinuation<Void, Never>) async -> Int {
  if level == 0 {
    await suspend(leaks, ready)
    return 1
  }
  return await deep(level - 1, leaks, ready) + level
}

actor Waiter {
  func wait(_ animal: Animal, _ leaks: Bool, _ ready: CheckedContinuation<Void, Never>) async {
    await suspend(leaks, ready)
    print(animal.mark)
  }
}

@MainActor func waiting() async {
  await rests(InTask.DeepFrame.self) { animal, leaks, ready in print(await deep(20, leaks, ready) + animal.mark) }
  await rests(InTask.ChildFrame.self) { animal, leaks, ready in
    async let child: Void = suspend(leaks, ready)
    await child
  }
  await rests(InTask.GroupFrame.self) { animal, leaks, ready in
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await suspend(leaks, ready) }
      await group.waitForAll()
    }
  }
  await rests(InTask.ActorFrame.self) { animal, leaks, ready in await Waiter().wait(animal, leaks, ready) }
  await rests(InTask.Stream.self) { animal, leaks, ready in
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    if !leaks { streams.append(continuation) }
    // On this actor, too: it waits for the first value before the other goes on.
    ready.resume()
    for await number in stream { print(number) }
    continuation.finish()
  }
  await rests(InTask.AwaitedByTask.self) { animal, leaks, ready in
    let other = Task { @MainActor in await suspend(leaks, ready) }
    await other.value
  }
  // Nobody can resume it, but a global has the task itself.
  for _ in 0..<times {
    await withCheckedContinuation { ready in
      handles.append(
        Task { @MainActor in
          let animal = Held<InTask.Handle>()
          await suspend(true, ready)
          print(animal.mark)
        })
    }
  }
  expected.append((String(reflecting: Held<InTask.Handle>.self), 0))
}
nonisolated(unsafe) var streams: [AsyncStream<Int>.Continuation] = []
nonisolated(unsafe) var handles: [Task<Void, Never>] = []
