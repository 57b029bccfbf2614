#!/bin/bash
# One gang of every dialect beside each other on a real API server, four groups of one name in four API groups, queues of one name in
# three: each gang is placed whole or says why it is not, quota is held in one tree, and what a field asks for in vain is said on its
# object. Then the forms of text that lint and submit read.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. Kinds have permissive schemas and no controllers: the
# script makes the pods as those controllers make them. Nodes are objects.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/scheduler.sh"
begin etcd kube-apiserver kubectl
export COMPONENTS="etcd apiserver" GATES=GenericWorkload=true RUNTIME_CONFIG=scheduling.k8s.io/v1beta1=true
control_plane_up dialects
export KUBECONFIG=$config

kinds() {
  crd batch.volcano.sh v1alpha1 jobs Job Namespaced
  crd scheduling.volcano.sh v1beta1 podgroups PodGroup Namespaced
  crd scheduling.volcano.sh v1beta1 queues Queue Cluster
  crd scheduling.x-k8s.io v1alpha1 podgroups PodGroup Namespaced
  crd scheduling.run.ai v2alpha2 podgroups PodGroup Namespaced
  crd scheduling.run.ai v2 queues Queue Cluster
  crd kueue.x-k8s.io v1beta2 resourceflavors ResourceFlavor Cluster
  crd kueue.x-k8s.io v1beta2 clusterqueues ClusterQueue Cluster
  crd kueue.x-k8s.io v1beta2 cohorts Cohort Cluster
  crd kueue.x-k8s.io v1beta1 localqueues LocalQueue Namespaced
  crd kueue.x-k8s.io v1beta2 workloadpriorityclasses WorkloadPriorityClass Cluster
  crd jobset.x-k8s.io v1alpha2 jobsets JobSet Namespaced
  crd kubeflow.org v1 pytorchjobs PyTorchJob Namespaced
  crd kubeflow.org v2beta1 mpijobs MPIJob Namespaced
  crd trainer.kubeflow.org v1alpha1 trainjobs TrainJob Namespaced
  crd ray.io v1 rayclusters RayCluster Namespaced
}
kinds | kc create -f - >/dev/null
kc wait --for=condition=Established crd --all --timeout=60s >/dev/null
kc create namespace ml >/dev/null; kc label namespace ml team=ml >/dev/null; kc -n ml create serviceaccount default >/dev/null
for i in 0 1 2 3 4 5; do node "n$i" "muster.dev/spine: s0, muster.dev/leaf: l$((i / 2))"; done | kc create -f - >/dev/null

# ---- queues of three systems; two share the name "team" with a third
cat <<'Q' | kc create -f - >/dev/null
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
spec: {nodeLabels: {muster.dev/spine: s0}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: team}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  cohortName: team
  namespaceSelector: {matchLabels: {team: ml}}
  flavorFungibility: {whenCanBorrow: MayStopSearch}
  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}
  resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 9}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: lender}
spec:
  cohortName: team
  namespaceSelector: {matchLabels: {team: others}}
  resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: team, namespace: ml}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: strangers, namespace: ml}
spec: {clusterQueue: lender}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: stopped, namespace: ml}
spec: {clusterQueue: team, stopPolicy: Hold}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: ranked}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 1}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: ranked-a, namespace: ml}
spec: {clusterQueue: ranked}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: ranked-b, namespace: ml}
spec: {clusterQueue: ranked}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team}
spec: {capability: {nvidia.com/gpu: 4}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team}
spec: {resources: {gpu: {quota: 2, limit: 2}}}
Q

# ---- four groups called same, and a JobSet and a Job of that name
cat <<'G' | kc create -f - >/dev/null
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: same, namespace: ml}
spec: {minMember: 2, queue: team, networkTopology: {mode: hard, highestTierAllowed: 1}}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: same, namespace: ml}
spec: {minMember: 2, scheduleTimeoutSeconds: 30}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: same, namespace: ml}
spec: {minMember: 2, queue: team, subGroups: [{name: a, minMember: 1}]}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: same, namespace: ml}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: same, namespace: ml, labels: {kueue.x-k8s.io/queue-name: team, kueue.x-k8s.io/priority-class: high}}
spec: {replicatedJobs: [{name: a, template: {spec: {parallelism: 1, completions: 1}}}, {name: b, template: {spec: {parallelism: 1, completions: 1}}}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: same, namespace: ml, labels: {kueue.x-k8s.io/queue-name: team}}
spec: {parallelism: 2, completions: 2, completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: ray-gang, namespace: ml}
spec: {minMember: 2, queue: default}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: mpi, namespace: ml}
spec: {minMember: 2, minTaskMember: {worker: 2}, queue: team}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: greedy, namespace: ml}
spec: {minMember: 3, queue: team}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: more, namespace: ml}
spec: {minMember: 1, queue: team}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: torch, namespace: ml}
spec: {minMember: 2}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch, namespace: ml}
spec: {}
---
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: loose, namespace: ml}
spec: {}
G
uid() { kc -n ml get "$1" "$2" -o jsonpath='{.metadata.uid}'; }
job_uid=$(uid jobs.batch same) torch_uid=$(uid pytorchjobs torch) ray_uid=$(uid rayclusters loose)
# members GANG LABELS ANNOTATIONS SPEC [COUNT [GPUS]]: its pods, found again by the label g
members() {
  local i
  for i in $(seq 0 $((${5:-2} - 1))); do pod "$1-$i" "g: $1, ${2//INDEX/$i}" "$3" "$4" "${6:-1}"; done
}
owned() { # owned API_VERSION KIND NAME UID: turns pods on stdin into pods that this object controls
  sed "s|^metadata: {|metadata: {ownerReferences: [{apiVersion: $1, kind: $2, name: $3, uid: $4, controller: true}], |"
}
create_all() { kc create -f - >"$work/created" 2>&1 || fail pods_are_created "$(grep -v created "$work/created" | head -3 | tr '\n' ';')"; }
{
  members volcano "" "scheduling.k8s.io/group-name: same" ""
  members plugins "scheduling.x-k8s.io/pod-group: same" "" ""
  members kai "" "pod-group-name: same" ""
  members native "" "" "schedulingGroup: {podGroupName: same}"
  members jobset "jobset.sigs.k8s.io/jobset-name: same" "" ""
  members job "" "" "" | owned batch/v1 Job same "$job_uid"
  members kueue 'kueue.x-k8s.io/pod-group-name: same, kueue.x-k8s.io/queue-name: team' 'kueue.x-k8s.io/pod-group-total-count: "2"' ""
  members muster 'muster.dev/gang: same, muster.dev/gang-size: "2"' "" ""
  members ray "" "scheduling.volcano.sh/group-name: ray-gang" "" | owned ray.io/v1 RayCluster loose "$ray_uid"
  members mpi "volcano.sh/task-spec: worker" "scheduling.k8s.io/group-name: mpi" ""
  members torch "scheduling.x-k8s.io/pod-group: torch" "" "" | owned kubeflow.org/v1 PyTorchJob torch "$torch_uid"
  members loose "" "" "" 1 | owned ray.io/v1 RayCluster loose "$ray_uid"
} | create_all
cat <<'J' | kc create -f - >/dev/null
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: vcjob, namespace: ml}
spec:
  minAvailable: 2
  schedulerName: muster
  queue: default
  ttlSecondsAfterFinished: 3
  plugins: {svc: [], ssh: [], mpi: []}
  tasks:
    - {name: worker, replicas: 2, template: {spec: {automountServiceAccountToken: false, containers: [{name: c, image: none, resources: {limits: {nvidia.com/gpu: "1"}}}]}}}
J

bound() { kc -n ml get pods -l "$1" -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' 2>/dev/null | grep -c .; }
is_bound() { [ "$(bound "$1")" -eq "$2" ]; }
"$muster" sched serve --kubernetes --volcano-jobs >"$work/serve" 2>&1 &
server=$!; pids+=($server)
last_words() { tail -3 "$work/serve" | tr '\n' ';' | cut -c1-400; }
for gang in volcano plugins kai native jobset job kueue muster ray mpi torch; do
  if until_true 100 is_bound "g=$gang" 2; then pass "a_gang_is_placed_whole_$gang"; else fail "a_gang_is_placed_whole_$gang" "$(bound "g=$gang") of 2; $("$muster" get gangs | grep -E "same|$gang" | tr '\n' ';' | cut -c1-600) $(last_words)"; fi
done
if until_true 100 is_bound volcano.sh/job-name=vcjob 2; then pass a_gang_is_placed_whole_vcjob; else fail a_gang_is_placed_whole_vcjob "$(last_words)"; fi
if until_true 50 is_bound g=loose 1; then pass a_pod_without_a_group_is_placed_alone; else fail a_pod_without_a_group_is_placed_alone "$(last_words)"; fi
leaves=$(for node in $(kc -n ml get pods -l g=volcano -o jsonpath='{.items[*].spec.nodeName}'); do kc get node "$node" -o jsonpath='{.metadata.labels.muster\.dev/leaf}{"\n"}'; done | sort -u | wc -l)
if [ "$leaves" -eq 1 ]; then pass tier_1_of_volcano_is_one_leaf; else fail tier_1_of_volcano_is_one_leaf "$leaves leaves"; fi

# ---- what must not start, and why
{
  members greedy "" "scheduling.k8s.io/group-name: greedy" "" 3
  members more "" "pod-group-name: more" "" 1
  members stopped 'kueue.x-k8s.io/pod-group-name: stopped, kueue.x-k8s.io/queue-name: stopped' 'kueue.x-k8s.io/pod-group-total-count: "1"' "" 1
  members strangers 'kueue.x-k8s.io/pod-group-name: strangers, kueue.x-k8s.io/queue-name: strangers' 'kueue.x-k8s.io/pod-group-total-count: "1"' "" 1
  members large 'kueue.x-k8s.io/pod-group-name: large, kueue.x-k8s.io/queue-name: team' 'kueue.x-k8s.io/pod-group-total-count: "6"' "" 6
  members share "" 'gpu-fraction: "0.5"' "" 1 0
} | create_all
waits() { "$muster" get jobs 2>/dev/null | grep -Eq "^ml/share-0 +gathering"; }
until_true 50 waits
for gang in greedy more stopped strangers large share; do
  if is_bound "g=$gang" 0; then pass "nothing_of_it_starts_$gang"; else fail "nothing_of_it_starts_$gang" "$(bound "g=$gang")"; fi
done
says() { # says NAME EXPRESSION COMMAND...: its output has a line that matches
  local name=$1 expression=$2; shift 2
  "$@" >"$work/said" 2>&1
  if grep -Eq "$expression" "$work/said"; then pass "$name"; else fail "$name" "no line matches '$expression': $(tr '\n' ';' <"$work/said" | cut -c1-700)"; fi
}
says volcanos_queue_is_full '^(QUOTA|LIMIT).*queue=team@volcano' "$muster" why ml/greedy
says kais_queue_is_full '^(QUOTA|LIMIT).*queue=team@kai' "$muster" why ml/more
says a_stopped_queue_says_so 'stopPolicy Hold' "$muster" why ml/stopped
says a_namespace_that_is_not_selected_says_so 'namespaceSelector of ClusterQueue lender' "$muster" why ml/strangers
says kueues_quota_is_full '^(QUOTA|LIMIT).*team' "$muster" why ml/large
says a_share_of_a_gpu_is_not_placed_in_silence 'gpu-fraction' "$muster" get jobs
"$muster" get queues >"$work/queues" 2>&1
for line in '^team +team@cohort' '^ml/team +team ' '^team@volcano ' '^team@kai ' '^lender +team@cohort'; do
  says "one_tree_shows $line" "$line" cat "$work/queues"
done
used() { awk -v q="$1" '$1 == q {print $(NF - 2); exit}' "$work/queues"; }
if [ "$(used team)/$(used team@volcano)/$(used team@kai)" = 6/4/2 ]; then pass each_queue_counts_its_own; else fail each_queue_counts_its_own "$(tr '\n' ';' <"$work/queues")"; fi

# ---- two LocalQueues are one ClusterQueue: its quota is theirs together, and the urgent one takes it from the other
ranked() { members "$1" "kueue.x-k8s.io/pod-group-name: $1, kueue.x-k8s.io/queue-name: $2${3:+, kueue.x-k8s.io/priority-class: $3}" 'kueue.x-k8s.io/pod-group-total-count: "1"' "" 1; }
ranked lesser ranked-a | create_all
if until_true 50 is_bound g=lesser 1; then pass a_gang_of_one_local_queue_starts; else fail a_gang_of_one_local_queue_starts "$(last_words)"; fi
ranked greater ranked-b high | create_all
if until_true 100 is_bound g=greater 1 && until_true 50 is_bound g=lesser 0; then pass the_urgent_gang_of_another_preempts_it; else fail the_urgent_gang_of_another_preempts_it "$("$muster" get gangs | grep -E 'lesser|greater' | tr '\n' ';') $(last_words)"; fi

# ---- said on the object
events() { kc get events -A -o jsonpath='{range .items[*]}{.involvedObject.kind}/{.involvedObject.name} {.reason} {.message}{"\n"}{end}'; }
event_is_there() { events | grep -Eq "$1"; }
said_on() { # said_on NAME EXPRESSION
  if until_true 60 event_is_there "$2"; then pass "$1"; else fail "$1" "no event matches '$2': $(events | cut -c1-160 | tr '\n' ';' | cut -c1-900)"; fi
}
said_on said_on_the_cluster_queue 'ClusterQueue/team FieldsNotActedOn .*admissionScope'
said_on said_on_kais_group 'PodGroup/same GangScheduled .*not acted on: spec.subGroups'
said_on said_on_volcanos_job 'Job/vcjob FieldsNotActedOn .*plugins.mpi.*NetworkPolicy'
said_on said_on_the_pod_of_a_ray_cluster_without_a_group 'Pod/loose-0 GangScheduled .*names no pod group'
said_on said_on_the_pod_that_wants_a_share 'Pod/share-0 GangWaiting .*gpu-fraction'
says and_by_why 'not acted on: .*spec.subGroups' "$muster" why ml/same@kai
says eight_gangs_of_one_name_are_told_apart '8 gangs are called ml/same.*ml/same@(native|volcano)' "$muster" why ml/same
if [ "$(events | grep -c 'ClusterQueue/team FieldsNotActedOn')" -eq 1 ]; then pass and_once; else fail and_once "$(events | grep -c 'ClusterQueue/team FieldsNotActedOn')"; fi

# ---- what Volcano's controller would make of a Job: host files, one key pair for all, counts, and its end
part_of() { kc -n ml get "$1" "$2" -o jsonpath="$3" 2>/dev/null; }
vcjob() { [ "$(part_of jobs.batch.volcano.sh vcjob "$1")" = "$2" ]; }
if [ "$(part_of configmap vcjob-svc '{.data.worker\.host}' | xargs)" = "vcjob-worker-0.vcjob vcjob-worker-1.vcjob" ]; then pass svc_writes_the_hosts; else fail svc_writes_the_hosts "$(part_of configmap vcjob-svc '{.data}')"; fi
if command -v ssh-keygen >/dev/null; then
  (umask 077; part_of secret vcjob-ssh '{.data.id_rsa}' | base64 -d >"$work/id_rsa")
  if [ -s "$work/id_rsa" ] && [ "$(ssh-keygen -y -f "$work/id_rsa" | cut -d' ' -f1,2)" = "$(part_of secret vcjob-ssh '{.data.id_rsa\.pub}' | base64 -d | cut -d' ' -f1,2)" ]; then pass both_halves_of_sshs_keys_are_one_pair; else fail both_halves_of_sshs_keys_are_one_pair "$(ssh-keygen -y -f "$work/id_rsa" 2>&1 | head -2)"; fi
else
  skip both_halves_of_sshs_keys_are_one_pair "no ssh-keygen"
fi
if [ "$(part_of pod vcjob-worker-1 '{.spec.containers[0].volumeMounts[*].mountPath}')" = "/etc/volcano /root/.ssh" ]; then pass both_are_mounted; else fail both_are_mounted "$(part_of pod vcjob-worker-1 '{.spec.containers[0].volumeMounts}')"; fi
if until_true 50 vcjob '{.status.pending}/{.status.minAvailable}/{.status.state.phase}' 2/2/Pending; then pass its_status_counts_its_pods; else fail its_status_counts_its_pods "$(part_of jobs.batch.volcano.sh vcjob '{.status}')"; fi
phase() { kc -n ml patch pod "$1" --subresource=status --type=merge -p "{\"status\": {\"phase\": \"$2\"}}" >/dev/null; }
phase vcjob-worker-0 Running; phase vcjob-worker-1 Running
if until_true 50 vcjob '{.status.running}/{.status.state.phase}/{.status.taskStatusCount.worker.phase.Running}' 2/Running/2; then pass it_runs_when_enough_of_it_does; else fail it_runs_when_enough_of_it_does "$(part_of jobs.batch.volcano.sh vcjob '{.status}')"; fi
phase vcjob-worker-0 Succeeded; phase vcjob-worker-1 Succeeded
if until_true 50 vcjob '{.status.state.phase}/{.status.conditions[*].status}' 'Completed/Pending Running Completed'; then pass its_end_is_written_with_its_phases; else fail its_end_is_written_with_its_phases "$(part_of jobs.batch.volcano.sh vcjob '{.status}')"; fi
gone() { ! kc -n ml get jobs.batch.volcano.sh vcjob >/dev/null 2>&1; }
if until_true 100 gone; then pass and_it_goes_when_its_time_has_passed; else fail and_it_goes_when_its_time_has_passed "$(last_words)"; fi

# ---- quota comes free: the next in the queue starts
kc -n ml delete pods -l 'g in (volcano)' --wait=false >/dev/null
until_true 50 is_bound g=greedy 0
says three_do_not_fit_into_the_two_that_came_free '^(QUOTA|LIMIT)' "$muster" why ml/greedy
kc -n ml delete pods -l g=mpi --wait=false >/dev/null
if until_true 100 is_bound g=greedy 3; then pass quota_that_comes_free_is_given_to_the_next; else fail quota_that_comes_free_is_given_to_the_next "$(last_words)"; fi
kc patch clusterqueue team --type=merge -p '{"spec":{"stopPolicy":"HoldAndDrain"}}' >/dev/null
if until_true 100 is_bound g=kueue 0 && is_bound g=plugins 2; then pass a_drained_queue_is_left_by_its_gangs_alone; else fail a_drained_queue_is_left_by_its_gangs_alone "$(bound g=kueue) $(bound g=plugins)"; fi
kill -KILL $server; wait $server 2>/dev/null

# ---- forms of text: anchors and merge keys, several documents, a List, JSON
cat >"$work/anchors.yaml" <<'Y'
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: anchored, namespace: ml}
spec:
  minAvailable: 2
  schedulerName: volcano
  queue: default
  tasks:
    - name: master
      replicas: 1
      template:
        spec:
          restartPolicy: OnFailure
          containers: [&trainer {name: t, image: registry.example/t@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, resources: {limits: {nvidia.com/gpu: 8}}}]
    - name: worker
      replicas: 1
      template: {spec: {restartPolicy: OnFailure, containers: [{<<: *trainer, name: w}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: beside, namespace: ml}
data: {a: b}
Y
kc create -n ml configmap one --from-literal=a=b --dry-run=client -o json >"$work/one.json"
{ echo '{"apiVersion":"v1","kind":"List","items":['; cat "$work/one.json"; echo ,; sed 's/"one"/"two"/' "$work/one.json"; echo ']}'; } >"$work/list.json"
printf 'apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: three, namespace: ml}\n  data: &d {a: b}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: four, namespace: ml}\n  data: {<<: *d, c: d}\n' >"$work/list.yaml"
"$muster" lint "$work/anchors.yaml" "$work/list.json" "$work/list.yaml" "$work/one.json" -o json >"$work/lint.json" 2>"$work/lint.err"
says lint_reads_all_four_forms '"unreadable": *\[ *\]' bash -c "tr -d '\n' <'$work/lint.json'"
"$muster" submit "$work/list.json" "$work/list.yaml" --no-follow >"$work/submit" 2>&1
if [ "$(kc -n ml get configmaps one two three four -o jsonpath='{.items[*].data.a}' 2>&1)" = "b b b b" ]; then pass submit_sends_lists_in_yaml_and_json; else fail submit_sends_lists_in_yaml_and_json "$(tail -4 "$work/submit" | tr '\n' ';')"; fi
"$muster" submit "$work/anchors.yaml" --no-follow >"$work/submit" 2>&1
gpus=$(kc -n ml get jobs.batch.volcano.sh anchored -o jsonpath='{.spec.tasks[1].template.spec.containers[0].resources.limits.nvidia\.com/gpu} {.spec.tasks[1].template.spec.containers[0].name}' 2>&1)
if [ "$gpus" = "8 w" ] && kc -n ml get configmap beside >/dev/null 2>&1; then pass submit_sends_merge_keys_resolved_and_every_document; else fail submit_sends_merge_keys_resolved_and_every_document "$gpus; $(tail -4 "$work/submit" | tr '\n' ';')"; fi
printf '{"apiVersion": "v1", "kind": "List", "items": [{"kind": "ConfigMap"}]}' >"$work/bad.json"
"$muster" submit "$work/bad.json" --no-follow >"$work/submit" 2>&1; code=$?
if [ $code -eq 2 ] && grep -q 'bad.json:1:[0-9]*: an object without apiVersion' "$work/submit"; then pass an_item_that_is_no_object_is_named_with_its_place; else fail an_item_that_is_no_object_is_named_with_its_place "$code $(cat "$work/submit")"; fi
finish
