#!/bin/bash
# The scheduler on a real API server through what goes wrong in a cluster: etcd that is slow and stalls, an API server that is away with
# bindings under way, a leader that is stopped and wakes up, a quota edited under load, a node that vanishes while its gang is bound.
# The API server's audit log says what was written: no pod is bound twice, whatever happens.
# Usage: run.sh [BUILD_FOLDER]. MUSTER_OUTAGE_S (default 12, longer than a leader may go without a renewal; by hand 60) is the outage.
# PASS, FAIL and SKIP lines; the last line counts. Nodes are objects; the StatefulSet controller is real.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/scheduler.sh"
begin etcd kube-apiserver kube-controller-manager kubectl

# etcd stands behind a proxy: the API server's port for it is the proxy's.
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-faults.XXXXXX")
state=$work/state
mkdir -p "$state"
read -r port proxy_port etcd_port < <(free_ports 3)
echo "$port $proxy_port" >"$state/ports"
echo 0 >"$work/delay"
audit_policy >"$work/audit.yaml"
export ETCD_FLAGS="--listen-client-urls=http://127.0.0.1:$etcd_port --advertise-client-urls=http://127.0.0.1:$etcd_port"
export APISERVER_FLAGS="--audit-policy-file=$work/audit.yaml --audit-log-path=$work/audit.log"
# Without kubelets nobody renews the nodes' leases: nobody may look at them.
export CONTROLLER_FLAGS="--controllers=statefulset-controller,serviceaccount-controller"
trap control_plane_down EXIT
python3 "$top/tests/lib/slow_proxy.py" "$proxy_port" "$etcd_port" "$work/delay" 2>"$work/proxy.err" & pids+=($!)
up() { config=$("$top/tests/kubernetes/up.sh" "$state" 2>"$work/up.err"); }
if up; then pass control_plane_comes_up_behind_a_proxy; else fail control_plane_comes_up_behind_a_proxy "$(tail -3 "$work/up.err" | tr '\n' ';')"; finish; fi
export KUBECONFIG=$config
namespace ml
for i in 0 1 2 3; do node "n$i" "zone: a"; done | kc create -f - >/dev/null

serve() { "$muster" sched serve --kubernetes >"$work/$1" 2>&1 & server=$!; pids+=($server); }
end_serve() { kill -KILL "$server" 2>/dev/null; wait "$server" 2>/dev/null; }
gang() { # gang NAME SIZE [LABELS]: of one GPU each
  local i
  for i in $(seq 0 $(($2 - 1))); do pod "$1-$i" "gang: $1, ${3:-}muster.dev/gang: $1, muster.dev/gang-size: \"$2\"" "" "" 1; done
}
bound() { kc -n ml get pods -l "gang=$1" -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' 2>/dev/null | grep -c .; }
is_bound() { [ "$(bound "$1")" -eq "$2" ]; }
some_bound() { local n; n=$(kc -n ml get pods -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c .); [ "$n" -ge "$1" ]; }
all_bound() { [ "$(kc -n ml get pods -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c .)" -eq "$1" ]; }
clear_pods() { kc -n ml delete pods --all --wait=true >/dev/null 2>&1; }
# No pod has two bindings that the server took, no node more than its eight, no gang a part.
consistent() { python3 "$top/tests/lib/audit.py" bindings "$work/audit.log" && kc -n ml get pods -o json | python3 "$top/tests/lib/audit.py" placed - 8; }
sound() { # sound NAME
  local said
  if said=$(consistent 2>&1); then pass "$1"; else fail "$1" "$said"; fi
}
words() { tail -4 "$work/$1" | tr '\n' ';' | cut -c1-500; }

# ---- etcd is slow, then stalls with bindings under way
serve slow
until_true 100 grep -qs 'are known' "$work/slow"
echo 40 >"$work/delay"; sleep 0.2
gang lag 24 | kc create -f - >/dev/null
if until_true 150 is_bound lag 24; then pass etcd_80_ms_slower_a_gang_is_bound_whole; else fail etcd_80_ms_slower_a_gang_is_bound_whole "$(bound lag) of 24; $(words slow)"; fi
echo 0 >"$work/delay"; sleep 0.2; clear_pods
for g in s0 s1 s2 s3; do gang "$g" 8; done | kc create -f - >/dev/null &
creating=$!
until_true 100 some_bound 4
echo 3000 >"$work/delay"; sleep 7; echo 0 >"$work/delay"
wait $creating
if until_true 300 all_bound 32; then pass after_a_stall_of_etcd_every_gang_is_whole; else fail after_a_stall_of_etcd_every_gang_is_whole "$(kc -n ml get pods -o wide 2>&1 | grep -c n[0-3]) of 32; $(words slow)"; fi
sound and_nothing_was_bound_twice
clear_pods

# ---- the API server is away with bindings under way, for longer than a leader may go without a renewal
outage=${MUSTER_OUTAGE_S:-12}
gang away 32 | sed 's/schedulerName: muster/schedulerName: muster, schedulingGates: [{name: wait}]/' | kc create -f - >/dev/null
echo 100 >"$work/delay"; sleep 0.2  # so that the bindings take a while
for i in $(seq 0 31); do echo "away-$i"; done | xargs -P 32 -I{} "$bin/kubectl" --kubeconfig="$config" -n ml patch pod {} --type=json -p '[{"op":"remove","path":"/spec/schedulingGates"}]' >/dev/null
taken() { grep -c '/pods/away-[0-9]*/binding.*"code":201' "$work/audit.log"; }
for _ in $(seq 1000); do [ "$(taken)" -ge 1 ] && break; sleep 0.01; done
kill -KILL "$(cat "$state/pid/apiserver")"
caught=$(taken)
sleep "$outage"; echo 0 >"$work/delay"
up
if until_true 400 is_bound away 32; then pass "an_outage_with_bindings_under_way_leaves_no_half_gang (away ${outage} s, $caught of 32 bindings answered before)"; else fail an_outage_leaves_no_half_gang "$caught before, then $(bound away) of 32; $(words slow)"; fi
sound and_again_nothing_was_bound_twice
if [ "$outage" -gt 10 ] && ! grep -q 'not leading' "$work/slow"; then fail without_a_renewal_it_does_not_lead "$(words slow)"; else pass without_a_renewal_it_does_not_lead; fi
clear_pods

# ---- the leader is stopped, another leads, the first wakes up
first=$server
serve second; second=$server
kill -STOP "$first"
gang woken 16 | kc create -f - >/dev/null
if until_true 200 is_bound woken 16; then pass where_the_leader_is_stopped_the_other_leads; else fail where_the_leader_is_stopped_the_other_leads "$(bound woken); $(words second)"; fi
before=$(python3 "$top/tests/lib/audit.py" count "$work/audit.log" pods/binding)
kill -CONT "$first"; gang later 8 | kc create -f - >/dev/null
until_true 100 is_bound later 8
until_true 100 grep -q 'not leading' "$work/slow"
after=$(python3 "$top/tests/lib/audit.py" count "$work/audit.log" pods/binding)
if is_bound later 8 && [ $((after - before)) -eq 8 ]; then pass the_one_that_wakes_up_writes_nothing; else fail the_one_that_wakes_up_writes_nothing "$((after - before)) bindings asked for 8 pods; $(words slow)"; fi
sound of_two_replicas_no_pod_has_two_bindings
kill -KILL "$first" 2>/dev/null; wait "$first" 2>/dev/null
end_serve; clear_pods

# ---- a quota is edited under load
{ crd kueue.x-k8s.io v1beta2 resourceflavors ResourceFlavor Cluster; crd kueue.x-k8s.io v1beta2 clusterqueues ClusterQueue Cluster; crd kueue.x-k8s.io v1beta2 localqueues LocalQueue Namespaced; } | kc create -f - >/dev/null
kc wait --for=condition=Established crd --all --timeout=60s >/dev/null
quota() { # quota NOMINAL
  cat <<Q | kc apply -f - >/dev/null
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: $1}]}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: ml}
spec: {clusterQueue: team}
Q
}
quota 8
serve quota
for g in q0 q1 q2 q3 q4 q5; do gang "$g" 4 "queue: team, kueue.x-k8s.io/queue-name: team, "; done | kc create -f - >/dev/null
# Meanwhile gangs without a queue come and go.
(for round in $(seq 40); do gang "load$round" 2; kc -n ml delete pods -l "gang=load$((round - 2))" --wait=false >/dev/null 2>&1; gang "load$round" 2 | kc create -f - >/dev/null 2>&1; done) >/dev/null 2>&1 &
load=$!; pids+=($load)
in_queue() { kc -n ml get pods -l queue=team -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c .; }
holds() { [ "$(in_queue)" -eq "$1" ]; }
step() { # step NAME PODS: so many of the queue's pods come to be bound, and no more a moment later
  if until_true 100 holds "$2" && sleep 1 && holds "$2"; then pass "$1"; else fail "$1" "$(in_queue) of the queue's pods are bound, expected $2; $(words quota)"; fi
}
step a_quota_of_8_lets_two_gangs_of_4_in 8
quota 16; step raised_to_16_it_lets_two_more_in 16
quota 4; step lowered_to_4_it_evicts_nobody 16
for g in q0 q1 q2 q3 q4 q5; do is_bound $g 4 && [ "$(in_queue)" -gt 4 ] && kc -n ml delete pods -l gang=$g --wait=true >/dev/null; done
step and_lets_nobody_in_while_it_is_full 4
quota 8; step raised_by_a_gang_it_lets_one_in 8
wait $load 2>/dev/null
sound under_that_load_nothing_was_bound_twice
clear_pods

# ---- a node vanishes while its gang is bound: some ranks sit there, some are held back
cat <<'V' | kc apply -f - >/dev/null
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: hold-back}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/binding, bindings]}]}
  validations: [{expression: "!object.metadata.name.matches('^half-(1[4-9]|2[0-9])$')", message: held back, reason: RequestEntityTooLarge}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: hold-back}
spec: {policyName: hold-back, validationActions: [Deny]}
V
held() { printf '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"half-20","namespace":"ml"},"target":{"kind":"Node","name":"n0"}}' | kc -n ml create -f - 2>&1 | grep -q 'held back'; }
until_true 150 held
cat <<'J' | kc create -f - >/dev/null
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: half, namespace: ml}
spec:
  replicas: 24
  serviceName: half
  podManagementPolicy: Parallel
  selector: {matchLabels: {gang: half}}
  template:
    metadata: {labels: {gang: half, muster.dev/gang: half, muster.dev/gang-size: "24"}}
    spec: {schedulerName: muster, terminationGracePeriodSeconds: 0, containers: [{name: c, image: none, resources: {limits: {nvidia.com/gpu: "1"}}}]}
J
if until_true 150 is_bound half 14; then pass a_gang_is_caught_with_14_of_24_bound; else fail a_gang_is_caught_with_14_of_24_bound "$(bound half); $(words quota)"; fi
gone=$(kc -n ml get pods -l gang=half -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep . | sort | uniq -c | sort -n | awk '{print $2; exit}')
kc delete node "$gone" >/dev/null
kc delete validatingadmissionpolicybinding/hold-back >/dev/null
collect() { kc -n ml delete pods --field-selector="spec.nodeName=$gone" --grace-period=0 --force >/dev/null 2>&1; }  # as the pod garbage collector does after 40 s
whole_again() { collect; [ "$(kc -n ml get pods -l gang=half -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep . | grep -vc "^$gone\$")" -eq 24 ]; }
if until_true 150 whole_again; then pass after_a_node_vanished_mid_bind_the_gang_is_whole_on_the_others; else fail after_a_node_vanished_mid_bind_the_gang_is_whole_on_the_others "$(bound half) bound; $(words quota)"; fi
sound in_the_end_no_pod_was_bound_twice
end_serve
finish
