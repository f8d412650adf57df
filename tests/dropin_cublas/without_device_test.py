#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The real library where no device is visible: every product is left to (a fake) cuBLAS, the reason is said in one line, and in
the log of each call.

usage: without_device_test.py PRELOAD LINKED
"""
import os
import subprocess
import sys


def main():
    preload, linked = sys.argv[1:]
    environment = {**os.environ, "LD_PRELOAD": preload, "CUDA_VISIBLE_DEVICES": "", "KIZAMI_SCHEME": "ozaki2"}
    done = subprocess.run([linked, "all"], env=environment, capture_output=True, text=True, timeout=60)
    print(done.stdout + done.stderr)
    lines = done.stdout.splitlines()
    is_forwarded = done.returncode == 0 and len(lines) == 16 and all(x.startswith("cublas cublas") for x in lines[::2])
    is_said_once = done.stderr.count("every call is left to the native library\n") == 1 and done.stderr.count("\n") == 1
    environment["KIZAMI_LOG"] = "1"
    logged = subprocess.run([linked, "all"], env=environment, capture_output=True, text=True, timeout=60)
    print(logged.stderr)
    are_reasons_given = logged.stderr.count(": native: ") == 8 and logged.stderr.count("\n") == 9
    return 0 if is_forwarded and is_said_once and are_reasons_given else 1


if __name__ == "__main__":
    sys.exit(main())
