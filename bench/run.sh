#!/usr/bin/env bash
# Whole-run figures of the release binary, printed with machine and commit; nothing here passes or fails.
# Usage: bench/run.sh [BUILD_FOLDER]. The parsers' and the journal's rates are Google Benchmarks: cmake --preset bench.
set -eu
cd "$(dirname "$0")/.."
muster=${1:-build/release}/muster
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
echo "machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(uname -r); commit $(git rev-parse --short HEAD)"
# best_of NAME COMMAND...: least wall time of twenty runs, in ms.
best_of() {
  local name=$1; shift
  python3 - "$name" "$@" <<'PY'
import subprocess, sys, time
best = 1e9
for _ in range(20):
    began = time.monotonic()
    subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    best = min(best, time.monotonic() - began)
print(f"{sys.argv[1]}: {best * 1000:.1f} ms")
PY
}
best_of "muster --help" "$muster" --help
best_of "muster explain FAB-008" "$muster" explain FAB-008
best_of "muster explain XID-79" "$muster" explain XID-79
for nodes in 64 256 1024; do
  "$muster" lab create --spec "nodes=$nodes,gpus=8,rails=8" --out "$work/$nodes/site.yaml" >/dev/null
  all=$("$muster" node list --site "$work/$nodes/site.yaml" -o json | python3 -c 'import json,sys; print(",".join(n["node"] for n in json.load(sys.stdin)["nodes"]))')
  best_of "runbook plan R1 for $nodes nodes" "$muster" runbook plan R1 --site "$work/$nodes/site.yaml" --on "$all" --set driver=580.95.05 --set previous=570.211.01
  python3 - "$nodes" "$muster" check --site "$work/$nodes/site.yaml" -o short <<'PY'
import resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
took = time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"check of {sys.argv[1]} nodes x 8 GPUs: {took:.1f} s wall, {used.ru_utime + used.ru_stime:.1f} s CPU, {used.ru_maxrss / 1024:.0f} MiB")
PY
done
