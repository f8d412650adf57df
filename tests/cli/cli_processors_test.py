#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program on other processors of x86-64, emulated by qemu: no instruction that they lack, and the bits of this machine.

usage: cli_processors_test.py PROGRAM
Exit code 77, a skip, without qemu-x86_64-static; a failure where CI=true.
"""
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import cli_support
from cli_support import CliTest, npy_bytes, random_complex, random_matrix

QEMU = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
SKIPPED = 77

# Processor: the kernel that `kizami info` must name, so that the processor is known to have been another one. None: any.
PROCESSORS = {
    "core2duo": "portable",   # SSSE3
    "Nehalem": "portable",    # SSE4.2
    "IvyBridge": "portable",  # AVX
    "Haswell": "avx2_int16",  # AVX2, FMA
    "max": None,              # all that qemu has
}
# Arguments of `gemm`, and the type of its operands. Shapes have edges of tiles; the policies reach all phases in FP64.
CALLS = [
    ("f4", []),
    ("f8", []),
    ("c8", []),
    ("c16", ["--accuracy", "correct"]),
    ("f8", ["--scheme", "ozaki1", "--accuracy", "bits=40"]),
    ("f8", ["--engine", "tile"]),
]


class ProcessorsTest(CliTest):
    def run_on(self, processor, *args):
        environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
        emulator = [] if processor is None else [QEMU, "-cpu", processor]
        result = subprocess.run(emulator + [cli_support.PROGRAM, *map(str, args)], cwd=self.dir, env=environment, text=True,
                                capture_output=True, stdin=subprocess.DEVNULL, timeout=250)
        self.assertEqual(result.returncode, cli_support.OK, (processor, args, result))
        return result.stdout

    def result_of(self, processor, dtype, options):
        self.run_on(processor, "gemm", f"A.{dtype}.npy", f"B.{dtype}.npy", "-o", "C.npy", "--threads", "1", *options)
        path = self.dir / "C.npy"
        data = path.read_bytes()
        path.unlink()
        return data

    def test_bits_of_every_processor(self):
        m, n, k = 9, 7, 70
        for dtype in {dtype for dtype, _ in CALLS}:
            make = random_complex if dtype[0] == "c" else random_matrix
            self.matrix(f"A.{dtype}.npy", make(m, k, 1), dtype="<" + dtype)
            self.matrix(f"B.{dtype}.npy", make(k, n, 2), dtype="<" + dtype)
        here = [self.result_of(None, *call) for call in CALLS]
        self.assertEqual(here[-1], here[1])  # engine tile has the bits of the default
        for processor, kernel in PROCESSORS.items():
            with self.subTest(processor=processor):
                info = self.run_on(processor, "info")
                if kernel is not None:
                    self.assertIn(f"kernel {kernel}\n", info)
                for call, expected in zip(CALLS, here):
                    self.assertEqual(self.result_of(processor, *call), expected, call)


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        print("skipped: this machine is not of x86-64")
        sys.exit(SKIPPED)
    if QEMU is None:
        print("skipped: no qemu-x86_64-static (Debian: qemu-user-static)")
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
    cli_support.main()
