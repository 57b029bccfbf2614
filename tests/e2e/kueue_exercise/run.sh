#!/bin/bash
# The operator's Kueue exercise and the 2 x 8 Volcano smoke job, on a real API server, scheduled and admitted by `muster sched serve`:
# a two-rank Indexed Job with real torchrun and gloo, a job of six workers of which no pod may start, Workloads made by others.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. The manifests are those of ../shared/manifests, with
# the repairs of `muster lint --fix`, where that is there, and those beside this script. Kubelets and devices are played; Kueue's and
# Volcano's kinds have open schemas. torch is had as tests/lib/torch.sh says.
. "$(dirname "$0")/../../lib/control_plane.sh"
here=$top/tests/e2e/kueue_exercise
. "$top/tests/lib/scheduler.sh"
. "$top/tests/lib/torch.sh"
need_control_plane etcd kube-apiserver kube-controller-manager kubectl
need_program "$muster"
export MUSTER_EXERCISE_WORK=${MUSTER_EXERCISE_WORK:-$(mktemp -d "${TMPDIR:-/tmp}/muster-kueue.XXXXXX")}
work=$MUSTER_EXERCISE_WORK
# While there may be a network.
[ "${MUSTER_ALONE:-}" = yes ] || { have_torch >"$work/no_torch" && rm "$work/no_torch"; }
alone
[ "${MUSTER_ALONE:-}" = yes ] || { skip kueue_exercise "port 53 is free in a network namespace alone"; rm -rf "$work"; finish; }

# What the pods' images would bring: torchrun and python with torch.
mkdir -p "$work/bin"
printf '#!/bin/sh\nexec "%s/bin/python" -m torch.distributed.run "$@"\n' "$torch_venv" >"$work/bin/torchrun"
printf '#!/bin/sh\nexec "%s/bin/python" "$@"\n' "$torch_venv" >"$work/bin/python"
chmod +x "$work/bin/torchrun" "$work/bin/python"
PATH=$work/bin:$PATH OMP_NUM_THREADS=1 lab_up kueue-exercise --nodes 2 --run-commands
check() { # check NAME LOOKS COMMAND...
  local name=$1 looks=$2; shift 2
  if until_true "$looks" "$@"; then pass "$name"; else fail "$name" "$(kc get pods -A 2>&1 | tail -8 | tr '\n' ';') $(tail -n3 "$work/serve" | tr '\n' ';')"; fi
}
digest=registry.example/muster@sha256:$(printf '0%.0s' $(seq 64))
if "$muster" install kubernetes --out "$work/install" --image "$digest" --foreign kueue --foreign volcano >"$work/installed" 2>&1 &&
  kc create $(printf -- '-f %s ' "$work"/install/*customresourcedefinition*.yaml) >"$work/crds" 2>&1; then
  pass the_kinds_are_installed
else
  fail the_kinds_are_installed "$(cat "$work/installed" "$work/crds" | tail -3 | tr '\n' ';') $(ls "$work/install" | tr '\n' ' ')"; finish
fi
kc wait --for=condition=Established crd --all --timeout=60s >/dev/null 2>&1
namespace ml
"$muster" sched serve --kubernetes --kueue --for default-scheduler,volcano --volcano-jobs -o json >"$work/served" 2>"$work/serve" &
server=$!; pids+=($server)

logs_of() { # logs_of JOB: of all pods that it has had
  local uid
  for uid in $(kc get pods -A -l "$1" -o jsonpath='{.items[*].metadata.uid}'); do cat "$lab/pods/$uid.log" 2>/dev/null; done
}
complete() { [ "$(kc get job "$1" -o jsonpath='{.status.succeeded}' 2>/dev/null)" = "$2" ]; }
suspended() { [ "$(kc get job "$1" -o jsonpath='{.spec.suspend}' 2>/dev/null)" = "$2" ]; }
told() { kc get events --field-selector="involvedObject.name=$1" -o jsonpath='{.items[*].message}' 2>/dev/null | grep -Eq "$2"; }
no_pods() { [ "$(kc get pods -l "job-name=$1" -o name 2>/dev/null | wc -l)" -eq 0 ]; }

exercise() { # exercise WHOSE PAIR LARGE: the jobs of $work/WHOSE.*.yaml; their queues are there
  local whose=$1 pair=$2 large=$3
  # Whatever pod of the large job there ever was, one watch sees it.
  kc get pods -l "job-name=$large" --watch -o jsonpath='{.spec.nodeName}|{.status.startTime}|{.status.containerStatuses}{"\n"}' >"$work/$large.seen" 2>/dev/null &
  local watch=$!; pids+=($watch)
  kc create -f "$work/$whose.large.yaml" >/dev/null
  if [ -e "$work/no_torch" ]; then
    skip "${whose}_two_ranks_come_together" "$(cat "$work/no_torch")"
  else
    kc create -f "$work/$whose.pair.yaml" >/dev/null
    check "${whose}_two_ranks_run_to_their_end" 600 complete "$pair" 2
    logs_of "job-name=$pair" >"$work/$pair.log"
    if [ "$(grep -c '^SUCCESS: Rank [01] of 2 initialized.$' "$work/$pair.log")" -eq 2 ] && grep -q 'Rank 0' "$work/$pair.log" && grep -q 'Rank 1' "$work/$pair.log"; then
      pass "${whose}_both_ranks_say_so"
    else
      fail "${whose}_both_ranks_say_so" "$(tail -8 "$work/$pair.log" | tr '\n' ';')"
    fi
  fi
  check "${whose}_six_workers_are_held" 100 suspended "$large" true
  check "${whose}_no_pod_of_them_is_left" 100 no_pods "$large"
  check "${whose}_their_job_is_told_why" 100 told "$large" 'LIMIT|QUOTA|SHAPE'
  if ! kill -KILL $watch 2>/dev/null; then fail "${whose}_was_watched" "the watch ended early"; fi
  wait $watch 2>/dev/null
  if grep -vqx '||' "$work/$large.seen"; then fail "${whose}_not_one_of_them_started" "$(cat "$work/$large.seen" | tr '\n' ';')"; else pass "${whose}_not_one_of_them_started"; fi
}
smoke() { # smoke WHOSE FILE NAME
  if [ -e "$work/no_torch" ]; then skip "$1_smoke_job" "$(cat "$work/no_torch")"; return; fi
  sed -e "s,/workspace/smoke_train.py,$here/smoke.py," "$2" >"$work/$1.smoke.yaml"
  grep -q 'muster.dev/run' "$work/$1.smoke.yaml" || sed -i -E 's,^( +)template:$,\1template:\n\1  metadata: {annotations: {muster.dev/run: "true"}},' "$work/$1.smoke.yaml"
  kc create -f "$work/$1.smoke.yaml" >"$work/created" 2>&1
  completed() { [ "$(kc -n ml get jobs.batch.volcano.sh "$1" -o jsonpath='{.status.state.phase}' 2>/dev/null)" = Completed ]; }
  check "$1_smoke_job_runs_to_its_end" 900 completed "$3"
  cat "$lab"/pods/*.log | grep -a "^SMOKE rank" | sort -u >"$work/ranks"
  if [ "$(wc -l <"$work/ranks")" -eq 16 ]; then pass "$1_smoke_job_had_sixteen_ranks"; else fail "$1_smoke_job_had_sixteen_ranks" "$(wc -l <"$work/ranks"): $(logs_of "volcano.sh/job-name=$3" | tail -4 | tr '\n' ';')"; fi
  kc -n ml delete jobs.batch.volcano.sh --all >/dev/null 2>&1; kc -n ml delete pods --all --wait=true >/dev/null 2>&1
  rm -f "$lab"/pods/*.log
}

kc create -f "$here/queues.yaml" >/dev/null
cp "$here/job.yaml" "$work/own.pair.yaml"; cp "$here/large.yaml" "$work/own.large.yaml"
exercise own pair large
smoke own "$here/smoke.yaml" two-by-eight
shared=$top/../shared/manifests
if [ -r "$shared/kueue-queues.yaml" ]; then
  kc create -f "$shared/kueue-queues.yaml" -f "$shared/ddp-service.yaml" >/dev/null
  for file in ddp-job ddp-too-large; do
    cp "$shared/$file.yaml" "$work/$file.yaml"
    "$muster" lint --fix --in-place "$work/$file.yaml" >"$work/repairs" 2>&1
    kc patch --local -f "$work/$file.yaml" --type=json -o yaml -p '[{"op": "add", "path": "/spec/template/metadata", "value": {"annotations": {"muster.dev/run": "true"}}}]' >"$work/$file.run.yaml"
  done
  mv "$work/ddp-job.run.yaml" "$work/operators.pair.yaml"; mv "$work/ddp-too-large.run.yaml" "$work/operators.large.yaml"
  exercise operators pytorch-ddp pytorch-ddp-too-large
  smoke operators "$shared/gang-smoke.yaml" gang-smoke
else
  skip operators_manifests "$shared is not there"
fi

# ---- Workloads made by others: each is let in, or told why not, by writes to its status alone
kc delete jobs --all --wait=true >/dev/null 2>&1
workload() { # workload NAME PODS PRIORITY
  cat <<W
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: $1, namespace: default}
spec:
  queueName: training
  priority: $3
  podSets: [{name: main, count: $2, template: {spec: {containers: [{name: c, image: none, resources: {requests: {cpu: "1"}}}]}}}]
W
}
condition() { # condition WORKLOAD TYPE STATUS
  [ "$(kc get workloads.kueue.x-k8s.io "$1" -o jsonpath="{.status.conditions[?(@.type=='$2')].status}" 2>/dev/null)" = "$3" ]
}
field() { [ "$(kc get workloads.kueue.x-k8s.io "$1" -o jsonpath="{$2}" 2>/dev/null)" = "$3" ]; }
{ workload first 3 0; workload second 3 0; workload vast 9 0; } | kc create -f - >/dev/null
check a_workload_is_admitted 100 condition first Admitted True
if field first .status.admission.clusterQueue training && field first '.status.admission.podSetAssignments[0].flavors.cpu' any-node && field first '.status.admission.podSetAssignments[0].resourceUsage.cpu' 3; then
  pass its_assignment_is_written
else
  fail its_assignment_is_written "$(kc get workloads.kueue.x-k8s.io first -o jsonpath='{.status}')"
fi
if condition second Admitted True; then fail what_does_not_fit_waits "second is admitted"; else pass what_does_not_fit_waits; fi
check what_never_fits_is_told 100 condition vast QuotaReserved False
workload urgent 4 100 | kc create -f - >/dev/null
check the_urgent_one_takes_the_room 100 condition urgent Admitted True
check the_other_is_evicted 100 condition first Evicted True
kc patch workloads.kueue.x-k8s.io urgent --type=merge -p '{"spec": {"active": false}}' >/dev/null
check a_deactivated_one_loses_its_quota 100 condition urgent QuotaReserved False
check who_waited_is_let_in_again 100 condition first Admitted True
kc patch clusterqueue training --type=merge -p '{"spec": {"stopPolicy": "HoldAndDrain"}}' >/dev/null
check a_drained_queue_is_left_by_its_workloads 100 condition first Evicted True
stopped() { [ "$(kc get workloads.kueue.x-k8s.io first -o jsonpath="{.status.conditions[?(@.type=='Evicted')].reason}")" = ClusterQueueStopped ]; }
check and_the_reason_is_said 10 stopped
kc patch clusterqueue training --type=merge -p '{"spec": {"stopPolicy": "None"}}' >/dev/null
check an_opened_queue_takes_them_back 100 condition first Admitted True
kc patch workloads.kueue.x-k8s.io first --type=merge -p '{"spec": {"active": false}}' >/dev/null
check the_queue_is_empty_again 100 condition second Admitted True
kc patch clusterqueue training --type=merge -p '{"spec": {"namespaceSelector": {"matchLabels": {"team": "a"}}}}' >/dev/null
workload stranger 1 0 | kc create -f - >/dev/null
told_in_status() { kc get workloads.kueue.x-k8s.io "$1" -o jsonpath='{.status.conditions[*].message}' 2>/dev/null | grep -q "$2"; }
check a_namespace_that_is_not_selected_is_told 100 told_in_status stranger 'does not match namespace default'
kc label namespace default team=a >/dev/null
check and_let_in_when_its_labels_do_match 100 condition stranger Admitted True
kc delete workloads.kueue.x-k8s.io second stranger >/dev/null
kc patch resourceflavor any-node --type=merge -p '{"spec": {"nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}]}}' >/dev/null
workload untolerant 1 0 | kc create -f - >/dev/null
check a_taint_of_the_flavor_keeps_out_who_does_not_tolerate_it 100 told_in_status untolerant 'untolerated taint spot=true:NoSchedule in flavor any-node'
workload tolerant 1 0 | sed 's/spec: {containers/spec: {tolerations: [{key: spot, operator: Exists}], containers/' | kc create -f - >/dev/null
check and_lets_in_who_does 100 condition tolerant Admitted True
kc patch resourceflavor any-node --type=merge -p '{"spec": {"nodeTaints": null}}' >/dev/null
check until_the_taint_is_gone 100 condition untolerant Admitted True
kc delete workloads.kueue.x-k8s.io tolerant untolerant >/dev/null
kc patch workloads.kueue.x-k8s.io first --type=merge -p '{"spec": {"active": true}}' >/dev/null
workload second 3 0 | kc create -f - >/dev/null
check one_of_two_is_let_in_again 100 condition first Admitted True
kill -KILL $server; wait $server 2>/dev/null
kc delete workloads.kueue.x-k8s.io first >/dev/null
timeout 60 "$muster" sched serve --kubernetes --kueue --once --for default-scheduler >"$work/once" 2>"$work/serve"
check after_a_kill_another_goes_on 50 condition second Admitted True

# ---- a flavor with a topology: Workloads are told their nodes
kc delete workloads.kueue.x-k8s.io --all >/dev/null
kc label node --all rack=r0 >/dev/null
printf 'apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata: {name: racks}\nspec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}\n' | kc create -f - >/dev/null
kc patch resourceflavor any-node --type=merge -p '{"spec": {"topologyName": "racks"}}' >/dev/null
"$muster" sched serve --kubernetes --kueue --for default-scheduler >"$work/third" 2>"$work/serve" &
server=$!; pids+=($server)
workload placed 2 0 | sed 's/podSets: .{name: main,/& topologyRequest: {required: rack},/' | kc create -f - >/dev/null
workload lost 1 0 | sed 's/podSets: .{name: main,/& topologyRequest: {required: zone},/' | kc create -f - >/dev/null
check a_workload_with_a_topology_is_admitted 100 condition placed Admitted True
place=.status.admission.podSetAssignments[0].topologyAssignment
host=$(kc get workloads.kueue.x-k8s.io placed -o jsonpath="{$place.slices[0].valuesPerLevel[0]['universalValue','roots']}")
if field placed "$place.levels[0]" kubernetes.io/hostname && [ -n "$host" ]; then pass it_is_told_its_nodes; else fail it_is_told_its_nodes "$(kc get workloads.kueue.x-k8s.io placed -o jsonpath='{.status}')"; fi
check a_level_that_is_not_there_is_told 100 told_in_status lost 'no level of the topology is zone'
kill -KILL $server; wait $server 2>/dev/null

# ---- fewer pods than asked for, and what runs out
kc delete workloads.kueue.x-k8s.io --all >/dev/null
kc patch resourceflavor any-node --type=merge -p '{"spec": {"topologyName": null}}' >/dev/null
"$muster" sched serve --kubernetes --kueue --for default-scheduler --pods-ready-timeout 6s --requeue-base 3s --requeue-limit 1 >"$work/fourth" 2>"$work/serve" &
server=$!; pids+=($server)
reason() { [ "$(kc get workloads.kueue.x-k8s.io "$1" -o jsonpath="{.status.conditions[?(@.type=='$2')].reason}" 2>/dev/null)" = "$3" ]; }
workload few 6 0 | sed 's/count: 6/count: 6, minCount: 2/' | kc create -f - >/dev/null
check a_set_with_a_minimum_is_admitted 100 condition few Admitted True
if field few '.status.admission.podSetAssignments[0].count' 4 && field few '.status.admission.podSetAssignments[0].resourceUsage.cpu' 4; then pass with_as_many_pods_as_there_is_quota_for; else fail with_as_many_pods_as_there_is_quota_for "$(kc get workloads.kueue.x-k8s.io few -o jsonpath='{.status}')"; fi
kc delete workloads.kueue.x-k8s.io few >/dev/null
workload short 1 0 | sed 's/  priority: 0/&\n  maximumExecutionTimeSeconds: 2/' | kc create -f - >/dev/null
check one_whose_time_is_up_is_deactivated 100 reason short Evicted DeactivatedDueToMaximumExecutionTimeExceeded
if field short .spec.active false && field short .status.admission ""; then pass and_holds_nothing; else fail and_holds_nothing "$(kc get workloads.kueue.x-k8s.io short -o jsonpath='{.spec.active} {.status}')"; fi
workload slow 1 0 | kc create -f - >/dev/null
check whose_pods_are_late_is_evicted 100 reason slow Evicted PodsReadyTimeout
if field slow .status.requeueState.count 1 && condition slow Requeued False && ! field slow .status.requeueState.requeueAt ""; then pass and_backs_off; else fail and_backs_off "$(kc get workloads.kueue.x-k8s.io slow -o jsonpath='{.status}')"; fi
check then_it_is_admitted_again 100 condition slow Admitted True
if reason slow Requeued BackoffFinished; then pass its_back_off_is_over; else fail its_back_off_is_over "$(kc get workloads.kueue.x-k8s.io slow -o jsonpath='{.status}')"; fi
check after_the_last_time_it_is_deactivated 100 reason slow Evicted DeactivatedDueToRequeuingLimitExceeded
# A Job of four of which three are let in, in whose place a Workload stands: its pods are ready in time.
# On a busy machine six seconds are not enough for real pods.
kill -KILL $server; wait $server 2>/dev/null
"$muster" sched serve --kubernetes --kueue --for default-scheduler --pods-ready-timeout 60s >"$work/fifth" 2>"$work/serve" &
server=$!; pids+=($server)
workload other 1 0 | kc create -f - >/dev/null
check another_takes_one_cpu 100 condition other Admitted True
kc patch workloads.kueue.x-k8s.io other --subresource=status --type=json -p '[{"op": "add", "path": "/status/conditions/-", "value": {"type": "PodsReady", "status": "True", "reason": "Started", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}]' >/dev/null
cat <<'J' | kc create -f - >/dev/null
apiVersion: batch/v1
kind: Job
metadata: {name: elastic, labels: {kueue.x-k8s.io/queue-name: training}}
spec:
  suspend: true
  parallelism: 4
  template:
    metadata: {annotations: {muster.dev/run: "true"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: none, resources: {requests: {cpu: "1"}}, command: [sleep, "60"]}]}
J
workload elastic 4 0 | sed -e 's/count: 4/count: 4, minCount: 2/' -e "s/namespace: default}/namespace: default, ownerReferences: [{apiVersion: batch\/v1, kind: Job, name: elastic, controller: true, uid: $(kc get job elastic -o jsonpath='{.metadata.uid}')}]}/" | kc create -f - >/dev/null
ranks() { [ "$(kc get job elastic -o jsonpath='{.spec.parallelism} {.spec.suspend}' 2>/dev/null)" = "$1" ]; }
check its_job_runs_with_as_many_pods_as_were_let_in 100 ranks "3 false"
check and_the_workload_is_told_that_they_are_ready 100 reason elastic PodsReady Started
kill -KILL $server; wait $server 2>/dev/null
finish
