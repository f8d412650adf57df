#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a library takes in a package: its bytes without symbols and debug information.

usage: size_test.py STRIP LIBRARY MILLIONS [ARCHITECTURES COMMIT FILE]

With the last three a line of JSON is appended to FILE, lab/results/library_size.jsonl; a library above its limit is recorded, too.
"""
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    strip, library, most, *record = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder, "stripped")
        subprocess.run([strip, "-o", stripped, library], check=True)
        size = stripped.stat().st_size
    print(f"{Path(library).name}: {size / 1e6:.2f} MB without symbols, must be at most {most}")
    if record:
        architectures, commit, file = record
        line = {"date": datetime.date.today().isoformat(), "commit": commit, "library": Path(library).name, "architectures": architectures.split(";"),
                "bytes": size, "most_bytes": round(1e6 * float(most))}
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
    return 0 if size <= 1e6 * float(most) else 1


if __name__ == "__main__":
    sys.exit(main())
