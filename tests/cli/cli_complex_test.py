# SPDX-License-Identifier: MIT
"""kizami gemm on complex types: every op, scalars as text, files of both orders, and what is said of them."""
import cmath
import json
from fractions import Fraction

import cli_support
from cli_support import NONFINITE, OK, REFUSED, USAGE, CliTest, npy_bytes, random_complex, read_npy, some

UNITS = {"c8": 2.0**-24, "c16": 2.0**-53}


class Exact:
    """A complex number of fractions."""

    def __init__(self, x):
        self.re, self.im = Fraction(complex(x).real), Fraction(complex(x).imag)

    def times(self, other):
        out = Exact(0)
        out.re, out.im = self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        return out


def applied(op, x):
    """op(X) of a list of rows."""
    if op in "tc":
        x = [list(column) for column in zip(*x)]
    return [[value.conjugate() for value in row] for row in x] if op in "cr" else x


class ComplexTest(CliTest):
    def operands(self, dtype="<c16", m=4, k=6, n=5, order="C"):
        a, b = random_complex(m, k, 1), random_complex(k, n, 2)
        self.matrix("A.npy", a, dtype=dtype, order=order)
        self.matrix("B.npy", b, dtype=dtype, order=order)
        return a, b

    def assert_product(self, a, b, bound, alpha=1, beta=0, c=None, name="C.npy"):
        """|C - (alpha A B + beta C0)| <= bound (|alpha||A||B| + |beta||C0|), with moduli taken from above by 1-norms."""
        got = read_npy(self.dir / name)[0]
        self.assertEqual((len(got), len(got[0])), (len(a), len(b[0])))
        size = lambda x: abs(Fraction(complex(x).real)) + abs(Fraction(complex(x).imag))
        for i, row in enumerate(a):
            for j in range(len(b[0])):
                terms = [Exact(alpha).times(Exact(x)).times(Exact(b[l][j])) for l, x in enumerate(row)]
                gauge = sum(size(alpha) * size(x) * size(b[l][j]) for l, x in enumerate(row))
                if c:
                    terms.append(Exact(beta).times(Exact(c[i][j])))
                    gauge += size(beta) * size(c[i][j])
                error = [abs(Fraction(got[i][j].real) - sum(t.re for t in terms)), abs(Fraction(got[i][j].imag) - sum(t.im for t in terms))]
                self.assertLessEqual(sum(error), 2 * Fraction(bound) * gauge, (i, j))

    def test_forms_of_files(self):
        results = {}
        for dtype in ("<c8", "<c16", ">c8", ">c16"):
            for order in "CF":
                a, b = self.operands(dtype, order=order)
                report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy")
                got, written = read_npy(self.dir / "C.npy")
                self.assertEqual(written, "<" + dtype[1:])
                self.assertEqual(report["dtype"], {"c8": "c64", "c16": "c128"}[dtype[1:]])
                self.assertEqual((report["alpha"], report["beta"], report["op"]), ([1.0, 0.0], [0.0, 0.0], "nn"))
                self.assertLess(report["bound"], 100 * UNITS[dtype[1:]])
                self.assert_product(a, b, report["bound"] + UNITS[dtype[1:]])
                self.assertEqual(results.setdefault(dtype[1:], got), got)
        self.assertIn("4 x 5 complex128", self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy"))

    def test_ops(self):
        a, b = self.operands()
        self.succeed("gemm", "A.npy", "B.npy", "-o", "want.npy", "-q")
        for op_a in "ntcr":
            for op_b in "ntcr":
                self.matrix("X.npy", applied(op_a, a), dtype="<c16")  # each op undoes itself
                self.matrix("Y.npy", applied(op_b, b), dtype="<c16")
                report = self.gemm_json("X.npy", "Y.npy", "-o", "C.npy", "--op", op_a + op_b)
                self.assertEqual(report["op"], op_a + op_b)
                self.assertEqual((self.dir / "C.npy").read_bytes(), (self.dir / "want.npy").read_bytes(), op_a + op_b)
        self.assert_product(a, b, report["bound"] + UNITS["c16"], name="want.npy")

    def test_scalars(self):
        a, b = self.operands()
        c = random_complex(4, 5, 3)
        for order in "CF":
            self.matrix("C0.npy", c, dtype="<c16", order=order)
            for text, value in some([("1.5-2i", 1.5 - 2j), ("1.5-2j", 1.5 - 2j), ("-0.5", -0.5), ("2i", 2j), ("-i", -1j), ("j", 1j), ("1+j", 1 + 1j),
                                ("25e-1+1E+1i", 2.5 + 10j), ("-1e-1-.5j", complex(-1e-1, -.5)), ("+3i", 3j), ("0", 0)], 4):
                with self.subTest(text=text, order=order):
                    args = ("A.npy", "B.npy", "-o", "C.npy", "--c", "C0.npy")
                    report = self.gemm_json(*args, f"--alpha={text}", "--beta=1")
                    self.assertEqual((report["alpha"], report["beta"]), ([value.real, value.imag], [1, 0]))
                    self.assert_product(a, b, report["bound"] + 16 * UNITS["c16"], value, 1, c)
                    report = self.gemm_json(*args, f"--beta={text}")
                    self.assertEqual((report["alpha"], report["beta"]), ([1, 0], [value.real, value.imag]))
                    self.assert_product(a, b, report["bound"] + 16 * UNITS["c16"], 1, value, c)
        text = self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "--alpha", "i")
        self.assertIn("before alpha and beta", text)

    def test_nonfinite_scalars(self):
        self.operands()
        for text, parts in [("nan", ["nan", 0]), ("inf+nanj", ["inf", "nan"]), ("1-infi", [1, "-inf"]), ("-infi", [0, "-inf"])]:
            self.assertEqual(self.gemm_json("A.npy", "B.npy", "-o", "C.npy", f"--alpha={text}")["alpha"], parts)
        self.assertTrue(all(not cmath.isfinite(x) for row in read_npy(self.dir / "C.npy")[0] for x in row))

    def test_scalars_of_the_type(self):
        self.operands("<c8")
        self.assertEqual(self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--alpha", "0.1-0.5i")["alpha"], [0.10000000149011612, -0.5])
        for text in ("1e39", "1e39i", "1-1e39j"):
            self.expect_error(USAGE, "gemm", "A.npy", "B.npy", "-o", "C.npy", f"--alpha={text}", says=(f"--alpha = {text}", "beyond float32"))

    def test_malformed_scalars(self):
        self.operands()
        for text in some(("1-2", "1-2k", "1--2i", "1+-2i", "1-2i3", "1 -2i", "(1-2j)", "1i2i", "2*i", "1e5+i+i", "xi", "1-xj", "e+i", "1e999i", "--i", "ii", "+-i", "++i", "1e+i", "1++i", "1-+i", "i1", "+"), 3):
            with self.subTest(text=text):
                self.expect_error(USAGE, "gemm", "A.npy", "B.npy", "-o", "C.npy", f"--alpha={text}", says="--alpha = '")
        self.assertFalse((self.dir / "C.npy").exists())

    def test_accuracy_and_bits(self):
        a, b = self.operands(m=9, k=33, n=7)
        results = set()
        for extra in ([], ["--threads", "1"], ["--engine", "cpu_ref"], ["--engine", "cpu_simd", "--threads", "3"], ["--engine", "tile"]):
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--accuracy", "bits=40", *extra)
            self.assertLessEqual(report["bound"], 2.0**-40)
            results.add((self.dir / "C.npy").read_bytes())
        self.assertEqual(len(results), 1)
        self.assert_product(a, b, report["bound"])

    def test_nonfinite(self):
        a, b = random_complex(4, 6, 1), random_complex(6, 5, 2)
        a[1][2], b[3][0] = complex(0, float("nan")), complex(float("inf"), 1)
        self.matrix("A.npy", a, dtype="<c16")
        self.matrix("B.npy", b, dtype="<c16")
        for extra in ([], ["--scheme", "native"]):
            result = self.run_cli("gemm", "A.npy", "B.npy", "-o", "C.npy", "--json", *extra)
            self.assertEqual(result.returncode, OK, result)
            self.assertRegex(result.stderr, r"\Akizami: note: NaN or Inf in 1 row of op\(A\) and 1 column of op\(B\)[^\n]*\n\Z")
            c = read_npy(self.dir / "C.npy")[0]
            self.assertEqual([[cmath.isfinite(x) for x in row] for row in c],
                             [[False] + [True] * 4, [False] * 5] + [[False] + [True] * 4] * 2)
            self.assertEqual(json.loads(result.stdout)["nonfinite_rows"], 1)
        self.expect_error(NONFINITE, "gemm", "A.npy", "B.npy", "-o", "C.npy", "--nonfinite", "reject")

    def test_empty(self):
        self.file("A.npy", npy_bytes([], shape=(3, 0), dtype="<c8"))
        self.file("B.npy", npy_bytes([], shape=(0, 2), dtype="<c8"))
        self.gemm_json("A.npy", "B.npy", "-o", "C.npy")
        self.assertEqual(read_npy(self.dir / "C.npy"), ([[0j, 0j]] * 3, "<c8"))

    def test_check(self):
        for dtype in ("<c8", "<c16"):
            self.operands(dtype, m=40, n=3)
            self.matrix("C0.npy", random_complex(40, 3, 3), dtype=dtype)
            for extra in ([], ["--alpha", "1-2i", "--beta", "i", "--c", "C0.npy"], ["--gauge", "norm"], ["--scheme", "native"], ["--accuracy", "bits=20"]):
                report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--check", *extra)
                self.assertEqual(report["checked_elements"], 32 * 3)
                self.assertLessEqual(report["error_over_bound"], 1)
                self.assertGreater(report["error"], 0)

    def test_error_corrected(self):
        scaled = [[[x * 2.0**-20 for x in row] for row in random_complex(*shape)] for shape in ((12, 300, 1), (300, 9, 2))]
        for name, rows in zip(("A.npy", "B.npy"), scaled):
            self.matrix(name, rows, dtype="<c8")
        for extra, gauge in (([], "entry"), (["--gauge", "norm", "--karatsuba"], "norm"), (["--alpha", "1-2i", "--op", "nn"], "entry")):
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--scheme", "ec", "--check", *extra)
            self.assertEqual((report["scheme"], report["variant"], report["gauge"]), ("ec", "scaled", gauge))
            self.assertLessEqual(report["error_over_bound"], 1)
        self.expect_error(REFUSED, "gemm", "A.npy", "B.npy", "-o", "C.npy", "--scheme", "ec", "--karatsuba", says="karatsuba: gauge = entry for c64, must be norm")


if __name__ == "__main__":
    cli_support.main()
