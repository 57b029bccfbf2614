#!/bin/bash
# Gates 2 and 3 on a site of type kubernetes where nobody logs in: the nodes' own tools run in probe pods. A real API server; the kubelets
# are the lab's player, which runs the pods' commands as processes of this machine, and the tools are those of a lab's nodes, so every
# verdict is labelled rehearsed.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/roles.sh"
. "$top/tests/lib/verdicts.sh"
begin etcd kube-apiserver kube-controller-manager kubectl
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { skip probe_pods "namespaces of a node are entered by root alone"; finish; }
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-probe-pods.XXXXXX")

# The nodes: those of a lab, whose tools stand first in PATH of everything that the player runs.
mkdir "$work/nodes" "$work/tools"
spec=nodes=3,gpus=2,rails=2,leaves=2,spines=1
"$muster" lab create --spec $spec --out "$work/nodes/site.yaml" >"$work/create" 2>&1 || fail nodes "$(tail -2 "$work/create")"
for tool in nvidia-smi dcgmi journalctl dmesg systemctl ibstat sminfo saquery iblinkinfo ibnetdiscover perfquery ibdiagnet ofed_info nvidia-ctk modinfo nv-fabricmanager ib_write_bw; do
  printf '#!/bin/sh\n%s\nMUSTER_LAB=%s exec %s lab-tool %s "$@"\n' "$([ $tool = ib_write_bw ] && echo 'case "$*" in *node0*) ;; *) exec sleep 600;; esac  # the side that waits')" "$work/nodes/lab" "$muster" $tool "$@" >"$work/tools/$tool"
done
chmod +x "$work"/tools/*
PATH=$work/tools:$PATH lab_up probe-pods --nodes 3 --gpus 2 --run-commands

kc create namespace probes >/dev/null
image=registry.example/tools@sha256:$(printf 'c%.0s' $(seq 64))
write_site() { # write_site [KUBECONFIG [ANNOTATIONS [MORE]]]
  cat >"$work/site.yaml" <<E
apiVersion: muster/v1
kind: Site
name: prod
type: kubernetes
kubernetes:
  kubeconfig: ${1:-$config}
  probe_pods: {image: "$image", namespace: probes, annotations: {${2:-muster.dev/run: "true"}}${3:-}}
cluster: {spec: "$spec"}
E
}
write_site
waive 1
pods() { kc -n probes get pods -l muster.dev/probe=true -o name | tr '\n' ' '; }
none_left() { [ -z "$(pods)" ] && pass "$1" || fail "$1" "$(pods)"; }

"$muster" bringup plan --site "$work/site.yaml" --from 2 --to 3 >"$work/plan" 2>&1
grep -q "privileged pod" "$work/plan" && grep -qF "$image" "$work/plan" && pass the_preview_says_what_the_pods_are || fail the_preview_says_what_the_pods_are "$(tail -5 "$work/plan" | tr '\n' ';')"
none_left and_makes_none

look bringup run --from 2 --to 3
gate the_fabric_is_read_from_a_pod 2 pass
gate the_nodes_tools_are_run_by_pods 3 pass
rehearsed played_kubelets_make_a_rehearsal
none_left no_pod_stays
judged_again the_run_can_be_judged_again
echo "pods were made: $(ls "$lab"/pods/*.log | wc -l) for 3 nodes, two gates and the pairs of gate 2"

# What is wrong on a node is seen through its pod.
"$muster" lab inject xid_79 --on node001/gpu1 --site "$work/nodes/site.yaml" >/dev/null 2>"$work/err" || fail inject "$(cat "$work/err")"
look check -g 3
gate a_gpu_that_fell_off_is_named 3 fail node001/gpu1
"$muster" lab heal --site "$work/nodes/site.yaml" >/dev/null 2>&1

# What keeps a pod from running is the reason, and nothing passes.
write_site "$config" 'muster.dev/hold: image' ', start_within: 2s'
look check -g 3
gate a_pod_that_does_not_start_is_unknown 3 unknown "does not start within 2s"
none_left and_is_removed
write_site "$config" 'a: b' ', start_within: 5s'  # played: its container runs nothing
look check -g 3
gate a_pod_without_a_log_is_unknown 3 unknown

# Exactly the role that install renders, with the observer's; then each of its verbs away.
cluster_roles prober observer
account probes prober
kc -n probes create rolebinding prober --clusterrole=muster-prober --serviceaccount=probes:prober >/dev/null 2>>"$work/err" || fail role "$(cat "$work/err")"
kc create clusterrolebinding observer --clusterrole=muster-observer --serviceaccount=probes:prober >/dev/null 2>>"$work/err" || fail role "$(cat "$work/err")"
write_site "$work/prober.kubeconfig"
look check -g 3
gate the_probers_role_is_enough 3 pass
none_left and_removes_its_pods
kc get clusterrole muster-prober -o json >"$work/role.json"
kc get clusterrole muster-observer -o json >"$work/observer.json"
python3 "$top/tests/e2e/kubernetes_rbac/less.py" --rules "$work/observer.json" "$work/observer.json" >"$work/observed"
may_not() { ! kc auth can-i "$3" "${2%%/*}" --subresource="$([[ $2 == */* ]] && echo "${2#*/}")" --as=system:serviceaccount:probes:prober -n probes >/dev/null 2>&1; }
while read -r rule; do
  IFS='|' read -r group resource verb <<<"$rule"
  grep -qxF "$rule" "$work/observed" && continue  # observer has it too
  kc -n probes delete pods --all --wait=true >/dev/null 2>&1
  python3 "$top/tests/e2e/kubernetes_rbac/less.py" "$work/role.json" "$work/role.json" "$rule" | kc replace -f - >/dev/null
  until_true 50 may_not "$group" "$resource" "$verb" || fail role_takes_effect "$rule"
  look check -g 3
  if [ "$verb" = delete ]; then
    [ -n "$(pods)" ] && grep -q "forbidden" "$work/err" && pass "without_it_pods_stay_and_that_is_said $rule" || fail "without_it_pods_stay_and_that_is_said $rule" "$(pods) $(cat "$work/err")"
  else
    gate "without_it_nothing_is_known $rule" 3 unknown orbidden
  fi
done < <(python3 "$top/tests/e2e/kubernetes_rbac/less.py" --rules "$work/role.json" "$work/role.json" | sort -u)
kc -n probes delete pods --all --wait=true >/dev/null 2>&1

# Killed while its pods are out: the next look removes them first, and none is left.
write_site; waive 1
for n in $(seq 12); do
  timeout -s KILL 0.$((4 + n % 6)) "$muster" check -g 3 --site "$work/site.yaml" >/dev/null 2>&1
  [ -n "$(pods)" ] && break
done
[ -n "$(pods)" ] && pass a_killed_look_leaves_its_pods || fail a_killed_look_leaves_its_pods "none were there at any of the kills"
look check -g 3
gate the_next_look_passes 3 pass
none_left and_nothing_of_the_killed_one_is_left
finish
