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

# have_sushy: fine when it is there, or could be had; otherwise MUSTER_NO_SUSHY says why not. PyPI is not on a loopback: a script that moves
# into a namespace of its own calls it before, and it is remembered inside.
have_sushy() {
  if [ -z "${MUSTER_NO_SUSHY+asked}" ]; then
    MUSTER_NO_SUSHY=""
    if [ -n "${MUSTER_SUSHY:-}" ]; then
      [ -x "$sushy" ] || MUSTER_NO_SUSHY="no $sushy"
    elif [ ! -e "$sushy_venv/.whole" ]; then
      local said
      said=$(install_sushy 2>&1) || MUSTER_NO_SUSHY="sushy-tools $sushy_version cannot be had here: $(printf %s "$said" | tail -1)"
    fi
    export MUSTER_NO_SUSHY
  fi
  [ -z "$MUSTER_NO_SUSHY" ]
}
