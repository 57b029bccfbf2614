# Sourced by run.sh, with its functions: the installation, and the roles that it renders, held to a real API server. Each verb of the
# submitter's role is taken out in turn, and something that is named stops working.
pinned=registry.example/muster@sha256:$(printf 'b%.0s' $(seq 64))
install=(install kubernetes --apply --image "$pinned" --foreign volcano --foreign jobset --metrics-port 9090 --service-monitor --kubeconfig "$config")
run "${install[@]}" --dry-run
exits an_installation_is_previewed 0; is and_nothing_is_written "$(kc get namespace muster-system --ignore-not-found -o name)" ""
run "${install[@]}"
exits it_is_installed 0; says without_its_definition_there_is_no_servicemonitor 'left as it is: ServiceMonitor'
is two_replicas_are_asked_for "$(kc -n muster-system get deployment muster-scheduler -o 'jsonpath={.spec.replicas}')" 2
is a_foreign_kind_is_served "$(kc get jobs.batch.volcano.sh -A -o 'jsonpath={.items}')" "[]"
run "${install[@]}"
exits again_is_fine 0; says and_changes_nothing_at_all ' 0 of them changed'
run install kubernetes --apply --image registry.example/muster:latest --kubeconfig "$config"
exits a_tag_is_refused 2
run install kubernetes --out "$work/files" --image "$pinned" --foreign all
exits files_are_written 0
kc apply --server-side --dry-run=server --force-conflicts -k "$work/files" >"$work/out" 2>"$work/err" && pass the_files_are_what_the_server_takes || fail the_files_are_what_the_server_takes "$(show)"
run install kubectl --to "$work/path"
exits the_plugin_is_written 0
PATH="$work/path:$bin:$PATH" kubectl muster version >"$work/out" 2>"$work/err" && grep -qi muster "$work/out" && pass kubectl_finds_the_plugin || fail kubectl_finds_the_plugin "$(show)"

"$top/packaging/kubernetes/image.sh" "$work/image" "$muster" >"$work/digest" 2>"$work/err" && pass the_image_is_made || fail the_image_is_made "$(tail -2 "$work/err")"
"$top/packaging/kubernetes/image.sh" "$work/image2" "$muster" >"$work/digest2" 2>/dev/null
is the_same_inputs_give_the_same_digest "$(cat "$work/digest")" "$(cat "$work/digest2")"
grep -q '"package:libc6"' "$work/image/sbom.json" && grep -q '"bomFormat": *"CycloneDX"' "$work/image/sbom.json" && pass its_bill_of_materials_names_its_libraries || fail its_bill_of_materials_names_its_libraries "$(head -c 300 "$work/image/sbom.json")"
if chroot / true 2>/dev/null; then
  chroot "$work/image/rootfs" /usr/bin/muster version >"$work/out" 2>"$work/err" && pass the_program_runs_with_nothing_but_the_image || fail the_program_runs_with_nothing_but_the_image "$(show)"
fi
[ -z "$(find "$work/image/rootfs" -name '*sh' -path '*bin*')" ] && pass there_is_no_shell_in_it || fail there_is_no_shell_in_it "one is"

may() { # may VERB RESOURCE[/SUBRESOURCE] ROLE [FLAG]
  local sub=(); case $2 in */*) sub=(--subresource="${2#*/}");; esac
  kc auth can-i "$1" "${2%%/*}" "${sub[@]}" --as="system:serviceaccount:muster-system:muster-$3" ${4:-} 2>/dev/null
}
is the_scheduler_binds "$(may create pods/binding scheduler)" yes; is and_takes_whole_gangs_off "$(may delete pods scheduler)" yes
is and_leads_in_its_own_namespace "$(may update leases scheduler --namespace=muster-system)" yes
for no in "get secrets" "list secrets" "create pods" "create pods/eviction" "patch pods" "patch nodes" "update nodes" "get nodes/proxy" "create pods/exec" "update leases" "create clusterroles" "impersonate users"; do
  # shellcheck disable=SC2086
  is "the_scheduler_may_not_$(echo $no | tr ' /' '__')" "$(may $no scheduler)" no
done
for no in "get secrets" "create pods" "get nodes/proxy" "create pods/eviction"; do
  # shellcheck disable=SC2086
  is "the_observer_may_not_$(echo $no | tr ' /' '__')" "$(may $no observer)" no
done

# A team's account with the submitter's role, in its own namespace only.
kc create namespace team >/dev/null; kc -n team create serviceaccount dev >/dev/null
kc get clusterrole muster-submitter -o json >"$work/role.json"
token=$(kc -n team create token dev --duration=2h)
sed -E "s|token: \"[^\"]*\"|token: \"$token\"|" "$config" >"$work/dev.kubeconfig"
role() { # role [GROUP RESOURCE VERB]: the role without that verb
  python3 - "$work/role.json" "$@" <<'P' | kc apply -f - >/dev/null
import json, sys
role = json.load(open(sys.argv[1]))
rules = []
for rule in role["rules"]:
    for resource in rule["resources"]:
        verbs = [v for v in rule["verbs"] if [rule["apiGroups"][0], resource, v] != sys.argv[2:5]]
        if verbs: rules.append({"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": verbs})
print(json.dumps({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "submitter", "namespace": "team"}, "rules": rules}))
P
}
kc -n team create rolebinding dev --role=submitter --serviceaccount=team:dev >/dev/null
mine=(submit --class ddp -n team --shape 2x8 --image "$image" --rdma rdma/ib=1 --queue research --checkpoint s3://b/llm --label team=a --no-follow --kubeconfig "$work/dev.kubeconfig")
clean() { for k in jobs.batch.volcano.sh jobsets.jobset.x-k8s.io jobs.batch services; do kc -n team delete "$k" --all --wait=true --timeout=20s >/dev/null 2>&1; done; }
# A new job in each dialect.
everything() {
  code=0; : >"$work/all"
  for d in job volcano jobset; do
    timeout 60 "$muster" "${mine[@]}" --dialect $d --name "$d" -- train.py >>"$work/all" 2>&1 || code=$?
  done
}
proves() { # a job whose twin succeeds, as a kubelet would say
  (finish_pods proven-twin Succeeded 0 team; reap team) & local helper=$!
  code=0; timeout 100 "$muster" "${mine[@]}" --name proven --prove -- train.py >"$work/all" 2>&1 || code=$?
  touch "$work/reaped"; wait $helper; rm -f "$work/reaped"
}
role
for n in $(seq 50); do [ "$(kc auth can-i create services -n team --as=system:serviceaccount:team:dev 2>/dev/null)" = yes ] && break; sleep 0.2; done
everything
if [ $code = 0 ] && ! grep -qi 'forbidden\|may not' "$work/all"; then pass with_exactly_the_role_everything_works; else fail with_exactly_the_role_everything_works "exit $code: $(grep -i 'forbidden\|may not\|muster:' "$work/all" | head -3)"; fi
clean; proves
is and_a_twin_is_run_and_removed "$code$(kc -n team get job proven-twin --ignore-not-found -o name)" 0
clean
needed() { # needed GROUP RESOURCE VERB
  role "$1" "$2" "$3"; sleep 0.3
  everything; clean
  if grep -Ei "$3|creat|delet|patch|list|get" "$work/all" | grep -qi "forbidden\|may not\|cannot"; then pass "without_${3}_of_${2}${1:+_$1}_something_named_breaks"; else fail "without_${3}_of_${2}${1:+_$1}_something_named_breaks" "nothing did: $(tail -2 "$work/all" | tr '\n' ' ' | cut -c1-300)"; fi
}
for verb in get create patch; do needed "" services $verb; done
for verb in get create patch; do needed batch jobs $verb; done
needed "" pods list
for verb in get create patch; do needed batch.volcano.sh jobs $verb; needed jobset.x-k8s.io jobsets $verb; done
role "" services delete; sleep 0.3; proves; clean
grep -q 'deleting services' "$work/all" && pass without_delete_of_services_a_twin_stays_and_it_is_said || fail without_delete_of_services_a_twin_stays_and_it_is_said "$(tail -2 "$work/all")"
role batch jobs delete; sleep 0.3; proves; clean
grep -q 'deleting jobs' "$work/all" && pass without_delete_of_jobs_a_twin_stays_and_it_is_said || fail without_delete_of_jobs_a_twin_stays_and_it_is_said "$(tail -2 "$work/all")"
role
