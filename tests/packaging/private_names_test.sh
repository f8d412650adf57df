#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The loader's default folder gets no library with a name of somebody else's: a proxy of libcublas.so.13 or a libblas.so.3 there
# would stand before the real one in every program. They lie one folder below.
# usage: private_names_test.sh STAGE LIBDIR
set -euo pipefail
found=0
while read -r file; do
  case $(basename "$file") in
    libkizami* | cmake | pkgconfig | kizami) found=1 ;;
    *) echo "$file is not Kizami's name"; exit 1 ;;
  esac
done < <(find "$1/$2" -mindepth 1 -maxdepth 1)
[[ $found == 1 ]] || { echo "nothing is installed in $1/$2"; exit 1; }
