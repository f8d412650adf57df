# SPDX-License-Identifier: MIT
"""--device. Where there is a CUDA device, it gives the host's bits; else every command says that there is none. With
KIZAMI_REQUIRE_GPU=1 there must be one."""
import json
import os

import cli_support
from cli_support import MEMORY, REFUSED, USAGE, CliTest, random_complex, random_matrix, read_npy

NO_DEVICE = r"^kizami: error: --device: (no CUDA device is found|this program was built without CUDA)"


class DeviceTest(CliTest):
    def setUp(self):
        super().setUp()
        self.matrix("A.npy", random_matrix(40, 70, 1))
        self.matrix("B.npy", random_matrix(70, 30, 2))

    def succeed_there(self, *args):
        """stdout of the command; skips the rest of the test where there is no device, after the refusal that it must be then."""
        result = self.run_cli(*args)
        if result.returncode == REFUSED and os.environ.get("KIZAMI_REQUIRE_GPU") != "1":
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, NO_DEVICE)
            self.skipTest(result.stderr)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        return result.stdout

    def same_as_host(self, *args, option=("--device",)):
        """The report of `kizami gemm ARGS`, whose C has the bits that this host gives it."""
        there = json.loads(self.succeed_there("gemm", *args, *option, "-o", "there.npy", "--check", "--json"))
        here = self.gemm_json(*args, "-o", "here.npy")
        self.assertEqual((self.dir / "there.npy").read_bytes(), (self.dir / "here.npy").read_bytes(), args)
        self.assertEqual(there["numerics_hash"], here["numerics_hash"])
        self.assertEqual((here["device"], there["threads"]), (None, None))
        self.assertTrue(there["device"])
        self.assertLessEqual(there["error_over_bound"], 1)
        self.assertGreaterEqual(there["seconds"], 0)
        for key in ("batch", "m", "n", "k", "dtype", "op", "alpha", "beta", "accuracy", "scheme", "moduli", "rung", "repaired", "bound", "gauge"):
            self.assertEqual(there[key], here[key], key)
        return there

    def test_options_that_mean_nothing_there(self):
        """Refused before a device is looked for."""
        product = ("gemm", "A.npy", "B.npy", "-o", "C.npy", "--device")
        for command in (product, ("plan", 9, 9, 9, "--device"), ("bench", "--device")):
            self.expect_error(USAGE, *command, "--threads", 2, says=("--threads", "--device"))
        for command in (("plan", 9, 9, 9, "--device"), ("bench", "--device")):
            self.expect_error(USAGE, *command, "--dtype", "dd", says=("--dtype = dd", "--device"))
        self.expect_error(USAGE, *product, "--dd", says=("--dd", "--device"))
        self.expect_error(USAGE, *product, "--c", "C.npy", says="--beta")
        self.assertEqual(self.names(), ["A.npy", "B.npy"])

    def test_numbers(self):
        """Of a device of this machine, with or without =; the current one without a number."""
        for command in (("plan", 9, 9, 9), ("gemm", "A.npy", "B.npy", "-o", "C.npy"), ("bench", "--sizes", 8), ("check", "d nn 5x7x9"),
                        ("check", "--campaign", "--count", 2)):
            self.expect_error(USAGE, *command, "--device", 5000, says=("--device = '5000'", "0..1023"))
            self.expect_error(USAGE, *command, "--device=x", says="--device = 'x'")
            for option in (("--device", 1000), ("--device=1000",)):
                self.assertRegex(self.expect_error(REFUSED, *command, *option), NO_DEVICE + r"|^kizami: error: --device = 1000, this machine has \d+$")
        self.succeed_there("plan", "--device", 9, 9, 9)
        for option in (("--device", 0), ("--device=0",)):
            self.same_as_host("A.npy", "B.npy", option=option)
            self.assertRegex(self.succeed_there("check", *option, "d nn 5x7x9"), r"(?m)^\d+ equal, .* 0 failed$")
        self.assertEqual(self.succeed_there("plan", "--device", 0, 9, 9, 9), self.succeed("plan", 9, 9, 9, "--device"))

    def test_room(self):
        """What cannot fit is refused with sizes and the limit, before anything is multiplied."""
        n = 2**24
        self.succeed_there("plan", 9, 9, 9, "--device")
        for command in (("plan", n, n, n, "--device"), ("check", "--device", f"d nn {n}x{n}x{n}")):
            self.expect_error(MEMORY, *command, says=("6.0 PiB", "A 2.0 PiB", "B 2.0 PiB", "C 2.0 PiB", "GiB are free"))
        self.expect_error(MEMORY, "bench", "--sizes", 131072, "--dtype", "c128", "--device", says=("768.0 GiB", "A 256.0 GiB"))

    def test_without_a_device(self):
        """The refusal of every command is the same, and comes before files are read or written."""
        for command in (("check", "d nn 5x7x9"), ("check", "--campaign", "--count", 5), ("plan", 9, 9, 9), ("plan", 9, 9, 9, "--json"),
                        ("gemm", "absent.npy", "B.npy", "-o", "C.npy"), ("bench", "--sizes", 64, "--json", "bench.jsonl")):
            if self.run_cli("plan", 9, 9, 9, "--device").returncode == 0:
                self.skipTest("there is a device")
            self.assertRegex(self.expect_error(REFUSED, *command, "--device"), NO_DEVICE)
        self.assertEqual(self.names(), ["A.npy", "B.npy"])

    def test_check(self):
        self.assertRegex(self.succeed_there("check", "--device", "d nn 5x7x9"), r"(?m)^\d+ equal, .* 0 failed$")
        self.assertRegex(self.succeed_there("check", "--device", "--campaign", "--count", 5), r"(?m)^\d+ equal, .* 0 failed$")

    def test_predict(self):
        """A number is a device of this machine: the same as its name, where there is a description of it."""
        name = json.loads(self.succeed_there("plan", 9, 9, 9, "--device", "--json"))["device"]
        result = self.run_cli("predict", 4096, 4096, 4096, "--device", 0, "--json")
        if result.returncode == USAGE:
            self.assertIn(f"is an {name}, of which there is no description", result.stderr)
        else:
            self.assertEqual(result.stdout, self.succeed("predict", 4096, 4096, 4096, "--device", name, "--json"))
        self.expect_error(REFUSED, "predict", 1, 1, 1, "--device", 1000, says="--device = 1000, this machine has ")

    def test_calibrate(self):
        """What it measures is a description, which predict reads."""
        result = self.run_cli("calibrate", "--output", "card.json")
        if result.returncode == REFUSED and os.environ.get("KIZAMI_REQUIRE_GPU") != "1":
            self.assertRegex(result.stderr, NO_DEVICE)
            self.assertFalse((self.dir / "card.json").exists())
            self.skipTest(result.stderr)
        self.assertEqual((result.returncode, result.stdout), (0, "card.json\n"), result)
        measured = json.loads((self.dir / "card.json").read_text())["measured"]
        for fact in ("copy_tbs", "launch_us", "int8_tops", "mma_share", "fp64_tensor_tflops", "fp32_tflops"):
            self.assertGreater(measured[fact]["value"], 0, fact)
            self.assertIn(fact, result.stderr)
        self.succeed("predict", 4096, 4096, 4096, "--device", "card.json")

    def test_plan(self):
        plan = json.loads(self.succeed_there("plan", 4096, 4096, 4096, "--device", "--json"))
        self.assertEqual((plan["scheme"], plan["m"], plan["dtype"]), ("ozaki2", 4096, "f64"))
        self.assertTrue(plan["device"])
        self.assertIn(plan["engine"], self.succeed("plan", 4096, 4096, 4096, "--device"))
        here = json.loads(self.succeed("plan", 4096, 4096, 4096, "--json"))
        self.assertIsNone(here["device"])
        self.assertEqual(plan["numerics_hash"], here["numerics_hash"])
        native = json.loads(self.succeed("plan", 64, 64, 64, "--device", "--scheme", "native", "--json"))
        self.assertEqual((native["scheme"], native["engine"]), ("native", "cublas"))
        self.expect_error(REFUSED, "plan", 9, 9, 9, "--device", "--accuracy", "correct", says="accuracy = correct")
        self.expect_error(REFUSED, "plan", 9, 9, 9, "--device", "--engine", "cpu_ref", says="cpu_ref")

    def test_gemm(self):
        self.matrix("C0.npy", random_matrix(40, 30, 3))
        self.same_as_host("A.npy", "B.npy")
        self.same_as_host("A.npy", "B.npy", "--accuracy", "bits=30", "--alpha", -1.5, "--beta", 0.25, "--c", "C0.npy")
        self.same_as_host("B.npy", "A.npy", "--op", "tt", "--gauge", "norm")
        self.matrix("F.npy", random_matrix(70, 30, 4), dtype="<f4", order="F")
        self.matrix("G.npy", random_matrix(70, 20, 5), dtype="<f4")
        self.same_as_host("F.npy", "G.npy", "--op", "tn", "--scheme", "ozaki2", "--workspace", "64M")
        text = self.succeed_there("gemm", "A.npy", "B.npy", "-o", "C.npy", "--device")
        self.assertRegex(text, r"; [0-9.e-]+ s on \S")

    def test_complex_and_batches(self):
        self.matrix("Z.npy", random_complex(25, 33, 6), dtype="<c16")
        self.matrix("W.npy", random_complex(25, 17, 7), dtype="<c16")
        self.same_as_host("Z.npy", "W.npy", "--op", "cn", "--alpha", "1-2i")
        self.matrix("many.npy", [random_matrix(9, 70, seed) for seed in range(3)])
        self.matrix("lines.npy", [random_matrix(9, 70, seed) for seed in range(3)], order="F")
        for name in ("many.npy", "lines.npy"):
            self.assertEqual(self.same_as_host(name, "B.npy")["batch"], 3)
        self.matrix("empty.npy", [], shape=(0, 70))
        self.same_as_host("many.npy", "B.npy", "--alpha", 0)
        self.succeed_there("gemm", "empty.npy", "B.npy", "-o", "C.npy", "--device")
        self.assertEqual(read_npy(self.dir / "C.npy")[0], [])

    def test_native(self):
        """cuBLAS, where it is found."""
        self.succeed_there("plan", 9, 9, 9, "--device")
        result = self.run_cli("gemm", "A.npy", "B.npy", "-o", "C.npy", "--device", "--scheme", "native", "--check", "--json")
        if result.returncode == REFUSED:
            self.assertIn("libcublas", result.stderr)
            self.skipTest(result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual((report["scheme"], report["engine"]), ("native", "cublas"))
        self.assertLessEqual(report["error_over_bound"], 1)

        bench = ("bench", "--device", "--sizes", "64,300", "--rounds", 2, "--json", "bench.jsonl")
        text = self.succeed(*bench, "--dtype", "f64") + self.succeed(*bench, "--dtype", "c64")
        for title in ("f64  n = 64", "c64  n = 300", "native cuBLAS", "bits=40", "no bits promised"):
            self.assertIn(title, text)
        lines = [json.loads(line) for line in (self.dir / "bench.jsonl").read_text().splitlines()]
        self.assertEqual({line["dtype"] for line in lines}, {"f64", "c64"})
        for line in lines:
            self.assertGreater(line["seconds_median"], 0)
            self.assertTrue(line["device"] and line["driver"])
            self.assertNotIn("threads", line)


if __name__ == "__main__":
    cli_support.main()
