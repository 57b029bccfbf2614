#!/usr/bin/env bash
# Ends what up.sh started, by pid: all, or the named components. --wipe removes the state as well.
# usage: down.sh STATE_FOLDER [--wipe | COMPONENT ...]
set -uo pipefail
state=${1:?usage: down.sh STATE_FOLDER [--wipe | COMPONENT ...]}
shift
wipe=no
[ "${1:-}" != --wipe ] || { wipe=yes; shift; }
[ $# -gt 0 ] || set -- player scheduler controller-manager apiserver etcd
for name in "$@"; do
  [ -f "$state/pid/$name" ] || continue
  pid=$(cat "$state/pid/$name")
  kill "$pid" 2>/dev/null
  for _ in $(seq 150); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null
  rm -f "$state/pid/$name"
done
[ $wipe = no ] || rm -rf "$state"
