#!/bin/sh
# Runs a compiler, and again if it crashed: cicc of CUDA 13.0 does so now and then (on second_look_f32: the same source, always at
# one address of its code; by where the system puts its memory, it seems). What ends otherwise ends as it does.
for try in 1 2 3 4 5; do
  "$@"
  code=$?
  [ "$code" -eq 139 ] || exit "$code"
  echo "again_after_crash: $1 crashed, try $try" >&2
done
exit "$code"
