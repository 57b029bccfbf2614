# A real Helm for the scripts that ask one: built once from its Go module at the version of tests/helm, about two CPU-minutes, into
# ~/.cache/muster, and only with MUSTER_E2E_HEAVY=1 or CI=true. Needs $top.

helm_stamp=$(sha256sum <"$top/tests/helm/go.sum" | cut -c1-16)
helm=${XDG_CACHE_HOME:-$HOME/.cache}/muster/helm-$helm_stamp/helm

# have_helm: fine when it is there, or could be had; otherwise the reason is printed. It wants the network: before a namespace without one.
have_helm() {
  [ -x "$helm" ] && return 0
  if [ -z "${MUSTER_E2E_HEAVY:-}" ] && [ "${CI:-}" != true ]; then
    echo "no $helm; MUSTER_E2E_HEAVY=1 builds it"
    return 1
  fi
  local said
  said=$(cd "$top/tests/helm" && GOTOOLCHAIN=local CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "-s -w" -o "$helm.new" helm.sh/helm/v3/cmd/helm 2>&1) &&
    mv "$helm.new" "$helm" && return 0
  echo "Helm cannot be had here: $(printf %s "$said" | tail -1)"
  return 1
}
