# SPDX-License-Identifier: MIT
"""kizami gemm computes the right thing, in every form of the files, and says what it did."""
import itertools
import json
import math
from fractions import Fraction

import cli_support
from cli_support import CHECK_FAILED, NONFINITE, OK, REFUSED, CliTest, npy_bytes, random_matrix, read_npy, some

KEYS = ["output", "batch", "m", "n", "k", "dtype", "scheme", "engine", "variant", "moduli", "rung", "equilibrated", "repaired", "bound", "gauge", "seconds",
        "threads", "nonfinite_rows", "nonfinite_cols"]


def transposed(x):
    return [list(column) for column in zip(*x)]


def exact(a, b, alpha=1, beta=0, c=None):
    """alpha A B + beta C and |alpha| |A||B| + |beta| |C|, as fractions."""
    out, gauge = [], []
    for i, row in enumerate(a):
        out.append([])
        gauge.append([])
        for j in range(len(b[0])):
            terms = [Fraction(x) * Fraction(b[l][j]) * Fraction(alpha) for l, x in enumerate(row)]
            terms += [Fraction(beta) * Fraction(c[i][j])] if c else []
            out[-1].append(sum(terms))
            gauge[-1].append(sum(map(abs, terms)))
    return out, gauge


class GemmTest(CliTest):
    def assert_close(self, got, want, gauge, bound):
        for i, row in enumerate(want):
            for j, value in enumerate(row):
                self.assertLessEqual(abs(Fraction(got[i][j]) - value), Fraction(bound) * gauge[i][j], (i, j))

    def test_forms_of_files(self):
        a, b = random_matrix(5, 7, 1), random_matrix(7, 3, 2)
        want, gauge = exact(a, b)
        results = {}
        for dtype, order, version in some(itertools.product(("<f4", "<f8", ">f4", ">f8"), "CF", (1, 2, 3)), 5):
            self.matrix("A.npy", a, dtype=dtype, order=order, version=version)
            self.matrix("B.npy", b, dtype=dtype, order="C", version=version)
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy")
            got, written = read_npy(self.dir / "C.npy")
            self.assertEqual(written, "<f" + dtype[-1])
            self.assertEqual((report["dtype"], report["batch"]), ({"4": "f32", "8": "f64"}[dtype[-1]], None))
            self.assert_close(got, want, gauge, report["bound"])
            self.assertEqual(results.setdefault(dtype[-1], got), got)

    def test_ops(self):
        a, b = random_matrix(4, 6, 3), random_matrix(6, 5, 4)
        self.matrix("nA.npy", a)
        self.matrix("nB.npy", b)
        self.matrix("tA.npy", transposed(a))
        self.matrix("tB.npy", transposed(b))
        self.succeed("gemm", "nA.npy", "nB.npy", "-o", "want.npy")
        for op in ("nn", "nt", "tn", "tt"):
            flags = [f"--trans-{x}" for x, o in zip("ab", op) if o == "t"]
            conjugated = op.replace("n", "r").replace("t", "c")  # the same for real types
            for form in (["--op", op], ["--op", conjugated], flags):
                self.succeed("gemm", op[0] + "A.npy", op[1] + "B.npy", "-o", "C.npy", *form)
                self.assertEqual((self.dir / "C.npy").read_bytes(), (self.dir / "want.npy").read_bytes(), (op, form))

    def test_alpha_and_beta(self):
        a, b, c = random_matrix(4, 6, 5), random_matrix(6, 5, 6), random_matrix(4, 5, 7)
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        want, gauge = exact(a, b, -0.5, 3, c)
        for order in "CF":
            self.matrix("C0.npy", c, order=order)
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--alpha", "-0.5", "--beta", "3", "--c", "C0.npy", "--check")
            self.assert_close(read_npy(self.dir / "C.npy")[0], want, gauge, report["bound"] + 2**-51)
            self.assertLessEqual(report["error_over_bound"], 1)
        self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--alpha", "0")
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [[0.0] * 5] * 4)

    def test_report(self):
        self.matrix("A.npy", random_matrix(6, 9, 8))
        self.matrix("B.npy", random_matrix(9, 4, 9))
        plain = self.gemm_json("A.npy", "B.npy", "-o", "C.npy")
        for key in KEYS:
            self.assertIn(key, plain)
        self.assertNotIn("error", plain)
        self.assertEqual((plain["m"], plain["n"], plain["k"], plain["output"]), (6, 4, 9, "C.npy"))
        self.assertEqual((plain["scheme"], plain["gauge"], plain["reproducibility"]), ("ozaki2", "entry", "engine"))
        checked = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--check")
        self.assertEqual(checked["checked_elements"], 24)
        self.assertLessEqual(checked["error"], checked["bound"])
        self.assertLessEqual(checked["error_over_bound"], 1)
        text = self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "--check")
        for part in ("C.npy", "ozaki2", "guaranteed", "checked"):
            self.assertIn(part, text)
        self.assertEqual(self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "--quiet"), "")

    def test_accuracy_is_kept(self):
        a, b = random_matrix(8, 64, 10), random_matrix(64, 8, 11)
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        want, gauge = exact(a, b)
        for bits in (10, 30, 52):
            for name in ("entry", "norm"):
                report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--accuracy", f"bits={bits}", "--gauge", name)
                self.assertLessEqual(report["bound"], 2.0**-bits)
                self.assertEqual(report["gauge"], name)
                if name == "entry":
                    self.assert_close(read_npy(self.dir / "C.npy")[0], want, gauge, report["bound"])

    def test_correct_rounding(self):
        a, b = random_matrix(5, 40, 16), random_matrix(40, 4, 17)
        for row in a:  # products that cancel, so that roundings show
            row += [-x * (1 + 2**-20) for x in row]
        b += [list(row) for row in b]
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        want = exact(a, b)[0]
        report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--accuracy", "correct", "--check")
        self.assertEqual(report["accuracy"], "correct")
        self.assertIn("guaranteed: the exact product, rounded once", self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "--accuracy", "correct"))
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [[float(x) for x in row] for row in want])
        self.gemm_json("A.npy", "B.npy", "-o", "D.npy", "--accuracy", "bits=45", "--gauge", "norm")
        self.assertNotEqual(read_npy(self.dir / "D.npy")[0], read_npy(self.dir / "C.npy")[0])
        self.expect_error(REFUSED, "gemm", "A.npy", "B.npy", "-o", "D.npy", "--accuracy", "correct", "--alpha", "2", says="alpha")

    def test_equal_bits(self):
        a, b = random_matrix(33, 65, 12), random_matrix(65, 17, 13)
        for dtype in ("<f4", "<f8"):
            self.matrix("A.npy", a, dtype=dtype)
            self.matrix("B.npy", b, dtype=dtype, order="F")
            results, hashes = set(), set()
            for extra in some(([], [], ["--threads", "1"], ["--threads", "3"], ["--engine", "cpu_ref"], ["--engine", "cpu_simd"], ["--engine", "tile"],
                               ["--engine", "cpu_ref", "--threads", "2"], ["--workspace", "64M"]), 3):
                report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", *extra)
                if "--engine" in extra:
                    self.assertEqual(report["engine"], extra[1])
                if "--threads" in extra:
                    self.assertEqual(report["threads"], int(extra[-1]))
                results.add((self.dir / "C.npy").read_bytes())
                hashes.add(report["numerics_hash"])
            self.assertEqual((len(results), len(hashes)), (1, 1))

    def test_native(self):
        self.matrix("A.npy", random_matrix(6, 9, 8))
        self.matrix("B.npy", random_matrix(9, 4, 9))
        for extra in (["--scheme", "native"], ["--engine", "native_blas"]):
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--check", *extra)
            self.assertEqual((report["scheme"], report["engine"], report["moduli"]), ("native", "native_blas", 0))
            self.assertLessEqual(report["error_over_bound"], 1)

    def test_error_corrected(self):
        A, B = ([[x * 2.0**-8 for x in row] for row in random_matrix(*shape)] for shape in ((20, 300, 8), (300, 14, 9)))
        self.matrix("A.npy", A, dtype="<f4")
        self.matrix("B.npy", B, dtype="<f4")
        for extra, variant in (([], "scaled"), (["--variant", "halfhalf", "--keep-small-term", "--promotion-k", 128], "halfhalf"), (["--variant", "tf32tf32"], "tf32tf32"),
                               (["--variant", "bf16x6", "--tensor-core", "ampere"], "bf16x6"), (["--variant", "markidis", "--engine", "tc_model"], "markidis")):
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--scheme", "ec", "--check", *extra)
            self.assertEqual((report["scheme"], report["engine"], report["variant"], report["moduli"], report["reproducibility"]), ("ec", "tc_model", variant, 0, "none"))
            self.assertLessEqual(report["error_over_bound"], 1)
        self.assertIn("scheme ec, variant scaled, engine tc_model", self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "--scheme", "ec"))
        # Beyond the range of FP16 as given: another variant answers, unless the arithmetic itself is asked for.
        self.matrix("A.npy", [[x * 2.0**-50 for x in row] for row in A], dtype="<f4")
        self.assertEqual(self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--scheme", "ec", "--variant", "halfhalf", "--check")["variant"], "scaled")
        report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--scheme", "ec", "--variant", "halfhalf", "--check-range=0")
        self.assertEqual(report["variant"], "halfhalf")

    def test_moduli(self):
        self.matrix("A.npy", random_matrix(6, 9, 8))
        self.matrix("B.npy", random_matrix(9, 4, 9))
        report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--moduli", "12", "--gauge", "norm", "--check")
        self.assertEqual((report["moduli"], report["gauge"]), (12, "norm"))
        self.assertLessEqual(report["error_over_bound"], 1)

    def test_empty_shapes(self):
        self.file("A.npy", npy_bytes([], shape=(3, 0)))
        self.file("B.npy", npy_bytes([], shape=(0, 2)))
        self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--check")
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [[0.0, 0.0]] * 3)
        self.file("A.npy", npy_bytes([], shape=(0, 4)))
        self.file("B.npy", npy_bytes([[1.0, 2.0]] * 4))
        for accuracy in ("native", "correct"):
            report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--check", "--accuracy", accuracy)
            self.assertEqual(report["checked_elements"], 0)
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [])

    def test_native_out_of_range(self):
        tiny = [[2.0**-664]]  # its square underflows, and alpha would make that a number again
        self.matrix("A.npy", tiny)
        self.matrix("B.npy", tiny)
        call = ["gemm", "A.npy", "B.npy", "-o", "C.npy", "--alpha", str(2.0**996), "--check"]
        result = self.run_cli(*call, "--json", "--scheme", "native")
        self.assertEqual(result.returncode, CHECK_FAILED, result)
        self.assertIs(json.loads(result.stdout)["is_conditional"], True)
        self.assertFalse((self.dir / "C.npy").exists())
        report = self.gemm_json(*call[1:], "--reproducibility", "none")
        self.assertEqual((report["scheme"], report["is_conditional"]), ("ozaki2", False))
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [[2.0**-332]])
        # Where only the bound is in doubt, the text says so.
        text = self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "--scheme", "native")
        self.assertIn("guaranteed only where nothing overflows or underflows", text)

    def expect_out_of_range(self, a, b, want, error_over_bound, *extra):
        """Scheme native fails its check, and a planner that may choose takes another, whose C is within its bound of `want`."""
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        call = ["gemm", "A.npy", "B.npy", "-o", "C.npy", "--check", *extra]
        for reproducibility in ([], ["--reproducibility", "none"]):
            result = self.run_cli(*call, "--json", "--scheme", "native", *reproducibility)
            self.assertEqual(result.returncode, CHECK_FAILED, result)
            report = json.loads(result.stdout)
            self.assertEqual((report["scheme"], report["is_conditional"]), ("native", True))
            self.assertGreaterEqual(float(report["error_over_bound"]), error_over_bound)
            self.assertFalse((self.dir / "C.npy").exists())
            report = self.gemm_json(*call[1:], *reproducibility)
            self.assertEqual((report["scheme"], report["is_conditional"]), ("ozaki2", False))
            got = read_npy(self.dir / "C.npy")[0]
            gauge = sum(abs(Fraction(x) * Fraction(row[0])) for x, row in zip(a[0], b)) * abs(Fraction(float(extra[1]) if extra else 1))
            self.assertLessEqual(abs(Fraction(got[0][0]) - want), Fraction(report["bound"]) * gauge + Fraction(5e-324))
            (self.dir / "C.npy").unlink()

    def test_native_sums_of_terms_that_underflow(self):
        a, b = [[2.0**-538] * 1000], [[0.8 * 2.0**-537]] * 1000
        self.expect_out_of_range(a, b, 1000 * Fraction(a[0][0]) * Fraction(b[0][0]), 100)

    def test_native_sums_of_terms_that_overflow(self):
        # Infinite for 1: beside |A||B| = 2e400 any number is within the bound, but no number is infinite.
        a, b = [[1e200, -1e200, 1.0]], [[1e200], [1e200], [1.0]]
        self.expect_out_of_range(a, b, Fraction(1), math.inf)
        self.expect_out_of_range([[1e200, -1e200, 1e-300]], [[1e200], [1e200], [1e300]], Fraction(1e-300) * Fraction(1e300),
                                 math.inf)

    def test_native_products_that_alpha_brings_back(self):
        for value, alpha in ((1e200, 1e-300), (1e-200, 1e300)):
            want = Fraction(alpha) * Fraction(value)**2
            self.expect_out_of_range([[value]], [[value]], want, 1e15, "--alpha", repr(alpha))

    def test_native_sums_that_are_infinite(self):
        # Where the exact sum rounds to infinity, so may what is computed.
        self.matrix("A.npy", [[1e200, 1e200]])
        self.matrix("B.npy", [[1e200], [1e150]])
        report = self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--check", "--scheme", "native")
        self.assertEqual((report["is_conditional"], read_npy(self.dir / "C.npy")[0]), (True, [[math.inf]]))

    def test_nonfinite(self):
        a, b = random_matrix(4, 6, 14), random_matrix(6, 5, 15)
        a[1][2], b[3][0] = math.nan, math.inf
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        for extra in ([], ["--scheme", "native"]):
            result = self.run_cli("gemm", "A.npy", "B.npy", "-o", "C.npy", "--json", "--check", *extra)
            self.assertEqual(result.returncode, OK, result)
            self.assertRegex(result.stderr, r"\Akizami: note: NaN or Inf in 1 row of op\(A\) and 1 column of op\(B\)[^\n]*\n\Z")
            report = json.loads(result.stdout)
            self.assertEqual((report["nonfinite_rows"], report["nonfinite_cols"]), (1, 1))
            c = read_npy(self.dir / "C.npy")[0]
            self.assertTrue(all(math.isnan(x) for x in c[1]))
            self.assertTrue(all(math.isinf(c[i][0]) and not math.isinf(c[i][1]) for i in (0, 2, 3)))
        self.assertEqual(self.run_cli("gemm", "A.npy", "B.npy", "-o", "C.npy", "--quiet").stderr, "")
        before = (self.dir / "C.npy").read_bytes()
        self.expect_error(NONFINITE, "gemm", "A.npy", "B.npy", "-o", "C.npy", "--nonfinite", "reject")
        self.assertEqual((self.dir / "C.npy").read_bytes(), before)

    def test_output_may_be_an_input(self):
        a, b = ([[float((i * 7 + j * 3 + seed) % 11 - 5) for j in range(5)] for i in range(5)] for seed in (0, 4))
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy")
        want = (self.dir / "C.npy").read_bytes()
        for name in ("A.npy", "B.npy"):
            self.matrix("A.npy", a)
            self.matrix("B.npy", b)
            self.succeed("gemm", "A.npy", "B.npy", "-o", name)
            self.assertEqual((self.dir / name).read_bytes(), want)
        self.matrix("A.npy", a)
        self.matrix("B.npy", b)
        self.gemm_json("A.npy", "B.npy", "-o", "C.npy", "--c", "C.npy", "--beta", "-1")
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [[0.0] * 5] * 5)


if __name__ == "__main__":
    cli_support.main()
