#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The real library where no device is visible: every product is left to (a fake) cuBLAS, and the reason is said.

usage: without_device_test.py PRELOAD LINKED
"""
import os
import subprocess
import sys


def main():
    preload, linked = sys.argv[1:]
    environment = {**os.environ, "LD_PRELOAD": preload, "CUDA_VISIBLE_DEVICES": "", "KIZAMI_VERBOSE": "1",
                   "KIZAMI_SCHEME": "ozaki2"}
    done = subprocess.run([linked, "all"], env=environment, capture_output=True, text=True, timeout=60)
    print(done.stdout + done.stderr)
    lines = done.stdout.splitlines()
    is_forwarded = len(lines) == 16 and all(line.startswith("cublas cublas") for line in lines[::2])
    are_reasons_given = done.stderr.count(": cuBLAS: ") == 8 and done.stderr.count("\n") == 8
    return 0 if done.returncode == 0 and is_forwarded and are_reasons_given else 1


if __name__ == "__main__":
    sys.exit(main())
