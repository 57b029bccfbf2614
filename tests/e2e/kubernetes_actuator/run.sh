#!/bin/bash
# The Kubernetes actuator against a real API server (tests/kubernetes/build.sh): leases, people who interfere, operands' labels, evictions
# under a disruption budget. No kubelet runs: a pod that was evicted is taken away by this script, as a kubelet would.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. In a network namespace with a loopback alone.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
driver=$build/src/backend/kubernetes/muster_kubernetes_actuator_e2e
bin=${MUSTER_KUBERNETES_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/kubernetes/bin}
passed=0 failed=0 skipped=0
pass() { echo "PASS $1"; passed=$((passed + 1)); }
fail() { echo "FAIL $1: $2"; failed=$((failed + 1)); }
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ $failed -eq 0 ]; exit $?; }
for name in etcd kube-apiserver kube-controller-manager kubectl; do
  [ -x "$bin/$name" ] && continue
  if [ "${CI:-}" = true ]; then fail kubernetes "no $bin/$name"; else echo "SKIP kubernetes: no $bin/$name: tests/kubernetes/build.sh builds it"; skipped=1; fi
  finish
done
[ -x "$driver" ] || { fail driver "no $driver: build muster_kubernetes_actuator_e2e with the dev preset"; finish; }
if [ "${MUSTER_ALONE:-}" != yes ] && unshare -n true 2>/dev/null; then
  MUSTER_ALONE=yes exec unshare -n bash -c 'ip link set lo up && exec "$0" "$@"' "$0" "$@"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-actuator.XXXXXX")
export MUSTER_KUBERNETES_BIN=$bin
trap '"$top/tests/kubernetes/down.sh" "$work/state" --wipe; rm -rf "$work"' EXIT
config=$("$top/tests/kubernetes/up.sh" "$work/state" 2>"$work/up.err") || { fail control_plane_comes_up "$(tail -3 "$work/up.err")"; finish; }
pass control_plane_comes_up
kc() { "$bin/kubectl" --kubeconfig="$config" "$@"; }
kc create namespace train >/dev/null
node() { # node NAME READY
  kc apply -f - >/dev/null <<N
{apiVersion: v1, kind: Node, metadata: {name: $1, labels: {nvidia.com/gpu.deploy.dcgm: "true", nvidia.com/gpu.deploy.mig-manager: "paused", zone: a}}}
N
  kc patch node "$1" --subresource=status --type=merge -p "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"$2\"}]}}" >/dev/null
}
# pod NAME NODE LABEL: something controls it that no controller looks after: a Job's or a ReplicaSet's would let go of pods it did not make.
pod() {
  kc apply -f - >/dev/null <<P
{apiVersion: v1, kind: Pod, metadata: {name: $1, namespace: train, labels: {app: $3}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: j,
 uid: "$uid", controller: true}]}, spec: {nodeName: $2, automountServiceAccountToken: false, terminationGracePeriodSeconds: 0,
 tolerations: [{operator: Exists}], containers: [{name: c, image: i}]}}
P
  kc -n train patch pod "$1" --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' >/dev/null
}
act() { timeout 100 "$driver" "$config" "$@" >"$work/facts" 2>&1; }
check() { if grep -Eq "$2" "$work/facts"; then pass "$1"; else fail "$1" "no line matches '$2': $(tr '\n' ';' <"$work/facts" | cut -c1-500)"; fi; }
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "'$2' and not '$3'"; fi; }
field() { kc get node "$1" -o "jsonpath={$2}"; }
for n in $(seq 60); do kc -n train get serviceaccount default >/dev/null 2>&1 && break; sleep 0.5; done
node n1 True; node n2 Unknown
kc -n train create configmap j >/dev/null
uid=$(kc -n train get configmap j -o 'jsonpath={.metadata.uid}')

act cordon n1 run-a 10
check a_cordon_is_accepted '^did accepted'; check its_probe_sees_it '^probe HAPPENED'
is the_node_is_unschedulable "$(field n1 .spec.unschedulable)" true
case $(field n1 '.metadata.annotations.muster\.dev/lease') in *'"run":"run-a"'*) pass the_lease_names_its_run;; *) fail the_lease_names_its_run "$(field n1 .metadata.annotations)";; esac
kc get node n1 --show-managed-fields -o json | python3 -c '
import json, sys
for m in json.load(sys.stdin)["metadata"]["managedFields"]:
    if m["manager"] == "muster" and "f:unschedulable" in m["fieldsV1"].get("f:spec", {}) and "f:annotations" in m["fieldsV1"].get("f:metadata", {}): sys.exit(0)
sys.exit(1)' && pass cordon_and_lease_are_one_managers || fail cordon_and_lease_are_one_managers "managedFields say otherwise"
act cordon n1 run-b 11; check another_run_is_refused '^did refused'
act fleet - - 0; check the_fleet_says_who_holds_it '^node n1 held run-a'; check a_node_that_is_not_ready_is_silent '^silent n2'
act operands n1 run-a 10; check a_drain_of_an_empty_node_has_happened '^probe HAPPENED'
is an_operand_goes "$(field n1 '.metadata.labels.nvidia\.com/gpu\.deploy\.dcgm')" false

pod rank-0 n1 free; pod rank-1 n1 guarded
kc -n train create poddisruptionbudget guard --selector=app=guarded --min-available=1 >/dev/null
for n in $(seq 60); do [ "$(kc -n train get pdb guard -o 'jsonpath={.status.currentHealthy}')" = 1 ] && break; sleep 0.5; done
act drain n1 run-a 10
check a_budget_holds_one_pod_back '^did accepted .*1 wait for a disruption budget'; check work_still_runs '^probe NOT_HAPPENED'
gone() { local at; at=$(kc -n train get pod "$2" --ignore-not-found -o 'jsonpath={.metadata.name} {.metadata.deletionTimestamp}'); case $at in ""|*Z) pass "$1";; *) fail "$1" "$at";; esac; }
gone the_other_pod_goes rank-0
kc -n train get pod rank-1 -o 'jsonpath={.metadata.deletionTimestamp}' | grep -q . && fail the_guarded_pod_is_untouched "it is being deleted" || pass the_guarded_pod_is_untouched
kc -n train delete pdb guard >/dev/null
act drain n1 run-a 10; check without_the_budget_it_goes '^did accepted 1 evicted, 0 wait'
gone the_guarded_pod_goes_at_last rank-1
kc -n train delete pod --all --force --grace-period=0 >/dev/null 2>&1
act drain n1 run-a 10; check the_drain_has_happened '^probe HAPPENED'
act drain n1 run-a 9; check an_engine_that_slept_is_refused '^did refused fence'

act return n1 run-a 12; check a_return_is_accepted '^did accepted'; check the_return_has_happened '^probe HAPPENED'
is the_node_is_schedulable "$(field n1 .spec.unschedulable)" ""
is an_operand_comes_back "$(field n1 '.metadata.labels.nvidia\.com/gpu\.deploy\.dcgm')" true
is a_paused_operand_is_paused_again "$(field n1 '.metadata.labels.nvidia\.com/gpu\.deploy\.mig-manager')" paused
kc cordon n1 >/dev/null
act cordon n1 run-c 20; check a_persons_cordon_is_left_alone '^did refused somebody holds it'
kc uncordon n1 >/dev/null; act cordon n1 run-c 20; kc uncordon n1 >/dev/null
act return n1 run-c 20; check a_persons_uncordon_ends_the_lease '^did refused .*not ours any more'
finish
