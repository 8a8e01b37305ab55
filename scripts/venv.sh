#!/usr/bin/env bash
# Makes the virtual environment named by the first argument with a Python of 3.11 or newer.
# PYTHON chooses one. Installs Debian's venv package where that needs no question.
set -euo pipefail

venv=$1
[[ -x "$venv/bin/python" ]] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 && exit 0

fits() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

python=
for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
  if command -v "$candidate" >/dev/null && fits "$candidate"; then
    python=$candidate
    break
  fi
done
if [[ -z "$python" ]]; then
  echo "Python 3.11 or newer is needed: install it, or name it with PYTHON=…" >&2
  exit 1
fi

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null && command -v apt-get >/dev/null; then
  if [[ $(id -u) -eq 0 ]]; then root=(); else root=(sudo -n); fi
  echo "Installing python3-venv with apt-get" >&2
  { "${root[@]}" apt-get update -qq && "${root[@]}" apt-get install -y -qq python3-venv; } >/dev/null 2>&1 || true
fi
rm -rf "$venv"
if ! "$python" -m venv "$venv"; then
  echo "$python cannot make a virtual environment: install its venv package (e.g. python3-venv)." >&2
  exit 1
fi
