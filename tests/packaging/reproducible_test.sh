#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the committed tree twice, in folders of different names and lengths, and compares what comes out byte by byte: the Debian packages; or with targets
# named, their archives. Takes two builds, so it is a test of configuration nightly.
# usage: reproducible_test.sh SOURCE_DIR WORK [TARGET...]
set -euo pipefail
source_dir=$1 work=$2
shift 2
if ! git -C "$source_dir" rev-parse -q --verify HEAD >/dev/null; then
  echo "skipped: no git"
  exit 77
fi
SOURCE_DATE_EPOCH=$(git -C "$source_dir" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$work"
for tree in one another_and_longer; do
  mkdir -p "$work/$tree"
  git -C "$source_dir" archive HEAD | tar -x -C "$work/$tree"
  if [[ $# -gt 0 ]]; then
    (cd "$work/$tree" && cmake --preset package >configure.log && cmake --build build/package --target "$@")
  else
    (cd "$work/$tree" && DEBFULLNAME=Nobody DEBEMAIL=nobody@localhost.localdomain ./kz package)
  fi
  sleep 2  # a clock that is read shows
done
cd "$work/one"
mapfile -t files < <(find build/package -name '*.deb' -o -path '*modules/*.a' | sort)
[[ ${#files[@]} -gt 0 ]] || { echo "nothing was built"; exit 1; }
status=0
for file in "${files[@]}"; do
  cmp "$file" "$work/another_and_longer/$file" || status=1
done
echo "${#files[@]} files compared"
exit $status
