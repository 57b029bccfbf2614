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

  mkdir "$work/held"
  "$driver" hold "$work/held" >"$work/held.out" &
  held=$!
  i=0
  while [ $i -lt 100 ] && ! grep -q held "$work/held.out"; do
    sleep 0.1
    i=$((i + 1))
  done
  running=$(pgrep -f "$work/held/telemetry-" | wc -l)
  kill -KILL "$held"
  wait "$held" 2>/dev/null
  i=0
  while [ $i -lt 50 ] && pgrep -f "$work/held/telemetry-" >/dev/null; do
    sleep 0.1
    i=$((i + 1))
  done
  left=$(pgrep -f "$work/held/telemetry-" | wc -l)
  if [ "$running" -eq 3 ] && [ "$left" -eq 0 ]; then
    echo "PASS killed_parent_takes_the_daemons_with_it"
  else
    echo "FAIL killed_parent_takes_the_daemons_with_it: $running ran, $left are left"
    failed=1
  fi
fi

# The kernel's files for the adapters, as the lab writes them, must be what the real collector understands.
if command -v prometheus-node-exporter >/dev/null 2>&1; then
  mkdir "$work/sys"
  "$driver" sysfs "$work/sys" >"$work/expected" || failed=1
  # shellcheck disable=SC2016
  alone sh -c '
    prometheus-node-exporter --path.sysfs="$1/sys" --collector.disable-defaults --collector.infiniband \
      --web.listen-address=127.0.0.1:19109 >"$1/node-exporter.log" 2>&1 &
    pid=$!
    i=0
    while [ $i -lt 100 ] && ! curl -sf 127.0.0.1:19109/metrics >"$1/page"; do
      sleep 0.05
      i=$((i + 1))
    done
    kill "$pid"
    wait "$pid" 2>/dev/null' sh "$work"
  lost=$(grep -vxFf "$work/page" "$work/expected" | head -3)
  if [ -s "$work/expected" ] && [ -z "$lost" ] &&
      grep -qx 'node_scrape_collector_success{collector="infiniband"} 1' "$work/page"; then
    echo "PASS node_exporter_reads_the_infiniband_folder ($(wc -l <"$work/expected") samples)"
  else
    echo "FAIL node_exporter_reads_the_infiniband_folder: not on its page: $lost $(tail -1 "$work/node-exporter.log")"
    failed=1
  fi
else
  echo "SKIP node_exporter_reads_the_infiniband_folder: prometheus-node-exporter is not installed"
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
