#!/bin/bash
# The scheduler under exactly the role that `muster install kubernetes` renders, with the arguments that its Deployment has: everything
# works. Then each verb of each resource is taken out of the role: something stops working, and the scheduler names the rule that is
# missing. A verb that nothing misses has no place in catalogue/permissions.yaml. Then the same for the roles beside it and the observer's.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. A real API server; nodes are objects.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
muster=$build/muster
. "$top/tests/lib/control_plane.sh"
. "$top/tests/lib/scheduler.sh"
need_control_plane etcd kube-apiserver kubectl
need_program "$muster"
alone "$@"
export COMPONENTS="etcd apiserver" GATES=GenericWorkload=true RUNTIME_CONFIG=scheduling.k8s.io/v1beta1=true
control_plane_up kubernetes-rbac

# ---- what install renders, as an administrator applies it
"$muster" install kubernetes --out "$work/install" >"$work/rendered" 2>&1 || { fail install_renders "$(tail -2 "$work/rendered")"; finish; }
for file in "$work"/install/*-{namespace,serviceaccount,clusterrole,clusterrolebinding,role,rolebinding}-*.yaml; do
  kc apply -f "$file" >/dev/null || fail install_applies "$file"
done
read -r -a args < <(python3 - "$work"/install/*-deployment-*.yaml <<'P'
import re, sys
text = open(sys.argv[1]).read()
flow = re.search(r"\n( *)args:\n((?:\1 *- .*\n)+)", text)
print(*[line.split("- ", 1)[1].strip().strip("\"'") for line in flow.group(2).splitlines()])
P
)
# A pod listens at its own address; here the system picks a port of loopback.
args=("${args[@]/#0.0.0.0:*/127.0.0.1:0}")
kc get clusterrole muster-scheduler -o json >"$work/cluster.json"
kc -n muster-system get role muster-scheduler -o json >"$work/own.json"
account() { # account NAME: a kubeconfig of muster-NAME
  sed -e '/^users:/d' "$config" >"$work/$1"
  echo "users: [{name: admin, user: {token: \"$(kc -n muster-system create token "muster-$1" --duration=1h)\"}}]" >>"$work/$1"
}
account scheduler
me=muster-scheduler roles=("$work/cluster.json" "$work/own.json")

# ---- one gang of each dialect, each with its own object; a queue; a gang that is half bound and cannot be whole
crds() {
  crd scheduling.volcano.sh v1beta1 podgroups PodGroup Namespaced
  crd scheduling.volcano.sh v1beta1 queues Queue Cluster
  crd scheduling.x-k8s.io v1alpha1 podgroups PodGroup Namespaced
  crd scheduling.run.ai v2alpha2 podgroups PodGroup Namespaced
  crd scheduling.run.ai v2 queues Queue Cluster
  crd kueue.x-k8s.io v1beta2 resourceflavors ResourceFlavor Cluster
  crd kueue.x-k8s.io v1beta2 clusterqueues ClusterQueue Cluster
  crd kueue.x-k8s.io v1beta2 cohorts Cohort Cluster
  crd kueue.x-k8s.io v1beta2 localqueues LocalQueue Namespaced
  crd kueue.x-k8s.io v1beta2 workloadpriorityclasses WorkloadPriorityClass Cluster
  crd jobset.x-k8s.io v1alpha2 jobsets JobSet Namespaced
}
crds | kc create -f - >/dev/null
kc wait --for=condition=Established crd --all --timeout=60s >/dev/null
kc create namespace ml >/dev/null; kc -n ml create serviceaccount default >/dev/null
{ for i in 0 1; do node "torn$i" "zone: torn"; done; for i in 0 1; do node "free$i" "zone: free"; done; } | kc create -f - >/dev/null
cat <<'Q' | kc create -f - >/dev/null
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: ml}
spec: {clusterQueue: team}
Q
groups() {
  cat <<'G' | kc create -f - >/dev/null
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: volcano, namespace: ml}
spec: {minMember: 2}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: plugins, namespace: ml}
spec: {minMember: 2}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: kai, namespace: ml}
spec: {minMember: 2}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: native, namespace: ml}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
G
}
pods() { # pods GANG LABELS ANNOTATIONS SPEC: two of one GPU
  local i
  for i in 0 1; do pod "$1-$i" "gang: $1, $2" "$3" "nodeSelector: {zone: free}, $4" 1; done
}
stage() {
  {
    pods plain 'muster.dev/gang: plain, muster.dev/gang-size: "2"' "" ""
    pods queued 'muster.dev/gang: queued, muster.dev/gang-size: "2", kueue.x-k8s.io/queue-name: team' "" ""
    pods volcano "" "scheduling.k8s.io/group-name: volcano" ""
    pods plugins "scheduling.x-k8s.io/pod-group: plugins" "" ""
    pods kai "" "pod-group-name: kai" ""
    pods native "" "" "schedulingGroup: {podGroupName: native}"
    # torn-0 sits on torn0; for torn-1 there is no place, because somebody else's pod fills torn1.
    for i in 0 1; do pod "torn-$i" 'gang: torn, muster.dev/gang: torn, muster.dev/gang-size: "2"' "" "nodeSelector: {zone: torn}" 8; done
    pod thief "gang: thief" "" "nodeName: torn1" 8 somebody
  } | kc create -f - >/dev/null
  printf '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"torn-0","namespace":"ml"},"target":{"kind":"Node","name":"torn0"}}' | kc -n ml create -f - >/dev/null
}
clear_stage() {
  kc -n ml delete pods,events --all --wait=false >/dev/null 2>&1
  # The controller that would take this finalizer off does not run.
  kc -n ml patch podgroups.scheduling.k8s.io native --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null 2>&1
  for kind in podgroups.scheduling.volcano.sh podgroups.scheduling.x-k8s.io podgroups.scheduling.run.ai podgroups.scheduling.k8s.io; do
    kc -n ml delete "$kind" --all --wait=false >/dev/null 2>&1
  done
}
bound() { kc -n ml get pods -l "gang=$1" -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' 2>/dev/null | grep -c .; }
is_bound() { [ "$(bound "$1")" -eq "$2" ]; }
serve() { KUBECONFIG=$work/scheduler "$muster" "${args[@]}" >"$work/serve" 2>&1 & server=$!; pids+=($server); }
end_serve() { kill -KILL "$server" 2>/dev/null; wait "$server" 2>/dev/null; }
ended() { ! kill -0 "$server" 2>/dev/null; }
last_words() { tail -3 "$work/serve" | tr '\n' ';' | cut -c1-400; }
phase_of() { kc -n ml get "$1" -o jsonpath="$2" 2>/dev/null; }
told_volcano() { [ "$(phase_of podgroups.scheduling.volcano.sh/volcano '{.status.phase}')" = Running ]; }
told_plugins() { [ "$(phase_of podgroups.scheduling.x-k8s.io/plugins '{.status.phase}')" = Scheduled ]; }
told_native() { [ "$(phase_of podgroups.scheduling.k8s.io/native '{.status.conditions[?(@.type=="PodGroupInitiallyScheduled")].status}')" = True ]; }
event_of_plain() { kc -n ml get events --field-selector=reason=GangScheduled -o jsonpath='{.items[*].message}' 2>/dev/null | grep -q 'ml/plain'; }

# without RULE...: the rendered roles less these, in effect. A rule is GROUP|RESOURCE|VERB.
without() {
  local group resource verb
  python3 "$top/tests/e2e/kubernetes_rbac/less.py" "${roles[@]}" "$@" | kc replace -f - >/dev/null
  [ $# -gt 0 ] || return 0
  local rule  # each role takes effect as a whole, and one of them may be later than the other
  for rule in "$@"; do
    IFS='|' read -r group resource verb <<<"$rule"
    until_true 10 may_not "$group" "$resource" "$verb"
  done
  until_true 50 may_not "$group" "$resource" "$verb" || fail the_role_takes_effect "${!#}"
}
may() { # may GROUP RESOURCE VERB
  local namespace=ml
  [ "$1" = coordination.k8s.io ] && namespace=muster-system
  kc auth can-i "$3" "${2%%/*}${1:+.$1}" --subresource="$([[ $2 == */* ]] && echo "${2#*/}")" --as="system:serviceaccount:muster-system:$me" -n "$namespace" >/dev/null 2>&1
}
may_not() { ! may "$@"; }
names_rule() { # names_rule RULE: the scheduler's words name it
  local group resource verb
  IFS='|' read -r group resource verb <<<"$1"
  grep -qF "{apiGroups: [\"$group\"], resources: [\"$resource\"], verbs: [\"$verb\"]}" "$work/serve"
}
named=0
expect_named() { # expect_named RULE...
  local rule
  for rule in "$@"; do
    if until_true 200 names_rule "$rule"; then named=$((named + 1)); else fail "missing_right_is_named $rule" "$(last_words)"; fi
  done
}
stops() { # stops NAME COMMAND...: what must hold while the right is missing
  local name=$1; shift
  if "$@"; then pass "$name"; else fail "$name" "$(last_words)"; fi
}

# ---- the whole role: everything works
groups; stage; serve
for gang in plain queued volcano plugins kai native; do
  if until_true 75 is_bound "$gang" 2; then pass "with_the_rendered_role_a_gang_is_bound_$gang"; else fail "with_the_rendered_role_a_gang_is_bound_$gang" "$(bound "$gang"); $(last_words)"; fi
done
for told in told_volcano told_plugins told_native event_of_plain; do
  if until_true 50 $told; then pass "and_$told"; else fail "and_$told" "$(last_words)"; fi
done
# What the Deployment's probes and Prometheus ask.
listens=$(sed -n 's/.*health and metrics at //p' "$work/serve")
answers() { [ "$(curl -sf --max-time 5 "http://$listens$1")" = ok ]; }
for probe in /healthz /readyz; do
  if grep -Eq "path: \"?$probe\"?\$" "$work"/install/*-deployment-*.yaml && until_true 25 answers $probe; then pass "its_probe_is_answered_$probe"; else fail "its_probe_is_answered_$probe" "$(curl -s --max-time 5 "http://$listens$probe"); $(last_words)"; fi
done
measured() { curl -sf --max-time 5 "http://$listens/metrics" | awk '$1 == "muster_sched_pods_bound_total" && $2 >= 12 {found = 1} END {exit !found}'; }
if until_true 25 measured; then pass its_metrics_count_what_was_bound; else fail its_metrics_count_what_was_bound "$(curl -s --max-time 5 "http://$listens/metrics" | grep -v '^#' | tr '\n' ';')"; fi
if until_true 50 is_bound torn 0; then pass and_a_gang_that_cannot_be_whole_leaves; else fail and_a_gang_that_cannot_be_whole_leaves "$(bound torn); $(last_words)"; fi
if grep -q 'forbidden' "$work/serve"; then fail and_nothing_is_forbidden "$(grep forbidden "$work/serve" | head -2)"; else pass and_nothing_is_forbidden; fi
end_serve

# ---- each verb away. The table is the role's own.
rules_of_roles() { python3 "$top/tests/e2e/kubernetes_rbac/less.py" --rules "${roles[@]}" | sort -u; }
mapfile -t rules < <(rules_of_roles)
needed=() lists=() watches=() says=()
for rule in "${rules[@]}"; do
  case $rule in
    "|nodes|"*|"|pods|list"|"|pods|watch"|"batch|jobs|"*) needed+=("$rule");;
    "|pods/binding|create"|"coordination.k8s.io|"*) ;;
    *"|list") lists+=("$rule");;
    *"|watch") watches+=("$rule");;
    *) says+=("$rule");;
  esac
done
for rule in "${needed[@]}"; do
  clear_stage; without "$rule"; serve
  expect_named "$rule"
  stops "without_it_the_scheduler_ends $rule" until_true 50 ended
  end_serve
done

clear_stage; without "|pods/binding|create"; stage; serve
expect_named "|pods/binding|create"
stops without_bindings_nothing_is_bound is_bound plain 0
waits_for_right() { KUBECONFIG=$config "$muster" get gangs 2>/dev/null | grep -q 'ml/plain'; }
stops and_no_pod_is_removed_for_it waits_for_right
without
if until_true 100 is_bound plain 2; then pass the_right_comes_back_and_it_goes_on; else fail the_right_comes_back_and_it_goes_on "$(last_words)"; fi
end_serve

clear_stage; without "${says[@]}"; groups; stage; serve
until_true 75 is_bound plain 2
expect_named "${says[@]}"
stops without_delete_the_torn_gang_stays is_bound torn 1
not_told() { ! told_volcano && ! told_plugins && ! told_native && ! event_of_plain; }
stops without_create_and_patch_nothing_is_told not_told
end_serve

clear_stage; without "${lists[@]}"; groups; stage; serve
until_true 75 is_bound plain 2
expect_named "${lists[@]}"
others_wait() { is_bound volcano 0 && is_bound plugins 0 && is_bound kai 0 && is_bound native 0 && is_bound queued 0; }
stops without_their_objects_gangs_and_queues_wait others_wait
stops and_who_needs_none_of_them_is_bound is_bound plain 2
end_serve

clear_stage; without "${watches[@]}"; serve
until_true 75 grep -q 'are known' "$work/serve"
groups; stage
until_true 75 is_bound plain 2
expect_named "${watches[@]}"
stops what_is_not_watched_is_not_known others_wait
end_serve

for verb in get update create; do
  rule="coordination.k8s.io|leases|$verb"
  clear_stage; stage
  [ "$verb" = create ] && kc -n muster-system delete lease --all >/dev/null
  without "$rule"; serve
  expect_named "$rule"
  stops "without_it_nobody_leads $rule" is_bound plain 0
  end_serve
done
all_named() { # all_named WHOSE
  if [ $named -eq ${#rules[@]} ]; then pass "each_of_the_${named}_rules_of_$1_is_needed_and_named"; else fail "each_rule_of_$1_is_needed" "$named of ${#rules[@]} were missed"; fi
}
all_named scheduler
clear_stage; without
. "$top/tests/e2e/kubernetes_rbac/beside.sh"
. "$top/tests/e2e/kubernetes_rbac/observer.sh"
finish
