#!/bin/bash
# Gates 2 and 3 on a site of type kubernetes where nobody logs in: the nodes' own tools run in probe pods. A real API server; the kubelets
# are the lab's player, which runs the pods' commands as processes of this machine, and the tools are those of a lab's nodes, so every
# verdict is labelled rehearsed.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
muster=$build/muster
. "$top/tests/lib/control_plane.sh"
. "$top/tests/lib/scheduler.sh"
need_control_plane etcd kube-apiserver kube-controller-manager kubectl
need_program "$muster"
alone "$@"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "SKIP probe_pods: namespaces of a node are entered by root alone"; skipped=1; finish; }
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-probe-pods.XXXXXX")
lab=$work/cluster config=$work/cluster/kubeconfig
stop() {
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
  "$muster" lab kubernetes down --dir "$lab" >/dev/null 2>&1
  rm -rf "$work"
}
trap stop EXIT

# The nodes: those of a lab, whose tools stand first in PATH of everything that the player runs.
mkdir "$work/nodes" "$work/tools"
spec=nodes=3,gpus=2,rails=2,leaves=2,spines=1
"$muster" lab create --spec $spec --out "$work/nodes/site.yaml" >"$work/create" 2>&1 || fail nodes "$(tail -2 "$work/create")"
for tool in nvidia-smi dcgmi journalctl dmesg systemctl ibstat sminfo saquery iblinkinfo ibnetdiscover perfquery ibdiagnet ofed_info nvidia-ctk modinfo nv-fabricmanager ib_write_bw; do
  printf '#!/bin/sh\n%s\nMUSTER_LAB=%s exec %s lab-tool %s "$@"\n' "$([ $tool = ib_write_bw ] && echo 'case "$*" in *node0*) ;; *) exec sleep 600;; esac  # the side that waits')" "$work/nodes/lab" "$muster" $tool "$@" >"$work/tools/$tool"
done
chmod +x "$work"/tools/*
if PATH=$work/tools:$PATH "$muster" lab kubernetes up --dir "$lab" --nodes 3 --gpus 2 --run-commands >"$work/up" 2>&1; then pass lab_comes_up; else fail lab_comes_up "$(tail -2 "$work/up" | tr '\n' ';')"; finish; fi

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
signed() { "$muster" gate waive 1 --by 'A. Person' --reason 'not this test' --until 1d --site "$work/site.yaml" >/dev/null 2>&1; }
signed
pods() { kc -n probes get pods -l muster.dev/probe=true -o name | tr '\n' ' '; }
none_left() { [ -z "$(pods)" ] && pass "$1" || fail "$1" "$(pods)"; }
# gate NAME NUMBER VERDICT [TEXT]: the gate's verdict, and TEXT somewhere in what is told of it.
gate() {
  python3 - "$work/json" "$2" "$3" "${4:-}" >"$work/why" 2>&1 <<'P' && pass "$1" || fail "$1" "$(cat "$work/why" "$work/err" | tr '\n' ' ' | cut -c1-900)"
import json, sys
path, number, verdict, text = sys.argv[1:]
whole = json.load(open(path))
found = [g for g in whole["gates"] if g["id"] == int(number)]
print([(g["verdict"], [(v["code"], v["subject"]["id"], v["verdict"], v["text"]) for v in g["verdicts"]][:6]) for g in found])
sys.exit(0 if found and found[0]["verdict"] == verdict and text in json.dumps(found) else 1)
P
}
look() { timeout 300 "$muster" "$@" --site "$work/site.yaml" -o json >"$work/json" 2>"$work/err"; code=$?; }

"$muster" bringup plan --site "$work/site.yaml" --from 2 --to 3 >"$work/plan" 2>&1
grep -q "privileged pod" "$work/plan" && grep -qF "$image" "$work/plan" && pass the_preview_says_what_the_pods_are || fail the_preview_says_what_the_pods_are "$(tail -5 "$work/plan" | tr '\n' ';')"
none_left and_makes_none

look bringup run --from 2 --to 3
gate the_fabric_is_read_from_a_pod 2 pass
gate the_nodes_tools_are_run_by_pods 3 pass
grep -q '"origin": "rehearsed"' "$work/json" && ! grep -q '"origin": "live"' "$work/json" && pass played_kubelets_make_a_rehearsal || fail played_kubelets_make_a_rehearsal "$(grep '"origin"' "$work/json" | sort | uniq -c | tr '\n' ' ')"
none_left no_pod_stays
run=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["run"])' "$work/json")
"$muster" verify "$run" --site "$work/site.yaml" >"$work/verify" 2>&1 && pass the_run_can_be_judged_again || fail the_run_can_be_judged_again "$(tail -2 "$work/verify" | tr '\n' ';')"
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
"$muster" install kubernetes --out "$work/install" --image "registry.example/muster@sha256:$(printf 'a%.0s' $(seq 64))" >"$work/out" 2>&1
kc -n probes create serviceaccount prober >/dev/null
for role in prober observer; do kc apply -f "$(grep -l "^  name: muster-$role" "$work"/install/*clusterrole-* | head -1)" >/dev/null 2>>"$work/err"; done
kc -n probes create rolebinding prober --clusterrole=muster-prober --serviceaccount=probes:prober >/dev/null 2>>"$work/err" || fail role "$(cat "$work/err")"
kc create clusterrolebinding observer --clusterrole=muster-observer --serviceaccount=probes:prober >/dev/null 2>>"$work/err" || fail role "$(cat "$work/err")"
sed -E "s|token: \"[^\"]*\"|token: \"$(kc -n probes create token prober --duration=1h)\"|" "$config" >"$work/prober.kubeconfig"
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
write_site; signed
for n in $(seq 12); do
  timeout -s KILL 0.$((4 + n % 6)) "$muster" check -g 3 --site "$work/site.yaml" >/dev/null 2>&1
  [ -n "$(pods)" ] && break
done
[ -n "$(pods)" ] && pass a_killed_look_leaves_its_pods || fail a_killed_look_leaves_its_pods "none were there at any of the kills"
look check -g 3
gate the_next_look_passes 3 pass
none_left and_nothing_of_the_killed_one_is_left
finish
