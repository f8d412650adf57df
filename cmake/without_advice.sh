#!/bin/sh
# Runs a compiler, and leaves out what ptxas says of lost speed: for device code that is compiled fast and never run
# (KIZAMI_CUDA_FAST_COMPILE). Ends as the compiler does.
text=$("$@" 2>&1)
code=$?
printf '%s\n' "$text" | sed -e '/^ptxas info .*Potential Performance Loss/d' -e '/^$/d' >&2
exit "$code"
