#!/usr/bin/env bash
# The release binary as a new user meets it: a lab through all eight gates, a killed run resumed, evidence that cannot be changed
# unnoticed, bad input. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
muster=${1:-${MUSTER_BUILD:-$top/build/release}}/muster
[ -x "$muster" ] || { echo "FAIL cli: $muster is not built"; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
ok() { echo "PASS cli $1"; }
bad() { echo "FAIL cli $1: $2"; failed=1; }
# expect NAME CODE COMMAND...: the exit code; output goes to out and err.
expect() {
  local name=$1 want=$2; shift 2
  "$@" >out 2>err
  local got=$?
  if [ "$got" -eq "$want" ]; then ok "$name"; else bad "$name" "exit $got, expected $want; $(tail -3 err out | tr '\n' ' ' | cut -c1-300)"; fi
}
has() { if grep -q -- "$3" "$2"; then ok "$1"; else bad "$1" "no \"$3\" in: $(head -c 300 "$2" | tr '\n' ' ')"; fi; }
field() { python3 -c "import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))" "$1" "$2"; }

site=lab/site.yaml
expect "init writes a lab" 0 "$muster" init --kind lab --out $site
expect "init does not overwrite" 6 "$muster" init --kind lab --out $site
expect "plan starts nothing" 0 "$muster" bringup plan --site $site
[ ! -d lab/.muster/runs ] && ok "plan leaves no run" || bad "plan leaves no run" "there is one"
expect "status before any run is unknown" 4 "$muster" bringup status --site $site -o json
expect "the eight gates open" 0 timeout 240 "$muster" bringup run --site $site
expect "status after it" 0 "$muster" bringup status --site $site -o json
[ "$(field out '[g["verdict"] in ("pass","warn") and g["open"] for g in d["gates"]]')" = "[True, True, True, True, True, True, True, True]" ] &&
  ok "every gate is open in status" || bad "every gate is open in status" "$(field out '[g["verdict"] for g in d["gates"]]')"
[ "$(field out 'd["gates"][5]["origin"]')" = rehearsed ] && ok "results say rehearsed" || bad "results say rehearsed" "$(field out 'd["gates"][5]["origin"]')"
run=$(ls lab/.muster/runs | tail -1)
expect "verify gives the same verdicts" 0 "$muster" verify "$run" --site $site
expect "a baseline is set" 0 "$muster" baseline set --site $site
expect "no drift against itself" 0 "$muster" baseline diff --site $site
for format in markdown html json junit; do expect "report as $format" 0 "$muster" bringup report --site $site --format $format --out report.$format; done
if grep -Eq '(src|href)="(https?:)?//' report.html; then bad "the page loads nothing from elsewhere" "it does"; else ok "the page loads nothing from elsewhere"; fi
python3 -c 'import xml.dom.minidom as m; m.parse("report.junit")' 2>err && ok "JUnit is well-formed" || bad "JUnit is well-formed" "$(cat err)"
expect "bundle" 0 "$muster" bundle --site $site --out b.tar
tar tf b.tar >out 2>err && has "tar reads the bundle" out ledger || bad "tar reads the bundle" "$(cat err)"

ledger=lab/.muster/runs/$run/ledger
cp "$ledger" kept
python3 - "$ledger" <<'PY'
import sys
path = sys.argv[1]
data = bytearray(open(path, "rb").read())
data[len(data) // 2] ^= 1
open(path, "wb").write(data)
PY
expect "a changed byte is found" 3 "$muster" verify "$run" --site $site
has "and named" err "byte"
cp kept "$ledger"

"$muster" bringup run --site $site >first.out 2>first.err & first=$!
for _ in $(seq 100); do [ "$(ls lab/.muster/runs | wc -l)" -ge 2 ] && break; sleep 0.05; done
expect "a second run at once is refused" 6 "$muster" bringup run --site $site --to 1
has "and told which run works" err "r-"
kill -9 $first 2>/dev/null; wait $first 2>/dev/null
expect "a killed run is seen" 0 sh -c "'$muster' bringup status --site $site -o json | grep -q unfinished_run.*r-"
expect "and resumed to the end" 0 timeout 240 "$muster" bringup resume --site $site
expect "there is nothing left to resume" 2 "$muster" bringup resume --site $site

expect "a fault goes in" 0 "$muster" lab inject link_down --on leaf00/1--node000/mlx5_0/1 --site $site
for format in table json yaml junit short; do expect "check fails in -o $format" 3 "$muster" check --gate 2 --site $site -o $format; done
expect "the run stops at gate 2" 3 "$muster" bringup run --site $site -o json
[ "$(field out 'd["gates"][1]["suspects"][0]["subject"]["id"]')" = "leaf00/1--node000/mlx5_0/1" ] && ok "and names the link" || bad "and names the link" "$(head -c 200 out)"
expect "capture" 0 "$muster" capture --site $site --out captured
expect "the capture is judged alike" 3 "$muster" check --replay captured --gate 2
expect "and with a site file it is still the capture that is judged" 3 "$muster" check --replay captured --gate 2 --site "$site"
mkdir -p nothing
expect "a folder that is no capture is never a pass, whatever the site says" 2 "$muster" check --replay nothing --gate 2 --site "$site"
echo >>captured/fabric/infiniband.iblinkinfo.txt
expect "a changed capture is refused" 2 "$muster" check --replay captured --gate 2
expect "a waiver opens the gate" 0 "$muster" gate waive 2 --by "A. Person" --reason "cable ordered" --until 2d --site $site
expect "a waiver needs an end in the future" 2 "$muster" gate waive 2 --by "A. Person" --reason x --until 2020-01-01 --site $site
expect "heal" 0 "$muster" lab heal --site $site

expect "explain works offline" 0 unshare -n "$muster" explain FAB-002
expect "an unknown code" 2 "$muster" explain NOPE-1
expect "an unknown command" 2 "$muster" brngup run
expect "help" 0 "$muster" --help
printf 'apiVersion: muster/v1\nkind: Site\nname: x\nname: y\n' >bad.yaml
expect "a duplicate key" 2 "$muster" check --site bad.yaml
has "with its place" err "bad.yaml:4"
sed 's/^fabric:/fabrik:/' $site >lab/bad.yaml
expect "an unknown key" 2 "$muster" check --site lab/bad.yaml
has "with the nearest one" err "fabric"
sed 's/counter_window: 2s/counter_window: 2/' $site >lab/bad.yaml
expect "a span without a unit" 2 "$muster" check --site lab/bad.yaml
expect "a missing file" 2 "$muster" check --site nowhere.yaml
mkdir closed && cp -r lab closed/ && chmod -R a-w closed
if [ "$(id -u)" -eq 0 ]; then echo "SKIP cli an unwritable folder: root may write everywhere"; else expect "an unwritable folder" 1 "$muster" bringup run --site closed/lab/site.yaml --to 1; fi
chmod -R u+w closed
# Manifests: found, repaired with patch(1), found no more.
cat >service.yaml <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: ranks}
spec:
  clusterIP: None
  clusterip: None
YAML
expect "lint finds an error" 3 "$muster" lint service.yaml
has "with its place and code" out "service.yaml:6:3: LINT-001 error"
expect "lint prints a patch" 3 "$muster" lint service.yaml --fix
printf 'apiVersion: v1\nkind: Service\nmetadata: {name: ranks}\nspec:\n  clusterIPs: [None]\n  clusterip: None\n' >service.yaml
"$muster" lint service.yaml --fix >repair.patch
if command -v patch >/dev/null; then
  expect "the patch applies" 0 patch -s -p0 -i repair.patch
  expect "and the finding is gone" 0 "$muster" lint service.yaml
else echo "SKIP cli the patch: no patch on this machine"; fi
expect "lint as SARIF" 0 "$muster" lint service.yaml -o sarif
[ "$(field out 'd["version"]')" = 2.1.0 ] && ok "SARIF says its version" || bad "SARIF says its version" "$(head -c 200 out)"
printf 'kind: [\n' >broken.yaml
expect "lint of what is no YAML" 2 "$muster" lint broken.yaml
printf 'apiVersion: v1\nkind: Teapot\nmetadata: {name: short}\n' >teapot.yaml
expect "lint of what no rule is about is no pass" 4 "$muster" lint teapot.yaml
expect "lint of a missing file" 2 "$muster" lint nowhere.yaml
expect "explain a lint rule" 0 "$muster" explain lint-204
expect "an NCCL profile" 0 "$muster" nccl-profile --site $site -o env
has "with the exact adapters" out "^NCCL_IB_HCA==mlx5_0"
expect "an NCCL profile that is none" 2 "$muster" nccl-profile --site $site --profile fast
expect "time is up" 124 "$muster" bringup run --site $site --timeout 1s
exit $failed
