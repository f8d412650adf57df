#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs a build tree and moves the result to STAGE, so that the tests see whether it can be moved.
# usage: stage.sh CMAKE BUILD_DIR STAGE
set -euo pipefail
cmake=$1 build=$2 stage=$3
rm -rf "$(dirname "$stage")"
KIZAMI_INSTALL_FAST_CODE="for tests" "$cmake" --install "$build" --prefix "$stage.first" >/dev/null
mv "$stage.first" "$stage"
if grep -rlF "$stage.first" "$stage"; then
  echo "these files name the place of installation"
  exit 1
fi
