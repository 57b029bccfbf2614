#!/bin/bash
# Gates 6 to 8 on a site of type Kubernetes, against a real API server and controller manager and Muster's own scheduler: an all-reduce
# sweep, a training run and a model server as pods, their logs read through the API. The kubelets are the lab's player, so ranks are real
# processes of this machine over loopback, and every verdict is labelled rehearsed.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/roles.sh"
. "$top/tests/lib/verdicts.sh"
begin etcd kube-apiserver kube-controller-manager kubectl
lab_up kubernetes-work --nodes 3 --gpus 2 --run-commands --dns-delay 1s
"$muster" sched serve --kubernetes --kubeconfig "$config" >"$work/serve.log" 2>&1 & pids+=($!)

# The fabric whose times the ranks report: a lab's, of the same three nodes.
mkdir "$work/fabric" && "$muster" lab create --spec nodes=3,gpus=2,rails=2,leaves=2,spines=1 --out "$work/fabric/site.yaml" >"$work/create" 2>&1 || fail fabric "$(tail -2 "$work/create")"
cat >"$work/ranks.sh" <<R
#!/bin/sh
export MUSTER_LAB=$work/fabric/lab
MASTER_ADDR=\$(getent hosts "\$MASTER_ADDR" | cut -d' ' -f1)  # the lab's collective takes an address
exec $muster lab-rank "\$@"
R
chmod +x "$work/ranks.sh"
train="$work/ranks.sh, muster-train, --steps, \"60\", --checkpoint, $work/checkpoint" scheduler=muster annotations=muster.dev/run=true kubeconfig=$config pins="gang_patience: 20s"
write_site() { # and waives the gates that are named
  cat >"$work/site.yaml" <<S
apiVersion: muster/v1
kind: Site
name: prod
type: kubernetes
kubernetes: {kubeconfig: $kubeconfig}
cluster:
  nodes:
$(for n in 0 1 2; do echo "    - {name: node00$n, gpus: 2, gpu_model: NVIDIA H100 80GB HBM3, nics: [mlx5_0, mlx5_1], nic_rate: 400 Gb/s}"; done)
collective: {command: [$work/ranks.sh, all_reduce_perf]}
training: {command: [$train], rank_reports: true, ranks_per_node: 2, steps: 60, mfu_target: 1 %, step_spread_max: 5, rank_lag_max: 5}
inference: {command: [$work/ranks.sh, serve, --checkpoint, $work/checkpoint, --host, 0.0.0.0, --port, "18431"], port: 18431, model: muster-char-lm, requests: 40, requests_per_s: 20, ttft_p99: 5s, tpot_p99: 1s}
pins: {proof_image: "registry.example/tools@sha256:$(printf 'c%.0s' $(seq 64))", proof_scheduler: $scheduler, proof_annotations: "$annotations", $pins}
S
  waive "$@"
}
run() { look bringup run "$@"; }
train_again() { write_site 1 2 3 4 5 6; run --from 7 --to 7; }
left() { kc get jobs,services,pods -A -l muster.dev/proof=true -o name | tr '\n' ' '; }
none_left() { [ -z "$(left)" ] && pass "$1" || fail "$1" "$(left)"; }

write_site 1 2 3 4 5
run --from 6 --to 8
gate an_all_reduce_over_pods_is_judged_by_their_logs 6 pass
gate a_training_run_in_pods_passes 7 pass
gate a_model_server_in_a_pod_is_loaded 8 warn INF-007
rehearsed played_kubelets_make_a_rehearsal
none_left nothing_of_the_proofs_is_left
judged_again the_run_can_be_judged_again

# What goes wrong in pods, and what is said of it. Never a pass.
good=$train
program() { printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"; chmod +x "$work/$1"; train=$work/$1; }
program fails.sh '[ "$RANK" != 3 ] || { echo "rank 3 cannot go on"; exit 3; }; sleep 1'
train_again; gate a_rank_that_fails_fails_the_gate 7 fail
none_left and_its_pods_are_gone
program rotates.sh "$work/ranks.sh muster-train --steps 60 --checkpoint $work/checkpoint; for f in $lab/pods/*.log; do : >\$f; done"
train_again; gate a_log_without_its_beginning_is_unknown 7 unknown "is not whole"
train=$good annotations=muster.dev/hold=image pins="gang_patience: 20s, proof_start_within: 4s"
train_again; gate a_container_that_never_starts_is_unknown 7 unknown "not every pod started within 4s"
annotations=muster.dev/run=true scheduler=nobody pins="gang_patience: 3s"
train_again; gate a_gang_that_nobody_places_is_unknown 7 unknown "0 of 3 pods were bound"
none_left and_it_waits_no_longer
scheduler=muster pins="gang_patience: 20s"

# The role that install renders is enough; without the logs of pods nothing is known, and what is missing is named.
cluster_roles prover
account default prover
kc create clusterrolebinding prover --clusterrole=muster-prover --serviceaccount=default:prover >/dev/null 2>>"$work/err" || fail role "$(cat "$work/err")"
kubeconfig=$work/prover.kubeconfig
write_site 1 2 3 4 5; run --from 6 --to 7
gate the_provers_role_is_enough_for_sweeps 6 pass
gate the_provers_role_is_enough_for_training 7 pass
kc get clusterrole muster-prover -o json | python3 -c 'import json, sys
role = json.load(sys.stdin)
role["rules"] = [r for r in role["rules"] if "pods/log" not in r["resources"]]
json.dump(role, sys.stdout)' | kc replace -f - >/dev/null
sleep 1
train_again; gate logs_that_may_not_be_read_are_unknown 7 unknown "pods/log"
kubeconfig=$config

# Killed in the middle: the next run removes what was left, proves it gone, and passes.
write_site 1 2 3 4 5 6
for n in $(seq 12); do
  timeout -s KILL $((1 + n % 3)).5 "$muster" bringup run --from 7 --to 7 --site "$work/site.yaml" >/dev/null 2>&1
  [ -n "$(left)" ] && break
done
[ -n "$(left)" ] && pass a_killed_run_leaves_its_pods || fail a_killed_run_leaves_its_pods "none were there at any of the kills"
run --from 7 --to 7
[ "$code" = 6 ] && look bringup resume
gate the_next_run_passes 7 pass
none_left and_nothing_of_the_killed_one_is_left
finish
