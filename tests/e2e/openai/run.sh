#!/bin/bash
# Gate 8 over real servers: the lab's own over a checkpoint trained here, and llama.cpp's llama-server over a model of random
# weights. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines; exit 1 after a FAIL. llama.cpp comes from npm (node-llama-cpp
# carries its source as a git bundle, 36 MB); it is built once, in about 5 minutes on two cores, into ~/.cache/muster, and only
# with MUSTER_E2E_HEAVY=1 or CI=true. LLAMA_SERVER names one that is already there.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
driver=$build/src/backend/lab/work/muster_inference_e2e
rank=$build/src/backend/lab/work/muster_lab_rank
bundle=3.22.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/llama-$bundle
server=${LLAMA_SERVER:-$cache/llama-server}
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-openai.XXXXXX")
pids=()
stop() {
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap stop EXIT
failed=0

check() { # check NAME WANTED: a line of facts that matches must be there
  if grep -Eq "$2" "$work/facts"; then
    echo "PASS $1"
  else
    echo "FAIL $1: no line matches '$2': $(tr '\n' ';' <"$work/facts" | cut -c1-800)"
    failed=1
  fi
}

# until_ready URL SECONDS PID
until_ready() {
  local i=0
  while [ $i -lt $(($2 * 10)) ]; do
    curl -sf -m 2 "$1/health" >/dev/null && return 0
    kill -0 "$3" 2>/dev/null || return 1
    sleep 0.1
    i=$((i + 1))
  done
  return 1
}

judge() { # judge NAME URL MODEL REQUESTS RATE: the load, and what must be seen of any server that is well
  timeout 200 "$driver" "$2" "$3" "$4" "$5" >"$work/facts" 2>&1
  check "$1_is_healthy" '^serve.healthy (yes|true) '
  check "$1_lists_its_model" '^serve.model_listed (yes|true) '
  check "$1_answers_every_request" '^serve.errors 0 % '
  check "$1_first_tenth_is_left_out" "^serve.requests $(($4 * 9 / 10)) "
  check "$1_ttft_is_measured" '^serve.ttft_p99 [0-9.]+[mu]?s '
  check "$1_tpot_is_measured" '^serve.tpot_p99 [0-9.]+[mu]?s '
  check "$1_goodput_is_measured" '^serve.goodput [0-9.]+ % '
  check "$1_client_is_idle" '^serve.client_cpu [0-9.]+ % '
  "$driver" "$2" "another-model" >"$work/facts" 2>&1
  check "$1_does_not_list_another_model" '^serve.model_listed (no|false) '
}

gone() { # gone NAME URL PID
  kill -KILL "$3"
  wait "$3" 2>/dev/null
  "$driver" "$2" any >"$work/facts" 2>&1
  check "$1_that_was_killed_is_not_healthy" '^serve.healthy (no|false) '
  check "$1_that_was_killed_lists_nothing_known" '^serve.model_listed unknown '
}

for program in "$driver" "$rank"; do
  if [ ! -x "$program" ]; then
    echo "FAIL openai: $program is not built"
    exit 1
  fi
done

if RANK=0 WORLD_SIZE=1 timeout 120 "$rank" train --steps 20 --checkpoint "$work/checkpoint" >"$work/train.log" 2>&1; then
  "$rank" serve --checkpoint "$work/checkpoint" >"$work/serve.log" 2>&1 &
  pid=$!
  pids+=("$pid")
  i=0
  while [ $i -lt 100 ] && ! grep -q '^listening on' "$work/serve.log"; do
    sleep 0.1
    i=$((i + 1))
  done
  url=$(sed -n 's/^listening on //p' "$work/serve.log")
  judge lab "$url" muster-char-lm 60 8
  gone lab "$url" "$pid"
else
  echo "FAIL lab: training the model to serve: $(tail -1 "$work/train.log")"
  failed=1
fi

get_llama() {
  command -v npm >/dev/null && command -v git >/dev/null && command -v cmake >/dev/null || { echo "npm, git and cmake are needed"; return 1; }
  mkdir -p "$cache" && cd "$work" || return 1
  timeout 300 npm pack --silent "node-llama-cpp@$bundle" || return 1
  tar xzf node-llama-cpp-*.tgz && git clone -q package/llama/gitRelease.bundle llama || return 1
  timeout 120 cmake -S llama -B llama/build -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 -DCMAKE_C_FLAGS=-O2 -DBUILD_SHARED_LIBS=OFF \
    -DGGML_NATIVE=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF \
    -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_APP=OFF || return 1
  timeout 1200 cmake --build llama/build --target llama-server -j "$(nproc)" || return 1
  cp llama/build/bin/llama-server "$cache/llama-server.new" && mv "$cache/llama-server.new" "$cache/llama-server"
}

if [ ! -x "$server" ]; then
  if [ "${MUSTER_E2E_HEAVY:-}" != 1 ] && [ "${CI:-}" != true ]; then
    echo "SKIP llama: $server is not there; MUSTER_E2E_HEAVY=1 builds it (36 MB, 5 minutes)"
    exit $failed
  fi
  (get_llama) >"$work/llama.log" 2>&1
  if [ ! -x "$server" ]; then
    echo "SKIP llama: llama.cpp cannot be had here: $(tail -1 "$work/llama.log")"
    exit $failed
  fi
fi

python3 "$top/tests/e2e/openai/random_gguf.py" "$work/random.gguf" || { echo "FAIL llama: the model cannot be written"; exit 1; }
port=$((20000 + RANDOM % 20000))
"$server" --model "$work/random.gguf" --alias random --host 127.0.0.1 --port $port --ctx-size 8192 --parallel 8 --threads 1 --metrics \
  >"$work/llama.log" 2>&1 &
pid=$!
pids+=("$pid")
if until_ready "http://127.0.0.1:$port" 60 "$pid"; then
  # One thread: llama.cpp's threads spin while they wait for each other, which on shared cores takes minutes.
  judge llama "http://127.0.0.1:$port" random 40 3
  # Bytes that are no whole character are held back: messages are not tokens.
  timeout 200 "$driver" "http://127.0.0.1:$port" random 40 3 >"$work/facts" 2>&1
  tokens=$(sed -n 's/^serve.tpot_p99 .* \([0-9]*\) tokens in \([0-9]*\) messages.*/\1/p' "$work/facts")
  messages=$(sed -n 's/^serve.tpot_p99 .* \([0-9]*\) tokens in \([0-9]*\) messages.*/\2/p' "$work/facts")
  if [ "${tokens:-0}" -gt "${messages:-0}" ] && [ "${messages:-0}" -gt 0 ]; then
    echo "PASS llama_tokens_are_counted_by_usage_and_not_by_messages ($tokens tokens in $messages messages)"
  else
    echo "FAIL llama_tokens_are_counted_by_usage_and_not_by_messages: ${tokens:-no} tokens in ${messages:-no} messages"
    failed=1
  fi
  gone llama "http://127.0.0.1:$port" "$pid"
else
  echo "FAIL llama: it did not become ready: $(tail -2 "$work/llama.log" | tr '\n' ' ')"
  failed=1
fi
exit $failed
