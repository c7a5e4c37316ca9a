// linked MODE [--busy] [TRACE]: MODE is tracked or swift (what the program records itself), record (run below
// `lifespan record`), heap [TURNS] or heap record (leaks and holders, the latter below `lifespan record`), or refused DOOR ABI (run
// below fake_door.c). With --busy the recording starts while threads run. Prints the statistics as one JSON line on stdout, for comparison with the command line's. Run by Tests/Behaviour/linked_door.py.
import Glibc
import Lifespan

let mode = CommandLine.arguments.dropFirst().first ?? "tracked"
let busy = CommandLine.arguments.contains("--busy")
let byCommand = CommandLine.arguments.dropFirst().prefix(2).contains("record")

if let text = getenv("LINKED_REFUSED") { checkRefused(because: String(cString: text)) }
if mode == "refused" { checkRefused(CommandLine.arguments[2], abi: UInt32(CommandLine.arguments[3]) ?? 0) }
if mode == "heap" { checkHeap() }
if !byCommand { checkNotStarted() }
Allocations.track(Named.self)
let early = busy ? Workers(count: 3) : nil
start()
checkLiveCounts()
checkGrowth()
checkNoGrowth()
checkTokens()
checkHistory()
checkLeftOut()
(early ?? Workers(count: 3)).stopAndCheck()
checkStopAndStart()
checkForkChild()
// Nothing of ours is born between the last answer and the file.
printStatistics()
if let path = CommandLine.arguments.dropFirst(2).first(where: { $0 != "--busy" }) { checkSave(path) }
finish()
