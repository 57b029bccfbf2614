#!/usr/bin/env bash
# Status changes a second of the player of kubelets, beside a bare loop of the same patches, on a real API server of this machine, in one
# run; the CPU of the player, the API server and etcd for each. Usage: player_rate.sh [PODS [BUILD_FOLDER]]; default 3000 build/bench. Figures are printed, nothing is asserted.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
count=${1:-3000} build=${2:-$top/build/bench}
muster=$build/muster bench=$(find "$build" -name kueue_bench -type f | head -1)
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-player-rate.XXXXXX")
stop() { "$muster" lab kubernetes down --dir "$work/lab" >/dev/null 2>&1 || true; rm -rf "$work"; }
trap stop EXIT
echo "$(uname -m), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg), commit $(git -C "$top" rev-parse --short HEAD 2>/dev/null), $("$muster" --version | head -1)"
export KUBECONFIG=$work/lab/kubeconfig
up() { "$muster" lab kubernetes up --dir "$work/lab" --nodes 100 >/dev/null 2>&1; kill -KILL "$(cut -d' ' -f1 "$work/lab/pid/controller-manager")"; player=$(cut -d' ' -f1 "$work/lab/pid/player"); }
pids() { cut -d' ' -f1 "$work/lab/pid/apiserver" "$work/lab/pid/etcd"; }
up
kill -STOP "$player"
"$bench" "$KUBECONFIG" pods "$count"
"$bench" "$KUBECONFIG" played "$count" "$player" $(pids) >"$work/played" & watch=$!
for _ in $(seq 300); do grep -q ready "$work/played" && break; sleep 0.1; done
kill -CONT "$player"
wait $watch
tail -1 "$work/played"
"$muster" lab kubernetes down --dir "$work/lab" --wipe >/dev/null
for connections in 2 8; do
  up
  kill -KILL "$player"
  "$bench" "$KUBECONFIG" pods "$count"
  "$bench" "$KUBECONFIG" patches "$count" $connections $(pids)
  "$muster" lab kubernetes down --dir "$work/lab" --wipe >/dev/null
done
