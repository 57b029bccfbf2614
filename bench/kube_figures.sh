#!/bin/bash
# More figures of the gang scheduler on a real API server of this machine, each scenario on a control plane of its own and beside a bare
# loop of Binding calls of the same minutes: an urgent gang while 1,000 wait, and one that must evict; writes and idle; 20 gangs of 500 pods; 5,000 nodes with
# 30,000 bound pods and a kill -9. Usage: kube_figures.sh [BUILD_FOLDER [SCENARIO...]]; default build/bench, all of them. Needs
# tests/kubernetes/build.sh to have run. Nothing is asserted.
build=${1:-$(dirname "$0")/../build/bench}; shift
. "$(dirname "$0")/../tests/lib/control_plane.sh"
bench=$(find "$build" -name kube_bench -type f | head -1)
. "$top/tests/lib/scheduler.sh"
need_control_plane etcd kube-apiserver kubectl
need_program "$muster"
export COMPONENTS="etcd apiserver"
[ $# -gt 0 ] || set -- urgent writes stall restart
echo "$(uname -m), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), load $(cut -d' ' -f1-3 /proc/loadavg), commit $(git -C "$top" rev-parse --short HEAD 2>/dev/null), $("$muster" --version | head -1)"
for scenario in "$@"; do
  echo "== $scenario (load $(cut -d' ' -f1-3 /proc/loadavg))"
  control_plane_up "kube-$scenario" >/dev/null
  kc create namespace ml >/dev/null; kc -n ml create serviceaccount default >/dev/null
  if [ "$scenario" = urgent ]; then
    { crd kueue.x-k8s.io v1beta2 resourceflavors ResourceFlavor Cluster; crd kueue.x-k8s.io v1beta2 clusterqueues ClusterQueue Cluster; } | kc create -f - >/dev/null
    kc wait --for=condition=Established crd --all --timeout=60s >/dev/null
  fi
  python3 "$top/bench/kube_figures.py" "$state" "$muster" "$scenario" "$bench" || tail -3 "$state/log/scheduler.log"
  kc get namespace bench >/dev/null 2>&1 || { kc create namespace bench; kc -n bench create serviceaccount default; } >/dev/null
  [ -z "$bench" ] || "$bench" "$config" bind 2000 2 | grep '^bind'
  control_plane_down; pids=()
done
trap - EXIT
