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
