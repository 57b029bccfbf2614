#!/bin/bash
# Gate 2 over the real OpenSM on ibsim (Debian: ibsim-utils opensm infiniband-diags): healthy, error counters, link down, dead host, a
# standby, no subnet manager, degraded width and speed. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines; exit 1
# after a FAIL. Needs no root and no InfiniBand.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
driver=$build/src/probes/infiniband/muster_opensm_e2e
PATH=$PATH:/usr/sbin
preload=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so

missing=
for program in ibsim ibsim-run opensm iblinkinfo ibnetdiscover perfquery ibqueryerrors sminfo saquery ibstat; do
  command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
if [ -n "$missing" ]; then
  if [ "${CI:-}" = true ]; then
    echo "FAIL opensm: not installed:$missing"
    exit 1
  fi
  echo "SKIP opensm: not installed:$missing"
  exit 0
fi
if [ ! -x "$driver" ]; then
  echo "FAIL opensm: $driver is not built"
  exit 1
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/muster-opensm.XXXXXX")
export OSM_TMP_DIR=$work OSM_CACHE_DIR=$work
pids=()
failed=0

# Ends a process we started, by its id; it is given 2 s to go by itself.
end() {
  kill "$1" 2>/dev/null || return 0
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -9 "$1" 2>/dev/null
}
end_all() {
  local pid
  for pid in "${pids[@]:-}"; do [ -z "$pid" ] || end "$pid"; done
  pids=()
}
trap 'end_all 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# The real programs, each as a client of the simulator and never for longer than 20 s: a client whose simulator went away
# waits for ever.
mkdir "$work/bin"
for program in iblinkinfo ibnetdiscover perfquery ibqueryerrors sminfo saquery ibstat; do
  printf '#!/bin/sh\nLD_PRELOAD=%s exec timeout 20 %s "$@"\n' "$preload" "$(command -v "$program")" >"$work/bin/$program"
  chmod +x "$work/bin/$program"
done

# fabric FILE: a new simulator on that fabric, which listens on ./ctl.
count=0
fabric() {
  end_all
  count=$((count + 1))
  export IBSIM_SOCKNAME=muster-$$-$count SIM_HOST=H-0002c90003000000
  rm -f "$work/ctl" && mkfifo "$work/ctl"
  exec 3<>"$work/ctl"
  timeout 300 ibsim -s "$top/captures/rehearsed/$1" <&3 >"$work/ibsim.out" 2>&1 &
  pids+=($!)
  sleep 0.3
}
# subnet_manager [NODE]
subnet_manager() {
  SIM_HOST=${1:-$SIM_HOST} LD_PRELOAD=$preload timeout 300 opensm -f "$work/opensm.$count.${1:-first}.log" -D 0x43 >/dev/null 2>&1 3>&- &
  manager=$!
  pids+=("$manager")
}
tell() { echo "$1" >&3; }
check() { PATH=$work/bin:$PATH timeout 120 "$driver" "$1" 3>&- || failed=1; }

fabric ft16.net
check never_configured
subnet_manager
check healthy
subnet_manager H-0002c90003000700
check standby
end "$manager"
tell 'PerformanceSet "S-0002c90001000000"[5] PortCounters.SymbolErrorCounter=1200'
tell 'PerformanceSet "S-0002c90001000000"[5] PortCounters.LinkDownedCounter=3'
tell 'PerformanceSet "H-0002c90003000500"[1] PortCounters.PortXmitDiscards=4021'
check error_counters

fabric ft16.net
subnet_manager
check healthy
tell 'Unlink "S-0002c90001000000"[7]'
check link_down

fabric ft16.net
subnet_manager
check healthy
tell 'Unlink "H-0002c90003000500"'
check dead_host

fabric ft16.net
subnet_manager
check healthy
end "$manager"
check no_subnet_manager

fabric ft16.degraded.net
subnet_manager
check degraded

exit $failed
