# What the end-to-end scripts over a real Kubernetes control plane share, beside checks.sh: begin BINARY...; then, where the script wants a
# control plane of its own, control_plane_up NAME, or with played kubelets lab_up NAME OPTION... Sets bin, and with them work, config, state
# or lab.
. "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
bin=${MUSTER_KUBERNETES_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/kubernetes/bin}
export MUSTER_KUBERNETES_BIN=$bin

# need_control_plane BINARY...: without them the script ends as skipped, with CI=true as failed. A cold build takes about 10 CPU-minutes
# and is made with MUSTER_E2E_HEAVY=1 or CI=true only.
need_control_plane() {
  local name missing=
  [ "${MUSTER_ALONE:-}" != yes ] || return 0
  for name in "$@"; do [ -x "$bin/$name" ] || missing=$name; done
  [ -n "$missing" ] || return 0
  [ -n "${MUSTER_E2E_HEAVY:-}${CI:-}" ] && "$top/tests/kubernetes/build.sh" "$@" >/dev/null && return 0
  lacking kubernetes "no $bin/$missing: tests/kubernetes/build.sh builds it"
  finish
}
# begin BINARY...: with muster and these binaries of the control plane, alone.
begin() {
  need_control_plane "$@"
  need_program "$muster"
  alone
}

# control_plane_up NAME: a control plane (COMPONENTS as up.sh takes them) that goes when the script ends, with all processes in pids.
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
namespace() { # namespace NAME: and the account that the controllers make in it
  kc create namespace "$1" >/dev/null
  until_true 150 kc -n "$1" get serviceaccount default >/dev/null 2>&1
}
