#!/bin/bash
# The client against a real API server of the current release: etcd, kube-apiserver and kube-controller-manager as tests/kubernetes builds
# them (once, about 10 CPU-minutes, into ~/.cache/muster). Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
# All of it runs in a network namespace with nothing but a loopback, where that may be made: whatever would dial out would fail.
# Skipped without Go and without the binaries; a failure with CI=true. A cold build is made with MUSTER_E2E_HEAVY=1 or CI=true.
. "$(dirname "$0")/../../lib/control_plane.sh"
driver=$build/src/kube/muster_kube_e2e
need_control_plane etcd kube-apiserver kube-controller-manager kubectl
need_program "$driver"
alone
control_plane_up kubernetes
kc create namespace e2e >/dev/null
# The controllers put a ConfigMap into every namespace, soon after it is made: before ours are counted.
until_true 150 kc -n e2e get configmap kube-root-ca.crt >/dev/null 2>&1
read -r port etcd_port <"$state/ports"

run() { timeout 280 "$driver" "$config" "$@" >"$work/facts" 2>&1; }
check() { # check NAME REGULAR_EXPRESSION: a line of the facts matches
  if grep -Eq "$2" "$work/facts"; then pass "$1"; else fail "$1" "no line matches '$2': $(tr '\n' ';' <"$work/facts" | cut -c1-900)"; fi
}

# Only loopback sockets, of all that runs here.
pidlist=$(cat "$state"/pid/* | paste -sd'|')
elsewhere=$(ss -Htunap | grep -E "pid=($pidlist)," | awk '{print $5, $6}' | tr ' ' '\n' |
  grep -vE '^(127\.|\[::1\]|\[::ffff:127\.)|^0\.0\.0\.0:\*$|^\[::\]:\*$|^\*:\*$' | head -3)
if [ -z "$elsewhere" ]; then pass nothing_listens_or_dials_beyond_loopback; else fail nothing_listens_or_dials_beyond_loopback "$elsewhere"; fi

run follow 3000
check three_thousand_objects_are_created '^created 3000$'
check deletes_and_patches_succeed '^changed 2000$'
check followed_state_equals_a_fresh_list '^follow.same yes$'
check each_creation_is_seen_once '^follow.added 3000$'
check each_patch_is_seen_once '^follow.updated 1000$'
check each_deletion_is_seen_once '^follow.deleted 1000$'
check no_event_is_wrong '^follow.wrong 0$'
check a_streamed_list_is_the_same '^stream.same yes$'

cat >"$work/restart.sh" <<R
kill -KILL \$(cat "$state/pid/apiserver"); rm "$state/pid/apiserver"
exec "$top/tests/kubernetes/up.sh" "$state"
R
run restart bash "$work/restart.sh"
check api_server_is_killed_and_started_again '^restarted yes$'
check writes_go_on_after_a_restart '^after 50$'
check the_state_is_exact_after_a_restart '^restart.same yes$'
check no_event_is_wrong_over_a_restart '^restart.wrong 0$'

# Stopped watching; etcd is compacted, and the server has forgotten its window too.
cat >"$work/compact.sh" <<R
revision=\$("$bin/kubectl" --kubeconfig="$config" get --raw /api/v1/namespaces/e2e/configmaps |
  python3 -c 'import json,sys; print(json.load(sys.stdin)["metadata"]["resourceVersion"])')
python3 - "\$revision" <<'P'
import json, sys, urllib.request
body = json.dumps({"revision": sys.argv[1], "physical": True}).encode()
urllib.request.urlopen("http://127.0.0.1:$etcd_port/v3/kv/compaction", body, 30).read()
P
exec bash "$work/restart.sh"
R
run compaction bash "$work/compact.sh"
check etcd_is_compacted '^compacted yes$'
check a_real_410_comes '^compaction.expired [1-9]'
check the_difference_is_exact_after_a_410 '^compaction.same yes$'
check no_event_is_wrong_over_a_410 '^compaction.wrong 0$'
check a_namesake_is_a_deletion_and_an_addition '^compaction.deleted 2$'

run apply
check another_managers_field_is_a_conflict '^apply.conflict .*other managers own.*\.data\.v.*helm'
check force_takes_the_field_over '^apply.forced ours$'
run optimistic
check a_stale_version_is_a_409 '^optimistic.second 409$'
check a_stale_delete_is_a_409 '^optimistic.delete 409$'
run binding
check a_namesake_is_not_bound '^bind.wrong_uid 409$'
check a_pod_is_bound '^bind.first 201$'
check a_bound_pod_is_not_bound_again '^bind.second 409$'
check its_status_is_written '^status.phase Running$'
check it_is_evicted '^evict.status 201$'

# ---- leases: killed, and handed over
"$driver" "$config" lease a 600000 >"$work/a" 2>&1 & holder=$!; pids+=($holder)
for _ in $(seq 300); do grep -q '^leading a' "$work/a" && break; sleep 0.1; done
"$driver" "$config" lease b 1500 >"$work/b" 2>&1 & heir=$!; pids+=($heir)
for _ in $(seq 20); do [ "$(wc -l <"$work/b")" -gt 0 ] && break; sleep 0.1; done
if grep -q '^leading' "$work/b"; then fail only_one_leads "b leads beside a"; else pass only_one_leads; fi
kill -KILL $holder; killed=$(date +%s%N); wait $holder 2>/dev/null
for _ in $(seq 600); do grep -q '^leading b' "$work/b" && break; sleep 0.05; done
took=$((($(date +%s%N) - killed) / 1000000))
if grep -q '^leading b' "$work/b"; then pass a_killed_leader_is_followed; echo "     after $took ms; the lease lasts 4 s"; else fail a_killed_leader_is_followed "$(cat "$work/b")"; fi
"$driver" "$config" lease c 100 >"$work/c" 2>&1
released=$(grep -c '^released b' "$work/b"); wait $heir
if grep -q '^leading c' "$work/c" && [ "$released" = 1 ]; then pass a_released_lease_is_handed_over; else fail a_released_lease_is_handed_over "$(cat "$work/b" "$work/c")"; fi

# ---- who may not, and what is not there
run missing
check a_missing_crd_is_named '^missing.crd .*serves no scheduling.volcano.sh: its CRDs are not installed'
check an_unknown_version_names_the_served_one '^missing.version .*serves batch as v1, not as v9'
check an_unknown_kind_is_named '^missing.kind .*batch/v1 is served, but has no dreams'
check a_missing_object_is_named '^missing.object .*"nobody"'
kc -n e2e create serviceaccount nobody >/dev/null
token() { # token FILE TEXT: a kubeconfig whose token stands in a file
  printf '%s' "$2" >"$work/token"
  sed -e "s#users: .*#users: [{name: admin, user: {tokenFile: \"$work/token\"}}]#" "$config" >"$work/kubeconfig.$1"
}
token poor "$(kc -n e2e create token nobody)"
timeout 60 "$driver" "$work/kubeconfig.poor" missing >"$work/facts" 2>&1
check a_forbidden_verb_names_user_and_rule '^missing.rights .*system:serviceaccount:e2e:nobody.*apiGroups: \[""\], resources: \["pods"\], verbs: \["list"\]'
token expired "nonsense"
timeout 60 "$driver" "$work/kubeconfig.expired" missing >"$work/facts" 2>&1
check a_refused_token_names_its_file "^missing.rights .*does not accept our credentials .token file $work/token"
sed "s#127.0.0.1:$port#127.0.0.1:1#" "$config" >"$work/kubeconfig.gone"
timeout 280 "$driver" "$work/kubeconfig.gone" apply >"$work/facts" 2>&1
check an_unreachable_server_is_named '^apply.conflict .*is the API server at https://127.0.0.1:1 up'
sed "s#certificate-authority: [^}]*#certificate-authority: \"$work/other.crt\"#" "$config" >"$work/kubeconfig.ca"
openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out "$work/other.crt" -subj /CN=other -days 1 2>/dev/null
timeout 60 "$driver" "$work/kubeconfig.ca" missing >"$work/facts" 2>&1
check a_foreign_certificate_is_named '^missing.rights .*not signed by the certificate-authority'
finish
