#!/bin/bash
# The proofs of gates 4, 6 and 8 under exactly the role prover that `muster install kubernetes` renders (with observer's): they run. Then each
# of its verbs away: what it was for is not known, and the refusal names it. A real API server; the kubelets are the lab's player.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/roles.sh"
. "$top/tests/lib/verdicts.sh"
begin etcd kube-apiserver kube-controller-manager kubectl
lab_up prover --nodes 2 --gpus 2 --run-commands
"$muster" sched serve --kubernetes --kubeconfig "$config" >"$work/serve.log" 2>&1 & pids+=($!)
kc create namespace proofs >/dev/null
cluster_roles prover observer kubelet-reader
account proofs prover
kc -n proofs create rolebinding prover --clusterrole=muster-prover --serviceaccount=proofs:prover >/dev/null
for role in observer kubelet-reader; do kc create clusterrolebinding $role --clusterrole=muster-$role --serviceaccount=proofs:prover >/dev/null; done
# Muster's own server answers /health and chat requests of gate 8; the sweep of gate 6 only has to start and end, after rank 0's name was found.
cat >"$work/site.yaml" <<SITE
apiVersion: muster/v1
kind: Site
name: prod
type: kubernetes
kubernetes: {kubeconfig: $work/prover.kubeconfig}
cluster:
  nodes:
    - {name: node000, gpus: 2, gpu_model: NVIDIA H100 80GB HBM3}
    - {name: node001, gpus: 2, gpu_model: NVIDIA H100 80GB HBM3}
collective: {command: [sh, -c, "sleep 8; echo nothing is measured"]}
inference: {command: [sh, -c, "echo no model; exit 3"], port: 18432, requests: 10, ready_within: 20s}
pins: {proof_image: "registry.example/tools@sha256:$(printf 'c%.0s' $(seq 64))", proof_scheduler: muster, proof_namespace: proofs, gang_patience: 3s, proof_annotations: muster.dev/run=true}
SITE
prove() { # prove GATE
  local g
  for g in 1 2 3 4 5 6 7; do [ "$g" = "$1" ] || waive "$g"; done
  look bringup run --from "$1" --to "$1"
}
refused() { grep -q 'orbidden' "$work/json" "$work/err"; }
left() { kc -n proofs get jobs,services,pods -l muster.dev/proof=true -o name | tr '\n' ' '; }
clear_left() { kc -n proofs delete jobs,services,pods -l muster.dev/proof=true --wait=true >/dev/null 2>&1; }
told() { grep -o '"[^"]*orbidden[^"]*"' "$work/json" "$work/err" | head -1 | cut -c1-200; }

for g in 4 6 8; do
  prove $g
  refused && fail "the_role_is_enough_for_gate_$g" "$(told)" || pass "the_role_is_enough_for_gate_$g"
  [ -z "$(left)" ] && pass "and_nothing_of_gate_${g}_is_left" || fail "and_nothing_of_gate_${g}_is_left" "$(left)"
done
kc get clusterrole muster-prover -o json >"$work/role.json"
kc get clusterrole muster-observer -o json >"$work/observer.json"
python3 "$top/tests/e2e/kubernetes_rbac/less.py" --rules "$work/observer.json" "$work/observer.json" >"$work/observed"
may_not() { ! kc auth can-i "$3" "${2%%/*}${1:+.$1}" --subresource="$([[ $2 == */* ]] && echo "${2#*/}")" --as=system:serviceaccount:proofs:prover -n proofs >/dev/null 2>&1; }
while read -r rule; do
  IFS='|' read -r group resource verb <<<"$rule"
  case $group in *volcano*|jobset*) continue;; esac  # of other dialects
  grep -qxF "$rule" "$work/observed" && continue     # observer has it too
  python3 "$top/tests/e2e/kubernetes_rbac/less.py" "$work/role.json" "$work/role.json" "$rule" | kc replace -f - >/dev/null
  until_true 50 may_not "$group" "$resource" "$verb" || fail role_takes_effect "$rule"
  clear_left
  case $resource in pods/log|pods/binding) gate=6;; *) gate=4;; esac
  # What a killed run left of pods is what the right to delete them is for.
  [ "$rule" = "|pods|delete" ] && kc -n proofs run left --image=none --labels=muster.dev/proof=true --overrides='{"spec":{"schedulerName":"nobody","automountServiceAccountToken":false}}' >/dev/null
  prove $gate
  if refused || [ -n "$(left)" ]; then pass "without_it_something_is_not_known $rule"; else fail "it_is_needed $rule" "gate $gate ran without it: $(tail -2 "$work/err" | tr "\n" ";" | cut -c1-300) $(grep -o "\"sentence\": *\"[^\"]*\"" "$work/json" | head -3 | tr "\n" ";" | cut -c1-400)"; fi
done < <(python3 "$top/tests/e2e/kubernetes_rbac/less.py" --rules "$work/role.json" "$work/role.json" | sort -u)
finish
