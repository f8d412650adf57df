#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ScaLAPACK's testers of the MRRR eigensolver judge by two variables that nothing sets: runs of them with bytes of our choice there.

usage: mrrr_unset_bounds.py [--runs N] [TESTER...]
Where the testers (xdsyevr, xzheevr) ask for all eigenvalues they pass on two bounds, VL and VU, that nothing has set and the solver
does not read (pdseprtst.f, pzseprtst.f). Afterwards they compare both with copies made before (pdseprsubtst.f, pzseprsubtst.f):
VL.NE.OLDVL is true of a NaN that nobody touched. That test then says FAILED beside residuals that are fine, and why, "IL, IU, VL or VU
altered by PDSYEVR", only if it was so on rank 0.

Nothing of Kizami runs here. A library made of lines of C below is preloaded, and leaves bytes where functions of ScaLAPACK that the
testers call just before return: in the free stack, or, with AVX-512 and for xdsyevr, in the vector registers 16 to 31, as a function
may. The loader saves those on the stack to look up the next function at its first call, if it has not looked up all at the start
(LD_BIND_NOW=1). One JSON line for each. Exit status 0 if every run with NaNs in the bounds failed and no other did, else 1; 77 if the
testers or a C compiler are not installed.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import scalapack_tests

STACK = r"""
static __attribute__((noinline)) void leave(void) {
  const unsigned char byte = (unsigned char)strtol(getenv("BYTE"), 0, 0);
  volatile unsigned char below[16384];
  for (size_t i = 0; i < sizeof below; ++i) below[i] = byte;
}
int numroc_(int* n, int* block, int* process, int* first, int* processes) {
  const int answer = ((int (*)(int*, int*, int*, int*, int*))dlsym(RTLD_NEXT, "numroc_"))(n, block, process, first, processes);
  return leave(), answer;
}
int iceil_(int* a, int* b) {
  const int answer = ((int (*)(int*, int*))dlsym(RTLD_NEXT, "iceil_"))(a, b);
  return leave(), answer;
}
"""
REGISTERS = r"""
#define SET(i) __asm__ volatile("vpbroadcastd %0, %%zmm" #i : : "r"(bytes));
void blacs_gridinfo_(int* context, int* rows, int* columns, int* row, int* column) {
  ((void (*)(int*, int*, int*, int*, int*))dlsym(RTLD_NEXT, "blacs_gridinfo_"))(context, rows, columns, row, column);
  const int bytes = (int)(strtol(getenv("BYTE"), 0, 0) * 0x01010101);
  SET(16) SET(17) SET(18) SET(19) SET(20) SET(21) SET(22) SET(23) SET(24) SET(25) SET(26) SET(27) SET(28) SET(29) SET(30) SET(31)
}
"""
# What holds the bytes, the byte, whether all functions are looked up at the start, whether the tester fails.
CASES = (("free stack", "0x00", True, False), ("free stack", "0x3f", True, False), ("free stack", "0xff", True, True),
         ("vector registers", "0x3f", False, False), ("vector registers", "0xff", False, True), ("vector registers", "0xff", True, False))


def compiled(text, library, flags):
    text = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdlib.h>\n" + text
    subprocess.run(["cc", "-O1", *flags, "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"], input=text, text=True, check=True)
    return library


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tester", nargs="*", default=scalapack_tests.MRRR)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    if scalapack_tests.folder() is None or shutil.which("cc") is None:
        return 77
    has_registers = Path("/proc/cpuinfo").exists() and "avx512f" in Path("/proc/cpuinfo").read_text()
    as_told = True
    with tempfile.TemporaryDirectory() as scratch:
        libraries = {"free stack": compiled(STACK, Path(scratch, "stack.so"), [])}
        if has_registers:
            libraries["vector registers"] = compiled(REGISTERS, Path(scratch, "registers.so"), ["-mavx512f"])
        for tester, (left_in, byte, bind_now, fails) in [(tester, case) for tester in options.tester for case in CASES]:
            if left_in not in libraries or (left_in == "vector registers" and tester != "xdsyevr"):
                continue
            os.environ |= {"LD_PRELOAD": str(libraries[left_in]), "BYTE": byte, "LD_BIND_NOW": "1" if bind_now else ""}
            failed, residuals = 0, []
            for _ in range(options.runs):
                failed += scalapack_tests.run(tester, scratch)["failed"] != 0
                output = Path(scratch, f"{tester}.out").read_text()
                residuals += [float(x) for line in re.findall(r"^ +150 .*", output, re.M) for x in line.split()[8:10]]
            as_told = as_told and failed == (options.runs if fails else 0)
            print(json.dumps({"test": tester, "products": "native", "left_in": left_in, "byte": byte, "bind_now": bind_now,
                              "runs": options.runs, "failed": failed, "largest_residual": max(residuals, default=None)}), flush=True)
    return 0 if as_told else 1


if __name__ == "__main__":
    sys.exit(main())
