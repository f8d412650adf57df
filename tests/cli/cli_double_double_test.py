# SPDX-License-Identifier: MIT
"""kizami gemm --dd: C in double-double, against exact rational arithmetic."""
from fractions import Fraction

import cli_support
from cli_support import BAD_INPUT, REFUSED, SHAPES, USAGE, CliTest, random_matrix, read_npy


def pairs_of(rows, seed):
    """The same numbers with low parts far below half a unit in the last place."""
    low = random_matrix(len(rows), len(rows[0]), seed)
    return [[[x, y * abs(x) * 2.0**-75 if x else 0.0] for x, y in zip(*both)] for both in zip(rows, low)]


def exact(x):
    return sum(map(Fraction, x)) if isinstance(x, list) else Fraction(x)


class DoubleDoubleTest(CliTest):
    def expect_bound(self, a, b, bits, *args):
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--dd", "--accuracy", f"bits={bits}", *args)
        self.assertEqual((report["dtype"], report["bound"]), ("dd", 2.0**-bits))
        c, dtype = read_npy(self.dir / "C.npy")
        self.assertEqual((dtype, len(c), len(c[0]), len(c[0][0])), ("<f8", len(a), len(b[0]), 2))
        for i, row in enumerate(a):
            for j in range(len(b[0])):
                terms = [exact(x) * exact(b[h][j]) for h, x in enumerate(row)]
                error = abs(sum(terms) - exact(c[i][j]))
                self.assertLessEqual(error, sum(map(abs, terms)) * Fraction(1, 2**bits))
                self.assertEqual(c[i][j][0] + c[i][j][1], c[i][j][0])
        return c

    def test_every_mix_of_operands(self):
        a, b = random_matrix(5, 40, 1), random_matrix(40, 3, 2)
        plain = self.expect_bound(a, b, 100)
        self.assertTrue(any(lo for row in plain for _, lo in row))
        with_low = self.expect_bound(pairs_of(a, 3), b, 100)
        self.assertNotEqual(plain, with_low)
        self.expect_bound(a, pairs_of(b, 4), 100)
        self.expect_bound(pairs_of(a, 3), pairs_of(b, 4), 80)

    def test_transposed(self):
        a, b = random_matrix(4, 6, 5), random_matrix(6, 3, 6)
        want = self.expect_bound(a, b, 100)
        self.matrix("A.npy", pairs_of([list(x) for x in zip(*a)], 1))
        self.matrix("At.npy", [list(x) for x in zip(*a)])
        self.succeed("gemm", "At.npy", "B.npy", "-o", "T.npy", "--dd", "--op", "tn", "--accuracy", "bits=100")
        self.assertEqual(read_npy(self.dir / "T.npy")[0], want)

    def test_refusals(self):
        self.matrix("A.npy", random_matrix(3, 3, 1))
        self.matrix("B.npy", random_matrix(4, 3, 1))
        self.matrix("F.npy", random_matrix(3, 3, 1), dtype="<f4")
        self.matrix("P.npy", [[[1.0, 1.0]] * 3] * 3)
        self.matrix("Q.npy", [[[1.0, 0.0, 0.0]] * 3] * 3)
        dd = ("-o", "C.npy", "--dd")
        self.expect_error(SHAPES, "gemm", "A.npy", "B.npy", *dd, says="inner dimensions 3 and 4 must be equal")
        self.expect_error(BAD_INPUT, "gemm", "A.npy", "F.npy", *dd, says="F.npy: dtype is f32, must be f64 for --dd")
        self.expect_error(BAD_INPUT, "gemm", "A.npy", "Q.npy", *dd, says="must be rows x columns, or rows x columns x 2")
        self.expect_error(USAGE, "gemm", "A.npy", "P.npy", *dd, says="|lo| > ulp(hi) / 2 in column 0")
        self.expect_error(USAGE, "gemm", "A.npy", "A.npy", "-o", "C.mtx", "--dd", says="--dd writes .npy files only")
        self.expect_error(REFUSED, "gemm", "A.npy", "A.npy", *dd, "--accuracy", "correct", says="not to dd")
        self.assertFalse((self.dir / "C.npy").exists())


if __name__ == "__main__":
    cli_support.main()
