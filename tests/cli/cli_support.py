# SPDX-License-Identifier: MIT
"""What the tests of the command line share: .npy files by hand, running the program, a scratch folder for each test."""
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

OK, INTERNAL, USAGE, BAD_INPUT, SHAPES, REFUSED, OUTPUT, MEMORY, NONFINITE, CHECK_FAILED = range(10)
IS_SANITIZED = os.environ.get("KIZAMI_TEST_SANITIZED") == "1"
SPOILER = os.environ.get("KIZAMI_TEST_SPOILER")  # a library to preload, which makes results wrong
IS_ROOT = os.geteuid() == 0
PROGRAM = None


def npy_bytes(rows, dtype="<f8", order="C", version=1, shape=None):
    """The file of a matrix given as a list of rows."""
    num_rows, num_cols = shape if shape else (len(rows), len(rows[0]))
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }" % (dtype, order == "F", num_rows, num_cols)
    prefix = 10 if version == 1 else 12
    text += " " * (-(prefix + len(text) + 1) % 64) + "\n"
    head = b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text.encode()
    values = [x for row in rows for x in row] if order == "C" else [row[j] for j in range(num_cols) for row in rows]
    kind = {"4": "f", "8": "d"}[dtype[-1]]
    return head + struct.pack("%s%d%s" % (">" if dtype[0] == ">" else "<", len(values), kind), *values)


def read_npy(path):
    """A C-ordered little-endian matrix: (rows, dtype)."""
    data = Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:start])  # written by the program under test
    assert start % 64 == 0 and data[start - 1:start] == b"\n" and not header["fortran_order"]
    rows, cols = header["shape"]
    values = struct.unpack("<%d%s" % (rows * cols, "f" if header["descr"] == "<f4" else "d"), data[start:])
    return [list(values[i * cols:(i + 1) * cols]) for i in range(rows)], header["descr"]


def random_matrix(rows, cols, seed):
    """Numbers exact in float32."""
    source = random.Random(seed)
    return [[source.randint(-2**20, 2**20) / 2**source.randint(0, 30) for _ in range(cols)] for _ in range(rows)]


class CliTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="kizami-cli-")
        self.addCleanup(scratch.cleanup)
        self.dir = Path(scratch.name)

    def file(self, name, content):
        path = self.dir / name
        path.write_bytes(content)
        return path

    def matrix(self, name, rows, **form):
        return self.file(name, npy_bytes(rows, **form))

    def run_cli(self, *args, **options):
        options.setdefault("timeout", 250)
        return subprocess.run([PROGRAM, *map(str, args)], cwd=self.dir, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, **options)

    def succeed(self, *args, **options):
        """Runs and expects exit code 0 and a silent stderr; returns stdout."""
        result = self.run_cli(*args, **options)
        self.assertEqual((result.returncode, result.stderr), (OK, ""), result)
        return result.stdout

    def gemm_json(self, *args):
        return json.loads(self.succeed("gemm", *args, "--json"))

    def expect_error(self, code, *args, says=(), **options):
        """Runs and expects an exit code, a silent stdout and one line on stderr that holds each text in `says`."""
        result = self.run_cli(*args, **options)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result)
        if IS_SANITIZED:
            result.stderr = re.sub(r"==\d+==WARNING: AddressSanitizer failed to allocate .*\n", "", result.stderr)
        self.assertRegex(result.stderr, r"\Akizami: error: [^\n]+\n\Z")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, result.stderr)
        return result.stderr

    def names(self):
        return sorted(path.name for path in self.dir.iterdir())


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
