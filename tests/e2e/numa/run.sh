#!/bin/bash
# src/sched/numa against the kubelet's own managers (tests/kubernetes/oracle, built from Go modules): random machines and pods.
# Usage: run.sh [BUILD_FOLDER]. 200,000 decisions, 1,000,000 with MUSTER_NIGHTLY; MUSTER_SEED repeats a run. Prints PASS, FAIL and
# SKIP lines and a count at the end; exit 1 after a FAIL. Needs Go, and the modules in Go's cache or a module proxy.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
tool=$build/src/sched/numa/muster_numa_differential
cache=${MUSTER_ORACLE_CACHE:-$top/build/oracle}
seed=${MUSTER_SEED:-$(date +%Y%m%d)}
sequences=26000 # of about 8 decisions each
[ -n "${MUSTER_NIGHTLY:-}" ] && sequences=130000
passed=0 failed=0 skipped=0

result() { # result PASS|FAIL|SKIP TEXT
  echo "$1 $2"
  case $1 in PASS) passed=$((passed + 1)) ;; FAIL) failed=$((failed + 1)) ;; SKIP) skipped=$((skipped + 1)) ;; esac
}
finish() {
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
  exit $?
}
absent() {
  if [ "${CI:-}" = true ]; then result FAIL "numa: $1"; else result SKIP "numa: $1"; fi
  finish
}

command -v go >/dev/null 2>&1 || absent "Go is not installed"
[ -x "$tool" ] || { result FAIL "numa: $tool is not built"; finish; }
mkdir -p "$cache"
started=$SECONDS
if ! (cd "$top/tests/kubernetes/oracle" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$cache/oracle" .) >"$cache/build.log" 2>&1; then
  tail -5 "$cache/build.log"
  absent "the oracle does not build (no module cache and no proxy?)"
fi
echo "oracle built in $((SECONDS - started)) s; seed $seed, $sequences sequences"

work=$(mktemp -d "${TMPDIR:-/tmp}/muster-numa.XXXXXX")
trap 'rm -rf "$work"' EXIT
started=$SECONDS
each=$((sequences / 26))
chunk() { # one chunk of cases through generator, oracle and comparison
  set -o pipefail
  "$1" generate "$2" "$3" "$4" | "$5" | "$1" compare "$2" "$3" "$4" >"$6/$3.json" 2>"$6/$3.err"
}
export -f chunk
for i in $(seq 0 25); do echo $((i * each)); done |
  xargs -P "$(nproc)" -I{} bash -c 'chunk "$@"; echo $? >"$6/$3.rc"' _ "$tool" "$seed" {} "$each" "$cache/oracle" "$work"
cat "$work"/*.err | head -40
python3 - "$work" >"$work/checks" <<'PY'
import glob, json, os, sys
total, broken = {}, 0
for rc in glob.glob(sys.argv[1] + "/*.rc"):
    path = rc[:-3] + ".json"
    text = open(path).read() if os.path.exists(path) else ""
    if not text.strip():
        broken += 1
        continue
    for key, value in json.loads(text).items():
        total[key] = total.get(key, 0) + value
total.pop("seed", None)
print("INFO", json.dumps(total))
def check(name, good, why):
    print(("PASS numa: " if good else "FAIL numa: ") + name + ("" if good else ": " + why))
n = total.get("decisions", 0)
check("every chunk was answered", broken == 0, f"{broken} chunks without an answer")
wanted = 1000000 if os.environ.get("MUSTER_NIGHTLY") else 200000
check(f"at least {wanted} decisions", n >= wanted, f"only {n}")
for key, name in [("accepted_wrongly", "nothing is accepted that the kubelet refuses"),
                  ("refused_wrongly_single_numa_node", "single-numa-node: nothing is refused that the kubelet accepts"),
                  ("refused_wrongly", "any policy: nothing is refused that the kubelet accepts"),
                  ("other_reason", "the same reason for each refusal"),
                  ("other_message", "the same message for each refusal, where the kubelet's is not chance"),
                  ("other_affinity", "the same NUMA affinity"), ("other_devices", "the same devices"),
                  ("other_cpus", "the same exclusive CPUs"), ("other_memory", "the same memory zones"),
                  ("bound_broken", "the capacity bound never rules out what is admitted")]:
    check(f"{name} ({n} decisions)", n > 0 and total.get(key, 1) == 0, f"{total.get(key)} differ")
PY
while read -r verdict text; do
  case $verdict in PASS | FAIL) result "$verdict" "$text" ;; *) echo "$text" ;; esac
done <"$work/checks"
echo "compared in $((SECONDS - started)) s on $(nproc) cores"
finish
