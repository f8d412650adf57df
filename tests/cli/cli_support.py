# SPDX-License-Identifier: MIT
"""What the tests of the command line share: .npy files by hand, running the program, a scratch folder for each test."""
import itertools
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

OK, INTERNAL, USAGE, BAD_INPUT, SHAPES, REFUSED, OUTPUT, MEMORY, NONFINITE, CHECK_FAILED, REPORT = range(11)
IS_SANITIZED = os.environ.get("KIZAMI_TEST_SANITIZED") == "1"
SPOILER = os.environ.get("KIZAMI_TEST_SPOILER")  # a library to preload, which makes results wrong
IS_ROOT = os.geteuid() == 0
PROGRAM = None


KINDS = {"f4": "f", "f8": "d", "c8": "f", "c16": "d"}  # of the parts


def some(cases, share):
    """Under a sanitizer, where a start of the program takes ten times as long, one case of `share`: what is printed is judged by the release build."""
    cases = list(cases)
    return cases[::share] if IS_SANITIZED else cases


def flat(nested, dims):
    """The numbers of nested lists, the last index fastest."""
    return list(nested) if dims == 1 else [x for part in nested for x in flat(part, dims - 1)]


def npy_bytes(rows, dtype="<f8", order="C", version=1, shape=None):
    """The file of a matrix given as a list of rows, or of a batch given as a list of matrices."""
    if not shape:
        is_batch = isinstance(rows[0][0], list)
        shape = (len(rows), len(rows[0]), len(rows[0][0])) if is_batch else (len(rows), len(rows[0]))
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (dtype, order == "F", tuple(shape))
    prefix = 10 if version == 1 else 12
    text += " " * (-(prefix + len(text) + 1) % 64) + "\n"
    head = b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text.encode()
    values = flat(rows, len(shape)) if rows else []
    if order == "F" and values:
        strides = [math.prod(shape[d + 1:]) for d in range(len(shape))]
        places = itertools.product(*(range(size) for size in reversed(shape)))
        values = [values[sum(i * s for i, s in zip(reversed(place), strides))] for place in places]
    if dtype[1] == "c":
        values = [part for x in values for part in (complex(x).real, complex(x).imag)]
    return head + struct.pack("%s%d%s" % (">" if dtype[0] == ">" else "<", len(values), KINDS[dtype[1:]]), *values)


def read_npy(path):
    """A C-ordered little-endian matrix or batch, as nested lists, and its dtype."""
    data = Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:start])  # written by the program under test
    assert start % 64 == 0 and data[start - 1:start] == b"\n" and not header["fortran_order"]
    dtype, shape = header["descr"], header["shape"]
    kind = KINDS[dtype[1:]]
    values = list(struct.unpack("<%d%s" % ((len(data) - start) // struct.calcsize(kind), kind), data[start:]))
    if dtype[1] == "c":
        values = [complex(*pair) for pair in zip(values[::2], values[1::2])]
    assert len(values) == math.prod(shape), (len(values), shape)
    for size in reversed(shape[1:]):
        values = [values[i:i + size] for i in range(0, len(values), size)] if size else []
    return values if values or not math.prod(shape[1:]) == 0 else [[] for _ in range(shape[0])], dtype


def random_matrix(rows, cols, seed):
    """Numbers exact in float32."""
    source = random.Random(seed)
    return [[source.randint(-2**20, 2**20) / 2**source.randint(0, 30) for _ in range(cols)] for _ in range(rows)]


def random_complex(rows, cols, seed):
    """Numbers whose parts are exact in float32."""
    parts = random_matrix(rows, 2 * cols, seed)
    return [[complex(*row[2 * j:2 * j + 2]) for j in range(cols)] for row in parts]


# What the address sanitizer says of blocks of tile kernels, which have stacks of their own (adr/0015).
SANITIZER_REMARK = re.compile(r"^==\d+==WARNING: ASan doesn't fully support makecontext/swapcontext .*\n", re.M)


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
        result = subprocess.run([PROGRAM, *map(str, args)], cwd=self.dir, capture_output=True, text=True, errors="replace",
                                stdin=subprocess.DEVNULL, **options)
        result.stderr = SANITIZER_REMARK.sub("", result.stderr)
        return result

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
        self.assertRegex(result.stderr, r"\A%s: error: [^\n]+\n\Z" % os.path.basename(PROGRAM))
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, result.stderr)
        return result.stderr

    def names(self):
        return sorted(path.name for path in self.dir.iterdir())


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
