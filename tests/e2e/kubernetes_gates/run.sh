#!/bin/bash
# Gate 4 on a cluster, against a real API server, controller manager and kube-scheduler (tests/kubernetes/build.sh). The operators' objects
# are written here from their published definitions; no operator and no kubelet runs: this script reports for the pods. kube-scheduler is the one
# that goes pod by pod, Muster's own the one that places gangs.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. In a network namespace with a loopback alone.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/verdicts.sh"
begin etcd kube-apiserver kube-controller-manager kube-scheduler kubectl
export COMPONENTS="etcd apiserver controller-manager scheduler"
control_plane_up gates
node() { # node NAME GPUS READY
  kc apply -f - >/dev/null <<N
{apiVersion: v1, kind: Node, metadata: {name: $1, labels: {feature.node.kubernetes.io/pci-15b3.present: "true", network.nvidia.com/operator.mofed.wait: "false"}}}
N
  kc patch node "$1" --subresource=status --type=merge -p "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"$3\"}],\"capacity\":{\"cpu\":\"96\",\"memory\":\"1Ti\",\"pods\":\"110\",\"nvidia.com/gpu\":\"$2\",\"rdma/ib\":\"8\"},\"allocatable\":{\"cpu\":\"96\",\"memory\":\"1Ti\",\"pods\":\"110\",\"nvidia.com/gpu\":\"$2\",\"rdma/ib\":\"8\"}}}" >/dev/null
  kc taint node "$1" node.kubernetes.io/not-ready- node.kubernetes.io/unreachable- >/dev/null 2>&1
}
crd() { # crd GROUP VERSION KIND PLURAL SCOPE
  kc apply -f - >/dev/null <<C
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: $4.$1, annotations: {api-approved.kubernetes.io: "unapproved, test"}},
 spec: {group: $1, scope: $5, names: {kind: $3, plural: $4, singular: ${3,,}}, versions: [{name: $2, served: true, storage: true, subresources: {status: {}},
 schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
C
  kc wait crd/"$4.$1" --for=condition=Established --timeout=30s >/dev/null
}
state() { kc patch "$1" "$2" --subresource=status --type=merge -p "{\"status\":$3}" >/dev/null; }
cat >"$work/site.yaml" <<S
apiVersion: muster/v1
kind: Site
name: prod
type: kubernetes
kubernetes: {kubeconfig: $config}
cluster:
  nodes:
    - {name: n1, gpus: 8, numa: 2, gpu_model: NVIDIA H100 80GB HBM3, nics: [mlx5_0], nic_rate: 400 Gb/s}
    - {name: n2, gpus: 8, numa: 2, gpu_model: NVIDIA H100 80GB HBM3, nics: [mlx5_0], nic_rate: 400 Gb/s}
pins: {proof_image: "registry.example/tools@sha256:$(printf 'c%.0s' $(seq 64))", proof_scheduler: default-scheduler, gang_patience: 15s}
S
# holds NAME CODE: gate 4 was judged, and the criterion is not among what did not pass (a run prints no passes).
holds() { grep -q '"id": 4' "$work/json" && ! grep -q "\"$2\"" "$work/json" && pass "$1" || fail "$1" "$(grep -A9 "\"code\": \"$2\"" "$work/json" | grep -E "verdict|text|reason" | tr '\n' ' '; tail -2 "$work/err")"; }
for n in n1 n2; do node $n 8 True; done

look check -g 4
verdict without_the_operator_its_state_is_unknown STK-028 prod unknown
verdict every_gpu_is_allocatable STK-029 n1 pass
verdict a_node_is_ready STK-020 n2 pass
verdict no_kubelet_answers_for_its_policy STK-030 n1 unknown
verdict a_nodes_own_tools_are_unknown_without_ssh STK-001 n1 unknown ssh

crd nvidia.com v1 ClusterPolicy clusterpolicies Cluster; crd mellanox.com v1alpha1 NicClusterPolicy nicclusterpolicies Cluster
crd k8s.cni.cncf.io v1 NetworkAttachmentDefinition network-attachment-definitions Namespaced
echo '{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: cluster-policy}}' | kc apply -f - >/dev/null
echo '{apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, metadata: {name: nic-cluster-policy}}' | kc apply -f - >/dev/null
echo '{apiVersion: k8s.cni.cncf.io/v1, kind: NetworkAttachmentDefinition, metadata: {name: rail-0, namespace: default, annotations: {k8s.v1.cni.cncf.io/resourceName: rdma/ib}}}' | kc apply -f - >/dev/null
kc apply -f - >/dev/null <<'D'
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: nvidia-driver-daemonset, namespace: default, labels: {app.kubernetes.io/managed-by: gpu-operator}},
 spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {no: "such"}, containers: [{name: c, image: i}]}}}}
D
state clusterpolicies.nvidia.com cluster-policy '{"state":"ready"}'
state nicclusterpolicies.mellanox.com nic-cluster-policy '{"state":"ready","appliedStates":[{"name":"state-OFED","state":"ready"},{"name":"state-RDMA-device-plugin","state":"ready"}]}'
sleep 1
look check -g 4
verdict a_ready_operator_passes STK-028 prod pass
verdict its_operands_are_counted STK-027 prod pass
verdict the_network_operator_passes STK-024 prod pass
verdict an_attachment_that_names_a_device_of_the_nodes_passes STK-026 prod pass
verdict rdma_is_allocatable STK-025 n2 pass

state clusterpolicies.nvidia.com cluster-policy '{"state":"notReady","conditions":[{"type":"Error","status":"True","reason":"OperandNotReady","message":"state-driver"}]}'
for pid in $(cat "$work/state/pid/controller-manager"); do kill -STOP "$pid"; done # so that the counts stay as this script writes them
kc -n default patch daemonset nvidia-driver-daemonset --subresource=status --type=merge -p '{"status":{"desiredNumberScheduled":2,"currentNumberScheduled":2,"numberMisscheduled":0,"numberReady":1}}' >/dev/null
state nicclusterpolicies.mellanox.com nic-cluster-policy '{"state":"error","appliedStates":[{"name":"state-OFED","state":"ready"},{"name":"state-RDMA-device-plugin","state":"error","message":"no such image"}]}'
kc patch network-attachment-definitions.k8s.cni.cncf.io rail-0 --type=merge -p '{"metadata":{"annotations":{"k8s.v1.cni.cncf.io/resourceName":"rdma/other"}}}' >/dev/null
node n2 7 True
look check -g 4
verdict the_operator_that_is_not_ready_fails STK-028 prod fail
verdict and_its_failed_operand_is_named STK-027 prod fail nvidia-driver-daemonset
verdict the_network_state_that_fails_is_named STK-023 prod fail state-RDMA-device-plugin
verdict an_attachment_without_a_device_is_named STK-026 prod fail rdma/other
verdict a_gpu_that_is_lost_to_jobs_is_seen STK-029 n2 fail
verdict and_the_other_node_passes STK-029 n1 pass
for pid in $(cat "$work/state/pid/controller-manager"); do kill -CONT "$pid"; done
node n2 8 True

# Permission: a reader without nodes learns nothing, and says why.
kc create serviceaccount blind >/dev/null
token=$(kc create token blind --duration=1h)
sed -E "s|token: \"[^\"]*\"|token: \"$token\"|" "$config" >"$work/blind.kubeconfig"
sed "s|kubeconfig: $config|kubeconfig: $work/blind.kubeconfig|" "$work/site.yaml" >"$work/blind.yaml"
timeout 100 "$muster" check -g 4 --site "$work/blind.yaml" -o json >"$work/json" 2>"$work/err"
verdict what_may_not_be_read_is_unknown STK-029 n1 unknown
verdict and_the_refusal_is_the_reason STK-028 prod unknown orbidden

# The proofs. kube-scheduler goes pod by pod: of three whole-node pods on two nodes it binds two, and is found out.
for g in 1 2 3; do "$muster" gate waive $g --by 'A. Person' --reason 'not this test' --until 1d --site "$work/site.yaml" >/dev/null 2>&1; done
left() { kc get jobs,services,pods -A -l muster.dev/proof=true -o name | tr '\n' ' '; }
reap() { # a kubelet's part: what is bound ends well, what is deleted goes
  while sleep 0.3; do
    kc get pods -l muster.dev/proof=true -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName} {.status.phase} {.metadata.deletionTimestamp}{"\n"}{end}' 2>/dev/null | while read -r p n ph del; do
      case "$n $ph $del" in *Z) kc delete pod "$p" --force --grace-period=0 >/dev/null 2>&1;;
        n?\ Pending*) kc patch pod "$p" --subresource=status --type=merge -p '{"status":{"phase":"Succeeded","containerStatuses":[{"name":"main","ready":false,"restartCount":0,"image":"i","imageID":"","state":{"terminated":{"exitCode":0}}}]}}' >/dev/null 2>&1;; esac
    done
  done
}
reap & pids=($!)
look bringup run --from 4 --to 4
holds a_gang_that_fits_starts_whole STK-010
verdict a_scheduler_that_goes_pod_by_pod_is_found_out STK-011 prod fail
holds the_proofs_leave_nothing STK-012
[ -z "$(left)" ] && pass nothing_with_the_label_is_there || fail nothing_with_the_label_is_there "$(left)"
kill "${pids[@]}"; wait "${pids[@]}" 2>/dev/null; pids=()

# Muster's own scheduler: it binds what fits whole, and of what does not fit not one pod.
sed -i 's/proof_scheduler: default-scheduler/proof_scheduler: muster/' "$work/site.yaml"
"$muster" sched serve --kubernetes --kubeconfig "$config" >"$work/serve.log" 2>&1 & pids=($!)
reap & pids+=($!)
look bringup run --from 4 --to 4
holds a_gang_scheduler_places_what_fits STK-010
holds and_not_one_pod_of_what_does_not STK-011
holds and_nothing_stays STK-012

# Killed in the middle of a proof: the next run removes what it left, and proves it gone.
timeout -s KILL 3 "$muster" bringup run --from 4 --to 4 --site "$work/site.yaml" >/dev/null 2>&1
for n in $(seq 20); do [ -n "$(left)" ] && break; timeout -s KILL $((4 + n % 4)) "$muster" bringup run --from 4 --to 4 --site "$work/site.yaml" >/dev/null 2>&1; done
[ -n "$(left)" ] && pass a_killed_proof_leaves_its_objects || fail a_killed_proof_leaves_its_objects "none were there at any of the kills"
look bringup run --from 4 --to 4
[ "$code" = 6 ] && look bringup resume
holds the_next_run_proves_again STK-012
[ -z "$(left)" ] && pass and_nothing_of_the_killed_one_is_left || fail and_nothing_of_the_killed_one_is_left "$(left)"
kill "${pids[@]}" 2>/dev/null; wait "${pids[@]}" 2>/dev/null; pids=()
finish
