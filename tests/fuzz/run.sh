#!/usr/bin/env bash
# Builds every fuzz target (src/**/fuzz/*_fuzz.cc) with libFuzzer and runs each for a fixed number of inputs, 25 seconds at most.
set -u
cd "$(dirname "$0")/../.."
command -v clang++-19 >/dev/null || { [ "${CI:-}" = true ] && echo "FAIL fuzz: clang++-19 is missing" || echo "SKIP fuzz: clang++-19 is missing"; exit 0; }
runs=${MUSTER_NIGHTLY:+2000000}; runs=${runs:-20000}
cmake --preset fuzz >build/fuzz.log 2>&1 && ninja -C build/fuzz fuzzers >>build/fuzz.log 2>&1 || { tail -40 build/fuzz.log; echo "FAIL fuzz: the build failed"; exit 1; }
for target in $(find build/fuzz -name '*_fuzz' -type f -perm -u+x | sort); do
  name=$(basename "$target")
  if timeout 300 "$target" -runs="$runs" -max_total_time=25 -seed=1 -max_len=65536 -rss_limit_mb=2048 -print_final_stats=0 >"build/fuzz/$name.log" 2>&1; then
    echo "PASS fuzz $name"
  else
    tail -30 "build/fuzz/$name.log"; echo "FAIL fuzz $name: see the input above (seed 1)"
  fi
done
