#!/bin/bash
# Gate 7 with a real PyTorch job: torchrun, gloo, CPU, two agents of two ranks. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and
# SKIP lines; exit 1 after a FAIL. Where torch comes from: tests/lib/torch.sh.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
driver=$build/src/backend/lab/work/muster_training_e2e
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-pytorch.XXXXXX")
. "$top/tests/lib/torch.sh"
pids=()
stop() {
  for pid in "${pids[@]}"; do kill -KILL -- "-$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap stop EXIT
failed=0

check() { # check NAME WANTED: a line of facts that matches must be there
  if grep -Eq "$2" "$work/facts"; then
    echo "PASS $1"
  else
    echo "FAIL $1: no line matches '$2': $(tr '\n' ';' <"$work/facts" | cut -c1-600)"
    failed=1
  fi
}

if [ ! -x "$driver" ]; then
  echo "FAIL pytorch: $driver is not built"
  exit 1
fi
if ! why=$(have_torch); then
  echo "SKIP pytorch: $why"
  exit 0
fi

# torchrun SECONDS OUT: two agents with two ranks each; their exit codes in OUT/agentN.rc.
torchrun() {
  local out=$2 port=$((20000 + RANDOM % 20000)) node agents=()
  mkdir -p "$out"
  for node in 0 1; do
    # A group of its own, so that what torchrun starts ends with it.
    OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo NODE=node$node setsid --wait timeout -k 5 "$1" "$torch_venv/bin/python" -m \
      torch.distributed.run --nnodes=2 --nproc-per-node=2 --node-rank=$node --master-addr=127.0.0.1 --master-port=$port \
      "$top/tests/e2e/pytorch/train.py" "$out" 40 >"$out/agent$node.log" 2>&1 &
    agents+=($!)
    pids+=($!)
  done
  for node in 0 1; do
    wait "${agents[$node]}"
    echo $? >"$out/agent$node.rc"
  done
  "$driver" "$out" 2 2 >"$work/facts"
}

# torch with stub libraries has been seen to abort after the work was done: the ranks' own words decide.
torchrun 240 "$work/healthy"
if grep -q unknown "$work/facts"; then torchrun 240 "$work/healthy2"; fi
check torchrun_ranks_start_together '^train.ranks_started torchrun 4$'
check torchrun_mfu_is_measured '^train.mfu torchrun [0-9.]+ %$'
check torchrun_steps_are_timed '^train.step_time torchrun [0-9.]+m?s$'
check torchrun_loss_falls '^train.loss_drop torchrun [1-9][0-9.]* %$'
check torchrun_loss_is_finite '^train.nan_steps torchrun 0$'
check torchrun_lag_is_measured_for_each_node '^train.rank_lag node1 [0-9.]+ %$'
check torchrun_dcp_checkpoint_verifies '^train.checkpoint_written torchrun (yes|true)$'

# A shard that changed after it was sealed.
for out in "$work/healthy2" "$work/healthy"; do
  [ -d "$out" ] || continue
  printf x >>"$out/checkpoint/__3_0.distcp"
  "$driver" "$out" 2 2 >"$work/facts"
  check torchrun_altered_shard_is_named '^train.checkpoint_of_node node1 (no|false)$'
  break
done

KILL_RANK=3 KILL_STEP=15 torchrun 120 "$work/killed"
check torchrun_killed_rank_leaves_mfu_unknown '^train.mfu torchrun unknown .*rank'
check torchrun_killed_rank_writes_no_checkpoint '^train.checkpoint_written torchrun unknown '
exit $failed
