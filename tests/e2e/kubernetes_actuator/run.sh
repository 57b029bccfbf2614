#!/bin/bash
# The Kubernetes actuator against a real API server (tests/kubernetes/build.sh): leases, people who interfere, operands' labels, evictions
# under a disruption budget. No kubelet runs: a pod that was evicted is taken away by this script, as a kubelet would.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. In a network namespace with a loopback alone.
. "$(dirname "$0")/../../lib/control_plane.sh"
driver=$build/src/backend/kubernetes/muster_kubernetes_actuator_e2e
need_control_plane etcd kube-apiserver kube-controller-manager kubectl
need_program "$driver"
alone
control_plane_up actuator
namespace train
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
field() { kc get node "$1" -o "jsonpath={$2}"; }
node n1 True; node n2 Unknown
kc -n train create configmap j >/dev/null
uid=$(kc -n train get configmap j -o 'jsonpath={.metadata.uid}')

condition() { kc get node "$1" -o 'jsonpath={range .status.conditions[?(@.type=="MusterHeld")]}{.status} {.message}{end}'; }
taints() { kc get node "$1" -o 'jsonpath={range .spec.taints[*]}{.key}={.value}:{.effect} {end}'; }
kc taint node n1 person=mine:NoSchedule >/dev/null
act cordon n1 run-a 10
check a_cordon_is_accepted '^did accepted cordoned with its lease$'; check its_probe_sees_it '^probe HAPPENED'
is the_node_is_unschedulable "$(field n1 .spec.unschedulable)" true
case $(field n1 '.metadata.annotations.muster\.dev/lease') in *'"run":"run-a"'*) pass the_lease_names_its_run;; *) fail the_lease_names_its_run "$(field n1 .metadata.annotations)";; esac
kc get node n1 --show-managed-fields -o json | python3 -c '
import json, sys
for m in json.load(sys.stdin)["metadata"]["managedFields"]:
    if m["manager"] == "muster" and "f:unschedulable" in m["fieldsV1"].get("f:spec", {}) and "f:annotations" in m["fieldsV1"].get("f:metadata", {}): sys.exit(0)
sys.exit(1)' && pass cordon_and_lease_are_one_managers || fail cordon_and_lease_are_one_managers "managedFields say otherwise"
case $(condition n1) in "True muster, run run-a: end to end; until "*) pass a_condition_says_who_holds_it;; *) fail a_condition_says_who_holds_it "$(condition n1)";; esac
kc get node n1 --show-managed-fields -o json | python3 -c '
import json, sys
sys.exit(0 if any(m["manager"] == "muster" and m.get("subresource") == "status" and m["operation"] == "Apply" and
                  list(m["fieldsV1"]["f:status"]["f:conditions"]) == ["k:{\"type\":\"MusterHeld\"}"]
                  for m in json.load(sys.stdin)["metadata"]["managedFields"]) else 1)' &&
  pass the_condition_is_all_that_we_own_of_the_status || fail the_condition_is_all_that_we_own_of_the_status "managedFields say otherwise"
case " $(taints n1)" in *" person=mine:NoSchedule "*"muster.dev/held=run-a:PreferNoSchedule "*) pass our_taint_joins_a_persons;; *) fail our_taint_joins_a_persons "$(taints n1)";; esac
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

# Work with GPUs: a drain waits for a checkpoint that is younger than itself, and leaves alone what says nothing of one.
uid=$(kc -n train get configmap j -o 'jsonpath={.metadata.uid}')
gpu_pod() { # gpu_pod NAME [ANNOTATION]
  kc apply -f - >/dev/null <<P
{apiVersion: v1, kind: Pod, metadata: {name: $1, namespace: train, annotations: {${2:-}}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: j,
 uid: "$uid", controller: true}]}, spec: {nodeName: n1, automountServiceAccountToken: false, terminationGracePeriodSeconds: 0,
 tolerations: [{operator: Exists}], containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}
P
  kc -n train patch pod "$1" --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' >/dev/null
}
gpu_pod trainer
act drain n1 run-a 11; check work_that_says_nothing_is_unknown '^did accepted 0 evicted.*of 1 it is UNKNOWN'; check the_probe_says_so '^probe NOT_HAPPENED.*UNKNOWN whether'
kc -n train annotate pod trainer "muster.dev/checkpoint-durable-at=2020-01-01T00:00:00Z" >/dev/null
act drain n1 run-a 11; check an_old_checkpoint_is_waited_out '^did accepted 0 evicted.*1 wait for a durable checkpoint'
kc -n train annotate --overwrite pod trainer "muster.dev/checkpoint-durable-at=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)" >/dev/null
act drain n1 run-a 11; check a_young_one_lets_it_go '^did accepted 1 evicted'; gone the_trainer_goes trainer
kc -n train delete pod --all --force --grace-period=0 >/dev/null 2>&1

act return n1 run-a 12; check a_return_is_accepted '^did accepted'; check the_return_has_happened '^probe HAPPENED'
is the_node_is_schedulable "$(field n1 .spec.unschedulable)" ""
case $(condition n1) in "False returned by run run-a") pass the_condition_says_that_it_is_back;; *) fail the_condition_says_that_it_is_back "$(condition n1)";; esac
case " $(taints n1)" in *muster.dev*) fail our_taint_goes_and_a_persons_stays "$(taints n1)";; *" person=mine:NoSchedule "*) pass our_taint_goes_and_a_persons_stays;;
  *) fail our_taint_goes_and_a_persons_stays "$(taints n1)";; esac
is an_operand_comes_back "$(field n1 '.metadata.labels.nvidia\.com/gpu\.deploy\.dcgm')" true
is a_paused_operand_is_paused_again "$(field n1 '.metadata.labels.nvidia\.com/gpu\.deploy\.mig-manager')" paused
kc cordon n1 >/dev/null
act cordon n1 run-c 20; check a_persons_cordon_is_left_alone '^did refused somebody holds it: cordoned by kubectl[a-z-]* at 20'
kc uncordon n1 >/dev/null; act cordon n1 run-c 20; kc uncordon n1 >/dev/null
act return n1 run-c 20; check a_persons_uncordon_ends_the_lease '^did refused .*not ours any more'
kc annotate node n1 muster.dev/lease- muster.dev/fence- >/dev/null
act cordon n1 run-d 30; kc annotate node n1 --overwrite muster.dev/lease=mine >/dev/null
act return n1 run-d 30; check who_wrote_over_a_lease_is_named '^did refused .*a lease that cannot be read by kubectl[a-z-]* at 20'
finish
