#!/usr/bin/env bash
# The figures of the scheduler core, printed with machine and commit; nothing here passes or fails.
# Usage: bench/sched.sh [BUILD_FOLDER] [OPTIONS OF muster sched bench].
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
[ $# -gt 0 ] && shift
echo "machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(uname -r), load $(cut -d' ' -f1 /proc/loadavg); commit $(git rev-parse --short HEAD)"
"$build/muster" sched bench "$@"
