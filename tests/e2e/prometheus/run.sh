#!/bin/sh
# Gate 5 over the real Prometheus and Alertmanager (Debian: prometheus, prometheus-alertmanager), and the lab's InfiniBand counters
# read by the real prometheus-node-exporter. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines; exit 1 after a FAIL.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
driver=$build/src/backend/lab/telemetry/muster_prometheus_e2e
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-prometheus.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

if [ ! -x "$driver" ]; then
  echo "FAIL prometheus: $driver is not built"
  exit 1
fi

# Alone on a loopback of its own where that is allowed: nothing here may talk to the world.
alone() {
  if unshare -n true 2>/dev/null; then
    unshare -n sh -c 'ip link set lo up && exec "$@"' alone "$@"
  else
    "$@"
  fi
}

mkdir "$work/absent" "$work/no-programs"
PATH=$work/no-programs "$driver" absent "$work/absent" || failed=1

missing=
for program in prometheus prometheus-alertmanager; do
  command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
if [ -n "$missing" ]; then
  echo "SKIP prometheus: not installed:$missing"
else
  alone "$driver" run "$work" || failed=1
fi

rules=$top/packaging/prometheus
if command -v promtool >/dev/null 2>&1; then
  for check in "check rules $rules/muster.rules.yml" "check rules $rules/dcgm.rules.yml" \
      "test rules $rules/muster_test.yml" "test rules $rules/dcgm_test.yml"; do
    name=promtool_$(echo "$check" | sed "s|$rules/||; s/[ .]/_/g")
    # shellcheck disable=SC2086
    if out=$(cd "$rules" && promtool $check 2>&1); then
      echo "PASS $name"
    else
      echo "FAIL $name: $out"
      failed=1
    fi
  done
else
  echo "SKIP promtool: not installed"
fi
exit $failed
