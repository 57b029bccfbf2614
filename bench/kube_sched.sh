#!/usr/bin/env bash
# The gang scheduler beside a bare loop of Binding calls, on a real API server of this machine, in one run. Nodes are API objects, as in
# the published runs of the peers: no kubelets. Usage: kube_sched.sh [NODES GANGS SIZE [BUILD_FOLDER]]; default 1000 1000 8 build/bench.
# Needs tests/kubernetes/build.sh to have run. Figures are printed, nothing is asserted.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
nodes=${1:-1000} gangs=${2:-1000} size=${3:-8} build=${4:-$top/build/bench}
muster=$build/muster bench=$(find "$build" -name kube_bench -type f | head -1)
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-kube-sched.XXXXXX")
serve=""
stop() { [ -z "$serve" ] || kill "$serve" 2>/dev/null || true; "$muster" lab kubernetes down --dir "$work/lab" >/dev/null 2>&1 || true; rm -rf "$work"; }
trap stop EXIT
echo "$(uname -m), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg), commit $(git -C "$top" rev-parse --short HEAD 2>/dev/null), $($muster --version | head -1)"
up() { "$muster" lab kubernetes up --dir "$work/lab" --nodes 1 >/dev/null 2>&1; kill -KILL "$(cut -d' ' -f1 "$work/lab/pid/player")"; }
export KUBECONFIG=$work/lab/kubeconfig
up
"$muster" sched serve --kubernetes >"$work/serve" 2>&1 & serve=$!
for _ in $(seq 100); do grep -q 'are known' "$work/serve" && break; sleep 0.1; done
"$bench" "$KUBECONFIG" gangs "$nodes" "$gangs" "$size" "$serve"
before=$(awk '{print $14+$15}' "/proc/$serve/stat"); sleep 20
echo "idle: $(( ($(awk '{print $14+$15}' "/proc/$serve/stat") - before) * 3 * 1000 / $(getconf CLK_TCK) )) ms of CPU a minute"
kill -TERM "$serve"; wait "$serve" || true; serve=""
tail -1 "$work/serve"
"$muster" lab kubernetes down --dir "$work/lab" --wipe >/dev/null
up
"$bench" "$KUBECONFIG" bare "$nodes" "$gangs" "$size"
