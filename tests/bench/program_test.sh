#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# program_test.sh PROGRAM: --help says what every option is, and an option that there is not is named, before a device
# is looked for.
set -u
program=$1
fail() { echo "$program: $*" >&2; exit 1; }

help=$("$program" --help 2>&1)
code=$?
if [[ $code -eq 127 ]]; then  # the loader: a program that links cuBLAS, which is not in LD_LIBRARY_PATH
  echo "skipped: $help"
  exit 77
fi
[[ $code -eq 0 ]] || fail "--help ends with $code: $help"
[[ $help == *"Usage: $(basename "$program") "* ]] || fail "--help does not say how it is used: $help"
# The description stands behind the option, or on the line below.
silent=$(awk '/^  -/ { if (option != "") print option
                       option = substr($0, 3)
                       if (option ~ /   *[^ ]/) option = ""
                       next }
              /^          / { option = "" }
              END { if (option != "") print option }' <<<"$help")
[[ -z $silent ]] || fail "--help does not say what this is: $silent"

said=$("$program" --no-such-option 2>&1)
code=$?
[[ $code -eq 109 ]] || fail "--no-such-option ends with $code, must be 109, as CLI11 ends: $said"
[[ $said == *--no-such-option* && $said == *--help* ]] || fail "--no-such-option is not named: $said"
