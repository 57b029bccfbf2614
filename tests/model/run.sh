#!/bin/bash
# The protocol of leases and locks under spin (Debian: spin, gcc): the whole model holds, and with each rule taken
# out something breaks. Prints PASS, FAIL and SKIP lines; exit 1 after a FAIL.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
if ! command -v spin >/dev/null 2>&1 || ! command -v gcc >/dev/null 2>&1; then
  if [ "${CI:-}" = true ]; then echo "FAIL model: spin or gcc is not installed"; exit 1; fi
  echo "SKIP model: spin or gcc is not installed"
  exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-model.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

# check NAME errors|none [-DRULE]: searches all states, at most ten minutes.
check() {
  local name=$1 wanted=$2 rule=${3:-}
  cd "$work" && rm -f pan* *.trail
  if ! spin -a $rule "$top/tests/model/lease.pml" >spin.log 2>&1 || ! gcc -O2 -DSAFETY -DCOLLAPSE -o pan pan.c >gcc.log 2>&1; then
    echo "FAIL model $name: does not compile"; head -5 spin.log gcc.log; failed=1; return
  fi
  timeout 600 ./pan -m200000 >pan.log 2>&1
  local errors states
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log | tail -1)
  states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log | head -1)
  if grep -q "max search depth too small\|reached memory" pan.log; then
    echo "FAIL model $name: the search was not complete"; failed=1; return
  fi
  if [ "$wanted" = none ] && [ "$errors" = 0 ]; then echo "PASS model $name: $states states, no error"
  elif [ "$wanted" = errors ] && [ "${errors:-0}" != 0 ]; then
    echo "PASS model without $name: $(grep -m1 -o 'assertion violated.*\|invalid end state.*' pan.log)"
  else
    echo "FAIL model $name: expected $wanted, found ${errors:-nothing}"; grep -m3 "error\|violated\|invalid" pan.log; failed=1
  fi
}

check "leases and locks" none
check "the cordon before the lock" errors -DUNLOCK_FIRST
check "the grace after a crash" errors -DNO_GRACE
check "the probe" errors -DNO_PROBE
check "the intent" errors -DNO_INTENT
check "the lease" errors -DNO_LEASE
exit $failed
