# A PyTorch for the scripts that need a real one: PyPI's wheel for CPU in a virtual environment, installed once into ~/.cache/muster, about
# 600 MB, and only with MUSTER_E2E_HEAVY=1 or CI=true. The wheel needs CUDA libraries to be imported; captures/rehearsed/torch/stubcuda.py
# makes empty ones. Needs $top and $work.

torch_version=2.15.0
torch_venv=${MUSTER_TORCH_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/torch-$torch_version}

install_torch() {
  command -v gcc >/dev/null && command -v readelf >/dev/null || { echo "gcc and binutils are needed"; return 1; }
  python3 -m venv "$torch_venv.new" || return 1
  timeout 600 "$torch_venv.new/bin/pip" install -q --no-deps "torch==$torch_version" || return 1
  timeout 300 "$torch_venv.new/bin/pip" install -q 'typing-extensions>=4.13' filelock sympy networkx jinja2 fsspec numpy || return 1
  timeout 300 "$torch_venv.new/bin/python" "$top/captures/rehearsed/torch/stubcuda.py" "$torch_venv.new"/lib/python3*/site-packages/torch/lib || return 1
  timeout 120 "$torch_venv.new/bin/python" -c 'import torch, torch.distributed as d; assert d.is_gloo_available()' || return 1
  mv "$torch_venv.new" "$torch_venv"
}

# have_torch: fine when it is there, or could be had; otherwise the reason is printed.
have_torch() {
  [ -x "$torch_venv/bin/python" ] && return 0
  if [ "${MUSTER_E2E_HEAVY:-}" != 1 ] && [ "${CI:-}" != true ]; then
    echo "torch is not in $torch_venv; MUSTER_E2E_HEAVY=1 downloads it (600 MB)"
    return 1
  fi
  mkdir -p "$(dirname "$torch_venv")"
  rm -rf "$torch_venv.new"
  install_torch >"$work/install.log" 2>&1 && return 0
  echo "torch $torch_version cannot be had here: $(tail -1 "$work/install.log")"
  return 1
}
