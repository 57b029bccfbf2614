#!/bin/bash
# Gangs on a real API server of the current release: `muster lab kubernetes`, `sched serve --kubernetes`, `get`, `why`, `whatif`.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. kubelets are played; everything else is real.
# All of it runs in a network namespace with nothing but a loopback, where that may be made. A failure with CI=true where the control
# plane is missing; tests/e2e/kubernetes builds it.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/scheduler.sh"
begin etcd kube-apiserver kube-controller-manager kubectl
lab_up kubernetes-sched --nodes 4 --run-commands
says() { # says NAME EXPRESSION COMMAND...: its output has a line that matches
  local name=$1 expression=$2; shift 2
  "$@" >"$work/said" 2>&1
  if grep -Eq "$expression" "$work/said"; then pass "$name"; else fail "$name" "no line matches '$expression': $(tr '\n' ';' <"$work/said" | cut -c1-500)"; fi
}
bound() { kc -n "$1" get pods -l "$2" -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' 2>/dev/null | grep -c . ; }
is_bound() { [ "$(bound "$1" "$2")" -eq "$3" ]; }
gang() { # gang NAME SIZE GPUS [MORE YAML OF THE POD]: pods with the gang's labels
  for i in $(seq 0 $(($2 - 1))); do
    cat <<P
---
apiVersion: v1
kind: Pod
metadata: {name: $1-$i, namespace: ml, labels: {muster.dev/gang: $1, muster.dev/gang-size: "$2"}}
spec:
  schedulerName: muster
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: none, resources: {limits: {nvidia.com/gpu: "$3"}}}]
P
  done | kc create -f - >/dev/null
}
serve() { # serve LOG [OPTIONS]: in the background; its pid in $!
  local log=$1; shift
  "$muster" sched serve --kubernetes "$@" >"$log" 2>&1 &
}

says up_again_starts_nothing_but_the_player '"started": *\[ *"player" *\]' bash -c "'$muster' lab kubernetes up --dir '$lab' --nodes 4 --run-commands -o json | tr -d '\n'"
player=$(cut -d' ' -f1 "$lab/pid/player")
kill -KILL "$player"; rm -f "$lab/nodes"
if lab_start --nodes 4 --run-commands && [ "$(cut -d' ' -f1 "$lab/pid/player")" != "$player" ]; then pass a_killed_part_is_brought_up_again; else fail a_killed_part_is_brought_up_again "$(cat "$work/up.err")"; fi
says nodes_are_seen_with_their_devices 'node003 +ready +8/8 +spine00/leaf00' "$muster" get nodes
namespace ml

# ---- a gang that places, one that must not
gang fits 4 6; gang never 5 8
serve "$work/one"; one=$!; pids+=($one)
until_true 150 is_bound ml muster.dev/gang=fits 4
if is_bound ml muster.dev/gang=fits 4; then pass a_gang_that_fits_is_bound_whole; else fail a_gang_that_fits_is_bound_whole "$(bound ml muster.dev/gang=fits) of 4; $(tail -3 "$work/one")"; fi
running() { [ "$(kc -n ml get pods -l muster.dev/gang="$1" --field-selector=status.phase=Running -o name | wc -l)" -eq "$2" ]; }
if until_true 100 running fits 4; then pass its_pods_run; else fail its_pods_run "$(kc -n ml get pods 2>&1 | head -8 | tr '\n' ';')"; fi
if is_bound ml muster.dev/gang=never 0; then pass of_a_gang_that_does_not_fit_no_pod_is_bound; else fail of_a_gang_that_does_not_fit_no_pod_is_bound "$(bound ml muster.dev/gang=never)"; fi
says why_names_the_constraint '^(GANG|SHAPE)' "$muster" why ml/never
says get_gangs_shows_both 'ml/fits +running +4/4' "$muster" get gangs
says whatif_names_who_waits_again 'ml/fits' "$muster" whatif --drain node000
event() { kc -n ml get events --field-selector=reason=GangScheduled -o name | wc -l; }
if until_true 50 test "$(event)" -eq 1; then pass one_event_a_gang; else fail one_event_a_gang "$(event)"; fi

# ---- killed between binds: the server holds half of the gang's bindings back, so there is such a moment
kc -n ml delete pods --all --wait=true >/dev/null 2>&1
kill -KILL $one; wait $one 2>/dev/null
hold_back() { # hold_back REASON: bindings of pods number 20 and more are refused with it
  cat <<V | kc apply -f - >/dev/null
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: hold-back}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/binding, bindings]}]}
  validations: [{expression: "!object.metadata.name.matches('-[2-9][0-9]\$')", message: held back, reason: $1}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: hold-back}
spec: {policyName: hold-back, validationActions: [Deny]}
V
  until_true 150 held
}
held() {
  printf '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"nobody-20","namespace":"ml"},"target":{"kind":"Node","name":"node000"}}' |
    kc -n ml create -f - 2>&1 | grep -q 'held back'
}
not_held() { ! held; }
let_go() { kc delete validatingadmissionpolicybinding/hold-back >/dev/null; until_true 150 not_held; }
caught_at_20() { # caught_at_20 GANG: a scheduler is killed when 20 of the gang's 32 pods are bound
  hold_back RequestEntityTooLarge
  gang "$1" 32 1
  serve "$work/two"; two=$!; pids+=($two)
  until_true 150 is_bound ml "muster.dev/gang=$1" 20
  kill -KILL $two; wait $two 2>/dev/null
  caught=$(bound ml "muster.dev/gang=$1")
  let_go
}
for round in 1 2; do
  caught_at_20 "half$round"
  timeout 60 "$muster" sched serve --kubernetes --once >"$work/three" 2>&1
  left=$(bound ml "muster.dev/gang=half$round")
  if [ "$caught" -eq 20 ] && [ "$left" -eq 32 ]; then pass "killed_with_20_of_32_bound_the_gang_is_completed_$round"; else fail "killed_between_binds_$round" "$caught bound when killed, $left of 32 afterwards: $(tail -3 "$work/three" | tr '\n' ';')"; fi
  kc -n ml delete pods --all --wait=true >/dev/null 2>&1
done
# The same, and meanwhile somebody takes some of the room that the rest needs: nothing of the gang stays.
caught_at_20 half3
free=$("$muster" get nodes | awk '$3 ~ /^[1-8]\/8$/ {print $1; exit}')
cat <<P | kc create -f - >/dev/null
apiVersion: v1
kind: Pod
metadata: {name: thief, namespace: ml}
spec: {nodeName: $free, schedulerName: somebody, containers: [{name: c, image: none, resources: {limits: {nvidia.com/gpu: "1"}}}]}
P
timeout 60 "$muster" sched serve --kubernetes --once >"$work/three" 2>&1
if until_true 100 is_bound ml muster.dev/gang=half3 0; then pass where_the_rest_has_no_room_the_whole_gang_is_evicted; else fail where_the_rest_has_no_room_the_whole_gang_is_evicted "$caught, then $(bound ml muster.dev/gang=half3) stay: $(tail -3 "$work/three" | tr '\n' ';')"; fi
kc -n ml delete pods --all --wait=true >/dev/null 2>&1
# A pod that the server never takes: nothing of its gang stays either.
hold_back Forbidden
gang refused 32 1
timeout 60 "$muster" sched serve --kubernetes --once >"$work/three" 2>&1
if until_true 100 is_bound ml muster.dev/gang=refused 0; then pass a_pod_that_is_refused_condemns_its_gang; else fail a_pod_that_is_refused_condemns_its_gang "$(bound ml muster.dev/gang=refused) stay: $(tail -3 "$work/three" | tr '\n' ';')"; fi
let_go
kc -n ml delete pods --all --wait=true >/dev/null 2>&1

# ---- two replicas; the leader dies
serve "$work/a"; a=$!; pids+=($a)
until_true 100 grep -qs 'are known' "$work/a"
serve "$work/b"; b=$!; pids+=($b)
gang two 4 8
until_true 100 is_bound ml muster.dev/gang=two 4
if grep -q '^muster: leading' "$work/b"; then fail only_one_of_two_leads "$(cat "$work/b")"; else pass only_one_of_two_leads; fi
kill -KILL $a; wait $a 2>/dev/null
kc -n ml delete pods --all --wait=true >/dev/null 2>&1
gang heir 4 8
if until_true 150 is_bound ml muster.dev/gang=heir 4; then pass the_other_replica_goes_on; else fail the_other_replica_goes_on "$(tail -3 "$work/b" | tr '\n' ';')"; fi

# ---- the API server is killed and comes back
kill -KILL "$(cut -d' ' -f1 "$lab/pid/apiserver")"
until_true 5 lab_start --nodes 4 --run-commands  # while it is still dying, it seems to run
kc -n ml delete pods --all --wait=true >/dev/null 2>&1
gang after 4 8
if until_true 300 is_bound ml muster.dev/gang=after 4; then pass an_api_server_restart_is_survived; else fail an_api_server_restart_is_survived "$(tail -5 "$work/b" | tr '\n' ';')"; fi
kc -n ml delete pods --all --wait=true >/dev/null 2>&1

# ---- an Indexed Job whose commands really run
cat <<J | kc create -f - >/dev/null
apiVersion: batch/v1
kind: Job
metadata: {name: speak, namespace: ml}
spec:
  completions: 3
  parallelism: 3
  completionMode: Indexed
  template:
    metadata:
      labels: {muster.dev/gang: speak, muster.dev/gang-size: "3"}
      annotations: {muster.dev/run: "true"}
    spec:
      schedulerName: muster
      restartPolicy: Never
      containers: [{name: c, image: none, command: [bash, -c, 'echo I am rank \$JOB_COMPLETION_INDEX'], resources: {limits: {nvidia.com/gpu: "8"}}}]
J
complete() { kc -n ml get job speak -o jsonpath='{.status.succeeded}' 2>/dev/null | grep -qx 3; }
if until_true 200 complete; then pass an_indexed_jobs_gang_runs_to_its_end; else fail an_indexed_jobs_gang_runs_to_its_end "$(kc -n ml get pods 2>&1 | tr '\n' ';' | cut -c1-400)"; fi
if [ "$(cat "$lab"/pods/*.log 2>/dev/null | sort | tr '\n' ' ')" = "I am rank 0 I am rank 1 I am rank 2 " ]; then pass each_rank_ran_with_its_index; else fail each_rank_ran_with_its_index "$(cat "$lab"/pods/*.log | tr '\n' ';' | cut -c1-300)"; fi
kill -KILL $b; wait $b 2>/dev/null

# ---- other dialects by their own objects: kinds with permissive schemas, as an installation without their controllers has them
{
  crd scheduling.volcano.sh v1beta1 podgroups PodGroup Namespaced
  crd batch.volcano.sh v1alpha1 jobs Job Namespaced
  crd scheduling.volcano.sh v1beta1 queues Queue Cluster
  crd kueue.x-k8s.io v1beta1 resourceflavors ResourceFlavor Cluster
  crd kueue.x-k8s.io v1beta1 clusterqueues ClusterQueue Cluster
  crd kueue.x-k8s.io v1beta1 localqueues LocalQueue Namespaced
} | kc create -f - >/dev/null
kc wait --for=condition=Established crd --all --timeout=60s >/dev/null 2>&1
volcano_group() {
  cat <<V | kc create -f - >/dev/null
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: vc, namespace: ml}
spec: {minMember: 2, queue: default}
V
}
for i in 0 1; do
  cat <<P | kc create -f - >/dev/null
apiVersion: v1
kind: Pod
metadata: {name: vc-$i, namespace: ml, labels: {g: vc}, annotations: {scheduling.k8s.io/group-name: vc}}
spec: {schedulerName: volcano, containers: [{name: c, image: none, resources: {limits: {nvidia.com/gpu: "8"}}}]}
P
done
timeout 60 "$muster" sched serve --kubernetes --once --for volcano >"$work/v" 2>&1
if is_bound ml g=vc 0; then pass pods_wait_for_their_volcano_group; else fail pods_wait_for_their_volcano_group "$(bound ml g=vc)"; fi
volcano_group
timeout 60 "$muster" sched serve --kubernetes --once --for volcano >"$work/v" 2>&1
if is_bound ml g=vc 2; then pass a_volcano_gang_is_bound; else fail a_volcano_gang_is_bound "$(tail -3 "$work/v" | tr '\n' ';')"; fi
says its_group_is_told 'Running' kc -n ml get podgroups.scheduling.volcano.sh vc -o jsonpath='{.status.phase}'

# ---- a Volcano Job without Volcano's controllers
cat <<'J' | kc create -f - >/dev/null
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: smoke, namespace: ml}
spec:
  minAvailable: 2
  schedulerName: volcano
  queue: default
  plugins: {pytorch: ["--master=master", "--worker=worker", "--port=23456"]}
  policies: [{event: PodEvicted, action: RestartJob}]
  tasks:
    - name: master
      replicas: 1
      policies: [{event: TaskCompleted, action: CompleteJob}]
      template: &pod
        metadata: {annotations: {muster.dev/run: "true"}}
        spec:
          restartPolicy: OnFailure
          containers: [{name: c, image: none, command: [echo], args: ["volcano rank $(RANK) of $(WORLD_SIZE)"], resources: {limits: {nvidia.com/gpu: "8"}}}]
    - name: worker
      replicas: 1
      template: *pod
J
serve "$work/vj" --for volcano --volcano-jobs; vj=$!; pids+=($vj)
smoke_phase() { kc -n ml get jobs.batch.volcano.sh smoke -o jsonpath='{.status.state.phase}' 2>/dev/null; }
smoke_is() { [ "$(smoke_phase)" = "$1" ]; }
if until_true 150 smoke_is Completed; then pass a_volcano_job_runs_to_its_end; else fail a_volcano_job_runs_to_its_end "$(smoke_phase); $(kc -n ml get pods 2>&1 | tr '\n' ';' | cut -c1-300); $(tail -3 "$work/vj" | tr '\n' ';')"; fi
if grep -qs 'volcano rank 0 of 2' "$lab"/pods/*.log; then pass its_pytorch_plugin_told_the_rank; else fail its_pytorch_plugin_told_the_rank "$(cat "$lab"/pods/*.log | tail -3 | tr '\n' ';')"; fi
kc -n ml delete jobs.batch.volcano.sh --all >/dev/null 2>&1; kc -n ml delete pods --all --wait=true >/dev/null 2>&1
# One whose worker fails each time: of two retries the second is the end, and what failed stays to be read.
cat <<'J' | kc create -f - >/dev/null
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: fails, namespace: ml}
spec:
  minAvailable: 2
  schedulerName: volcano
  maxRetry: 2
  plugins: {env: []}
  policies: [{event: PodFailed, action: RestartJob}]
  tasks:
    - name: w
      replicas: 2
      template:
        metadata: {annotations: {muster.dev/run: "true"}}
        spec:
          restartPolicy: Never
          containers: [{name: c, image: none, command: [bash, -c, 'case $VC_TASK_INDEX in 0) sleep 98;; esac; exit 3'], resources: {limits: {nvidia.com/gpu: "8"}}}]
J
status_of() { kc -n ml get jobs.batch.volcano.sh "$1" -o jsonpath='{.status.state.phase} {.status.retryCount} {.status.version}' 2>/dev/null; }
status_is() { [ "$(status_of "$1")" = "$2" ]; }
if until_true 150 status_is fails "Failed 2 2"; then pass a_volcano_job_fails_when_its_retries_are_used; else fail a_volcano_job_fails_when_its_retries_are_used "$(status_of fails); $(kc -n ml get pods 2>&1 | tr '\n' ';' | cut -c1-300); $(tail -3 "$work/vj" | tr '\n' ';')"; fi
kept() { [ "$(kc -n ml get pods -l volcano.sh/job-name=fails -o jsonpath='{range .items[*]}{.metadata.name} {.status.phase} {.metadata.annotations.volcano\.sh/job-retry-count}{"\n"}{end}')" = "fails-w-1 Failed 1" ]; }
if until_true 50 kept; then pass and_its_failed_pod_of_the_second_run_stays; else fail and_its_failed_pod_of_the_second_run_stays "$(kc -n ml get pods -o wide 2>&1 | tr '\n' ';' | cut -c1-400)"; fi
kc -n ml delete jobs.batch.volcano.sh --all >/dev/null 2>&1; kc -n ml delete pods --all --wait=true >/dev/null 2>&1
if [ -r "$top/../shared/manifests/gang-smoke.yaml" ]; then
  kc -n ml create -f "$top/../shared/manifests/gang-smoke.yaml" >"$work/created" 2>&1
  if until_true 150 is_bound ml volcano.sh/job-name=gang-smoke 2; then pass the_operators_two_by_eight_smoke_job_is_bound; else fail the_operators_two_by_eight_smoke_job_is_bound "$(cat "$work/created" "$work/vj" | tail -4 | tr '\n' ';') $("$muster" why ml/gang-smoke --for volcano 2>&1 | tr '\n' ';' | cut -c1-300)"; fi
  kc -n ml delete jobs.batch.volcano.sh --all >/dev/null 2>&1; kc -n ml delete pods --all --wait=true >/dev/null 2>&1
fi
kill -KILL $vj; wait $vj 2>/dev/null

manifests=$top/../shared/manifests
if [ -r "$manifests/kueue-queues.yaml" ]; then
  kc apply -f "$manifests/kueue-queues.yaml" >/dev/null
  kc create -f "$manifests/ddp-service.yaml" -f "$manifests/ddp-job.yaml" -f "$manifests/ddp-too-large.yaml" >/dev/null
  made() { [ "$(kc get pods -l "job-name=$1" -o name 2>/dev/null | wc -l)" -eq "$2" ]; }
  until_true 100 made pytorch-ddp 2; until_true 100 made pytorch-ddp-too-large 6
  timeout 60 "$muster" sched serve --kubernetes --once --for default-scheduler >"$work/k" 2>&1
  if is_bound default job-name=pytorch-ddp 2; then pass the_operators_two_ranks_are_bound; else fail the_operators_two_ranks_are_bound "$(tail -3 "$work/k" | tr '\n' ';')"; fi
  if is_bound default job-name=pytorch-ddp-too-large 0; then pass of_the_operators_six_workers_not_one_starts; else fail of_the_operators_six_workers_not_one_starts "$(bound default job-name=pytorch-ddp-too-large)"; fi
  says why_says_quota '^(QUOTA|LIMIT)' "$muster" why pytorch-ddp-too-large --for default-scheduler
  says get_queues_shows_what_is_used 'default/user-queue' "$muster" get queues --for default-scheduler
else
  echo "SKIP operator_manifests: $manifests is not there"; skipped=$((skipped + 1))
fi

# ---- wrong and refused
says an_unreachable_server_is_named '127.0.0.1:1|refused|reach' env KUBECONFIG= HOME=/nowhere "$muster" get nodes --kubeconfig <(sed 's,127.0.0.1:[0-9]*,127.0.0.1:1,' "$KUBECONFIG")
says a_job_that_is_not_there_is_named 'no pod of a gang ml/nobody' "$muster" why ml/nobody

# ---- the end
recorded=$(cut -d' ' -f1 "$lab"/pid/* | tr '\n' ' ')
"$muster" lab kubernetes down --dir "$lab" >"$work/down" 2>&1
alive=""; for pid in $recorded; do grep -qs '^State:[[:space:]]*[A-Ya-y]' "/proc/$pid/status" && alive+=" $pid"; done
if [ -z "$alive" ] && grep -q 'etcd' "$work/down"; then pass down_ends_all_of_it; else fail down_ends_all_of_it "alive:$alive; $(cat "$work/down")"; fi
says down_again_finds_nothing 'nothing of it ran' "$muster" lab kubernetes down --dir "$lab"
finish
