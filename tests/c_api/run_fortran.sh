#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles include/kizami/kizami.f90 and one program, and runs it. Without gfortran: a skip, which ctest counts.
# usage: run_fortran.sh SOURCE_DIR LIBRARY_DIR PROGRAM.f90 [ARGUMENT OF THE LINKER...]
set -euo pipefail
source_dir=$1 library_dir=$2 program=$3
shift 3
if ! command -v gfortran >/dev/null; then
  echo "skipped: no gfortran"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
gfortran -std=f2018 -Wall -Wextra -Werror -Wno-compare-reals "$source_dir/include/kizami/kizami.f90" "$program" \
  -o program -L"$library_dir" -lkizami -Wl,-rpath,"$library_dir" "$@"
./program
