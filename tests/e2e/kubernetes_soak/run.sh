#!/bin/bash
# The soak of tests/soak with a few hundred gangs and faults four times as often; 10,000 of them with MUSTER_NIGHTLY, and by hand. Usage: run.sh [BUILD_FOLDER].
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-${MUSTER_BUILD:-$top/build/dev}}
[ -n "${MUSTER_NIGHTLY:-}" ] || export MUSTER_SOAK_FAULTS=${MUSTER_SOAK_FAULTS:-4}
exec "$top/tests/soak/run.sh" "$([ -n "${MUSTER_NIGHTLY:-}" ] && echo 10000 || echo 300)" "${MUSTER_SEED:-1}" "$build"
