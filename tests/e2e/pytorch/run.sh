#!/bin/bash
# Gate 7 with a real PyTorch job: torchrun, gloo, CPU, two agents of two ranks. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and
# SKIP lines; exit 1 after a FAIL. PyPI's wheel of torch needs CUDA libraries to be imported; captures/rehearsed/torch/stubcuda.py
# makes empty ones. The download (about 600 MB) is made once, into ~/.cache/muster, and only with MUSTER_E2E_HEAVY=1 or CI=true.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
driver=$build/src/backend/lab/work/muster_training_e2e
version=2.15.0
venv=${MUSTER_TORCH_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/torch-$version}
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-pytorch.XXXXXX")
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

install() {
  command -v gcc >/dev/null && command -v readelf >/dev/null || { echo "gcc and binutils are needed"; return 1; }
  python3 -m venv "$venv.new" || return 1
  timeout 600 "$venv.new/bin/pip" install -q --no-deps "torch==$version" || return 1
  timeout 300 "$venv.new/bin/pip" install -q 'typing-extensions>=4.13' filelock sympy networkx jinja2 fsspec numpy || return 1
  timeout 300 "$venv.new/bin/python" "$top/captures/rehearsed/torch/stubcuda.py" "$venv.new"/lib/python3*/site-packages/torch/lib || return 1
  timeout 120 "$venv.new/bin/python" -c 'import torch, torch.distributed as d; assert d.is_gloo_available()' || return 1
  mv "$venv.new" "$venv"
}

if [ ! -x "$driver" ]; then
  echo "FAIL pytorch: $driver is not built"
  exit 1
fi
if [ ! -x "$venv/bin/python" ]; then
  if [ "${MUSTER_E2E_HEAVY:-}" != 1 ] && [ "${CI:-}" != true ]; then
    echo "SKIP pytorch: torch is not in $venv; MUSTER_E2E_HEAVY=1 downloads it (600 MB)"
    exit 0
  fi
  mkdir -p "$(dirname "$venv")"
  rm -rf "$venv.new"
  if ! install >"$work/install.log" 2>&1; then
    echo "SKIP pytorch: torch $version cannot be had here: $(tail -1 "$work/install.log")"
    exit 0
  fi
fi

# torchrun SECONDS OUT: two agents with two ranks each; their exit codes in OUT/agentN.rc.
torchrun() {
  local out=$2 port=$((20000 + RANDOM % 20000)) node agents=()
  mkdir -p "$out"
  for node in 0 1; do
    # A group of its own, so that what torchrun starts ends with it.
    OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo NODE=node$node setsid --wait timeout -k 5 "$1" "$venv/bin/python" -m \
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
