#!/bin/sh
# Builds and runs the unwinder's test programs. `run.sh build DIR`: everything into DIR (the tests call this);
# `run.sh table DIR`: one line of figures a program; `run.sh bench DIR`: cost of a walk beside other unwinders.
set -eu
what=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
recorder=$root/Sources/CRecorder
flags="-std=gnu11 -O2 -Wall -Wextra -fno-omit-frame-pointer -I$recorder -I$recorder/include -I$root/Sources/CTraceFormat/include"
sources=$(ls "$here"/alone.c "$recorder"/executable.c "$recorder"/unwind_*.c "$recorder"/images*.c "$recorder"/rows_*.c)

build() {
  mkdir -p "$out"
  clang $flags -fPIC -shared "$here/check.c" $sources -o "$out/check.so"
  clang $flags -fPIC -shared "$here/rows.c" $sources -o "$out/rows.so"
  clang $flags "$here/facts.c" $sources -o "$out/facts" -lpthread
  clang -O2 "$here/c.c" -o "$out/c" -lpthread
  clang++ -O2 "$here/cxx.cpp" -o "$out/cxx"
  clang -O2 "$here/loader.c" -o "$out/loader" -lpthread
  for frame in 64 200; do clang -O2 -fPIC -shared -DFRAME=$frame "$here/plugin.c" -o "$out/plugin$frame.so"; done
  swiftc -O "$here/plain.swift" -o "$out/plain"
  swiftc -O -Xcc -fno-omit-frame-pointer "$here/plain.swift" -o "$out/plain-fp"
  swiftc -O -parse-as-library "$here/async.swift" -o "$out/async"
  marked="-Xfrontend -swift-async-frame-pointer=always"
  swiftc -O -Xcc -fno-omit-frame-pointer -parse-as-library $marked "$here/async.swift" -o "$out/async-fp"
  # As `swift build -c release` and `swift build` do; and with the compiler's marks.
  swiftc -O -Xcc -fno-omit-frame-pointer -parse-as-library "$here/async_kinds.swift" -o "$out/kinds"
  swiftc -Onone -parse-as-library "$here/async_kinds.swift" -o "$out/kinds-debug"
  swiftc -O -Xcc -fno-omit-frame-pointer -parse-as-library $marked "$here/async_kinds.swift" -o "$out/kinds-marked"
}

one() {
  printf '%-20s ' "$(basename "$1") ${2##*/}"
  LD_PRELOAD="$out/check.so" "$@" 2>&1 >/dev/null | sed -n 's/^unwind: walks/walks/p'
}

case $what in
  build) build ;;
  table)
    for kind in recursion deep sort aligned threads signal altstack fiber changing; do one "$out/c" $kind; done
    one "$out/cxx" ""
    one "$out/loader" "$out/plugin64.so" "$out/plugin200.so"
    for program in plain plain-fp async async-fp kinds kinds-debug kinds-marked; do one "$out/$program" ""; done
    ;;
  bench)
    for frames in omit no-omit; do
      clang -O2 -f$frames-frame-pointer -c "$here/bench_descend.c" -o "$out/descend.o"
      clang $flags "$here/bench.c" "$out/descend.o" $sources -o "$out/bench"
      echo "-f$frames-frame-pointer"
      "$out/bench"
    done
    ;;
  *) echo "usage: run.sh build|table|bench DIR" >&2; exit 64 ;;
esac
