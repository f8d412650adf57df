#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the committed tree twice, in folders of different names and lengths, and compares what comes out byte by byte: the Debian packages; or with targets
# named, their archives. Takes two builds, so it is a test of configuration nightly.
# usage: reproducible_test.sh SOURCE_DIR WORK [TARGET...]
set -euo pipefail
source_dir=$1 work=$2
shift 2
# Named once: HEAD may move while the first tree is built.
if ! commit=$(git -C "$source_dir" rev-parse -q --verify HEAD); then
  echo "skipped: no git"
  exit 77
fi
SOURCE_DATE_EPOCH=$(git -C "$source_dir" log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH
rm -rf "$work"
for tree in one another_and_longer; do
  mkdir -p "$work/$tree"
  git -C "$source_dir" archive "$commit" | tar -x -C "$work/$tree"
  if [[ $# -gt 0 ]]; then
    (cd "$work/$tree" && cmake --preset package >configure.log && cmake --build build/package --target "$@")
  else
    (cd "$work/$tree" && DEBFULLNAME=Nobody DEBEMAIL=nobody@localhost.localdomain ./kz package)
  fi
  sleep 2  # a clock that is read shows
done
cd "$work/one"
shopt -s nullglob
files=(build/package/*.deb build/package/modules/*.a)
[[ ${#files[@]} -gt 0 ]] || { echo "nothing was built"; exit 1; }
status=0
contents() { dpkg-deb --field "$1" && dpkg-deb --ctrl-tarfile "$1" | tar -xO ./md5sums; }
for file in "${files[@]}"; do
  other=$work/another_and_longer/$file
  cmp "$file" "$other" && continue
  status=1
  [[ $file != *.deb ]] || diff <(contents "$file") <(contents "$other") || true  # which of its files
done
echo "${#files[@]} files compared"
exit $status
