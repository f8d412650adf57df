# SPDX-License-Identifier: MIT
"""Every documented exit code of kizami gemm is reached, by one line on stderr that names what is wrong; C.npy never changes."""
import os
import resource
import subprocess

import cli_support
from cli_support import BAD_INPUT, IS_ROOT, IS_SANITIZED, MEMORY, NONFINITE, OK, REFUSED, SHAPES, USAGE, CliTest, npy_bytes, random_matrix, some

GOOD = ("gemm", "A.npy", "B.npy", "-o", "C.npy")


class ErrorsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.matrix("A.npy", random_matrix(4, 6, 1))
        self.matrix("B.npy", random_matrix(6, 5, 2))
        self.file("C.npy", b"precious")

    def tearDown(self):
        self.assertEqual((self.dir / "C.npy").read_bytes(), b"precious")
        self.assertFalse([name for name in self.names() if name.startswith(".")])

    def test_usage(self):
        for args, says in some([
                ((), "no command; allowed: gemm, plan, check"),
                (("gemn",), "unknown command 'gemn'; allowed: gemm, plan, check"),
                (("--frobnicate",), "--frobnicate"),
                (("gemm",), "A is required"),
                (("gemm", "A.npy"), "B is required"),
                (("gemm", "A.npy", "B.npy"), "--output is required"),
                ((*GOOD, "extra"), "extra"),
                ((*GOOD, "--frobnicate"), "--frobnicate"),
                ((*GOOD, "--engine", "gpu"), ("--engine = 'gpu'", "must be one of auto, cpu_ref, cpu_simd, native_blas")),
                ((*GOOD, "--scheme", "ozaki9"), ("--scheme = 'ozaki9'", "must be one of auto, native, ozaki2, ec, ozaki1")),
                ((*GOOD, "--gauge", "row"), ("--gauge = 'row'", "must be one of entry, norm")),
                ((*GOOD, "--reproducibility", "yes"), ("--reproducibility = 'yes'", "must be one of none, engine")),
                ((*GOOD, "--op", "nq"), ("--op = 'nq'", "allowed: two letters of n, t, c, r")),
                ((*GOOD, "--op", "n"), "--op = 'n'"),
                ((*GOOD, "--op", "nnn"), "--op = 'nnn'"),
                ((*GOOD, "--op", "nt", "--trans-b"), "--op and --trans-a or --trans-b"),
                ((*GOOD, "--accuracy", "good"), ("--accuracy = 'good'", "must be one of native, correct, bits=N")),
                ((*GOOD, "--accuracy", "bits=60"), ("bits = 60, must be in 1..52 for f64", "--accuracy correct", "gemm --dd")),
                ((*GOOD, "--acuracy", "bits=40"), "gemm has no option '--acuracy'; did you mean --accuracy?"),
                ((*GOOD, "-acuracy", "bits=40"), "gemm has no option '-acuracy'; did you mean --accuracy?"),
                ((*GOOD, "--acc", "bits=40"), "gemm has no option '--acc'; did you mean --accuracy?"),
                ((*GOOD, "-z"), "gemm has no option '-z'; see kizami gemm --help"),
                (("gmm", "A.npy"), "did you mean gemm?"),
                ((*GOOD, "--sliceformat=int8"), "gemm has no option '--sliceformat'; did you mean --slice-format?"),
                (("gemm", "A.npy", "B.npy", "-o", "-"), "--output = '-', must name a file"),
                (("gemm", "A.npy", "B.npy", "-o", "D.csv"), "--output = 'D.csv': .csv is not written, must be .npy, or .mtx"),
                (("gemm", "A.npy", "B.npy", "-o", "x.d/D.npz"), "--output = 'x.d/D.npz': .npz is not written"),
                ((*GOOD, "--dd", "--beta", "1", "--c", "A.npy"), "--dd takes neither --beta nor --c"),
                ((*GOOD, "--dd", "--check"), "--dd takes no --check"),
                ((*GOOD, "--dd", "--accuracy", "bits=101"), "N in 1..100"),
                ((*GOOD, "--accuracy", "bits=0"), "N in 1..100"),
                ((*GOOD, "--accuracy", "bits=99999999999"), "N in 1..100"),
                ((*GOOD, "--threads", "-1"), "must be in 0..32767"),
                ((*GOOD, "--threads", "two"), "--threads = 'two', must be in 0..32767"),
                ((*GOOD, "--moduli", "1000"), "--moduli = '1000'"),
                ((*GOOD, "--workspace", "lots"), "--workspace = 'lots'"),
                ((*GOOD, "--alpha", "x"), "--alpha = 'x' is not a number"),
                ((*GOOD, "--alpha", "1-2i"), ("--alpha = 1-2i is complex", "the matrices are real")),
                ((*GOOD, "--beta", "1+i", "--c", "A.npy"), ("--beta = 1+i is complex", "the matrices are real")),
                ((*GOOD, "--beta", "1+i"), ("--beta = 1+i", "--c")),
                ((*GOOD, "--alpha", "1e999"), "--alpha = '1e999'"),
                ((*GOOD, "--beta", "1"), ("--beta = 1", "--c")),
                ((*GOOD, "--c", "C0.npy"), "--beta"),
        ], 4):
            with self.subTest(args=args):
                self.expect_error(USAGE, *args, says=says)

    def test_old_flags_are_understood(self):
        """With a note that says the word of today; the product is that of today's option."""
        for old, new in (("--refuse-fp64", "--fp64 refuse"), ("--reject-nonfinite", "--nonfinite reject"), ("--any-range", "--check-range=0"),
                         ("--one-scale", "--slice-scale matrix")):
            scheme = {"--any-range": ("--scheme", "ec", "--variant", "halfhalf"), "--one-scale": ("--scheme", "ozaki1", "--slices", "7")}.get(old, ())
            by_old = self.run_cli("plan", 9, 9, 9, "--dtype", "f32", *scheme, old)
            by_new = self.run_cli("plan", 9, 9, 9, "--dtype", "f32", *scheme, *new.split())
            self.assertEqual((by_old.returncode, by_new.returncode, by_new.stderr), (OK, OK, ""))
            self.assertEqual(by_old.stderr, f"kizami: note: {old} is now {new}\n")
            self.assertEqual(by_old.stdout, by_new.stdout)

    def test_float32_limits(self):
        self.matrix("A.npy", random_matrix(4, 6, 1), dtype="<f4")
        self.matrix("B.npy", random_matrix(6, 5, 2), dtype="<f4")
        self.expect_error(USAGE, *GOOD, "--alpha", "1e300", says="beyond float32")
        self.expect_error(USAGE, *GOOD, "--accuracy", "bits=24", says="23")

    def test_unreadable_inputs(self):
        self.expect_error(BAD_INPUT, "gemm", "absent.npy", "B.npy", "-o", "C.npy", says=("absent.npy", "No such file"))
        self.expect_error(BAD_INPUT, "gemm", "A.npy", self.dir, "-o", "C.npy", says="directory")
        self.expect_error(BAD_INPUT, "gemm", "A.npy/x", "B.npy", "-o", "C.npy", says="Not a directory")
        self.expect_error(BAD_INPUT, "gemm", "/dev/zero", "B.npy", "-o", "C.npy", says="not a regular file")
        os.mkfifo(self.dir / "fifo")
        self.expect_error(BAD_INPUT, "gemm", "fifo", "B.npy", "-o", "C.npy", says="not a regular file", timeout=20)
        self.expect_error(BAD_INPUT, "gemm", "A.npy", "B.npy", "--c", "absent.npy", "--beta", "1", "-o", "C.npy", says="absent.npy")
        if not IS_ROOT:
            os.chmod(self.dir / "B.npy", 0)
            self.expect_error(BAD_INPUT, *GOOD, says="Permission denied")

    def test_damaged_inputs(self):
        good = npy_bytes(random_matrix(4, 6, 1))
        text = good[10:128]

        def shaped(shape):
            return good[:10] + text.replace(b"(4, 6)", shape).strip().ljust(117) + b"\n" + good[128:]

        for name, data, says in [
                ("empty", b"", "not a .npy file"),
                ("text", b"1 2 3\n", "not a .npy file"),
                ("cut in the magic", good[:5], "not a .npy file"),
                ("cut in the header", good[:60], "truncated"),
                ("cut in the data", good[:-1], "truncated: shape = (4, 6)"),
                ("no data", good[:128], "truncated"),
                ("too long", good + b"\n", "unexpected bytes at the end"),
                ("other version", good[:6] + b"\x09" + good[7:], "format version 9.0"),
                ("long header", good[:6] + b"\x02\0\xff\xff\xff\xff" + text, "header length = 4294967295"),
                ("huge", shaped(b"(4000000000, 6)"), "truncated: shape = (4000000000, 6)"),
                ("overflowing", shaped(b"(1000000000000000000, 16)"), "more elements"),
                ("negative", shaped(b"(4, -6)"), "-6, must be >= 0"),
                ("one dimension", shaped(b"(24,)"), "1 dimension"),
                ("four dimensions", shaped(b"(1, 1, 4, 6)"), "4 dimensions"),
                ("huge batch", shaped(b"(9000000000, 4, 6)"), "truncated: shape = (9000000000, 4, 6)"),
                ("overflowing batch", shaped(b"(1000000000000000000, 4, 6)"), "more elements"),
                ("integers", good.replace(b"<f8", b"<i8"),
                 "dtype = '<i8' is int64, must be float32, float64, complex64 or complex128; use astype(\"float64\")"),
                ("bytes", good.replace(b"<f8", b"|u1"), "dtype = '|u1' is uint8, must be float32"),
                ("truths", good.replace(b"<f8", b"|b1"), "dtype = '|b1' is bool, must be float32"),
                ("halves", good.replace(b"<f8", b">f2"), "dtype = '>f2' is float16, must be float32"),
                ("objects", good.replace(b"'<f8'", b"'|O' "), "dtype = '|O', must be '<f4'"),
                ("wide complex", good.replace(b"<f8'", b"<c32'").replace(b" \n", b"\n", 1), "is clongdouble, must be float32, float64, complex64 or "
                 "complex128; use astype(\"complex128\")"),
                ("half the complex", good.replace(b"<f8'", b"<c16'").replace(b" \n", b"\n", 1), "complex128 takes 384 bytes, but 192"),
                ("nested", good[:10] + b"(" * 118 + good[128:], "nested deeper"),
                ("unclosed", good.replace(b"<f8'", b"<f8 "), "damaged header"),
                ("no keys", good[:10] + b"{}".ljust(118) + good[128:], "'descr' is missing"),
                ("control characters", good.replace(b"<f8", b"\x1b[2"), "\\x1b"),
        ]:
            with self.subTest(name=name):
                self.file("bad.npy", data)
                self.expect_error(BAD_INPUT, "gemm", "A.npy", "bad.npy", "-o", "C.npy", says=("bad.npy", says))
                if not IS_SANITIZED:  # the same reader
                    self.expect_error(BAD_INPUT, "gemm", "bad.npy", "B.npy", "-o", "C.npy", says=("bad.npy", says))

    def test_types_must_agree(self):
        self.matrix("B.npy", random_matrix(6, 5, 2), dtype="<f4")
        self.expect_error(BAD_INPUT, *GOOD, says=("A.npy is float64", "B.npy is float32"))
        for dtype, name in (("<c8", "complex64"), (">c16", "complex128")):
            self.matrix("B.npy", random_matrix(6, 5, 2), dtype=dtype)
            self.expect_error(BAD_INPUT, *GOOD, says=("A.npy is float64", f"B.npy is {name}"))
        self.matrix("A.npy", random_matrix(4, 6, 1), dtype="<c8")
        self.expect_error(BAD_INPUT, *GOOD, says=("A.npy is complex64", "B.npy is complex128"))
        self.matrix("B.npy", random_matrix(6, 5, 2), dtype="<c8")
        self.expect_error(BAD_INPUT, *GOOD, "--c", "real.npy", "--beta", "1", says="real.npy")
        self.matrix("real.npy", random_matrix(4, 5, 3), dtype="<f4")
        self.expect_error(BAD_INPUT, *GOOD, "--c", "real.npy", "--beta", "1", says=("A.npy is complex64", "real.npy is float32"))

    def test_shapes(self):
        self.expect_error(SHAPES, *GOOD, "--op", "tn", says=("A.npy is 4 x 6, transposed", "B.npy is 6 x 5", "4 and 6"))
        self.expect_error(SHAPES, "gemm", "A.npy", "A.npy", "-o", "C.npy", says=("6 and 4"))
        self.matrix("C0.npy", random_matrix(5, 4, 3))
        self.expect_error(SHAPES, *GOOD, "--c", "C0.npy", "--beta", "1", says=("C0.npy is 5 x 4", "4 x 5"))
        self.file("tall.npy", npy_bytes([], shape=(2**40, 0)))
        self.file("none.npy", npy_bytes([], shape=(0, 3)))
        self.expect_error(SHAPES, "gemm", "tall.npy", "none.npy", "-o", "C.npy", says="1099511627776")

    def test_refusals(self):
        self.expect_error(REFUSED, *GOOD, "--scheme", "native", "--accuracy", "bits=52")
        self.expect_error(REFUSED, *GOOD, "--scheme", "native", "--engine", "cpu_ref")
        self.expect_error(REFUSED, *GOOD, "--scheme", "ozaki2", "--engine", "native_blas")
        self.expect_error(REFUSED, *GOOD, "--scheme", "native", "--reproducibility", "engine")
        self.expect_error(REFUSED, *GOOD, "--scheme", "ec", says="computes f32 and c64, got f64")
        self.expect_error(REFUSED, "plan", 9, 9, 999, "--dtype", "f32", "--scheme", "ec", "--reproducibility", "engine", says="which reproducibility engine excludes")
        self.expect_error(REFUSED, *GOOD, "--variant", "halfhalf", says="variant = halfhalf and its settings need scheme ec, got auto")
        self.expect_error(USAGE, *GOOD, "--scheme", "ec", "--variant", "half", says=("--variant = 'half'", "must be one of auto, scaled, halfhalf"))

    def test_memory(self):
        self.file("tall.npy", npy_bytes([], shape=(2**20, 0)))
        self.file("wide.npy", npy_bytes([], shape=(0, 2**20)))
        self.expect_error(MEMORY, "gemm", "tall.npy", "wide.npy", "-o", "C.npy", says="8.0 TiB")
        self.file("tall.npy", npy_bytes([], shape=(2**33, 0)))
        self.file("wide.npy", npy_bytes([], shape=(0, 2**33)))
        self.expect_error(MEMORY, "gemm", "tall.npy", "wide.npy", "-o", "C.npy", says="more than memory has addresses")
        self.expect_error(MEMORY, *GOOD, "--workspace", "1", says=("workspace limit = 1 bytes, must be >= ", "; --workspace sets the limit"))
        self.expect_error(MEMORY, "plan", 1, 1, 200000000, says=("workspace limit = 1073741824 bytes (the default)", "; --workspace sets the limit"))
        self.expect_error(MEMORY, "plan", 1, 1, 200000000, "--reproducibility", "none", says=("(the default)", "; scheme native: guarantees"))

    def test_memory_of_a_plan(self):
        """A plan takes no memory for what it plans, refused or not: 2 GB here."""
        if IS_SANITIZED:
            self.skipTest("sanitizers take memory of their own")
        for options, code in ((), MEMORY), (("--workspace", "3000000000"), OK):
            with open(os.devnull, "w") as nothing:
                child = subprocess.Popen([cli_support.PROGRAM, "plan", "1", "1", "200000000", *options], stdout=nothing, stderr=nothing)
            status, usage = os.wait4(child.pid, 0)[1:]
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, code)
            self.assertLess(usage.ru_maxrss, 200 << 10)  # KiB

    def test_memory_limit(self):
        if IS_SANITIZED:
            self.skipTest("sanitizers reserve terabytes of addresses")
        big = self.file("big.npy", npy_bytes([], shape=(2**15, 2**15)))
        os.truncate(big, 128 + 2**33)  # sparse
        limit = (2**32, 2**32)
        self.expect_error(MEMORY, "gemm", "big.npy", "B.npy", "-o", "C.npy", says=("big.npy", "8.0 GiB"),
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))

    def test_check_with_little_memory(self):
        """Engine tile has no room for the stacks of its kernels: the case passes, and is not repeated by it."""
        if IS_SANITIZED:
            self.skipTest("sanitizers reserve terabytes of addresses")
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (280 << 20, 280 << 20)), "timeout": 60}
        self.assertIn("1 passed, 0 failed", self.succeed("check", "d nn 9x9x9 seed=1", **limited))

    def test_nonfinite(self):
        self.matrix("A.npy", [[float("nan")] * 6] * 4)
        for scheme in ("auto", "native"):
            self.expect_error(NONFINITE, *GOOD, "--nonfinite", "reject", "--scheme", scheme, says="4 rows of op(A)")

    def test_hostile_names(self):
        stderr = self.expect_error(BAD_INPUT, "gemm", "a\nb\x1b[31m.npy", "B.npy", "-o", "C.npy")
        self.assertNotIn("\x1b", stderr)


if __name__ == "__main__":
    cli_support.main()
