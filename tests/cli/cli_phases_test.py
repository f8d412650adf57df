# SPDX-License-Identifier: MIT
"""The phases of calls as a profiler sees them: a library in its place (KIZAMI_TEST_RECORDER) writes the ranges down."""
import os

import cli_support
from cli_support import REFUSED, CliTest, random_matrix


class PhasesTest(CliTest):
    def setUp(self):
        super().setUp()
        self.matrix("A.npy", random_matrix(40, 70, 1))
        self.matrix("B.npy", random_matrix(70, 30, 2))
        self.matrix("F.npy", random_matrix(40, 70, 3), dtype="<f4")
        self.matrix("G.npy", random_matrix(70, 30, 4), dtype="<f4")
        wide = random_matrix(40, 70, 5)
        wide[3][5] = 1e250
        wide[7][9] = float("inf")
        self.matrix("W.npy", wide)

    def ranges(self, *args):
        """The lines that the recorder wrote."""
        path = self.dir / "ranges"
        path.unlink(missing_ok=True)
        environment = dict(os.environ, NVTX_INJECTION64_PATH=os.environ["KIZAMI_TEST_RECORDER"], KIZAMI_TEST_RANGES=str(path))
        result = self.run_cli("gemm", *args, "-q", "-o", "C.npy", env=environment)
        if result.returncode == REFUSED and "--device" in args and os.environ.get("KIZAMI_REQUIRE_GPU") != "1":
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result)
        return path.read_text().splitlines()

    def phases(self, *args):
        """Those right within one product, in the order in which they first appear: the certificate has products of its own."""
        lines = self.ranges(*args)
        self.assertEqual([line for line in lines if not line.startswith("  ")], ["gemm"], lines)
        return list(dict.fromkeys(line.strip() for line in lines if line.startswith("  ") and not line.startswith("    ")))

    def test_schemes_of_the_host(self):
        self.assertEqual(self.phases("A.npy", "B.npy"), ["statistics", "certificate", "split", "product", "reconstruction"])
        self.assertEqual(self.phases("A.npy", "B.npy", "--scheme", "native"), ["product"])
        self.assertEqual(self.phases("A.npy", "B.npy", "--scheme", "ozaki1", "--gauge", "norm"),
                         ["statistics", "certificate", "split", "product", "reconstruction"])
        self.assertEqual(self.phases("F.npy", "G.npy", "--scheme", "ec", "--reproducibility", "none"),
                         ["statistics", "certificate", "split", "product", "reconstruction"])
        self.assertIn("FP64 arithmetic", self.phases("W.npy", "B.npy"))

    def test_device(self):
        self.assertEqual(self.phases("A.npy", "B.npy", "--device")[0], "statistics")
        self.assertLessEqual({"statistics", "certificate", "product", "reconstruction", "FP64 arithmetic"},
                             set(self.phases("A.npy", "B.npy", "--device", "--scheme", "ozaki2")))
        self.assertEqual(self.phases("F.npy", "G.npy", "--device", "--scheme", "ec", "--reproducibility", "none"),
                         ["split", "certificate", "product", "FP64 arithmetic"])

    def test_bits(self):
        """A profiler changes none."""
        self.ranges("A.npy", "B.npy")
        seen = (self.dir / "C.npy").read_bytes()
        self.succeed("gemm", "A.npy", "B.npy", "-q", "-o", "C.npy")
        self.assertEqual(seen, (self.dir / "C.npy").read_bytes())
        self.assertTrue((self.dir / "ranges").read_text())


if __name__ == "__main__":
    cli_support.main()
