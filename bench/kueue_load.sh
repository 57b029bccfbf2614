#!/usr/bin/env bash
# Admission by quota beside a bare loop of the same writes, on a real API server of this machine, in one run: thousands of one-pod
# Workloads, and Jobs, in 30 ClusterQueues of 6 cohorts. No pods are made: the controller manager is ended. Usage: kueue_load.sh [COUNT
# [BUILD_FOLDER]]; default 3000 build/bench. Needs tests/kubernetes/build.sh to have run. Figures are printed, nothing is asserted.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
count=${1:-3000} build=${2:-$top/build/bench}
muster=$build/muster bench=$(find "$build" -name kueue_bench -type f | head -1)
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-kueue-load.XXXXXX")
serve=""
stop() { [ -z "$serve" ] || kill "$serve" 2>/dev/null || true; "$muster" lab kubernetes down --dir "$work/lab" >/dev/null 2>&1 || true; rm -rf "$work"; }
trap stop EXIT
echo "$(uname -m), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg), commit $(git -C "$top" rev-parse --short HEAD 2>/dev/null), $("$muster" --version | head -1)"
export KUBECONFIG=$work/lab/kubeconfig
"$muster" install kubernetes --out "$work/install" --image "registry.example/muster@sha256:$(printf '0%.0s' $(seq 64))" --foreign kueue >/dev/null
up() {
  "$muster" lab kubernetes up --dir "$work/lab" --nodes 1 >/dev/null 2>&1
  for part in player controller-manager; do kill -KILL "$(cut -d' ' -f1 "$work/lab/pid/$part")"; done
  "${MUSTER_KUBERNETES_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/kubernetes/bin}/kubectl" create $(printf -- '-f %s ' "$work"/install/*customresourcedefinition*.yaml) >/dev/null
  sleep 3
}
down() { "$muster" lab kubernetes down --dir "$work/lab" --wipe >/dev/null; }
pids() { cut -d' ' -f1 "$work/lab/pid/apiserver" "$work/lab/pid/etcd"; }
for load in admit turnover jobs; do
  up
  "$muster" sched serve --kubernetes --kueue >"$work/serve" 2>&1 & serve=$!
  for _ in $(seq 100); do grep -q 'are known' "$work/serve" && break; sleep 0.1; done
  "$bench" "$KUBECONFIG" $load "$count" "$serve" $(pids)
  kill -TERM "$serve"; wait "$serve" || true; serve=""
  down
done
for load in bare watched; do
  up
  "$bench" "$KUBECONFIG" $load "$count" $(pids)
  down
done
