#!/bin/bash
# muster submit against a real API server and controller manager (tests/kubernetes/build.sh): preview, apply, the half-made set, the twin,
# what it waits for, server-side conflicts. No kubelet runs: pods are objects, and this script writes what a kubelet would report.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. In a network namespace with a loopback alone.
. "$(dirname "$0")/../../lib/control_plane.sh"
begin etcd kube-apiserver kube-controller-manager kubectl
control_plane_up submit
namespace train
image=registry.example/llm@sha256:$(printf 'a%.0s' $(seq 64))
job=(submit --class ddp --name llm -n train --shape 2x8xH100 --image "$image" --rdma rdma/ib=1 --queue research
  --checkpoint checkpoints:/checkpoints/llm --label team=research --kubeconfig "$config")
run() { timeout 120 "$muster" "$@" >"$work/out" 2>"$work/err"; code=$?; }
show() { cat "$work/out" "$work/err" | tr '\n' ';' | cut -c1-600; }
exits() { if [ "$code" = "$2" ]; then pass "$1"; else fail "$1" "exit $code, not $2: $(show)"; fi; }
says() { if cat "$work/out" "$work/err" | grep -Eq -- "$2"; then pass "$1"; else fail "$1" "nothing matches '$2': $(show)"; fi; }
there() { kc -n train get "$1" "$2" --ignore-not-found -o name; }

run "${job[@]}" --dry-run -- train.py
exits a_preview_is_done 0; says a_preview_shows_every_line '^\+  completions: 2'; says lint_has_nothing_to_say 'nothing was written'
is a_preview_writes_nothing "$(there service llm)$(there job llm)" ""

run "${job[@]}" --no-follow -- train.py
exits it_is_submitted 0
is the_service_is_headless "$(kc -n train get service llm -o 'jsonpath={.spec.clusterIP} {.spec.publishNotReadyAddresses}')" "None true"
is the_job_is_a_gang_of_two "$(kc -n train get job llm -o 'jsonpath={.spec.completions} {.spec.completionMode} {.spec.template.spec.schedulerName}')" "2 Indexed muster"
is the_fields_are_ours "$(kc -n train get job llm --show-managed-fields -o 'jsonpath={.metadata.managedFields[?(@.operation=="Apply")].manager}')" muster
is the_service_goes_with_its_job "$(kc -n train get service llm -o 'jsonpath={.metadata.ownerReferences[0].name}')" llm
for n in $(seq 60); do [ "$(kc -n train get pods -l batch.kubernetes.io/job-name=llm -o name | wc -l)" = 2 ] && break; sleep 0.5; done
is the_controller_made_both_ranks "$(kc -n train get pods -l batch.kubernetes.io/job-name=llm -o name | wc -l)" 2
is a_rank_has_its_index_in_the_wait "$(kc -n train get pods -l batch.kubernetes.io/job-name=llm -o 'jsonpath={.items[0].spec.initContainers[0].env[0].name}')" JOB_COMPLETION_INDEX

run "${job[@]}" --no-follow -- train.py
exits the_same_again_is_fine 0; says and_changes_nothing 'unchanged: Job train/llm'
run "${job[@]}" --dry-run --retries 3 -- train.py --epochs 4
exits a_changed_template_is_refused_by_the_server 2; says and_the_field_is_named 'spec.template|immutable'
kc -n train label service llm team=other --overwrite --field-manager=somebody >/dev/null
run "${job[@]}" --no-follow -- train.py
says another_managers_field_is_a_conflict 'somebody'; [ "$code" != 0 ] && pass and_it_does_not_exit_0 || fail and_it_does_not_exit_0 "exit 0"
kc -n train label service llm team=research --overwrite --field-manager=somebody >/dev/null

# Interrupted between the Service and the Job: the next try finishes it.
kc -n train delete job llm --wait=true >/dev/null 2>&1
for n in $(seq 60); do [ -z "$(there service llm)" ] && break; sleep 0.5; done
is with_its_job_the_service_is_gone "$(there service llm)" ""
"$muster" "${job[@]}" --out "$work/llm.yaml" -- train.py 2>/dev/null
awk 'BEGIN{RS="---\n"} NR==1' "$work/llm.yaml" | kc apply --server-side --field-manager=muster -f - >/dev/null
is half_of_the_set_is_there "$(there service llm)$(there job llm)" service/llm
run "${job[@]}" --no-follow -- train.py
exits a_half_made_set_is_finished 0; is and_both_are_there "$(there service llm) $(there job llm)" "service/llm job.batch/llm"
kc -n train delete job llm >/dev/null 2>&1
for n in $(seq 60); do [ -z "$(there service llm)" ] && break; sleep 0.5; done

# The Job is refused after the Service was made: the Service is taken away again.
kc -n train create quota none --hard=count/jobs.batch=0 >/dev/null
for n in $(seq 60); do kc -n train get quota none -o 'jsonpath={.status.hard}' | grep -q jobs && break; sleep 0.5; done
kc -n train delete job llm --ignore-not-found >/dev/null 2>&1
run "${job[@]}" --no-follow -- train.py
[ "$code" != 0 ] && pass a_refused_job_does_not_exit_0 || fail a_refused_job_does_not_exit_0 "exit 0"
says the_quota_is_named 'exceeded quota|quota'
is nothing_is_left_behind "$(there service llm)$(there job llm)" ""
kc -n train delete quota none >/dev/null

# The twin first. A kubelet would say how its ranks ended; here this script does.
finish_pods() { # finish_pods JOB PHASE CODE [NAMESPACE]
  local ns=${4:-train}
  for n in $(seq 120); do [ "$(kc -n "$ns" get pods -l batch.kubernetes.io/job-name="$1" -o name | wc -l)" = 2 ] && break; sleep 0.25; done
  for pod in $(kc -n "$ns" get pods -l batch.kubernetes.io/job-name="$1" -o name); do
    kc -n "$ns" patch "$pod" --subresource=status --type=merge -p "{\"status\":{\"phase\":\"$2\",\"containerStatuses\":[{\"name\":\"main\",\"ready\":false,\"restartCount\":0,\"image\":\"i\",\"imageID\":\"\",\"state\":{\"terminated\":{\"exitCode\":$3}}}]}}" >/dev/null
  done
}
reap() { # the kubelet's part of a deletion; reap [NAMESPACE]
  local ns=${1:-train}
  for n in $(seq 100); do
    kc -n "$ns" get pods -o 'jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name}{"\n"}{end}' | while read -r p; do [ -z "$p" ] || kc -n "$ns" delete pod "$p" --force --grace-period=0 >/dev/null 2>&1; done
    [ -e "$work/reaped" ] && break; sleep 0.3
  done
}
(finish_pods llm-twin Failed 1; reap) & helper=$!
run "${job[@]}" --prove --no-follow -- train.py
touch "$work/reaped"; wait $helper; rm -f "$work/reaped"
exits a_twin_that_fails_refuses_the_job 6; says and_says_so 'did not keep the contract'
is the_job_was_not_submitted "$(there job llm)" ""; is the_twin_is_gone "$(there job llm-twin)$(there service llm-twin)" ""
(finish_pods llm-twin Succeeded 0; reap) & helper=$!
run "${job[@]}" --prove --no-follow -- train.py
touch "$work/reaped"; wait $helper; rm -f "$work/reaped"
exits a_twin_that_succeeds_lets_the_job_go 0; is the_job_is_there "$(there job llm)" job.batch/llm; is its_twin_is_gone "$(there job llm-twin)" ""

# Followed to its end.
finish_pods llm Succeeded 0
kc -n train wait job/llm --for=condition=complete --timeout=60s >/dev/null
run "${job[@]}" -- train.py
exits an_ended_job_of_that_name_is_a_conflict 6; says and_the_way_out_is_named 'delete it, or take another --name'
other=("${job[@]}"); other[4]=other
timeout 60 "$muster" "${other[@]}" -- train.py >"$work/followed" 2>&1 & following=$!
finish_pods other Succeeded 0; wait $following; code=$?
exits a_job_that_succeeds_exits_0 0
grep -q 'succeeded: .* 2 succeeded, 0 failed' "$work/followed" && pass and_its_end_is_seen || fail and_its_end_is_seen "$(tail -2 "$work/followed")"
third=("${job[@]}"); third[4]=third
timeout 60 "$muster" "${third[@]}" -o json -- train.py >"$work/json" 2>"$work/err" & following=$!
finish_pods third Failed 9; wait $following; code=$?
exits a_failed_job_exits_3 3
grep -q '"phase": "failed"' "$work/json" && grep -q '"kind": "Submission"' "$work/json" && pass json_says_how_it_ended || fail json_says_how_it_ended "$(tr '\n' ' ' <"$work/json")"

run submit --class ddp --name v -n train --shape 2x8 --image "$image" --dialect volcano --checkpoint s3://b/v --rdma rdma/ib=1 --label team=a --kubeconfig "$config" -- train.py
says a_missing_crd_is_named 'batch.volcano.sh'; [ "$code" != 0 ] && pass and_is_no_success || fail and_is_no_success "exit 0"
run submit --class ddp --name nowhere -n nowhere --shape 2 --image "$image" --checkpoint s3://b/v --kubeconfig "$config" -- train.py
says a_missing_namespace_is_named 'nowhere'; [ "$code" != 0 ] && pass and_is_none_either || fail and_is_none_either "exit 0"
. "$(dirname "$0")/install.sh"
finish
