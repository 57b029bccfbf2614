#!/bin/bash
# Acts of a gate against a real API server: what kubectl and helm would change is shown before, with the tool's own words, nothing is changed
# by that, and the ledger holds it with the intent. helm is Helm itself where it could be had (tests/lib/helm.sh), without its plugin
# helm-diff, and charts a folder of this test's; without it those acts are UNKNOWN with the reason.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
. "$(dirname "$0")/../../lib/control_plane.sh"
. "$top/tests/lib/verdicts.sh"
. "$top/tests/lib/helm.sh"
[ "${MUSTER_ALONE:-}" = yes ] || { MUSTER_NO_HELM=$(have_helm); export MUSTER_NO_HELM; }
begin etcd kube-apiserver kubectl
export COMPONENTS="etcd apiserver"
control_plane_up acts
kubectl="$bin/kubectl, --kubeconfig=$config"
cat >"$work/map.yaml" <<'M'
{apiVersion: v1, kind: ConfigMap, metadata: {name: nccl, namespace: default}, data: {NCCL_IB_HCA: mlx5}}
M
kc create namespace kept >/dev/null
cat >"$work/site.yaml" <<S
apiVersion: muster/v1
kind: Site
name: prod
type: kubernetes
kubernetes: {kubeconfig: $config}
cluster: {nodes: [{name: n1, gpus: 8, gpu_model: NVIDIA H100 80GB HBM3}]}
acts:
  - {gate: 4, name: map, kind: kubectl, argv: [$kubectl, apply, --server-side, -f, $work/map.yaml], probe: [sh, -c, "exec $bin/kubectl --kubeconfig=$config get configmap nccl >/dev/null"]}
  - {gate: 4, name: label, kind: kubectl, argv: [$kubectl, label, namespace, kept, team=a]}
  - {gate: 4, name: away, kind: kubectl, argv: [$kubectl, delete, namespace, kept]}
  - {gate: 4, name: wrong, kind: kubectl, argv: [$kubectl, label, namespace, nowhere, team=a]}
  - {gate: 4, name: operator, kind: helm, argv: [helm, upgrade, --install, gpu-operator, ./chart, --version, v26.3.0]}
  - {gate: 4, name: own, argv: [touch, $work/touched]}
S
before() { kc get configmaps,namespaces -A -o json | python3 -c 'import json, sys; print(sorted((i["kind"], i["metadata"]["name"], i["metadata"]["resourceVersion"]) for i in json.load(sys.stdin)["items"]))'; }
mkdir -p "$work/chart/templates" "$work/none"
printf 'apiVersion: v2\nname: tuning\nversion: 0.1.0\n' >"$work/chart/Chart.yaml"
echo 'mtu: 4096' >"$work/chart/values.yaml"
cat >"$work/chart/templates/all.yaml" <<'C'
apiVersion: v1
kind: ConfigMap
metadata: {name: tuning}
data:
  mtu: "{{ .Values.mtu }}"
---
apiVersion: v1
kind: Secret
metadata: {name: tuning}
stringData:
  key: never-shown-{{ .Values.mtu }}
C
was=$(before)
"$muster" bringup plan --site "$work/site.yaml" --from 4 --to 4 --preview -o json >"$work/json" 2>"$work/err" || true
# says NAME ACT KNOWN CHANGES TEXT
says() {
  python3 - "$work/json" "$2" "$3" "$4" "$5" >"$work/why" 2>&1 <<'P' && pass "$1" || fail "$1" "$(cat "$work/why" "$work/err" | tr '\n' ' ' | cut -c1-500)"
import json, sys
path, act, known, changes, text = sys.argv[1:]
def walk(x):
    if isinstance(x, dict):
        if x.get("name") == act and "preview" in x: yield x["preview"]
        for v in x.values(): yield from walk(v)
    elif isinstance(x, list):
        for v in x: yield from walk(v)
found = list(walk(json.load(open(path))))
print(found)
sys.exit(0 if len(found) == 1 and str(found[0]["known"]).lower() == known and str(found[0]["changes"]).lower() == changes and text in found[0]["text"] else 1)
P
}
says an_apply_shows_its_difference map true true "NCCL_IB_HCA"
says a_label_is_asked_of_the_server label true true "server dry run"
says so_is_a_delete away true true "server dry run"
says what_the_server_would_refuse_is_unknown wrong false false "NotFound"
if command -v helm >/dev/null; then skip helm_that_is_not_there_is_unknown "helm is on this machine"
else says helm_that_is_not_there_is_unknown operator false false "helm is not on this machine"; fi
says a_command_of_ones_own_is_unknown own false false "nobody can say"
[ "$(before)" = "$was" ] && [ ! -e "$work/touched" ] && pass nothing_was_changed || fail nothing_was_changed "$was / $(before)"

waive 1 2 3
sed -i '/name: wrong/d; /name: operator/d; /name: own/d; /name: away/d' "$work/site.yaml"
timeout 200 "$muster" bringup run --from 4 --to 4 --site "$work/site.yaml" -o json >"$work/run" 2>"$work/err"
kc get configmap nccl >/dev/null 2>&1 && pass the_act_was_done || fail the_act_was_done "$(tail -3 "$work/err")"
ledger=$(find "$work/.muster/runs" -name ledger -type f | head -1)
grep -a -q 'preview: .*NCCL_IB_HCA' "$ledger" && pass the_ledger_holds_the_preview_with_the_intent || fail the_ledger_holds_the_preview_with_the_intent "$(grep -a -c preview "$ledger") in $ledger"
"$muster" bringup plan --site "$work/site.yaml" --from 4 --to 4 --preview -o json >"$work/json" 2>"$work/err" || true
says what_is_done_would_change_nothing map true false "done already"

# ---- Helm itself
[ -z "${MUSTER_NO_HELM:-}" ] || { lacking helm "$MUSTER_NO_HELM"; finish; }
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
sed -i '/^acts:/,$d' "$work/site.yaml"
chart() { # chart MTU: the act, with its value
  sed -i '/^acts:/,$d' "$work/site.yaml"
  cat >>"$work/site.yaml" <<S
acts:
  - {gate: 4, name: tuning, kind: helm, argv: [$helm, --kubeconfig, $config, upgrade, --install, tuning, $work/chart, --version, 0.1.0, --namespace, kept, --set, mtu=$1, --wait]}
S
  "$muster" bringup plan --site "$work/site.yaml" --from 4 --to 4 --preview -o json >"$work/json" 2>"$work/err" || true
}
mtu() { kc -n kept get configmap tuning -o jsonpath='{.data.mtu}' 2>/dev/null; }
chart 4096
says a_chart_that_is_new_is_all_new tuning true true '+  mtu: "4096"'
is and_nothing_of_it_is_there "$(mtu)" ""
timeout 200 "$muster" bringup run --from 4 --to 4 --site "$work/site.yaml" -o json >"$work/run" 2>"$work/err"
is the_chart_was_installed "$(mtu)" 4096
chart 4096
says the_same_chart_again_changes_nothing tuning true false "stay as they are"
chart 9000
says another_value_shows_its_difference tuning true true '+  mtu: "9000"'
is and_is_not_there_yet "$(mtu)" 4096
grep -rqa never-shown "$work/json" "$work/run" "$work/.muster" && fail no_value_of_a_secret_is_kept "$(grep -rla never-shown "$work/json" "$work/run" "$work/.muster" | tr '\n' ' ')" || pass no_value_of_a_secret_is_kept
finish
