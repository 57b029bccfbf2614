# A Redfish service that others wrote, for the scripts that need one: sushy-tools' emulator (PyPI, 40 MB) in a virtual environment,
# installed once into ~/.cache/muster. MUSTER_SUSHY names another one.

sushy_version=2.2.0
sushy_venv=${XDG_CACHE_HOME:-$HOME/.cache}/muster/sushy-$sushy_version
sushy=${MUSTER_SUSHY:-$sushy_venv/bin/sushy-emulator}

# The scripts that pip writes name the folder that they were installed into: nothing is moved, and a stamp says that it is whole.
install_sushy() {
  rm -rf "$sushy_venv" && mkdir -p "$sushy_venv" &&
    python3 -m venv "$sushy_venv" &&
    timeout 300 "$sushy_venv/bin/pip" install -q "sushy-tools==$sushy_version" &&
    timeout 60 "$sushy" --help >/dev/null &&
    touch "$sushy_venv/.whole"
}

# have_sushy: fine when it is there, or could be had; otherwise the reason is printed.
have_sushy() {
  [ -z "${MUSTER_SUSHY:-}" ] || { [ -x "$sushy" ] && return 0; echo "no $sushy"; return 1; }
  [ -e "$sushy_venv/.whole" ] && return 0
  local said
  said=$(install_sushy 2>&1) && return 0
  echo "sushy-tools $sushy_version cannot be had here: $(printf %s "$said" | tail -1)"
  return 1
}
