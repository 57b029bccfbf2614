# Sourced by run.sh, with its functions: what the role observer is for shows the same as an administrator sees, and each of its verbs away is
# named. The GPU and network operators are objects here.
me=muster-observer named=0
account observer
kc get clusterrole muster-observer -o json >"$work/observer.json"
roles=("$work/observer.json")
{
  crd nvidia.com v1 clusterpolicies ClusterPolicy Cluster
  crd mellanox.com v1alpha1 nicclusterpolicies NicClusterPolicy Cluster
  crd k8s.cni.cncf.io v1 network-attachment-definitions NetworkAttachmentDefinition Namespaced
} | kc create -f - >/dev/null
kc wait --for=condition=Established crd --all --timeout=60s >/dev/null
groups; stage
cat >"$work/site.yaml" <<S
apiVersion: muster/v1
kind: Site
name: prod
type: kubernetes
kubernetes: {kubeconfig: $work/observer}
cluster: {nodes: [{name: free0, gpus: 8, gpu_model: NVIDIA H100 80GB HBM3, nics: [mlx5_0], nic_rate: 400 Gb/s}]}
S
# What is asked of the live cluster, and gate 4's criteria, as text in which a rule stands as it does elsewhere.
asks() { # asks KUBECONFIG COMMAND...
  KUBECONFIG=$1 timeout 60 "$muster" "${@:2}" -o json >"$work/answer" 2>"$work/answer.err"
  cat "$work/answer" "$work/answer.err" | sed 's/\\"/"/g' >"$work/serve"
}
looks() { asks "$work/observer" get gangs; }
gate_4() { asks "$work/observer" check -g 4 --site "$work/site.yaml"; }
forbidden() { grep -v 'proxy/configz' "$work/serve" | grep -q 'forbidden'; } # a kubelet's configuration is another role's

for question in "get gangs" "get queues" "get nodes" "why ml/plain" "whatif --drain free0"; do
  # shellcheck disable=SC2086
  asks "$config" $question; cp "$work/answer" "$work/administrators"
  # shellcheck disable=SC2086
  asks "$work/observer" $question
  if [ -s "$work/answer" ] && cmp -s "$work/answer" "$work/administrators" && ! forbidden; then pass "the_observer_sees_what_is_there_${question// /_}"; else fail "the_observer_sees_what_is_there_${question// /_}" "$(diff "$work/administrators" "$work/answer" | head -3 | tr '\n' ';') $(last_words)"; fi
done
gate_4
if [ -s "$work/answer" ] && ! forbidden; then pass the_observers_role_is_enough_for_gate_4; else fail the_observers_role_is_enough_for_gate_4 "$(grep forbidden "$work/serve" | grep -v proxy/configz | head -2 | cut -c1-400)"; fi

mapfile -t rules < <(rules_of_roles)
of_gate_4=() optional=()
for rule in "${rules[@]}"; do
  case $rule in
    "|nodes|"*|"|pods|"*|"batch|jobs|"*)
      without "$rule"; looks
      expect_named "$rule"
      stops "without_it_nothing_is_shown $rule" test ! -s "$work/answer";;
    apps*|nvidia*|mellanox*|k8s.cni*) of_gate_4+=("$rule");;
    *) optional+=("$rule");;
  esac
done
without "${optional[@]}"; looks
expect_named "${optional[@]}"
# A verdict's sentence is short: of the refusal it keeps the server's first words.
names_rule() {
  local group resource verb
  IFS='|' read -r group resource verb <<<"$1"
  grep -qF "is not permitted (Forbidden: reading /apis/$group/" "$work/serve" && grep -qF "$resource.$group is forbidden" "$work/serve"
}
without "${of_gate_4[@]}"; gate_4
expect_named "${of_gate_4[@]}"
all_named observer
