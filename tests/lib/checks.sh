# What end-to-end scripts begin with: `. "$(dirname "$0")/../../lib/checks.sh"` as the first line. Sets top, build (the script's first
# argument, MUSTER_BUILD or the dev preset; a script that sets it before keeps it) and muster; counts what passes, fails and is skipped.
# A script that sets suite has its checks named so: suite_NAME.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
arguments=("$@")
build=${build:-${1:-${MUSTER_BUILD:-$top/build/dev}}}
build=$(realpath -m "$build")
muster=$build/muster
passed=0 failed=0 skipped=0
pass() { echo "PASS ${suite:+${suite}_}$1"; passed=$((passed + 1)); }
fail() { echo "FAIL ${suite:+${suite}_}$1: $2"; failed=$((failed + 1)); }
skip() { echo "SKIP ${suite:+${suite}_}$1: $2"; skipped=$((skipped + 1)); }
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ $failed -eq 0 ]; exit $?; }
# lacking NAME WHY: something is not on this machine that a machine of CI has.
lacking() { if [ "${CI:-}" = true ]; then fail "$1" "$2"; else skip "$1" "$2"; fi; }
need_program() { [ -x "$1" ] || { fail binary "no $1: build it with the dev preset"; finish; }; }
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "'$2' and not '$3'$(hint)"; fi; } # is NAME FOUND WANTED
hint() { :; }                                                                                # what else a failure of `is` says
until_true() { # until_true LOOKS COMMAND...: looks each 0.2 s
  local looks=$1; shift
  for _ in $(seq "$looks"); do "$@" && return 0; sleep 0.2; done
  return 1
}
# free_ports COUNT: of the loopback, below those that the kernel gives to connections: a client that asks again and again for a server
# that is not up yet could be given the very port that it asks for.
free_ports() {
  python3 -c 'import os, socket, sys
held = []
for n in range(12000):
    try:
        held.append(socket.create_server(("127.0.0.1", 20000 + (os.getpid() * 37 + n) % 12000)))
    except OSError:
        continue
    if len(held) == int(sys.argv[1]):
        break
print(*[s.getsockname()[1] for s in held])' "$1"
}

# in_namespaces FLAGS: the script goes on in new namespaces, the network's with nothing but a loopback; false where none may be made.
in_namespaces() {
  [ "${MUSTER_ALONE:-}" != yes ] || return 0
  # shellcheck disable=SC2086
  unshare $1 true 2>/dev/null && MUSTER_ALONE=yes exec unshare $1 bash -c 'ip link set lo up && exec "$0" "$@"' "$0" ${arguments[@]+"${arguments[@]}"}
  return 1
}
# alone: the script goes on in a network namespace, where one may be made: what would dial out fails.
alone() { in_namespaces -n || in_namespaces -rn || echo "no network namespace may be made here: on the host's loopback, then"; }

pids=()
end_pids() {
  local pid
  for pid in ${pids[@]+"${pids[@]}"}; do kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
}
