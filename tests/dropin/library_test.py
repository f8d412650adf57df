#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a preloaded library shows to a program: exactly eight functions, and no library that the program did not have.

usage: library_test.py NM READELF LIBRARY
"""
import re
import subprocess
import sys

EXPORTS = {f"cublas{letter}gemm_v2{suffix}" for letter in "SDCZ" for suffix in ("", "_64")}
# Of the C library. A C++ library or a BLAS would stand before the one that the program brings.
NEEDED = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux-[\w-]+)\.so\.\d+")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def problems(exported, needed):
    found = [f"exported, but not one of the eight: {name}" for name in sorted(exported - EXPORTS)]
    found += [f"not exported: {name}" for name in sorted(EXPORTS - exported)]
    return found + [f"needs {name}" for name in needed if not NEEDED.fullmatch(name)]


def self_test():
    good = problems(EXPORTS, ["libc.so.6", "ld-linux-x86-64.so.2"])
    bad = [(EXPORTS | {"cublasHgemm"}, []), (EXPORTS - {"cublasSgemm_v2"}, []), (EXPORTS, ["libcublas.so.13"]),
           (EXPORTS, ["libstdc++.so.6"]), (EXPORTS, ["libcuda.so.1"]), (EXPORTS, ["libopenblas.so.0"])]
    return not good and all(problems(*case) for case in bad)


def main():
    nm, readelf, library = sys.argv[1:]
    symbols = output(nm, "-D", "--defined-only", library).splitlines()
    exported = {line.split()[2].split("@")[0] for line in symbols}
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output(readelf, "-d", library))
    found = problems(exported, needed)
    if not self_test():
        found.append("self-test: a violation was not seen, or a clean library was refused")
    print("\n".join(found + [f"{len(exported)} functions, needs {' '.join(needed)}: {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
