// The namespace of the library. Its parts: Allocations+Recording, +Counts, +Statistics, +Growth, +History, +Heap, +Save.

/// Records the Swift objects of this process and answers, exact to the last object, what lives and what was destroyed.
///
/// ```swift
/// try Allocations.start(recording: .tracked)
/// let login = Allocations.markGeneration("logged in")
/// …
/// try Allocations.liveCount(of: Session.self)   // exact, now, with subclasses
/// try Allocations.growth(since: login).rows     // what was born since and still lives, by type
/// try Allocations.save(to: "run.lifespan")      // for the command line
/// ```
///
/// Not started, it costs nothing: nothing is patched, no memory is taken. Run under `lifespan record`, nothing is
/// recorded twice: the command records, and the questions are answered by it.
///
/// Everything here may be called from any thread. Questions wait for each other; recording threads do not wait for
/// questions, unless their own buffer runs full meanwhile.
///
/// What a question itself allocates is recorded like everything else, under its own names, but never stands in the answer
/// to that question.
///
/// Not offered: objects born before the start are not known, objects that the compiler put on the stack never are.
public enum Allocations {}
