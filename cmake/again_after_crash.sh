#!/bin/sh
# Runs a compiler, and again if it crashed: cicc of CUDA 13.0 crashes now and then on second_look, always at one address of its code, by
# where its memory lies. In a heap that grows in steps of 256 MB it has not been seen to (0 of 6 runs for 9.0a, 5 of 7 without); retries stay
# for what has not been seen. What ends otherwise ends as it does.
MALLOC_TOP_PAD_=268435456
export MALLOC_TOP_PAD_
for try in 1 2 3 4 5; do
  "$@"
  code=$?
  [ "$code" -eq 139 ] || exit "$code"
  echo "again_after_crash: $1 crashed, try $try" >&2
done
exit "$code"
