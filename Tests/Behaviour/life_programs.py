"""Libraries that come and go, and programs of other languages: the same results as plain."""

import glob, os, shutil, sys

from harness import PROGRAMS, Skip, behaviour, compile_all, expect
from recording import Recording
from wrappers import tiny_package


def plugin(bench, name):
    text = f"""extern int printf(const char *, ...);
__attribute__((noinline)) static void {name}_makes(void *(*make)(void)) {{ make(); __asm__ volatile(""); }}
void plugin_run(void *(*make)(void), int count) {{ for (int i = 0; i < count; i++) {name}_makes(make); }}
"""
    made = bench.path(f"lib{name}.so")
    compile_all(["clang", "-O1", "-g", "-shared", "-fPIC", bench.file(f"{name}.c", text), "-o", made])
    return made


@behaviour("functions of a library that is unloaded keep their names, also where another library came to its address")
def unloaded_functions(bench):
    names = ["first", "second", "third"]
    program, libraries = bench.program("life/plugins.c"), [plugin(bench, name) for name in names]
    recording = bench.same([program, "loads", *libraries]).is_complete().tells()
    expect("at the place of the one before: 2\n" in recording.result.out, recording.result.out)
    bench.needs_recorder()
    found = {}
    for stack in recording.ask("objects", "--type", "Program.Thing")["stacks"]:
        for frame in stack["allocated_by"]:
            if frame["function"].endswith("_makes"):
                found[frame["function"]] = found.get(frame["function"], 0) + stack["count"]
    expect(found == {f"{name}_makes": 30 for name in names}, f"made by {found}")


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Skip(f"{name} is not installed")
    return path


PYTHON = """
import threading, json, subprocess
def work(n):
    kept = [json.loads(json.dumps({"a": [i, str(i)] * 20})) for i in range(300)]
    total.append(sum(len(x["a"]) for x in kept))
total = []
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sum(total), subprocess.run(["sh", "-c", "echo child; exit 3"], capture_output=True))
raise SystemExit(5)
"""
NODE = """
const parts = []; for (let i = 0; i < 20000; i++) parts.push({i, text: 'x'.repeat(i % 50)});
require('zlib').gzip(JSON.stringify(parts), (error, data) => { console.log(data.length > 0);
  require('child_process').exec('echo child', (e, out) => { console.log(out.trim()); process.exitCode = 5; }); });
"""
SQL = "create table t(a, b); with recursive c(x) as (select 1 union all select x+1 from c where x < 5000) insert into t select x, hex(x) from c; select count(*), sum(length(b)) from t; select nothing;"
RUST = """use std::{thread, process, panic};
fn main() {
  let all: Vec<_> = (0..4).map(|n| thread::spawn(move || (0..1000).map(|i| format!("{}", i * n)).collect::<Vec<_>>())).collect();
  let sum: usize = all.into_iter().map(|t| t.join().unwrap().iter().map(|s| s.len()).sum::<usize>()).sum();
  println!("{}", sum);
  panic::set_hook(Box::new(|_| {}));
  let caught = panic::catch_unwind(|| { let v: Vec<i32> = Vec::new(); v[std::env::args().count() * 7] });
  println!("{}", caught.is_err());
  process::exit(5);
}
"""


@behaviour("python, node, git, gcc, sqlite3 and rust programs give the same results as plain")
def other_languages(bench):
    source = os.path.join(PROGRAMS, "life", "life.c")
    repository = bench.path("repository")
    git = ["git", "-C", repository, "-c", "user.name=A", "-c", "user.email=a@b"]
    for words in (["git", "init", "-q", repository], [*git, "commit", "-q", "--allow-empty", "-m", "one"]):
        expect(bench.run(words).status == 0, f"{words} fails")
    programs = [
        [sys.executable, "-c", PYTHON],
        ["node", "-e", NODE],
        [*git, "log", "--stat"],
        [*git, "gc", "-q"],
        ["gcc", "-c", source, "-o", bench.path("life.o")],
        ["gcc", "-c", "-x", "c", "/dev/null", "-o", "/nowhere/a.o"],
        ["sqlite3", ":memory:", SQL],
        ["bash", "-c", "for i in 1 2 3; do echo $(echo $i | cat); done; kill -TERM $$"],
        ["perl", "-e", "my @a = map { {n => $_} } 1..10000; print scalar(@a), qq(\\n); die 'end'"],
    ]
    if shutil.which("rustc"):
        program = bench.path("rusty")
        compile_all(["rustc", "-O", "-o", program, bench.file("rusty.rs", RUST)])
        programs.append([program])
    missing = [words[0] for words in programs if not shutil.which(words[0])]
    for words in [words for words in programs if words[0] not in missing]:
        recording = bench.same(words)
        if bench.lifespan:
            expect(len(recording.ours) == 1, f"{words[0]}: {recording.ours}")
    if missing:
        raise Skip(f"the others do, but not installed (Tools/setup --tests installs them): {', '.join(missing)}")


@behaviour("swift build of a package, and a shell's pipeline, with --children: the same results, and a trace of each process")
def whole_trees(bench):
    folder = tiny_package(bench)
    words = ["swift", "build", "--package-path", folder, "--disable-sandbox", "--scratch-path"]
    plain = bench.run([*words, bench.path("plain")], timeout=500)
    expect(plain.status == 0, f"plain: the package does not build: {(plain.out + plain.err)[-300:]}")
    bench.needs_recorder()
    record = [bench.lifespan, "record", "--children", "-o"]
    result = bench.run([*record, "b.%p.lifespan", "--", *words, bench.path("recorded")], timeout=500)
    expect(result.status == 0, f"the package does not build under record: {(result.out + result.err)[-300:]}")
    results = [bench.run([os.path.join(bench.path(x), "debug", "App"), "a"]) for x in ("plain", "recorded")]
    expect(results[0].out == results[1].out and results[1].status == 0, f"other programs: {[r.out for r in results]}")
    traces = glob.glob(bench.path("b.*.lifespan"))
    programs = {Recording(bench, x, result, []).stats()["program"].split("/")[-1] for x in traces}
    expect({"swift-package", "swift-frontend"} <= programs, f"traces of {sorted(programs)}")
    script = "seq 5000 | sort -r | tee two | wc -l; (exit 7) || echo $?"
    pipeline = bench.run(["bash", "-c", script])
    result = bench.run([*record, "p.%p.lifespan", "--", "bash", "-c", script])
    expect((result.status, result.out) == (pipeline.status, pipeline.out), f"{result.status} {result.out!r}")
    count = len(glob.glob(bench.path("p.*.lifespan")))
    expect(count >= 6, f"{count} traces of a shell that runs four programs: {result.err[-300:]}")


@behaviour("a C++ program without Swift, a static one and a setuid one give the same results as plain")
def other_kinds(bench):
    bench.same([bench.program("exceptions.cpp")])
    bench.same([bench.program("no_runtime.c", "-static"), "one"], stdin="first\n")
    if os.geteuid() != 0:
        return
    # A setuid program that another user starts: the dynamic linker takes no preload library there.
    folder = bench.path("setuid")
    os.makedirs(folder)
    program = os.path.join(folder, "no_runtime")
    shutil.copy(bench.program("no_runtime.c"), program)
    os.chmod(program, 0o4755)
    launcher = [tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    if bench.run([*launcher, program]).status != bench.run([program]).status:
        raise Skip("this folder allows no setuid programs")
    plain = bench.run([*launcher, program, "one"])
    words, _ = bench.record_words([*launcher, program, "one"])
    recorded = bench.run(words)
    expect((recorded.status, recorded.out) == (plain.status, plain.out), f"{recorded.status} {recorded.out[-200:]!r}")
