#!/bin/sh
# Runs a compiler, and again if it crashed: cicc of CUDA 13.0 crashes now and then on second_look, always at one address of its code. In a
# heap that grows in steps of 256 MB it crashed in 0 of 6 runs for 9.0a on one machine (2 of 7 without), and in a third of all runs on another,
# without address randomisation and in memory full of zeros as well. A unit for four architectures comes through in one try of four then.
# What ends otherwise ends as it does.
MALLOC_TOP_PAD_=268435456
export MALLOC_TOP_PAD_
for try in $(seq 30); do
  "$@"
  code=$?
  [ "$code" -eq 139 ] || exit "$code"
  echo "again_after_crash: $1 crashed, try $try" >&2
done
exit "$code"
