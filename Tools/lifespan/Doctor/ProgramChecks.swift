// What `lifespan doctor PROGRAM` looks at in a program. Called by DoctorCommand.

enum ProgramChecks {
  static func all(_ facts: ProgramFacts) -> [Check] {
    switch facts.kind {
    case .script(let interpreter):
      return [Check("program", .ok, "a script for \(interpreter): the first Swift program that it starts is recorded")]
    case .other:
      return [Check("program", .no, "no 64-bit ELF executable and no script", cure: "build it for x86-64 Linux")]
    case .elf:
      return [kind(facts), runtime(facts)] + (facts.runtime == .none ? [] : quality(facts))
    }
  }

  private static func kind(_ facts: ProgramFacts) -> Check {
    if let obstacle = facts.obstacle, facts.runtime != .strippedStatic || !facts.isDynamic {
      return Check("program", .no, obstacle.reason, cure: obstacle.cure)
    }
    return Check("program", .ok, "dynamically linked, x86-64")
  }

  private static func runtime(_ facts: ProgramFacts) -> Check {
    switch facts.runtime {
    case .dynamic: return Check("Swift runtime", .ok, "libswiftCore.so")
    case .linkedStatically: return Check("Swift runtime", .ok, "linked statically, symbols there")
    case .strippedStatic:
      return Check(
        "Swift runtime", .no, "linked statically and stripped: its functions cannot be found",
        cure: facts.obstacle?.cure)
    case .none:
      return Check(
        "Swift runtime", .no, "none in it: only a Swift program that it starts is recorded",
        cure: "name the Swift program itself")
    }
  }

  /// What reports will be able to say.
  private static func quality(_ facts: ProgramFacts) -> [Check] {
    var checks = [
      facts.hasSymbols
        ? Check("symbols", .ok, "function names are there")
        : Check("symbols", .limited, "stripped: exported functions have names only", cure: "keep .symtab"),
      facts.hasLineTables
        ? Check("line tables", .ok, "files and lines are there, and inlined functions")
        : Check(
          "line tables", .limited, "none in it: frames have functions alone",
          cure: "build with -g, or keep its debug file where its build-id or debug link leads"),
      stacks(facts),
    ]
    if facts.linksAddressSanitizer {
      checks.append(
        Check(
          "address sanitizer", .limited, "it wants to be loaded first",
          cure: "put its library first: LD_PRELOAD=libasan.so.8 lifespan record …"))
    }
    return checks
  }

  private static func stacks(_ facts: ProgramFacts) -> Check {
    if facts.keepsFramePointers == true { return Check("stacks", .ok, "frame pointers") }
    if facts.hasUnwindTable { return Check("stacks", .ok, "unwind tables") }
    return Check(
      "stacks", .limited, "neither frame pointers nor unwind tables: stacks end in this program",
      cure: "build with -Xcc -fno-omit-frame-pointer")
  }
}
