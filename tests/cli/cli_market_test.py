# SPDX-License-Identifier: MIT
"""kizami gemm on Matrix Market files: told by their content, written by their name, refused by line and value."""
import os
import random
import struct

import cli_support
from cli_support import BAD_INPUT, MEMORY, OUTPUT, SHAPES, CliTest, random_complex, random_matrix, read_npy


def market_bytes(rows):
    """An array file of a matrix given as a list of rows."""
    is_complex = isinstance(rows[0][0], complex)
    lines = [f"%%MatrixMarket matrix array {'complex' if is_complex else 'real'} general", f"{len(rows)} {len(rows[0])}"]
    lines += [f"{x.real!r} {x.imag!r}" if is_complex else repr(x) for column in zip(*rows) for x in column]
    return ("\n".join(lines) + "\n").encode()


def read_market(path):
    """A general array file, as a list of rows and its field."""
    lines = path.read_text().split("\n")
    banner = lines[0].split()
    assert banner[:3] == ["%%MatrixMarket", "matrix", "array"] and banner[4:] == ["general"] and lines[-1] == "", lines[0]
    rows, cols = map(int, lines[1].split())
    values = [float(line) if banner[3] == "real" else complex(*map(float, line.split())) for line in lines[2:-1]]
    assert len(values) == rows * cols
    return [values[i::rows] for i in range(rows)], banner[3]


class MarketTest(CliTest):
    def product(self, a, b, *extra):
        """C of two files, through .npy."""
        self.succeed("gemm", a, b, "-o", "C.npy", "-q", *extra)
        return read_npy(self.dir / "C.npy")[0]

    def test_reads_what_npy_holds(self):
        for source, dtype in ((random_matrix, "<f8"), (random_complex, "<c16")):
            a, b, c = source(4, 6, 1), source(6, 5, 2), source(4, 5, 3)
            for name, x in (("A", a), ("B", b), ("C0", c)):
                self.matrix(name + ".npy", x, dtype=dtype)
                self.file(name + ".mtx", market_bytes(x))
            want = self.product("A.npy", "B.npy", "--c", "C0.npy", "--beta", "2")
            for files in (("A.mtx", "B.mtx", "--c", "C0.mtx"), ("A.mtx", "B.npy", "--c", "C0.npy"), ("A.npy", "B.mtx", "--c", "C0.mtx")):
                self.assertEqual(self.product(*files, "--beta", "2"), want)
            self.assertEqual(self.product("A.npy", "A.mtx", "--op", "nt"), self.product("A.npy", "A.npy", "--op", "nt"))

    def test_content_decides(self):
        self.file("A.npy", market_bytes([[3.0]]))
        self.matrix("B.mtx", [[5.0]])
        self.assertEqual(self.product("A.npy", "B.mtx"), [[15.0]])

    def test_coordinates_and_symmetries(self):
        one = {"real": "1", "integer": "1", "complex": "1 0"}
        for field, symmetry, body, want in [
                ("real", "general", "2 2 3\n1 2 1.5\n2 1 -1\n1 2 2", [[0, 3.5], [-1, 0]]),
                ("integer", "symmetric", "2 2 2\n2 1 7\n1 1 3", [[3, 7], [7, 0]]),
                ("real", "skew-symmetric", "2 2 1\n2 1 7", [[0, -7], [7, 0]]),
                ("complex", "hermitian", "2 2 2\n2 1 1 2\n2 2 4 0", [[0, 1 - 2j], [1 + 2j, 4]]),
                ("complex", "symmetric", "2 2 1\n2 1 1 2", [[0, 1 + 2j], [1 + 2j, 0]])]:
            self.file("A.mtx", f"%%MatrixMarket matrix coordinate {field} {symmetry}\n% comment\n\n{body}\n".encode())
            self.file("I.mtx", f"%%MatrixMarket matrix array {field} general\n2 2\n{one[field]}\n".encode()
                      + (b"0 0\n0 0\n1 0\n" if field == "complex" else b"0\n0\n1\n"))
            self.assertEqual(self.product("A.mtx", "I.mtx"), want)

    def test_writes(self):
        for source, dtype, field in ((random_matrix, "<f4", "real"), (random_matrix, "<f8", "real"), (random_complex, "<c8", "complex"), (random_complex, "<c16", "complex")):
            self.matrix("A.npy", source(4, 6, 1), dtype=dtype)
            self.matrix("B.npy", source(6, 5, 2), dtype=dtype)
            self.succeed("gemm", "A.npy", "B.npy", "-o", "C.mtx", "-q")
            self.assertEqual(read_market(self.dir / "C.mtx"), (self.product("A.npy", "B.npy"), field), dtype)

    def test_round_trip_of_bits(self):
        source = random.Random(5)
        values = [struct.unpack("<d", source.randbytes(8))[0] for _ in range(300)]
        values = [x for x in values if x == x] + [0.0, 5e-324, float("inf"), 1.7976931348623157e308]
        self.matrix("A.npy", [[x] for x in values])
        self.matrix("B.npy", [[1.0]])
        self.run_cli("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q")  # products of 1 are exact
        self.run_cli("gemm", "A.npy", "B.npy", "-o", "C.mtx", "-q")
        self.run_cli("gemm", "C.mtx", "B.npy", "-o", "D.npy", "-q")
        self.assertEqual([x for x, in read_npy(self.dir / "D.npy")[0]], values)
        self.assertEqual((self.dir / "D.npy").read_bytes(), (self.dir / "C.npy").read_bytes())

    def test_large_output(self):
        n = 130  # more text than is written at a time
        self.matrix("A.npy", random_matrix(n, 3, 1))
        self.matrix("B.npy", random_matrix(3, n, 2))
        self.succeed("gemm", "A.npy", "B.npy", "-o", "C.mtx", "-q")
        self.assertGreater(os.path.getsize(self.dir / "C.mtx"), 2**16)
        self.assertEqual(read_market(self.dir / "C.mtx")[0], self.product("A.npy", "B.npy"))

    def test_short_output(self):
        """What is reserved on the disk is never more than what is written."""
        self.matrix("A.npy", [[0.0] * 9] * 9)
        self.succeed("gemm", "A.npy", "A.npy", "-o", "C.mtx", "-q")
        self.assertEqual((self.dir / "C.mtx").read_bytes(), b"%%MatrixMarket matrix array real general\n9 9\n" + b"0\n" * 81)
        self.matrix("A.npy", [[0j] * 9] * 9, dtype="<c8")
        self.succeed("gemm", "A.npy", "A.npy", "-o", "C.mtx", "-q")
        self.assertEqual((self.dir / "C.mtx").read_bytes(), b"%%MatrixMarket matrix array complex general\n9 9\n" + b"0 0\n" * 81)

    def test_refusals(self):
        self.matrix("B.npy", [[1.0]])
        head = b"%%MatrixMarket matrix "
        for data, says in [
                (b"%%MatrixMarkt matrix array real general\n1 1\n1\n", "not a .npy file and no Matrix Market file"),
                (b"1 1 1\n", "neither \\x93NUMPY nor %%MatrixMarket"),
                (head + b"array real\n", "line 1: the banner"),
                (head + b"coordinate pattern general\n1 1 1\n1 1\n", "line 1: field = pattern"),
                (head + b"array real general\n", "ends before the size line"),
                (head + b"array real general\n% x\n1 y\n1\n", "line 3: 'y' is not an integer"),
                (head + b"array real general\n1 1\n1.5x\n", "line 3: '1.5x' is not a number"),
                (head + b"array real general\n1 1\n\x1b[31m\n", "line 3: '\\x1b[31m'"),
                (head + b"array real general\n2 2\n1\n2\n3.00\n", "after 3 of 4 entries"),
                (head + b"array real general\n1 1\n1\n2\n", "line 4: unexpected text"),
                (head + b"array real general\n99999999 99999999\n1\n", "truncated: 9999999800000001 entries"),
                (head + b"coordinate real general\n3 3 1\n4 1 1\n", "line 3: row '4' is out of range; allowed: 1..3"),
                (head + b"coordinate real general\n9999999999 9999999999 1\n1 1 1\n", "more than memory has addresses"),
                (head + b"coordinate real general\n1 1 999999999999\n1 1 1\n", "999999999999 entries are announced"),
        ]:
            with self.subTest(says=says):
                self.file("bad.mtx", data)
                stderr = self.expect_error(BAD_INPUT, "gemm", "bad.mtx", "B.npy", "-o", "C.npy", says=("bad.mtx: ", says))
                self.assertNotIn("\x1b", stderr)
        self.assertFalse((self.dir / "C.npy").exists())

    def test_huge_dimensions(self):
        self.matrix("B.npy", [[1.0]])
        self.file("huge.mtx", b"%%MatrixMarket matrix coordinate real general\n1000000000 1000000 1\n1 1 1\n")
        self.expect_error(MEMORY, "gemm", "huge.mtx", "B.npy", "-o", "C.npy",
                          says=("huge.mtx: 1000000000 x 1000000 take 7.1 PiB as the dense matrix", "are available"))

    def test_types_and_shapes(self):
        self.file("A.mtx", market_bytes([[1.0, 2.0]]))
        self.matrix("B.npy", [[1.0], [2.0]], dtype="<f4")
        self.expect_error(BAD_INPUT, "gemm", "A.mtx", "B.npy", "-o", "C.npy", says=("A.mtx is float64", "B.npy is float32"))
        self.file("B.mtx", market_bytes([[1j], [2j]]))
        self.expect_error(BAD_INPUT, "gemm", "A.mtx", "B.mtx", "-o", "C.npy", says=("A.mtx is float64", "B.mtx is complex128"))
        self.expect_error(SHAPES, "gemm", "A.mtx", "A.mtx", "-o", "C.npy", says="the inner dimensions 2 and 1")

    def test_full_disk(self):
        self.file("A.mtx", market_bytes([[1.0]]))
        os.symlink("/dev/full", self.dir / "C.mtx")
        self.expect_error(OUTPUT, "gemm", "A.mtx", "A.mtx", "-o", "C.mtx", says="No space left")


if __name__ == "__main__":
    cli_support.main()
