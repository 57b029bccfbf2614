#!/bin/bash
# Runbooks in a lab with the real binary: `muster runbook run` is killed with SIGKILL at many moments and resumed; each time it ends
# repaired, nothing destructive is done twice, and no cordon is left behind. Usage: run.sh [MUSTER]. Prints PASS, FAIL and SKIP lines.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
muster=${1:-${MUSTER:-${MUSTER_BUILD:-$top/build/release}/muster}}
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
  rm -rf "$work"/.muster/runbooks/r-*  # not the locks: nodes refuse fences that begin anew
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

# Proofs that need several nodes and real ranks (gate 6): three nodes, so that a pair has others to be held against.
"$muster" lab create --out "$work/wide/site.yaml" --spec nodes=3,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400 >create.log 2>&1 ||
  fail "lab of three: $(tail -1 create.log)"
export MUSTER_SITE=$work/wide/site.yaml
wide() {
  local book=$1 fault=$2 wants=$3; shift 3
  rm -rf "$work"/wide/.muster/runbooks/r-*
  "$muster" lab heal >/dev/null 2>&1
  case "$fault" in
    "") ;;
    endpoint_* | kv_*) "$muster" lab inject "$fault" >/dev/null || fail "inject $fault" ;;
    straggler | kernel_*) "$muster" lab inject "$fault" --on node000 >/dev/null || fail "inject $fault" ;;
    *) "$muster" lab inject "$fault" --on node000/gpu1 >/dev/null || fail "inject $fault" ;;
  esac
  "$muster" runbook plan "$book" --on node000 "$@" --out wide.json >/dev/null 2>plan.err || { fail "plan $book: $(cat plan.err)"; return; }
  timeout 200 "$muster" runbook run wide.json --approve -o json >wide.out 2>wide.err
  local end
  end=$(python3 -c 'import json; d=json.load(open("wide.out")); print(d["end"], d["targets"][0]["why"])')
  case "$end" in "$wants"*) pass "$book${fault:+ with $fault} ends: $wants" ;; *) fail "$book${fault:+ with $fault}: $end" ;; esac
}
wide R10 "" done --set job=j1
wide R11 xid_74 done
wide R16 "" done --set job=j1
wide R15 "" done
wide R3 kernel_module_missing done --set kernel=6.8.0-87-generic --set previous_kernel=6.8.0-60-generic
wide R12 pcie_width_degraded done
wide R18 "" done --set job=j1
wide R20 endpoint_slow done --set unit=vllm
wide R21 kv_cache_pressure done --set unit=vllm --set file=/etc/default/vllm --set 'content=ARGS=--max-num-seqs 64' --set 'content_before=ARGS=--max-num-seqs 256'
wide R18 straggler parked --set job=j1
"$muster" lab heal >/dev/null 2>&1; "$muster" node return node000 >return.txt 2>&1 && pass "hands mend the straggler, a proof returns it" || fail "return: $(cat return.txt)"

# A drain and the work in its way: the next durable checkpoint is waited for, then a person is asked.
mkdir -p "$work/wide/runbooks"
cat >"$work/wide/runbooks/s2.yaml" <<'YAML'
id: S2
slug: drain-first
title: "Drain, restart, return"
family: own
on: node
source: "the site"
trigger: {kind: manual, means: "a person wants it"}
steps:
  - {id: cordon, act: cordon, timeout: 1m}
  - {id: drain, act: drain, timeout: 8s, on_timeout: ask}
  - {id: restart, act: service_restart, with: {unit: nvidia-dcgm}, timeout: 1m, irreversible: "a restart cannot be taken back"}
  - {id: proof, act: observe, timeout: 5m, verify: [{criteria: [NOD-001, NOD-010]}]}
  - {id: return, act: return, timeout: 1m}
rollback: {how: stay, why: "nothing to take back"}
blast: {waves: ["1"]}
YAML
job() { "$muster" lab job -o json | python3 -c '
import json, sys
print(next(("ended" if j["ended"] else "runs") for j in json.load(sys.stdin)["jobs"] if j["job"] == sys.argv[1]))' "$1"; }
asked() { "$muster" runbook journal -o json | python3 -c 'import json, sys; print(sum(1 for r in json.load(sys.stdin)["records"] if r["type"] == "asked"))'; }
drain() { # drain JOB [CHECKPOINT_EVERY]: plans and runs S2 with the job on node001
  rm -rf "$work"/wide/.muster/runbooks/r-*
  "$muster" lab job "$1" --on node001 ${2:+--checkpoint-every "$2"} >job.txt 2>&1 || fail "job $1: $(cat job.txt)"
  "$muster" runbook plan S2 --on node001 --out drain.json >drain.txt 2>&1 || fail "plan S2: $(cat drain.txt)"
  grep -q "$1" drain.txt || fail "the plan does not name $1: $(cat drain.txt)"
  "$muster" runbook run drain.json --approve >drain.txt 2>&1
}
drain saves 5s; rc=$?
[ $rc = 0 ] && [ "$(asked)" = 0 ] && [ "$(job saves)" = ended ] && pass "a checkpoint that becomes durable lets the drain go on" || fail "saves: $rc $(cat drain.txt)"
drain never; rc=$?
run=$(sed -n 's/^run \(r-[^ ]*\).*/\1/p' drain.txt | head -1)
[ $rc = 6 ] && [ "$(job never)" = runs ] && grep -q "whether to force it" drain.txt && pass "without one a person is asked" || fail "never: $rc $(cat drain.txt)"
"$muster" runbook approve "$run" drain --by 'A. Person' >drain.txt 2>&1 && "$muster" runbook resume "$run" >drain.txt 2>&1
[ $? = 0 ] && [ "$(job never)" = ended ] && pass "a yes ends the work" || fail "yes: $(cat drain.txt)"
drain stays; rc=$?
run=$(sed -n 's/^run \(r-[^ ]*\).*/\1/p' drain.txt | head -1)
grep -q "no:  muster runbook rollback $run" drain.txt || fail "nobody is told how to say no: $(cat drain.txt)"
"$muster" runbook rollback "$run" --by 'A. Person' --reason 'a paper is due' >drain.txt 2>&1
[ $rc = 6 ] && [ "$(job stays)" = runs ] && ! "$muster" node list | grep node001 | grep -q "held" && pass "a no leaves the work, and the node" || fail "no: $rc $(cat drain.txt)"

# What cannot be mended: each rung fails its proof, the node is parked, and the ticket has what a vendor asks.
rm -rf "$work"/wide/.muster/runbooks/r-*
"$muster" lab inject remap_failed --on node002/gpu1 >/dev/null; "$muster" lab inject xid_64 --on node002/gpu1 >/dev/null
"$muster" runbook plan R6 --on node002/gpu1 --out rma.json >/dev/null 2>plan.err || fail "plan R6: $(cat plan.err)"
"$muster" runbook run rma.json --approve >rma.txt 2>&1; rc=$?
[ $rc = 7 ] && "$muster" node list | grep node002 | grep -q parked && pass "what stays broken is parked, exit 7" || fail "rma: $rc $(tail -3 rma.txt)"
"$muster" runbook ticket >ticket.md 2>&1
missing=
for field in gpu.serial gpu.uuid gpu.pci_bus_id 'Xid 64' 'ECC errors, volatile' 'ECC errors, aggregate' remapped_row_corr remapped_row_unc NOD-040 'intent reset' 'intent reboot' rehearsed; do
  grep -qi -- "$field" ticket.md || missing="$missing '$field'"
done
[ -z "$missing" ] && pass "the RMA ticket has serial, UUID, address, Xids, ECC and remap counts, diagnostic and what was tried" || fail "the ticket has no$missing: $(head -c 800 ticket.md)"
"$muster" lab heal >/dev/null 2>&1; "$muster" node return node002 >return.txt 2>&1 || fail "return: $(cat return.txt)"

# A way back that fails: exit 8, the node is kept out, and the run says what was reached.
rm -rf "$work"/wide/.muster/runbooks/r-*
"$muster" lab spoil node002 packages break >/dev/null || fail "spoil"
"$muster" runbook plan R1 --on node002 --set driver=580.95.05 --set previous=570.211.01 --out r1.json >/dev/null 2>plan.err || fail "plan R1: $(cat plan.err)"
"$muster" runbook run r1.json --approve >r1.txt 2>&1; rc=$?
[ $rc = 8 ] && grep -q "the way back failed" r1.txt && "$muster" node list | grep -q node002 && pass "a way back that fails stops for a person, exit 8" || fail "exit 8: $rc $(tail -5 r1.txt)"
"$muster" lab spoil node002 packages none >/dev/null; "$muster" lab heal >/dev/null 2>&1
"$muster" node return node002 >return.txt 2>&1 || fail "return: $(cat return.txt)"
# A person's answer, a closed window and the leave to pass it, a runbook of the site's own in git.
mkdir -p "$work/wide/runbooks"
cat >"$work/wide/runbooks/s1.yaml" <<'YAML'
id: S1
slug: ask-first
title: "Restart after a word"
family: own
on: node
source: "the site"
trigger: {kind: manual, means: "a person wants it"}
prechecks:
  - {id: rack-is-cool, attest: "is the air of the rack cool?"}
steps:
  - {id: restart, act: service_restart, with: {unit: nvidia-dcgm}, timeout: 1m, irreversible: "a restart cannot be taken back"}
rollback: {how: stay, why: "nothing to take back"}
blast: {waves: ["1"]}
YAML
"$muster" runbook lint "$work/wide/runbooks/s1.yaml" >lint.txt 2>&1 && pass "a runbook of the site's own is linted" || fail "lint: $(cat lint.txt)"
sed 's/irreversible/reversible/' "$work/wide/runbooks/s1.yaml" >bad.yaml
"$muster" runbook lint bad.yaml >lint.txt 2>&1; [ $? = 2 ] && grep -q 'bad.yaml:1[0-9]:' lint.txt && pass "a wrong one is refused with its line" || fail "lint: $(cat lint.txt)"
if command -v git >/dev/null; then
  git -C "$work/wide" init -q && git -C "$work/wide" add runbooks && git -C "$work/wide" -c user.name=t -c user.email=t@t commit -qm one
  "$muster" runbook plan S1 --on node001 --out own.json >own.txt 2>&1
  grep -q "git $(git -C "$work/wide" rev-parse HEAD)$" own.txt && pass "the plan keeps the commit of its git" || fail "commit: $(cat own.txt)"
  echo "# changed" >>"$work/wide/runbooks/s1.yaml"
  "$muster" runbook plan S1 --on node001 --out own.json >own.txt 2>&1
  grep -q "changed since: .*s1.yaml" own.txt && pass "and names what differs from it" || fail "dirty: $(cat own.txt)"
fi
"$muster" runbook plan S1 --on node001 --out own.json >/dev/null 2>&1
"$muster" runbook run own.json >own.txt 2>&1; [ $? = 6 ] && grep -q rack-is-cool own.txt && pass "a check that asks a person waits" || fail "attest: $(cat own.txt)"
run=$(sed -n 's/^run \(r-[^ ]*\).*/\1/p' own.txt | head -1)
"$muster" runbook attest "$run" rack-is-cool --by 'A. Person' --says yes --evidence '21 C at the door' >attest.txt 2>&1 || fail "attest: $(cat attest.txt)"
"$muster" runbook resume "$run" >own.txt 2>&1; [ $? = 0 ] && "$muster" runbook journal "$run" | grep -q "attested.*A. Person" && pass "the answer is in the journal" || fail "resume: $(cat own.txt)"
day=$(date -u -d '+3 days' +%a | tr A-Z a-z)
printf '\nchange_windows:\n  - {name: later, days: [%s], from: "01:00", to: "02:00", runbooks: [S1]}\n' "$day" >>"$work/wide/site.yaml"
"$muster" runbook plan S1 --on node001 --out own.json >own.txt 2>&1
"$muster" runbook run own.json >own.txt 2>&1; [ $? = 6 ] && grep -q "later opens at" own.txt && pass "outside of its window it is refused" || fail "window: $(cat own.txt)"
"$muster" runbook run own.json --now >own.txt 2>&1; [ $? = 2 ] && pass "--now alone is not enough" || fail "now: $(cat own.txt)"
"$muster" runbook run own.json --now --by 'A. Person' --reason 'advisory' >own.txt 2>&1; [ $? = 6 ] && "$muster" runbook journal | grep -q "unbound.*A. Person: advisory" &&
  pass "a person's leave is recorded" || fail "now: $(cat own.txt)"
exit $failed
