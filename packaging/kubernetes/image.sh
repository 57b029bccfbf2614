#!/usr/bin/env bash
# The container image of muster, from nothing but this machine's own files: the release binary, the shared libraries that it names, CA
# certificates, a user. No base image, no shell, no download, no container engine. The same inputs give the same digest.
# usage: image.sh OUT_FOLDER [BINARY]
#   OUT_FOLDER/oci        an OCI image layout (skopeo copy oci:OUT_FOLDER/oci docker://..., or podman pull oci:...)
#   OUT_FOLDER/rootfs     what is in it; the packages it came from are in var/lib/dpkg/status.d, where scanners look
#   OUT_FOLDER/sbom.json  CycloneDX, written by muster itself
# Prints the manifest's digest: what belongs after @ in `muster install kubernetes --image`.
set -euo pipefail
out=${1:?usage: image.sh OUT_FOLDER [BINARY]}
top=$(cd "$(dirname "$0")/../.." && pwd)
binary=${2:-$top/build/release/muster}
[ -x "$binary" ] || { echo "$binary is missing: cmake --preset release && ninja -C build/release muster" >&2; exit 2; }
rm -rf "$out/rootfs" "$out/oci"; mkdir -p "$out/rootfs" "$out/oci/blobs/sha256"
root=$out/rootfs
mkdir -p "$root"/{usr/bin,etc/ssl/certs,tmp,var/lib/dpkg/status.d}
cp "$binary" "$root/usr/bin/muster"; strip "$root/usr/bin/muster" 2>/dev/null || true
# The loader and every library, at the paths where the loader looks.
ldd "$binary" | awk '/=> \//{print $3} /^\t\/lib/{print $1}' | sort -u >"$out/libraries"
while read -r library; do
  real=$(readlink -f "$library")
  mkdir -p "$root$(dirname "$library")"
  cp "$real" "$root$library"
  package=$(dpkg -S "$real" 2>/dev/null || dpkg -S "${real#/usr}" 2>/dev/null || true)
  package=${package%%: *}; package=${package%%:*}
  [ -n "$package" ] || { echo "no package owns $real: its version would be unknown" >&2; exit 3; }
  dpkg-query -W -f='Package: ${Package}\nStatus: install ok installed\nArchitecture: ${Architecture}\nVersion: ${Version}\nSource: ${source:Package}\n' "$package" \
    >"$root/var/lib/dpkg/status.d/$package"
done <"$out/libraries"
if [ -s /etc/ssl/certs/ca-certificates.crt ]; then
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  dpkg-query -W -f='Package: ${Package}\nStatus: install ok installed\nArchitecture: ${Architecture}\nVersion: ${Version}\nSource: ${source:Package}\n' ca-certificates \
    >"$root/var/lib/dpkg/status.d/ca-certificates"
fi
printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n' >"$root/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$root/etc/group"

blob() { # blob FILE: moves it among the blobs, prints "DIGEST SIZE"
  local digest; digest=$(sha256sum "$1" | cut -d' ' -f1)
  local size; size=$(stat -c %s "$1")
  mv "$1" "$out/oci/blobs/sha256/$digest"; echo "$digest $size"
}
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu -cf "$out/layer.tar" -C "$root" .
diff_id=$(sha256sum "$out/layer.tar" | cut -d' ' -f1)
gzip -n -9 -f "$out/layer.tar"
read -r layer layer_size < <(blob "$out/layer.tar.gz")
arch=$(dpkg --print-architecture)
printf '{"architecture":"%s","os":"linux","config":{"User":"65532:65532","Env":["PATH=/usr/bin","SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],"Entrypoint":["/usr/bin/muster"],"WorkingDir":"/tmp"},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
  "$arch" "$diff_id" >"$out/config.json"
read -r config config_size < <(blob "$out/config.json")
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%s},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:%s","size":%s}]}' \
  "$config" "$config_size" "$layer" "$layer_size" >"$out/manifest.json"
read -r manifest manifest_size < <(blob "$out/manifest.json")
printf '{"imageLayoutVersion":"1.0.0"}' >"$out/oci/oci-layout"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%s,"platform":{"architecture":"%s","os":"linux"}}]}' \
  "$manifest" "$manifest_size" "$arch" >"$out/oci/index.json"
"$binary" bom image "$root" --out "$out/sbom.json" >&2
echo "sha256:$manifest"
