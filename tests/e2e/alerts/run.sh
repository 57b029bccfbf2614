#!/usr/bin/env bash
# Alerts start runbooks, with the real Prometheus and Alertmanager over a lab: a fault goes in, the alert fires, the webhook opens the
# runbook, the node is drained, repaired, proven and returned; what cannot be repaired is taken back and parked with its ticket. The
# server is killed with SIGKILL on the way. Usage: run.sh [MUSTER]. Prints PASS, FAIL and SKIP lines.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
muster=${1:-${MUSTER:-${MUSTER_BUILD:-$top/build/release}/muster}}
[ -d "$muster" ] && muster=$muster/muster
[ -x "$muster" ] || muster=$(find "$top/build" -name muster -type f -perm -u+x 2>/dev/null | head -1)
if [ -z "$muster" ] || [ ! -x "$muster" ]; then echo "FAIL alerts: muster is not built"; exit 1; fi
muster=$(realpath "$muster")
# Alone on a loopback of its own where that is allowed: nothing here may talk to the world.
if [ "${ALERTS_ALONE:-}" = "" ] && unshare -n true 2>/dev/null; then
  ALERTS_ALONE=1 exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh "$0" "$muster"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-alerts.XXXXXX")
pids=()
finish() { for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill "$pid" 2>/dev/null; done; wait 2>/dev/null; rm -rf "$work"; }
trap finish EXIT
cd "$work" || exit 1
failed=0
pass() { echo "PASS alerts $*"; }
fail() { echo "FAIL alerts $*"; failed=1; }
# until_true SECONDS COMMAND...: asks four times a second.
until_true() {
  local tries=$(($1 * 4)); shift
  while [ $tries -gt 0 ]; do "$@" && return 0; sleep 0.25; tries=$((tries - 1)); done
  return 1
}

"$muster" lab create --out "$work/site.yaml" --spec nodes=2,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400 >create.log 2>&1 ||
  { fail "lab: $(tail -1 create.log)"; exit 1; }
export MUSTER_SITE=$work/site.yaml
printf '\nalerts:\n  alone: [R6]\n' >>site.yaml
node=$("$muster" node list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["nodes"][0]["node"])')
port=19384
token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
echo "$token" >token
serve() {
  "$muster" alerts serve --listen "127.0.0.1:$port" --token-file token >serve.out 2>>serve.err &
  server=$!; pids+=("$server")
  until_true 10 curl -sf -o /dev/null "127.0.0.1:$port/healthz" || fail "the server does not listen: $(tail -2 serve.err)"
}
status_of() { curl -s -o body -w '%{http_code}' -H "Authorization: Bearer $token" "$@"; }

# What is no webhook is refused, and says why.
"$muster" alerts serve --listen 0.0.0.0:$port >/dev/null 2>open.err
[ $? = 2 ] && grep -q token-file open.err && pass "beside loopback it needs a token" || fail "beside loopback: $(cat open.err)"
serve
url=127.0.0.1:$port/alerts
code=$(curl -s -o body -w '%{http_code}' -d '{}' $url); [ "$code" = 401 ] && pass "no token: 401" || fail "no token: $code"
code=$(curl -s -o body -w '%{http_code}' -H "Authorization: Bearer ${token}x" -d '{}' $url)
[ "$code" = 401 ] && pass "a wrong token: 401" || fail "a wrong token: $code"
code=$(status_of -d '{}' $url); [ "$code" = 400 ] && grep -q version body && pass "no webhook: 400, and says why" || fail "no webhook: $code $(cat body)"
code=$(status_of -d 'not json' $url); [ "$code" = 400 ] && pass "no JSON: 400" || fail "no JSON: $code"
code=$(status_of "127.0.0.1:$port/nowhere"); [ "$code" = 404 ] && pass "no route: 404" || fail "no route: $code"
head -c 2000000 /dev/zero | tr '\0' ' ' >large
code=$(status_of --data-binary @large $url); [ "$code" = 413 ] && pass "a large body: 413" || fail "a large body: $code"
code=$(status_of -H 'Transfer-Encoding: chunked' -H 'Expect:' --data-binary @large $url)
[ "$code" = 413 ] || [ "$code" = 400 ] && pass "a large chunked body: $code" || fail "a large chunked body: $code"
code=$(status_of -d '{"version":"4","alerts":[]}' $url); [ "$code" = 200 ] && pass "no alert: 200" || fail "no alert: $code $(cat body)"
"$muster" alerts serve --listen 127.0.0.1:0 >/dev/null 2>second.err
[ $? = 6 ] && pass "a second server of the same site is refused" || fail "a second server: $(cat second.err)"

missing=
for program in prometheus prometheus-alertmanager; do command -v $program >/dev/null 2>&1 || missing="$missing $program"; done
if [ -n "$missing" ]; then
  echo "SKIP alerts with the real Alertmanager: not installed:$missing"
  exit $failed
fi

"$muster" lab-exporter --lab "$work/lab" --port-file exporter.port >exporter.log 2>&1 & pids+=($!)
until_true 10 test -s exporter.port || { fail "the lab's exporter: $(cat exporter.log)"; exit 1; }
exporter=$(cat exporter.port)
cp "$top/packaging/prometheus/dcgm.rules.yml" rules.yml
cat >prometheus.yml <<YAML
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ['127.0.0.1:19393']}]}]}
scrape_configs:
- job_name: dcgm-exporter
  static_configs:
$("$muster" node list -o json | python3 -c '
import json, sys
for row in json.load(sys.stdin)["nodes"]:
    print("  - {targets: [\"127.0.0.1:'"$exporter"'\"], labels: {__metrics_path__: \"/%s/metrics\", instance: \"%s:9400\"}}" % (row["node"], row["node"]))')
YAML
cat >alertmanager.yml <<YAML
route: {receiver: muster, group_by: [alertname, instance, gpu], group_wait: 1s, group_interval: 1s, repeat_interval: 5s}
receivers:
- name: muster
  webhook_configs:
  - url: http://127.0.0.1:$port/alerts
    http_config: {authorization: {credentials_file: $work/token}}
YAML
prometheus-alertmanager --config.file=alertmanager.yml --storage.path="$work/am" --web.listen-address=127.0.0.1:19393 \
  --cluster.listen-address= >alertmanager.log 2>&1 & pids+=($!)
prometheus --config.file=prometheus.yml --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:19390 >prometheus.log 2>&1 & pids+=($!)
scraped() { curl -s "127.0.0.1:19390/api/v1/query?query=count(DCGM_FI_DEV_XID_ERRORS)" | grep -q '"4"'; }
until_true 60 scraped && pass "the real Prometheus scrapes the lab" || fail "scrape: $(tail -2 prometheus.log)"

ended() { "$muster" alerts list --all -o json >alerts.json 2>/dev/null && python3 - "$1" "$2" <<'PY'
import json, sys
alerts = json.load(open("alerts.json"))["alerts"]
sys.exit(0 if any(a["on"] == sys.argv[1] and a["end"] == sys.argv[2] for a in alerts) else 1)
PY
}
says() { "$muster" alerts list --all; tail -5 serve.err; tail -2 alertmanager.log; }

# 1. A fault that a reset mends, all by itself; the server dies right after it has heard.
sleep 3
"$muster" lab inject xid_119 --on "$node/gpu1" >/dev/null
heard() { grep -q "a-1: GpuXidFatal" serve.err; }
until_true 60 heard && pass "Alertmanager's webhook is heard" || fail "nothing was heard: $(says)"
kill -9 "$server"; wait "$server" 2>/dev/null
serve
until_true 60 ended "$node/gpu1" done && pass "fault, alert, drained, reset, proven, returned" || fail "not repaired: $(says)"
resets=$("$muster" runbook journal -o json | python3 -c '
import json, sys
print(sum(1 for x in json.load(sys.stdin)["records"] if x["type"] == "intent" and x.get("step") == "reset"))')
[ "$resets" = 1 ] && pass "one reset, although the server was killed" || fail "$resets resets"
"$muster" node list >nodes.txt; [ $? = 0 ] && ! grep -Eq "held by|parked" nodes.txt && pass "the node is at work" || fail "nodes: $(cat nodes.txt)"
runs_before=$(ls "$work/.muster/runbooks" | grep -c '^r-')
sleep 7
runs_after=$(ls "$work/.muster/runbooks" | grep -c '^r-')
[ "$runs_before" = "$runs_after" ] && pass "repetitions and the resolved alert start nothing" || fail "$runs_before runs, then $runs_after"

# 2. A fault that nothing mends: each rung fails its proof, a person's word is asked for twice, the way back parks the node.
"$muster" lab inject remap_failed --on "$node/gpu0" >/dev/null
asks() { "$muster" runbook status 2>/dev/null | grep -q "not closed" && "$muster" runbook journal 2>/dev/null | grep -q "reset"; }
until_true 120 asks && pass "the second alert starts the runbook" || fail "no second run: $(says)"
second=$(ls "$work/.muster/runbooks" | grep '^r-' | tail -1)
for step in reboot power-cycle; do
  "$muster" runbook approve "$second" $step --by 'A. Person' >approve.out 2>&1 || fail "approve $step: $(cat approve.out)"
done
until_true 120 ended "$node/gpu0" parked && pass "what cannot be mended is taken back and parked" || fail "not parked: $(says)"
"$muster" node list >nodes.txt; grep -q parked nodes.txt && pass "the node stays out, with its owner" || fail "nodes: $(cat nodes.txt)"
"$muster" runbook ticket >ticket.md 2>&1; grep -q "gpu.remap_failed: yes" ticket.md && grep -q "gpu.serial" ticket.md &&
  pass "the RMA ticket is filled in" || fail "ticket: $(head -20 ticket.md)"
kill "$server"; wait "$server" 2>/dev/null
exit $failed
