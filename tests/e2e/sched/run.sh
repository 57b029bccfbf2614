#!/bin/bash
# Random cluster scripts through `muster sched simulate`, each held to the definition of the cluster script by the independent
# checker, and run twice for the same bytes. Usage: run.sh [BUILD_FOLDER]. MUSTER_SEEDS=N sets the number of scripts (300; 5,000
# with MUSTER_NIGHTLY), MUSTER_SEED the first. Prints PASS, FAIL and SKIP lines, then the count; exit 1 after a FAIL.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
muster=$(find "$build" -name muster -type f -perm -u+x 2>/dev/null | head -1)
tools=$build/tests/sched_checker
passed=0 failed=0 skipped=0
done_with() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit $?
}
if [ ! -x "$tools/muster_sched_checker" ] || [ -z "$muster" ]; then
  echo "FAIL sched: muster and muster_sched_checker are not built in $build"
  failed=1
  done_with
fi
if ! "$muster" sched simulate --help >/dev/null 2>&1; then
  echo "SKIP sched: this muster has no sched simulate"
  skipped=1
  done_with
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-sched.XXXXXX")
trap 'rm -rf "$work"' EXIT

seeds=${MUSTER_SEEDS:-300}
[ -n "${MUSTER_NIGHTLY:-}" ] && [ -z "${MUSTER_SEEDS:-}" ] && seeds=5000
first=${MUSTER_SEED:-1}
limit=${MUSTER_SECONDS:-50}
[ -n "${MUSTER_NIGHTLY:-}" ] && limit=1200
began=$SECONDS

# judge NAME GENERATOR-ARGUMENTS...: one script; keeps what failed in $work and shows its first lines.
judge() {
  local name=$1; shift
  "$tools/muster_sched_generate" "$@" >"$work/script" || { echo "FAIL $name: generator"; failed=$((failed + 1)); return; }
  timeout 60 "$muster" sched simulate "$work/script" --decisions "$work/decisions" >/dev/null 2>"$work/errors"
  local rc=$?
  if [ $rc -ne 0 ]; then
    echo "FAIL $name ($*): simulate exit $rc: $(head -c 200 "$work/errors")"
    failed=$((failed + 1))
    return
  fi
  timeout 60 "$tools/muster_sched_checker" "$work/script" "$work/decisions" ${numa_rule:-} >"$work/found" 2>"$work/errors"
  rc=$?
  if [ $rc -ne 0 ]; then
    echo "FAIL $name ($*): checker exit $rc"
    head -5 "$work/found" "$work/errors" | sed 's/^/  /'
    failed=$((failed + 1))
    return
  fi
  if [ $((count % 20)) -eq 0 ]; then
    "$muster" sched simulate "$work/script" --decisions "$work/again" >/dev/null 2>&1
    cmp -s "$work/decisions" "$work/again" || { echo "FAIL $name: two runs differ"; failed=$((failed + 1)); return; }
  fi
  passed=$((passed + 1))
  ran=$((ran + 1))
}

# One line for each set of features, so that the count says what was covered.
sets=("plain:--without queues,preempt,topology,elastic,failures,shares,many,wait,quota,unknown"
  "queues:--without preempt,topology,elastic,failures,shares,many,wait,unknown"
  "preempt:--without topology,elastic,failures,shares,many,wait"
  "topology:--without queues,preempt,failures,elastic,wait"
  "failures:--without queues,preempt,shares,wait"
  "all:"
  "numa:--with numa")
count=0
while [ $count -lt "$seeds" ] && [ $((SECONDS - began)) -lt "$limit" ]; do
  set=${sets[$((count % ${#sets[@]}))]}
  numa_rule=""
  [ "${set%%:*}" = numa ] && numa_rule=--numa
  ran=0
  # shellcheck disable=SC2086
  judge "sched ${set%%:*} seed $((first + count))" --seed $((first + count)) ${set#*:}
  count=$((count + 1))
  [ $ran -eq 1 ] && covered="${covered:-}${set%%:*} "
done
for set in "${sets[@]}"; do
  name=${set%%:*}
  clean=$(grep -o "$name " <<<"${covered:-}" | wc -l)
  [ "$clean" -gt 0 ] && echo "PASS sched $name: $clean scripts without a violation"
done
[ $count -lt "$seeds" ] && echo "  ended after $count of $seeds scripts: $limit s are over"
done_with
