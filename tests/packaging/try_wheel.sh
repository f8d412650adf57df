#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs a wheel in a fresh environment of PYTHON, with NumPy and what its tests need, and runs the tests of tests/python there.
# The wheel must bring every library but those of the system, and must not lead back to a build tree.
# usage: try_wheel.sh PYTHON WHEEL
set -euo pipefail
python=$1 wheel=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/venv"
grep -E '^(pytest|mypy|array-api-strict|rich)=' "$root/tools/requirements.txt" >"$work/requirements.txt"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" -r "$work/requirements.txt"
module=$("$work/venv/bin/python" -c 'import kizami._core; print(kizami._core.__file__)')
if [[ $module != "$work"/venv/* ]]; then echo "imported from $module, not from the wheel"; exit 1; fi
while read -r name _ path _; do
  case $path in
    "$work"/* | "" | /lib/*libc.so* | /lib/*libm.so* | /lib/*libdl.so* | /lib/*librt.so* | /lib/*libpthread.so*) ;;
    /lib/*libstdc++.so* | /lib/*libgcc_s.so*) ;;
    *) echo "$name comes from $path, must be in the wheel or promised by every system"; exit 1 ;;
  esac
done < <(ldd "$module" | grep -v -e linux-vdso -e /lib64/ld-linux)
for name in libkizami_blas.so libkizami_blas64.so; do
  if [[ ! -f $(dirname "$module")/lib/$name ]]; then echo "the wheel lacks $name"; exit 1; fi
done
# The program of the wheel, with its libraries, on the NumPy of this environment.
(cd "$work" && PATH=/usr/bin:/bin "$work/venv/bin/python" -m kizami run --min-size 0 --json run.jsonl -- "$work/venv/bin/python" -c \
  'import numpy as np; a = np.ones((50, 50)); a @ (a + 1)')
if ! grep -q '"answer":"ozaki2"' "$work/run.jsonl"; then echo "kizami run of the wheel saw no product"; exit 1; fi
if grep -qF "$root/build" "$module"; then echo "the module names the build tree"; exit 1; fi
if command -v dpkg-query >/dev/null; then "$python" "$root/tools/wheel_notices.py" --check "$wheel"; fi
cd "$work"
PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/python" -m pytest -q -rs -p no:cacheprovider "$root/tests/python"
