#!/usr/bin/env bash
# Builds the Kubernetes control plane from Go modules, once, into ~/.cache/muster/kubernetes/bin (MUSTER_KUBERNETES_BIN overrides).
# usage: build.sh [etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl ...]   (default: all five)
# Prints the folder. What is there already at the pinned version is kept. GO_FLAGS: more flags for `go build`, such as -p=1.
# Exit 3 when Go is absent: the caller decides whether that is a skip.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${MUSTER_KUBERNETES_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/kubernetes/bin}
[ $# -gt 0 ] || set -- etcd kube-apiserver kube-controller-manager kube-scheduler kubectl

# One stamp for all pins: a binary of other sources is built again.
stamp=$(cd "$here" && cat go.sum cmd/*/main.go | sha256sum | cut -c1-16)
missing=()
for name in "$@"; do
  [ -x "$bin/$name" ] && [ "$(cat "$bin/.$name.stamp" 2>/dev/null)" = "$stamp" ] || missing+=("$name")
done
if [ ${#missing[@]} -eq 0 ]; then echo "$bin"; exit 0; fi
command -v go >/dev/null || { echo "no go in the PATH: the control plane is built from Go modules (Go 1.26 or newer)" >&2; exit 3; }

mkdir -p "$bin"
exec 9>"$bin/.lock"
flock 9  # another build of the same folder: wait for it, then look again
cd "$here"
version=$(sed -n 's,^[[:space:]]*k8s.io/kubernetes v,v,p' go.mod | head -1)
minor=${version#v1.}; minor=${minor%%.*}
linked=""
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  linked+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$minor"
  linked+=" -X $package.gitCommit=module -X $package.gitTreeState=clean -X $package.buildDate=1970-01-01T00:00:00Z"
done
for name in "${missing[@]}"; do
  [ "$(cat "$bin/.$name.stamp" 2>/dev/null)" != "$stamp" ] || continue
  began=$SECONDS
  GOTOOLCHAIN=local CGO_ENABLED=0 go build ${GO_FLAGS:-} -mod=readonly -trimpath -ldflags "-s -w$linked" -o "$bin/.$name.new" "./cmd/$name"
  mv "$bin/.$name.new" "$bin/$name"
  echo "$stamp" >"$bin/.$name.stamp"
  echo "built $name $version in $((SECONDS - began)) s, $(($(stat -c %s "$bin/$name") / 1000000)) MB" >&2
done
echo "$version" >"$bin/VERSION"
echo "$bin"
