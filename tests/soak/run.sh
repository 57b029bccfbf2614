#!/bin/bash
# A soak of the scheduler on a real API server: gangs come and go while schedulers are killed and stopped, nodes vanish, pods are deleted,
# quotas are edited and the API server is killed. What happened is then read from etcd's history as a cluster script with its decisions,
# and the checker of scheduling decisions judges it (tests/sched_checker): gangs whole or not at all, capacity, quota, usable nodes.
# Usage: run.sh [GANGS [SEED [BUILD_FOLDER]]]; default 10000 1. MUSTER_SOAK_FAULTS=4: everything breaks four times as often. PASS and FAIL lines; figures on lines of their own.
gangs=${1:-10000} seed=${2:-1} build=${3:-${MUSTER_BUILD:-$(dirname "$0")/../../build/dev}}
. "$(dirname "$0")/../lib/control_plane.sh"
checker=$build/tests/sched_checker/muster_sched_checker
. "$top/tests/lib/scheduler.sh"
need_control_plane etcd kube-apiserver kubectl
need_program "$muster"
need_program "$checker"
alone
# The history is read at the end: as JSON, and all of it.
export COMPONENTS="etcd apiserver" APISERVER_FLAGS="--storage-media-type=application/json --etcd-compaction-interval=0"
control_plane_up kubernetes-soak
kc create namespace ml >/dev/null; kc -n ml create serviceaccount default >/dev/null
{ crd kueue.x-k8s.io v1beta2 resourceflavors ResourceFlavor Cluster; crd kueue.x-k8s.io v1beta2 clusterqueues ClusterQueue Cluster; crd kueue.x-k8s.io v1beta2 localqueues LocalQueue Namespaced; } | kc create -f - >/dev/null
kc wait --for=condition=Established crd --all --timeout=60s >/dev/null
cat <<'Q' | kc create -f - >/dev/null
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}, spec: {}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team-a, namespace: ml}, spec: {clusterQueue: team-a}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team-b, namespace: ml}, spec: {clusterQueue: team-b}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
Q
echo "seed $seed, $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg), commit $(git -C "$top" rev-parse --short HEAD 2>/dev/null)"
keep() { [ -z "${MUSTER_KEEP:-}" ] || cp -r "$work"/{script,decisions,ends,state/log} "$MUSTER_KEEP"/ 2>/dev/null; }
if python3 "$top/tests/soak/record.py" --self-test; then pass soak_the_recorder_finds_what_it_must; else fail soak_the_recorder_finds_what_it_must "record.py --self-test"; fi
if python3 "$top/tests/soak/drive.py" "$state" "$muster" "$top/tests/kubernetes/up.sh" "$gangs" "$seed" "$work/ends" >"$work/driven" 2>"$work/driven.err"; then
  pass "soak_${gangs}_gangs_all_end"; cat "$work/driven"
else
  fail "soak_${gangs}_gangs_all_end" "$(tail -12 "$work/driven.err" | tr '\n' ';' | cut -c1-1500); $(tail -3 "$state/log/scheduler.log")"; keep; finish
fi
read -r _ etcd_port <"$state/ports"
if python3 "$top/tests/soak/record.py" "$etcd_port" "$work/ends" "$work/script" "$work/decisions" >"$work/recorded" 2>&1; then
  pass soak_no_double_bind_no_node_over_capacity_no_gang_half_bound
else
  fail soak_no_double_bind_no_node_over_capacity_no_gang_half_bound "$(tail -8 "$work/recorded" | tr '\n' ';' | cut -c1-1500)"
fi
head -1 "$work/recorded"
# Reasons, reservations and the policy of evictions are not in an API's history; tests/e2e/sched holds the engine to those.
"$checker" "$work/script" "$work/decisions" --no-deep --only FORMAT,LINES,CAPACITY,DEVICES,USABLE,GANG,PLACE,QUOTA,FINISH,SUMMARY >"$work/checked" 2>"$work/checked.err"
case $? in
  0) pass soak_the_checker_finds_nothing;;
  *) fail soak_the_checker_finds_nothing "$(head -5 "$work/checked" | tr '\n' ';' | cut -c1-1200)";;
esac
tail -1 "$work/checked.err"
# A judge that finds nothing must be one that can find something: a gang less one of its pods, and a pod on a node that is not there.
grep '"do": "bind"' "$work/decisions" | awk -F'"job": "' '{split($2, name, "\""); if (name[1] == last) {print; exit} last = name[1]}' >"$work/one"
spoilt() { "$checker" "$work/script" "$1" --no-deep --only GANG,USABLE 2>/dev/null | grep -q "$2"; }
grep -vFf "$work/one" "$work/decisions" >"$work/less"
sed "s/$(grep -o '"node": "n[0-9]*"' "$work/one")/\"node\": \"nowhere\"/" "$work/decisions" >"$work/astray"
if spoilt "$work/less" GANG && spoilt "$work/astray" USABLE; then pass soak_spoilt_decisions_are_found; else fail soak_spoilt_decisions_are_found "$(cat "$work/one")"; fi
keep
finish
