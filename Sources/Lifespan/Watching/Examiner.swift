// Looks at expectations whose time is over: which objects live, which of them is the topmost, what is told. Called by Watcher on its
// thread, without its lock.
#if Recording
internal import CDrain

struct Examiner {
  typealias Again = (time: UInt64, expectation: Expectation)

  /// An object that outlived its time.
  struct Suspect {
    var expectation: Expectation
    var watched: WatchedObject
    var ownerPath: [String]
    /// What it holds and lives.
    var below: [Child]
    /// What it keeps of other suspects' families, by type.
    var others: [String: Int] = [:]
  }

  /// So many of one type and path at once are told one by one; the others are counted with the last of them.
  private static let mostAtOnce = 20
  private var suppressed: [String: Int] = [:]
  /// What is kept by survivors that were told, so that it is not told again; by address (inverted), which may be another object's meanwhile.
  private var covered: [UInt: Child] = [:]
  private var budgetsPassed: Set<String> = []
  private var looks = HolderLooks()

  mutating func takeSuppressed() -> [String: Int] {
    defer { suppressed = [:] }
    return suppressed
  }

  /// Whether there is anything left to wait for.
  static func isPending(_ expectation: Expectation) -> Bool {
    guard expectation.told == nil, case .object(let watched) = expectation.subject else { return true }
    return watched.object != nil || !watched.children.isEmpty
  }

  /// The objects that must be told. Only after this has returned may anybody look who holds them: here their addresses are on the stack.
  @inline(never)
  mutating func examine(
    _ due: inout [Expectation], _ rules: WatchRules, now: () -> UInt64, _ again: inout [Again]
  ) -> [Suspect] {
    var suspects: [Suspect] = []
    var scopes: [(Expectation, WatchedScope)] = []
    for expectation in due {
      switch expectation.subject {
      case .scope(let scope): scopes.append((expectation, scope))
      case .object(let watched): examine(expectation, watched, rules, now(), &again, &suspects)
      }
    }
    if !scopes.isEmpty { examine(scopes, rules, now, &again) }
    return suspects.isEmpty ? [] : Self.fewOfAKind(Self.topmost(suspects).filter { !isCovered($0.watched) })
  }

  private mutating func examine(
    _ expectation: Expectation, _ watched: WatchedObject, _ rules: WatchRules, _ now: UInt64, _ again: inout [Again],
    _ suspects: inout [Suspect]
  ) {
    let lives = watched.lives
    if let told = expectation.told {
      if lives { again.append(seenAlive(expectation, told, now)) } else { withdraw(expectation, told, now, rules) }
      return
    }
    let below = watched.children.filter { $0.lives }
    guard lives || !below.isEmpty else { return }
    if lives, let reason = rules.reasonToLive(watched.address, watched.type, watched.object) {
      suppressed[reason, default: 0] += 1
      return
    }
    if expectation.looks == 0 {
      var later = expectation
      later.looks = 1
      again.append((now + expectation.grace, later))
      return
    }
    let name = plainTypeName(of: watched.type)
    if lives {
      suspects.append(Suspect(expectation: expectation, watched: watched, ownerPath: [name], below: below))
      return
    }
    for (index, child) in below.enumerated() where !below[..<index].contains(where: { child.isBelow($0) }) {
      guard let type = child.type else { continue }
      if let reason = rules.reasonToLive(child.address, type, child.object) {
        suppressed[reason, default: 0] += 1
        continue
      }
      let itself = WatchedObject(
        object: child.object, address: child.address, ticks: child.ticks, isWeak: child.isWeak, type: type,
        reason: watched.reason, children: [])
      suspects.append(
        Suspect(
          expectation: expectation, watched: itself,
          ownerPath: [name] + child.path.split(separator: ".").map(String.init),
          below: below.filter { $0.isBelow(child) }))
    }
  }

  // MARK: What is told

  @inline(never)
  mutating func tell(_ suspects: [Suspect], _ rules: WatchRules, now: () -> UInt64, _ again: inout [Again]) {
    // All looks come before anything else, which has their addresses.
    let held = suspects.map { looks.look(at: $0.watched.inverted, rules, now) }
    tell(suspects, held, rules, now(), &again)
  }

  @inline(never)
  private mutating func tell(
    _ suspects: [Suspect], _ held: [HeldBy], _ rules: WatchRules, _ now: UInt64, _ again: inout [Again]
  ) {
    for (suspect, held) in zip(suspects, held) {
      let survivor = Self.survivor(suspect, held)
      cover(suspect.below)
      let finding = Allocations.Finding.survivor(survivor)
      hand(finding, rules)
      var later = suspect.expectation
      later.subject = .object(suspect.watched)
      later.told = Expectation.Told(finding: finding, lastSeen: now, pause: max(later.within / 4, 10_000_000))
      again.append((now + max(later.within / 4, 10_000_000), later))
    }
  }

  private func isCovered(_ watched: WatchedObject) -> Bool {
    guard let child = covered[~watched.address] else { return false }
    return child.isWeak && watched.isWeak ? child.object === watched.object : child.lives
  }

  private mutating func cover(_ children: [Child]) {
    if covered.count > 1_024 { covered = covered.filter { $0.value.lives } }
    for child in children { covered[~child.address] = child }
  }

  /// Of a family only the topmost, with what it keeps by type. A ring has none: its first one stands for it.
  private static func topmost(_ suspects: [Suspect]) -> [Suspect] {
    var places: [UInt: Int] = [:]
    for (index, suspect) in suspects.enumerated() where places[suspect.watched.address] == nil {
      places[suspect.watched.address] = index
    }
    var isHeld = [Bool](repeating: false, count: suspects.count)
    for (index, suspect) in suspects.enumerated() {
      for child in suspect.below { if let place = places[child.address], place != index { isHeld[place] = true } }
    }
    var isTaken = [Bool](repeating: false, count: suspects.count)
    var result: [Suspect] = []
    let roots = suspects.indices.filter { !isHeld[$0] } + suspects.indices.filter { isHeld[$0] }
    for root in roots where !isTaken[root] && places[suspects[root].watched.address] == root {
      isTaken[root] = true
      var others: [String: Int] = [:]
      var seen: Set<UInt> = [suspects[root].watched.address]
      var open = [root]
      while let next = open.popLast() {
        for child in suspects[next].below where seen.insert(child.address).inserted {
          others[child.type.map { plainTypeName(of: $0) } ?? "object", default: 0] += 1
          guard let place = places[child.address], !isTaken[place] else { continue }
          isTaken[place] = true
          open.append(place)
        }
      }
      var top = suspects[root]
      top.others = others
      result.append(top)
    }
    return result
  }

  /// Of many that are alike the first ones; the last of these has the number of the others.
  private static func fewOfAKind(_ suspects: [Suspect]) -> [Suspect] {
    var kept: [Suspect] = []
    var counts: [String: (count: Int, last: Int)] = [:]
    for one in suspects {
      let path = one.ownerPath.joined(separator: ".")
      let count = (counts[path]?.count ?? 0) + 1
      if count <= mostAtOnce {
        kept.append(one)
        counts[path] = (count, kept.count - 1)
      } else if let last = counts[path]?.last {
        counts[path] = (count, last)
        kept[last].others[plainTypeName(of: one.watched.type), default: 0] += 1
      }
    }
    return kept
  }

  private static func survivor(_ suspect: Suspect, _ held: HeldBy) -> Allocations.Survivor {
    let address = UInt64(suspect.watched.address)
    let object = Door.object(at: address)
    return Allocations.Survivor(
      type: plainTypeName(of: suspect.watched.type), ownerPath: suspect.ownerPath, reason: suspect.watched.reason,
      within: .nanoseconds(Int64(clamping: suspect.expectation.within)),
      serial: object.map { Allocations.Serial(rawValue: $0.serial) }, address: Allocations.Address(rawValue: address),
      allocatedBy: object.map { Door.stack($0.stack) } ?? [], unpairedRetains: Door.strongCount(of: address),
      path: held.path, reach: held.reach, unknownHolder: held.note, others: suspect.others)
  }

  private func seenAlive(_ expectation: Expectation, _ told: Expectation.Told, _ now: UInt64) -> Again {
    var later = expectation
    let pause = min(told.pause * 2, 60_000_000_000)
    later.told = Expectation.Told(finding: told.finding, lastSeen: now, pause: pause)
    return (now + pause, later)
  }

  private mutating func withdraw(
    _ expectation: Expectation, _ told: Expectation.Told, _ now: UInt64, _ rules: WatchRules
  ) {
    func late(_ time: UInt64) -> Duration {
      .nanoseconds(Int64(clamping: time > expectation.deadline ? time - expectation.deadline : 0))
    }
    let range = late(told.lastSeen)...late(now)
    switch told.finding {
    case .survivor(let survivor): hand(.withdrawn(survivor, late: range), rules)
    case .scopeSurvivors(let survivors): hand(.scopeWithdrawn(survivors, late: range), rules)
    default: break
    }
  }

  // MARK: Scopes

  private mutating func examine(
    _ scopes: [(Expectation, WatchedScope)], _ rules: WatchRules, _ now: () -> UInt64, _ again: inout [Again]
  ) {
    guard let living = try? TaskScope.livingInEnded() else { return scopes.forEach { $0.1.scope.forget() } }
    let byScope = Dictionary(grouping: living) { $0.scope }
    for (expectation, scope) in scopes {
      let rows =
        (byScope[scope.scope.number] ?? []).isEmpty
        ? [] : self.rows(byScope[scope.scope.number] ?? [], scope, rules, expectation.isToBeTold, now)
      let now = now()
      if rows.isEmpty {
        if let told = expectation.told { withdraw(expectation, told, now, rules) }
        scope.scope.forget()
      } else if let told = expectation.told {
        again.append(seenAlive(expectation, told, now))
      } else if expectation.looks == 0 {
        var later = expectation
        later.looks = 1
        again.append((now + expectation.grace, later))
      } else {
        let finding = Allocations.Finding.scopeSurvivors(
          Allocations.ScopeSurvivors(
            scope: scope.name, within: .nanoseconds(Int64(clamping: expectation.within)), rows: rows))
        hand(finding, rules)
        var later = expectation
        later.told = Expectation.Told(finding: finding, lastSeen: now, pause: max(later.within / 4, 10_000_000))
        again.append((now + max(later.within / 4, 10_000_000), later))
      }
    }
  }

  /// Who holds them is looked for where they are to be told.
  private mutating func rows(
    _ living: [TaskScope.Object], _ scope: WatchedScope, _ rules: WatchRules, _ isToBeTold: Bool,
    _ now: () -> UInt64
  ) -> [Allocations.ScopeSurvivors.Row] {
    guard let (names, chosen) = try? TaskScope.types(scope.types) else { return [] }
    var rows: [Allocations.ScopeSurvivors.Row] = []
    for (type, objects) in Dictionary(grouping: living, by: { $0.type }) where chosen.contains(type) {
      let name = names[type]?.name ?? "unknown"
      guard !rules.patterns.contains(where: { Glob.matches($0.pattern, name) }), let first = objects.first else {
        continue
      }
      let held = isToBeTold ? looks.look(at: first.inverted, rules, now) : HeldBy()
      rows.append(
        Allocations.ScopeSurvivors.Row(
          type: name, count: objects.count, bytes: objects.reduce(0) { $0 + $1.bytes },
          example: Allocations.Serial(rawValue: first.serial), allocatedBy: Door.stack(first.stack), path: held.path,
          reach: held.reach, unknownHolder: held.note))
    }
    return rows.sorted { ($1.count, $0.type) < ($0.count, $1.type) }
  }

  // MARK: Budgets

  mutating func look(at budgets: [WatchRules.Budget], _ rules: WatchRules) {
    guard !budgets.isEmpty, let (rows, table) = try? Allocations.rows(since: 0) else { return }
    for budget in budgets {
      let chosen = table.chosen(budget.types)
      let count = rows.reduce(0) {
        chosen.contains(TypeID(rawValue: $1.type)) ? $0 + Int(clamping: $1.living_count) : $0
      }
      let name = budget.types.description
      let known = "\(name) \(budget.limit)"
      if count <= budget.limit {
        budgetsPassed.remove(known)
      } else if budgetsPassed.insert(known).inserted {
        hand(.budgetPassed(Allocations.BudgetPassed(types: name, count: count, limit: budget.limit)), rules)
      }
    }
  }

  private func hand(_ finding: Allocations.Finding, _ rules: WatchRules) {
    switch rules.handler {
    case .callback(let body): body(finding)
    case .log: Watcher.say(finding.description)
    case .trap:
      Watcher.say(finding.description)
      switch finding {
      case .withdrawn, .scopeWithdrawn: break
      default: assertionFailure(finding.description)
      }
    }
  }
}

extension WatchedObject {
  var lives: Bool { isWeak ? object != nil : Door.lives(address, since: ticks) }
}

extension Child {
  var lives: Bool { isWeak ? object != nil : Door.lives(address, since: ticks) }

  /// The class that is there now; of what is known by its address alone, by its first word.
  var type: (any AnyObject.Type)? { isWeak ? object.map { Swift.type(of: $0) } : Door.type(at: address, since: ticks) }

  func isBelow(_ other: Child) -> Bool { path.hasPrefix(other.path + ".") || path.hasPrefix(other.path + "[") }
}

extension Door {
  /// Whether the object that lay there at a time still does.
  static func lives(_ address: UInt, since ticks: UInt64) -> Bool {
    object(at: UInt64(address)).map { $0.ticks <= ticks } ?? false
  }

  static func type(at address: UInt, since ticks: UInt64) -> (any AnyObject.Type)? {
    guard let object = object(at: UInt64(address)), object.ticks <= ticks, let types = try? ask(LIFESPAN_ASK_TYPES),
      let metadata = TypeTable(types).types[TypeID(rawValue: object.type)]?.metadata,
      let pointer = UnsafeRawPointer(bitPattern: UInt(metadata))
    else { return nil }
    return unsafeBitCast(pointer, to: (any AnyObject.Type).self)
  }

  /// Strong references by what was recorded; nil: not every retain and release of it was.
  static func strongCount(of address: UInt64) -> Int? {
    (try? ask(LIFESPAN_ASK_HISTORY, address: address))?.withBytes { bytes in
      guard bytes.count >= MemoryLayout<lifespan_history_head>.stride else { return nil }
      let head = bytes.loadUnaligned(as: lifespan_history_head.self)
      return head.serial == 0 || head.strong < 0 ? nil : Int(head.strong)
    }
  }
}
#endif
