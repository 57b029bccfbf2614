# The Debian 12 packages that building, trying and testing need, by name; sourced by ./try and ./test.
BUILD_PACKAGES="g++ cmake ninja-build mold ccache pkg-config libcli11-dev nlohmann-json3-dev libyaml-cpp-dev libcurl4-openssl-dev
  libcpp-httplib-dev libfmt-dev libspdlog-dev libexpected-dev libssl-dev libgloo-dev libpugixml-dev libsimdjson-dev libarchive-dev"
LAB_PACKAGES="prometheus prometheus-alertmanager"
TEST_PACKAGES="libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev clang-19 libclang-rt-19-dev clang-tidy-19 clang-format-19
  ibsim-utils opensm infiniband-diags openssh-server openssh-client prometheus-node-exporter python3 python3-venv iproute2 patch spin openipmi ipmitool ripgrep openssl
  ansible-core python3-apt"

# Installs what is missing of the named packages. Without the right to, says what to install and returns 1.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local sudo=""
  if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true 2>/dev/null; then sudo="sudo"; else
      echo "these packages are missing; install them and start again:" >&2
      echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
      return 1
    fi
  fi
  echo "installing: ${missing[*]}" >&2
  $sudo apt-get update -qq >/dev/null 2>&1
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/tmp/muster-apt.$$ 2>&1 ||
    { tail -5 /tmp/muster-apt.$$ >&2; rm -f /tmp/muster-apt.$$; return 1; }
  rm -f /tmp/muster-apt.$$
}

# ccache that also hits from another clone of the same tree.
use_ccache() {
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=include_file_mtime,time_macros,pch_defines CCACHE_MAXSIZE=4G
}
