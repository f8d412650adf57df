#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every public header is installed, and needs nothing that is not: *.hpp and *.h as C++20, *.h as C99. (That each compiles
# alone is tested in the source tree.)
# usage: headers_test.sh CC CXX STAGE SOURCE_DIR
set -euo pipefail
cc=$1 cxx=$2 stage=$3 source_dir=$4
diff <(for part in include tile/include; do (cd "$source_dir/$part" && find . -type f); done | sort) <(cd "$stage/include" && find . -type f | sort)
cd "$stage/include"
printf '#include <%s>\n' kizami/*.hpp kizami/*.h |
  "$cxx" -std=c++20 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only -x c++ -
for header in kizami/*.h; do
  printf '#include <%s>\ntypedef int not_empty;\n' "$header" |
    "$cc" -std=c99 -Wall -Wextra -pedantic -Werror -I. -fsyntax-only -x c -
done
# What a compiler of an older standard says first is that it is one.
for header in kizami/*.hpp; do
  [[ $header == */cuda*.hpp || $header == kizami/tile.hpp ]] && continue  # which begin with CUDA's headers, or are no headers of the library
  said=$("$cxx" -std=c++17 -I. -fsyntax-only -x c++ "$header" 2>&1 | grep -m 1 'error' || true)
  [[ $said == *"need C++20"* ]] || { echo "$header in C++17 says first: $said"; exit 1; }
done
