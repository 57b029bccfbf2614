# Sourced by run.sh, with its functions: the roles for --volcano-jobs and --kueue, bound to the scheduler's account beside its own, and each
# of their verbs away.
for role in volcano-jobs kueue-admission; do
  kc create clusterrolebinding "muster-$role" --clusterrole="muster-$role" --serviceaccount=muster-system:muster-scheduler >/dev/null
  kc get clusterrole "muster-$role" -o json >"$work/$role.json"
done
roles=("$work/volcano-jobs.json" "$work/kueue-admission.json") named=0
args+=(--volcano-jobs --kueue)
{
  crd batch.volcano.sh v1alpha1 jobs Job Namespaced
  crd kueue.x-k8s.io v1beta2 workloads Workload Namespaced
  crd kueue.x-k8s.io v1beta2 topologies Topology Cluster
} | kc create -f - >/dev/null
kc wait --for=condition=Established crd --all --timeout=60s >/dev/null

work_arrives() {
  cat <<'W' | kc create -f - >/dev/null
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: made, namespace: ml}
spec:
  schedulerName: muster
  minAvailable: 2
  plugins: {ssh: [], svc: []}
  tasks:
    - name: w
      replicas: 2
      template:
        metadata: {labels: {gang: made}}
        spec: {nodeSelector: {zone: free}, terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, containers: [{name: c, image: none, resources: {limits: {nvidia.com/gpu: "1"}}}]}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: over, namespace: ml}
spec: {ttlSecondsAfterFinished: 1, tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: c, image: none}]}}}]}
status: {state: {phase: Completed, lastTransitionTime: "2026-01-01T00:00:00Z"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: held, namespace: ml, labels: {kueue.x-k8s.io/queue-name: team}}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: none, resources: {limits: {nvidia.com/gpu: "1"}}}]}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: asks, namespace: ml}
spec: {queueName: team, active: true, podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, image: none, resources: {requests: {nvidia.com/gpu: "1"}}}]}}}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: late, namespace: ml}
spec: {queueName: team, active: true, podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, image: none}]}}}]}
W
  kc -n ml patch workloads.kueue.x-k8s.io late --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"DeactivationTarget","status":"True","reason":"MaximumExecutionTimeExceeded","message":"exceeding the maximum execution time","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}' >/dev/null
  kc -n ml patch jobs.batch.volcano.sh over --subresource=status --type=merge -p '{"status":{"state":{"phase":"Completed","lastTransitionTime":"2026-01-01T00:00:00Z"}}}' >/dev/null
}
work_goes() {
  clear_stage
  kc -n ml delete jobs.batch,jobs.batch.volcano.sh,workloads.kueue.x-k8s.io --all --wait=false >/dev/null 2>&1
  kc -n ml delete services,configmaps,secrets --all --wait=false >/dev/null 2>&1
}
made() { is_bound made 2 && [ "$(phase_of jobs.batch.volcano.sh/made '{.status.state.phase}')" = Pending ] && kc -n ml get service/made configmap/made-svc secret/made-ssh >/dev/null 2>&1; }
gone() { ! kc -n ml get jobs.batch.volcano.sh/over >/dev/null 2>&1; }
let_in() { [ "$(phase_of jobs.batch/held '{.spec.suspend}')" = false ]; }
admitted() { [ "$(phase_of workloads.kueue.x-k8s.io/asks '{.status.conditions[?(@.type=="Admitted")].status}')" = True ]; }
deactivated() { [ "$(phase_of workloads.kueue.x-k8s.io/late '{.spec.active}')" = false ]; }
nothing_is_done() { is_bound made 0 && ! gone && ! let_in && ! admitted && ! deactivated; }

work_arrives; serve
for done in made gone let_in admitted deactivated; do
  if until_true 75 "$done"; then pass "with_the_roles_beside_it_work_is_$done"; else fail "with_the_roles_beside_it_work_is_$done" "$(kc -n ml get jobs.batch.volcano.sh,jobs.batch,workloads.kueue.x-k8s.io -o jsonpath='{range .items[*]}{.metadata.name}{.status}{"\n"}{end}' | tr '\n' ';' | cut -c1-600); $(last_words)"; fi
done
if grep -q 'forbidden' "$work/serve"; then fail and_nothing_is_forbidden_to_them "$(grep forbidden "$work/serve" | head -2)"; else pass and_nothing_is_forbidden_to_them; fi
end_serve

mapfile -t rules < <(rules_of_roles)
lists=() watches=() says=()
for rule in "${rules[@]}"; do
  case $rule in
    *"|list") lists+=("$rule");;
    *"|watch") watches+=("$rule");;
    *) says+=("$rule");;
  esac
done
work_goes; without "${says[@]}"; work_arrives; serve
expect_named "${says[@]}"
stops without_its_writes_nothing_is_done nothing_is_done
end_serve
work_goes; without "${lists[@]}"; work_arrives; serve
expect_named "${lists[@]}"
stops without_its_lists_nothing_is_done nothing_is_done
end_serve
work_goes; without "${watches[@]}"; serve
until_true 75 grep -q 'are known' "$work/serve"
work_arrives
expect_named "${watches[@]}"
unseen() { is_bound made 0 && ! gone && ! admitted; }
stops without_its_watches_new_work_is_not_seen unseen
end_serve
all_named roles_beside
work_goes; without
