# What the end-to-end scripts over a real Kubernetes control plane share. Source it with $top set; then need_control_plane, need_program,
# alone "$@", and, where the script wants a control plane of its own, control_plane_up NAME, or with played kubelets lab_up NAME OPTION...
# Sets bin, and with them work, config, state or lab.
bin=${MUSTER_KUBERNETES_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/kubernetes/bin}
export MUSTER_KUBERNETES_BIN=$bin
passed=0 failed=0 skipped=0
pass() { echo "PASS $1"; passed=$((passed + 1)); }
fail() { echo "FAIL $1: $2"; failed=$((failed + 1)); }
skip() { echo "SKIP $1: $2"; skipped=$((skipped + 1)); }
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ $failed -eq 0 ]; exit $?; }

# need_control_plane BINARY...: without them the script ends as skipped, with CI=true as failed. A cold build takes about 10 CPU-minutes
# and is made with MUSTER_E2E_HEAVY=1 or CI=true only.
need_control_plane() {
  local name missing=
  [ "${MUSTER_ALONE:-}" != yes ] || return 0
  for name in "$@"; do [ -x "$bin/$name" ] || missing=$name; done
  [ -n "$missing" ] || return 0
  [ -n "${MUSTER_E2E_HEAVY:-}${CI:-}" ] && "$top/tests/kubernetes/build.sh" "$@" >/dev/null && return 0
  if [ "${CI:-}" = true ]; then fail kubernetes "no $bin/$missing"; else skip kubernetes "no $bin/$missing: tests/kubernetes/build.sh builds it"; fi
  finish
}
need_program() { [ -x "$1" ] || { fail binary "no $1: build it with the dev preset"; finish; }; }

# alone "$@": the script goes on in a network namespace with nothing but a loopback, where one may be made: what would dial out fails.
alone() {
  local flags
  [ "${MUSTER_ALONE:-}" != yes ] || return 0
  for flags in -n -rn; do
    unshare $flags true 2>/dev/null && MUSTER_ALONE=yes exec unshare $flags bash -c 'ip link set lo up && exec "$0" "$@"' "$0" "$@"
  done
  echo "no network namespace may be made here: on the host's loopback, then"
}

# control_plane_up NAME: a control plane (COMPONENTS as up.sh takes them) that goes when the script ends, with all processes in pids.
pids=()
end_pids() {
  local pid
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
}
control_plane_down() {
  end_pids
  "$top/tests/kubernetes/down.sh" "$state" --wipe
  rm -rf "$work"
}
control_plane_up() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/muster-$1.XXXXXX")
  state=$work/state
  trap control_plane_down EXIT
  config=$("$top/tests/kubernetes/up.sh" "$state" 2>"$work/up.err") || { fail control_plane_comes_up "$(tail -3 "$work/up.err" | tr '\n' ';')"; finish; }
  pass control_plane_comes_up
}

# lab_up NAME OPTION...: `muster lab kubernetes`, which goes when the script ends, with all processes in pids. A script that made its $work
# before keeps it. lab_start OPTION...: brings up what of the lab does not run.
lab_down() {
  end_pids
  "$muster" lab kubernetes down --dir "$lab" >/dev/null 2>&1
  rm -rf "$work"
}
lab_start() { "$muster" lab kubernetes up --dir "$lab" "$@" >"$work/up" 2>"$work/up.err"; }
lab_up() {
  work=${work:-$(mktemp -d "${TMPDIR:-/tmp}/muster-$1.XXXXXX")}; shift
  lab=$work/cluster config=$work/cluster/kubeconfig
  export KUBECONFIG=$config
  trap lab_down EXIT
  lab_start "$@" || { fail lab_comes_up "$(tail -2 "$work/up.err" | tr '\n' ';')"; finish; }
  pass lab_comes_up
}
kc() { "$bin/kubectl" --kubeconfig="$config" "$@"; }
