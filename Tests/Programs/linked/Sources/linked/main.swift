// linked MODE [TRACE]: MODE is tracked or swift (what the program records itself) or record (run below `lifespan record`). Prints the
// statistics as one JSON line on stdout, for comparison with the command line's. Run by Tests/linked.py.
import Glibc
import Lifespan

let mode = CommandLine.arguments.dropFirst().first ?? "tracked"
let byCommand = mode == "record"

if !byCommand { checkNotStarted() }
Allocations.track(Named.self)
let workers = Workers(count: 3)
start()
checkLiveCounts()
checkGrowth()
checkTokens()
checkHistory()
checkLeftOut()
workers.stopAndCheck()
checkStopAndStart()
checkForkChild()
// Nothing of ours is born between the last answer and the file.
printStatistics()
if let path = CommandLine.arguments.dropFirst(2).first { checkSave(path) }
finish()
