#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configures, builds and runs tests/packaging/compiled against an installed tree, and looks what the program is linked with.
# usage: compiled_test.sh CMAKE GENERATOR STAGE WORK C|Fortran|CXX shared|static
set -euo pipefail
cmake=$1 generator=$2 stage=$3 work=$4 language=$5 kind=$6
if [[ $language == Fortran ]] && ! command -v gfortran >/dev/null; then
  echo "skipped: no gfortran"
  exit 77
fi
rm -rf "$work"
"$cmake" -S "$(dirname "${BASH_SOURCE[0]}")/compiled" -B "$work" -G "$generator" -DLANGUAGE="$language" -DKIND="$kind" -DCMAKE_PREFIX_PATH="$stage"
"$cmake" --build "$work"
"$work/program"
linked=$(ldd "$work/program")
case $kind in
  shared) [[ $linked == *"$stage"*libkizami.so* ]] ;;
  static) [[ $linked != *libkizami* ]] ;;
esac || { echo "$kind, but linked with: $linked"; exit 1; }
