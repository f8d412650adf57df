#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A tree whose device code was compiled only to be checked installs nothing, and says why; any other is of optimised code.
# usage: fast_code_test.sh CMAKE BUILD_DIR EMPTY_DIR
set -euo pipefail
cmake=$1 build=$2 prefix=$3
if ! grep -q -e '--Ofast-compile' "$build/compile_commands.json"; then
  echo "device code is as shipped"
  exit 0
fi
rm -rf "$prefix"
if said=$("$cmake" --install "$build" --prefix "$prefix" 2>&1); then
  echo "cmake --install took device code that was compiled fast"
  exit 1
fi
[[ $said == *KIZAMI_CUDA_FAST_COMPILE* ]] || { echo "cmake --install says $said"; exit 1; }
[[ -z $(find "$prefix" -type f 2>/dev/null) ]] || { echo "cmake --install failed, and copied files before"; exit 1; }
