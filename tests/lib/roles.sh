# What the scripts share that hold the roles of `muster install kubernetes` to a real API server.

cluster_roles() { # cluster_roles NAME...: as they are rendered
  local role
  [ -d "$work/install" ] || "$muster" install kubernetes --out "$work/install" --image "registry.example/muster@sha256:$(printf 'a%.0s' $(seq 64))" >"$work/installed" 2>&1
  for role in "$@"; do
    kc apply -f "$(grep -l "^  name: muster-$role\$" "$work"/install/*clusterrole-* | head -1)" >/dev/null || fail role_is_rendered "$role: $(tail -2 "$work/installed")"
  done
}
account() { # account NAMESPACE NAME: which acts by $work/NAME.kubeconfig
  kc -n "$1" create serviceaccount "$2" >/dev/null
  sed -E "s|token: \"[^\"]*\"|token: \"$(kc -n "$1" create token "$2" --duration=2h)\"|" "$config" >"$work/$2.kubeconfig"
}
