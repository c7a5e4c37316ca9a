// What lies in a task's allocator beside contexts: `async let` children and their buffers, records of cancellation, task locals and executors, values
// whose size is known at run time only. Everything allocates before and after each suspension, below sync calls too.
final class Box: Sendable { let value: Int; init(_ value: Int) { self.value = value } }

let keeper = Keeper()

actor Keeper {
  private var boxes: [Box] = []
  func keep(_ box: Box) {
    boxes.append(box)
    if boxes.count > 32 { boxes.removeAll() }
  }
}

enum Settings {
  @TaskLocal static var depth = 0
  @TaskLocal static var name: [Int] = []
}

struct Wide<Value: Sendable>: Sendable { var values: (Value, Value, Value); var box: Box }

@inline(never) func make(_ number: Int) async -> Int {
  let box = Box(number)
  await keeper.keep(box)
  return box.value + Array(repeating: number, count: 3 + number % 5).count
}

@inline(never) func recurse(_ depth: Int) async -> Int {
  let before = await make(depth)
  if depth == 0 { return before }
  let below = await recurse(depth - 1)
  return before + below + (await make(depth))
}

@inline(never) func generic<Value: Sendable>(_ value: Value, _ number: Int) async -> Wide<Value> {
  var wide = Wide(values: (value, value, value), box: Box(number))
  await Task.yield()
  wide.box = Box(await make(number))
  return wide
}

@inline(never) func failing(_ number: Int) async throws -> Int {
  let made = await make(number)
  if number % 3 == 0 { throw CancellationError() }
  return made
}

@inline(never) func children(_ number: Int) async -> Int {
  async let one = make(number)
  async let two = recurse(2)
  async let three = generic([number], number).box.value
  let own = await make(number)
  return own + (await one) + (await two) + (await three)
}

@inline(never) func locals(_ number: Int) async -> Int {
  await Settings.$depth.withValue(number) {
    await Settings.$name.withValue([number]) {
      await withTaskCancellationHandler {
        let first = await make(Settings.depth)
        await Task.yield()
        return first + (await make(Settings.name.count))
      } onCancel: {
      }
    }
  }
}

@inline(never) func continued(_ number: Int) async -> Int {
  let value = await withCheckedContinuation { (continuation: CheckedContinuation<Int, Never>) in
    let box = Box(number)
    Task { continuation.resume(returning: await make(box.value)) }
  }
  return value + (await make(number))
}

@inline(never) func streamed(_ number: Int) async -> Int {
  let (stream, continuation) = AsyncStream<Box>.makeStream()
  let feeder = Task.detached {
    for i in 0..<4 {
      continuation.yield(Box(i))
      await Task.yield()
    }
    continuation.finish()
  }
  var sum = 0
  for await box in stream { sum += box.value + (await make(number)) }
  await feeder.value
  return sum
}

@inline(never) func grouped(_ number: Int) async -> Int {
  await withTaskGroup(of: Int.self) { group in
    for i in 0..<4 { group.addTask { await generic("text", i).box.value + ((try? await failing(i)) ?? 0) } }
    var sum = 0
    for await value in group { sum += value + (await make(value & 7)) }
    return sum
  }
}

@MainActor @inline(never) func onMain(_ number: Int) async -> Int {
  let box = Box(number)
  let value = await Task { @MainActor in await make(box.value) }.value
  return value + (await recurse(1))
}

@main struct Program {
  static func main() async {
    var total = 0
    for number in 0..<20 {
      total &+= await children(number)
      total &+= await locals(number)
      total &+= await continued(number)
      total &+= await streamed(number)
      total &+= await grouped(number)
      total &+= await onMain(number)
      total &+= await recurse(4)
      total &+= (try? await failing(number)) ?? 0
    }
    print("done", total != 0)
  }
}
