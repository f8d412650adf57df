#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a library takes in a package: its bytes without symbols and debug information.

usage: size_test.py STRIP LIBRARY MILLIONS
"""
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    strip, library, most = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder, "stripped")
        subprocess.run([strip, "-o", stripped, library], check=True)
        size = stripped.stat().st_size
    print(f"{Path(library).name}: {size / 1e6:.2f} MB without symbols, must be at most {most}")
    return 0 if size <= 1e6 * float(most) else 1


if __name__ == "__main__":
    sys.exit(main())
