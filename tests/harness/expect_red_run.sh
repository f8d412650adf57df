#!/usr/bin/env bash
# expect_red_run.sh CTEST PROGRAM: passes when a ctest run of PROGRAM, which holds a failing case, is red in status and in words.
set -euo pipefail
ctest=$1
program=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf 'add_test([=[red]=] [=[%s]=])\n' "$program" > "$dir/CTestTestfile.cmake"
status=0
output=$("$ctest" --test-dir "$dir" 2>&1) || status=$?
if [[ $status -eq 0 ]]; then
  echo "a run with a failing case exited 0"
  exit 1
fi
if [[ $output != *"1 tests failed out of 1"* ]]; then
  printf 'the run exited %s without reporting its failed case:\n%s\n' "$status" "$output"
  exit 1
fi
