#!/bin/sh
# Runs a compiler, and leaves out what ptxas tells of lost speed and of waits it adds (C7504, C7517, C7519, C7520): for device code that is
# compiled fast and never run (KIZAMI_CUDA_FAST_COMPILE). Warnings and errors stay. Ends as the compiler does.
text=$("$@" 2>&1)
code=$?
printf '%s\n' "$text" | sed -e '/^ptxas info /d' -e '/^$/d' >&2
exit "$code"
