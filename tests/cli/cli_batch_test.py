# SPDX-License-Identifier: MIT
"""kizami gemm on batches: as numpy.matmul, and every product with the bits that it would have alone."""
import json
import os

import cli_support
from cli_support import CHECK_FAILED, MEMORY, NONFINITE, OK, SHAPES, SPOILER, USAGE, CliTest, npy_bytes, random_complex, random_matrix, read_npy, some


class BatchTest(CliTest):
    def alone(self, a, b, *args, c0=None, dtype="<f8"):
        """The product of two matrices that are no batch."""
        self.matrix("a1.npy", a, dtype=dtype)
        self.matrix("b1.npy", b, dtype=dtype)
        extra = []
        if c0:
            self.matrix("c1.npy", c0, dtype=dtype)
            extra = ["--c", "c1.npy", "--beta", "2"]
        self.succeed("gemm", "a1.npy", "b1.npy", "-o", "alone.npy", "-q", *extra, *args)
        return read_npy(self.dir / "alone.npy")[0]

    def test_forms(self):
        make = {"<f8": random_matrix, "<f4": random_matrix, "<c8": random_complex, ">c16": random_complex}
        for dtype, source in make.items():
            a = [source(4, 6, 10 + t) for t in range(3)]
            b = [source(6, 5, 20 + t) for t in range(3)]
            want = [self.alone(x, y, dtype=dtype) for x, y in zip(a, b)]
            for order_a, order_b in some(("CC", "CF", "FC", "FF"), 3):
                self.matrix("A.npy", a, dtype=dtype, order=order_a)
                self.matrix("B.npy", b, dtype=dtype, order=order_b)
                report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy")
                self.assertEqual((report["batch"], report["m"], report["n"], report["k"]), (3, 4, 5, 6))
                self.assertEqual(read_npy(self.dir / "C.npy"), (want, "<" + dtype[1:]), (dtype, order_a, order_b))
        self.assertIn("C.npy: 3 x 4 x 5 complex128, k = 6", self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy"))

    def test_broadcasting(self):
        a = [random_matrix(4, 6, 10 + t) for t in range(3)]
        b = [random_matrix(6, 5, 20 + t) for t in range(3)]
        for left, right, count in some([(a, b[0], 3), (a, b[:1], 3), (a[0], b, 3), (a[:1], b, 3), (a[:1], b[0], 1), (a[0], b[:1], 1), (a[:1], b[:1], 1)], 2):
            self.matrix("A.npy", left)
            self.matrix("B.npy", right)
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--check")
            pairs = [(a[t] if len(left) == 3 else a[0], b[t] if len(right) == 3 else b[0]) for t in range(count)]
            self.assertEqual(report["batch"], count)
            self.assertEqual(report["checked_elements"], count * 20)
            self.assertEqual(read_npy(self.dir / "C.npy")[0], [self.alone(x, y) for x, y in pairs])

    def test_ops(self):
        a = [random_complex(6, 4, 10 + t) for t in range(2)]
        b = [random_complex(5, 6, 20 + t) for t in range(2)]
        self.matrix("A.npy", a, dtype="<c16")
        self.matrix("B.npy", b, dtype="<c16", order="F")
        self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q", "--op", "ct", "--alpha", "1-i")
        want = [self.alone(x, y, "--op", "ct", "--alpha", "1-i", dtype="<c16") for x, y in zip(a, b)]
        self.assertEqual(read_npy(self.dir / "C.npy")[0], want)

    def test_beta(self):
        a = [random_matrix(4, 6, 10 + t) for t in range(3)]
        b, c = random_matrix(6, 5, 20), [random_matrix(4, 5, 30 + t) for t in range(3)]
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        for given, order in some([(c, "C"), (c, "F"), (c[:1], "C"), (c[:1], "F"), (c[0], "C"), (c[0], "F")], 5):
            self.matrix("C0.npy", given, order=order)
            self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q", "--c", "C0.npy", "--beta", "2")
            want = [self.alone(a[t], b, c0=c[t] if len(given) == 3 else c[0]) for t in range(3)]
            self.assertEqual(read_npy(self.dir / "C.npy")[0], want, order)

    def test_shapes(self):
        self.matrix("A.npy", [random_matrix(4, 6, t) for t in range(3)])
        self.matrix("B.npy", [random_matrix(6, 5, t) for t in range(2)])
        product = ("gemm", "A.npy", "B.npy", "-o", "C.npy")
        self.expect_error(SHAPES, *product, says=("A.npy is 3 x 4 x 6", "B.npy is 2 x 6 x 5", "the batches 3 and 2 must be equal, or one of them 1"))
        self.expect_error(SHAPES, *product, "--op", "tn", says=("A.npy is 3 x 4 x 6, transposed", "the inner dimensions 4 and 6"))
        self.matrix("B.npy", random_matrix(6, 5, 1))
        for c0, says in [([random_matrix(4, 5, 1)] * 2, "C0.npy is 2 x 4 x 5, must be 3 x 4 x 5"), (random_matrix(5, 4, 1), "C0.npy is 5 x 4, must be 3 x 4 x 5")]:
            self.matrix("C0.npy", c0)
            self.expect_error(SHAPES, *product, "--c", "C0.npy", "--beta", "1", says=says)
        self.matrix("A.npy", random_matrix(4, 6, 1))
        self.matrix("C0.npy", [random_matrix(4, 5, 1)])
        self.expect_error(SHAPES, *product, "--c", "C0.npy", "--beta", "1", says="C0.npy is 1 x 4 x 5, must be 4 x 5")
        self.assertFalse((self.dir / "C.npy").exists())

    def test_empty(self):
        huge = 2**62
        for a, b, c in [((0, 4, 6), (6, 5), (0, 4, 5)), ((0, 4, 6), (1, 6, 5), (0, 4, 5)), ((2, 0, 6), (2, 6, 5), (2, 0, 5)), ((huge, 0, 6), (6, 5), (huge, 0, 5)),
                        ((2, 4, 0), (2, 0, 5), (2, 4, 5))]:
            for name, shape in (("A.npy", a), ("B.npy", b)):
                size = shape[0] * shape[1] * (shape[2] if len(shape) == 3 else 1)
                self.file(name, npy_bytes([], shape=shape) + bytes(8 * size))
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--check", "--threads", "1")
            self.assertEqual(report["batch"], c[0])
            self.assertIn(f"'shape': {c},".encode(), (self.dir / "C.npy").read_bytes())
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [[[0.0] * 5] * 4] * 2)
        self.file("A.npy", npy_bytes([], shape=(huge, 6, 0), order="F"))
        self.matrix("B.npy", random_matrix(6, 5, 1))
        self.assertEqual(self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--op", "tn")["batch"], huge)
        self.file("A.npy", npy_bytes([], shape=(huge, 4, 0)))
        self.file("B.npy", npy_bytes([], shape=(0, 5)))
        self.expect_error(MEMORY, "gemm", "A.npy", "B.npy", "-o", "C.npy", says=f"{huge} x 4 x 5 elements are more than memory has addresses")

    def test_many(self):
        count = 300
        self.matrix("A.npy", [[[float(t), 1.0]] for t in range(count)])
        self.matrix("B.npy", [[2.0], [3.0]])
        self.assertEqual(self.gemm_json("A.npy", "B.npy", "-o", "C.npy")["batch"], count)
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [[[2.0 * t + 3]] for t in range(count)])

    def test_report_of_unlike_products(self):
        easy = [[1.0, 2.0], [3.0, 4.0]]
        nonfinite = [[float("nan"), 2.0], [float("inf"), 4.0]]
        self.matrix("A.npy", [easy, nonfinite, nonfinite])
        self.matrix("B.npy", easy)
        for extra in ([], ["--scheme", "native"]):
            result = self.run_cli("gemm", "A.npy", "B.npy", "-o", "C.npy", "--json", "--check", *extra)
            self.assertEqual(result.returncode, OK, result)
            self.assertIn("4 rows of op(A)", result.stderr)
            report = json.loads(result.stdout)
            self.assertEqual((report["nonfinite_rows"], report["nonfinite_cols"], report["checked_elements"]), (4, 0, 12))
            self.assertGreater(report["bound"], 0)
        self.expect_error(NONFINITE, "gemm", "A.npy", "B.npy", "-o", "D.npy", "--nonfinite", "reject", says="batch index 1: ")
        self.assertFalse((self.dir / "D.npy").exists())

    def test_matrix_market_holds_no_batch(self):
        self.matrix("A.npy", [random_matrix(4, 6, t) for t in range(3)])
        self.matrix("B.npy", random_matrix(6, 5, 1))
        self.expect_error(USAGE, "gemm", "A.npy", "B.npy", "-o", "C.mtx", says=("C.mtx", "3 x 4 x 5"))
        self.assertFalse((self.dir / "C.mtx").exists())

    def test_wrong_results_are_seen(self):
        if not SPOILER:
            self.skipTest("KIZAMI_TEST_SPOILER is not set: sanitizers do not allow preloading")
        zeros, a = [[0.0] * 7] * 5, random_matrix(5, 7, 1)
        self.matrix("A.npy", [zeros, a, a])
        self.matrix("B.npy", random_matrix(7, 6, 2))
        self.expect_error(CHECK_FAILED, "gemm", "A.npy", "B.npy", "-o", "C.npy", "--check", says=("element (1, 0, 0) of C errs by", "nothing was written"),
                          env={**os.environ, "LD_PRELOAD": SPOILER})


if __name__ == "__main__":
    cli_support.main()
