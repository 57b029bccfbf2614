#!/usr/bin/env bash
# clang-tidy over every room, as its build compiles it (a room's files together). Usage: run.sh [BUILD_FOLDER].
set -u
cd "$(dirname "$0")/../.."
build=${1:-${MUSTER_BUILD:-build/dev}}
command -v clang-tidy-19 >/dev/null || { [ "${CI:-}" = true ] && echo "FAIL clang-tidy: clang-tidy-19 is missing" || echo "SKIP clang-tidy: clang-tidy-19 is missing"; exit 0; }
[ -f "$build/compile_commands.json" ] || { echo "FAIL clang-tidy: $build is not configured"; exit 1; }
# Sources of rooms; tests and fuzzers are held by the compiler's warnings alone.
python3 - "$build/compile_commands.json" <<'PY' >"$build/tidy-files"
import json, sys
for entry in json.load(open(sys.argv[1])):
    name = entry["file"]
    if "/src/" in name and not name.endswith(("_test.cc", "_fuzz.cc")) and "/testing/" not in name and "_test.dir/" not in name:
        print(name)
PY
xargs -P 2 -n 1 clang-tidy-19 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations \
  --extra-arg=-Wno-shadow <"$build/tidy-files" >"$build/tidy.log" 2>/dev/null
findings=$(grep -E '(warning|error): .*\[' "$build/tidy.log" | sort -u)
if [ -z "$findings" ]; then echo "PASS clang-tidy"; else echo "$findings" | head -40; echo "FAIL clang-tidy: $(echo "$findings" | wc -l) findings"; fi
