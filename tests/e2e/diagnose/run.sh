#!/usr/bin/env bash
# muster diagnose and muster nccl as a person uses them: files of any form, archives, pipes, what cannot be read, a file that grows,
# and real PyTorch under torchrun (gloo, CPU): a rank that hangs, one that is killed, a name that does not resolve, a collective
# that differs. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines; exit 1 after a FAIL. PyTorch is taken from where
# tests/e2e/pytorch puts it.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
muster=$(realpath -m "${1:-${MUSTER_BUILD:-$top/build/dev}}")/muster
[ -x "$muster" ] || { echo "FAIL diagnose: $muster is not built"; exit 1; }
cases=$top/captures/diagnose
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-diagnose.XXXXXX") || exit 1
pids=()
stop() {
  for pid in "${pids[@]}"; do kill -KILL -- "-$pid" 2>/dev/null; done
  chmod -R u+rwx "$work" 2>/dev/null
  rm -rf "$work"
}
trap stop EXIT
cd "$work" || exit 1
failed=0
ok() { echo "PASS diagnose $1"; }
bad() { echo "FAIL diagnose $1: $2"; failed=1; }
# expect NAME EXIT FIRST_CAUSE COMMAND...: exit code and first cause ("" = none).
expect() {
  local name=$1 want=$2 cause=$3; shift 3
  "$@" -o json >out 2>err
  local got=$? first
  first=$(python3 -c 'import json; f=json.load(open("out"))
f=f.get("diagnosis", f)["findings"]; f=[x for x in f if x["kind"]!="question"]; print(f[0]["cause"] if f else "")' 2>/dev/null)
  if [ "$got" -eq "$want" ] && [ "$first" = "$cause" ]; then ok "$name"; else
    bad "$name" "exit $got and \"$first\", expected $want and \"$cause\"; $(tail -2 err | tr '\n' ' ' | cut -c1-200)"; fi
}

dmesg=$cases/xid79-dmesg/input.txt
expect "a plain file" 3 gpu.fallen_off_bus "$muster" diagnose "$dmesg"
expect "standard input" 3 gpu.fallen_off_bus "$muster" diagnose - <"$dmesg"
gzip -c "$dmesg" >a.log; expect "gzip under another name" 3 gpu.fallen_off_bus "$muster" diagnose a.log
xz -c "$dmesg" >b; expect "xz" 3 gpu.fallen_off_bus "$muster" diagnose b
if command -v zstd >/dev/null; then zstd -q -c "$dmesg" >c; expect "zstd" 3 gpu.fallen_off_bus "$muster" diagnose c; else echo "SKIP diagnose zstd: not installed"; fi
tar czf d.bin -C "$cases" xid79-dmesg nccl-healthy; expect "a compressed tar" 3 gpu.fallen_off_bus "$muster" diagnose d.bin
mkdir -p folder/node7/deep; cp "$dmesg" folder/node7/deep/x; expect "a folder" 3 gpu.fallen_off_bus "$muster" diagnose folder
expect "a healthy job" 0 "" "$muster" nccl "$cases"/nccl-healthy-two-files/gpu0*
expect "a rank that never began" 3 job.ranks_absent "$muster" nccl "$cases/missing-rank/input.txt"
expect "pickled flight recorder dumps" 3 hang.rank_behind "$muster" nccl "$cases"/flight-recorder-pickles/nccl_trace_rank_*
expect "half an output is not enough" 4 "" "$muster" diagnose "$cases/ibstat-cut/input.txt"
expect "a binary file" 2 "" "$muster" diagnose /bin/true
expect "a file that is not there" 2 "" "$muster" diagnose nowhere.log
expect "a broken archive is named and the rest judged" 3 gpu.fallen_off_bus "$muster" diagnose <(head -c 200 d.bin) "$dmesg"
grep -q 'muster: ' err && ok "what cannot be read is named" || bad "what cannot be read is named" "$(cat err)"
expect "healthy beside something unreadable is not healthy" 4 "" "$muster" diagnose "$cases/ibstat-healthy/input.txt" /bin/true
if [ "$(id -u)" -ne 0 ]; then mkdir locked; chmod 000 locked; expect "a folder without rights" 2 "" "$muster" diagnose locked; else echo "SKIP diagnose a folder without rights: root may read all"; fi
printf 'zarray: mount of the file system failed, no such device\n' >unknown.log
"$muster" diagnose unknown.log >out 2>err
if [ $? -eq 4 ] && head -1 out | grep -q 'look is the storage layer' && grep -q 'unknown.log:1  zarray' out && grep -q '^   next: ' out
then ok "a question names the layer, its line and the next command"; else bad "a question names the layer, its line and the next command" "$(head -1 out)"; fi
printf '\033]0;owned\007[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\033[31m\n' >escapes
"$muster" diagnose escapes >out 2>err
if LC_ALL=C grep -q "$(printf '\033')" out err; then bad "no escape reaches the terminal" "one did"; else ok "no escape reaches the terminal"; fi
python3 - "$work" <<'P' >/dev/null && expect "a line of a megabyte" 3 app.illegal_access "$muster" diagnose long
open("long", "w").write("x" * 1000000 + " CUDA error: an illegal memory access was encountered\n")
P
: >grows
setsid timeout 60 "$muster" diagnose --follow grows >follow.out 2>follow.err & pids+=($!)
cat "$dmesg" >>grows
for _ in $(seq 100); do grep -q 'fallen off the bus' follow.err && break; sleep 0.1; done
grep -q 'found so far: a GPU has fallen off the bus' follow.err && ok "a file that grows" || bad "a file that grows" "$(cat follow.err)"
# Ctrl-C ends the following with the judgement of what was read.
: >grows2
setsid env --default-signal=INT "$muster" diagnose --follow grows2 >follow2.out 2>follow2.err & follower=$!; pids+=($follower)
cat "$dmesg" >>grows2
for _ in $(seq 200); do grep -q 'found so far' follow2.err && break; sleep 0.1; done
kill -INT "$follower"
for _ in $(seq 200); do kill -0 "$follower" 2>/dev/null || break; sleep 0.1; done
kill -KILL "$follower" 2>/dev/null; wait "$follower"; got=$?
if [ "$got" -eq 3 ] && grep -q 'fallen off the bus' follow2.out; then ok "Ctrl-C ends --follow with the judgement"; else
  bad "Ctrl-C ends --follow with the judgement" "exit $got; $(cat follow2.err | head -c 300)"; fi

# ---- the lab: a capture alone, and a check that fails ----
if "$muster" lab create --out lab/site.yaml >lab.log 2>&1 && "$muster" lab inject xid_79 --site lab/site.yaml >>lab.log 2>&1; then
  "$muster" capture --site lab/site.yaml --out cap >>lab.log 2>&1 || bad "a capture of the lab" "$(tail -2 lab.log)"
  expect "a capture of the lab alone" 3 gpu.fallen_off_bus "$muster" diagnose cap
  expect "a check that fails names the cause" 3 gpu.fallen_off_bus "$muster" check --replay cap
  "$muster" check --replay cap >out 2>err
  grep -A2 'what is behind it' out | grep -q 'next: ' && ok "with its next command" || bad "with its next command" "$(tail -4 out)"
  "$muster" lab heal --site lab/site.yaml >>lab.log 2>&1
  "$muster" check --site lab/site.yaml -o json >out 2>err
  python3 -c 'import json; assert "diagnosis" not in json.load(open("out"))' && ok "a check that passes names none" || bad "a check that passes names none" "$(head -c 300 out)"
else bad "the lab" "$(tail -2 lab.log)"; fi

# ---- real PyTorch ----
version=2.15.0
venv=${MUSTER_TORCH_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/torch-$version}
if [ ! -x "$venv/bin/python" ]; then
  echo "SKIP diagnose pytorch: torch is not in $venv; tests/e2e/pytorch/run.sh with MUSTER_E2E_HEAVY=1 puts it there"
  exit $failed
fi
# job NAME MODE: two agents of two ranks each; what they print in NAME.N.log.
job() {
  local name=$1 mode=$2 port=$((20000 + RANDOM % 20000)) node waits=() address=127.0.0.1
  [ "$mode" = dns ] && address=no-such-host.invalid
  for node in 0 1; do
    OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo TORCH_FR_BUFFER_SIZE=100 MODE=$mode setsid --wait timeout -k 5 "${3:-150}" "$venv/bin/python" -m \
      torch.distributed.run --nnodes=2 --nproc-per-node=2 --node-rank=$node --master-addr=$address --master-port=$port \
      "$top/tests/e2e/diagnose/job.py" >"$name.$node.log" 2>&1 &
    waits+=($!)
    pids+=($!)
  done
  wait "${waits[@]}"
}
job hang hang
expect "torchrun: a rank that hangs" 3 hang.rank_behind "$muster" diagnose hang.0.log hang.1.log
grep -q 'rank 3 never entered' out && ok "torchrun: the rank that hangs is named" || bad "torchrun: the rank that hangs is named" "$(head -c 400 out)"
job kill kill
expect "torchrun: a killed rank" 3 framework.worker_killed "$muster" diagnose kill.0.log kill.1.log
job mismatch mismatch
expect "torchrun: a collective that differs" 3 nccl.collective_mismatch "$muster" diagnose mismatch.0.log mismatch.1.log
job dns dns 90
expect "torchrun: a name that does not resolve" 3 rendezvous.dns "$muster" diagnose dns.0.log dns.1.log
job good good
if grep -q 'abort' good.*.log; then echo "SKIP diagnose torchrun: a clean run: torch with stub libraries aborted at its end"
elif grep -q 'Error waiting on exit barrier' good.*.log; then  # rank 0's agent went first: torchrun does not wait for the others to know it
  expect "torchrun: a run whose agents did not end together" 4 "" "$muster" diagnose good.0.log good.1.log
else
  expect "torchrun: a clean run" 0 "" "$muster" diagnose good.0.log good.1.log; fi
exit $failed
