#!/bin/bash
# Runbooks in a lab with the real binary: `muster runbook run` is killed with SIGKILL at many moments and resumed; each time it ends
# repaired, nothing destructive is done twice, and no cordon is left behind. Usage: run.sh [MUSTER]. Prints PASS, FAIL and SKIP lines.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
muster=${1:-${MUSTER:-$top/build/release/muster}}
[ -x "$muster" ] || muster=$(find "$top/build" -name muster -type f -perm -u+x 2>/dev/null | head -1)
if [ -z "$muster" ] || [ ! -x "$muster" ]; then echo "FAIL runbooks: muster is not built"; exit 1; fi
muster=$(realpath "$muster")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-runbooks.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
pass() { echo "PASS runbooks $*"; }
fail() { echo "FAIL runbooks $*"; failed=1; }

"$muster" lab create --out "$work/site.yaml" --spec nodes=2,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400 >create.log 2>&1 ||
  { fail "lab: $(tail -1 create.log)"; exit 1; }
export MUSTER_SITE=$work/site.yaml
node=$("$muster" node list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["nodes"][0]["node"])')

# The whole way once.
"$muster" lab inject xid_119 --on "$node/gpu1" >/dev/null
"$muster" runbook plan R6 --on "$node/gpu1" --out plan.json >plan.txt 2>plan.err || fail "plan: $(cat plan.err)"
"$muster" runbook run plan.json --approve >run.txt 2>run.err
rc=$?
[ $rc = 0 ] && pass "a GPU is reset and returned" || fail "run: exit $rc $(tail -3 run.txt run.err)"
"$muster" runbook run plan.json --approve >stale.txt 2>&1
[ $? = 0 ] && grep -q stale stale.txt && pass "nothing is done when nothing is wrong any more" || fail "stale: $(tail -2 stale.txt)"
echo '{}' >bad.json; "$muster" runbook run bad.json >/dev/null 2>bad.err
[ $? = 2 ] && pass "a file that is no plan is refused" || fail "bad plan: $(cat bad.err)"

# Killed at moments spread over the run, then resumed.
rounds=${MUSTER_KILLS:-12}
for n in $(seq 1 "$rounds"); do
  rm -rf "$work/.muster/runbooks"
  "$muster" lab heal >/dev/null 2>&1
  "$muster" lab inject xid_119 --on "$node/gpu1" >/dev/null
  "$muster" runbook plan R6 --on "$node/gpu1" --out plan.json >/dev/null 2>&1 || { fail "plan $n"; continue; }
  "$muster" runbook run plan.json --approve >k.txt 2>&1 &
  pid=$!
  sleep "$(python3 -c "print(0.05 * $n)")"
  kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null
  for _ in 1 2 3; do
    "$muster" runbook status >status.txt 2>&1
    grep -q "not closed" status.txt || break
    "$muster" runbook resume --approve >resume.txt 2>&1
  done
  # A run that was killed before its first record has done nothing: it is begun anew.
  if grep -q "no runbook has been run" status.txt; then "$muster" runbook run plan.json --approve >resume.txt 2>&1; fi
  resets=$("$muster" runbook journal -o json | python3 -c '
import json, sys
r = json.load(sys.stdin)["records"]
print(sum(1 for x in r if x["type"] == "intent" and x.get("step") == "reset"))')
  "$muster" node list >nodes.txt 2>&1
  list=$?
  if [ "$resets" = 1 ] && [ $list = 0 ] && ! grep -Eq "held by a run|parked|forgotten" nodes.txt; then
    pass "killed after $((n * 50)) ms and resumed: one reset, nothing left isolated"
  else
    fail "killed after $((n * 50)) ms: $resets resets, list $list: $(cat nodes.txt | head -4) $(tail -3 resume.txt)"
  fi
done
exit $failed
