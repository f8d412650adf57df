# SPDX-License-Identifier: MIT
"""kizami calibrate --device cpu: the file that it writes, who reads it, and which files nobody reads."""
import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import cli_support
from cli_support import REFUSED, USAGE, CliTest, IS_SANITIZED, some

NUMBERS = ("copy_gbs", "look_gbs", "split_ns", "narrow_crt_ns", "wide_crt_ns", "cpu_simd_share", "tile_share", "cpu_ref_share", "tc_model_share")
N = 900


class CalibrateTest(CliTest):
    @classmethod
    def setUpClass(cls):
        """One calibration for all tests."""
        scratch = tempfile.TemporaryDirectory(prefix="kizami-calibrate-")
        cls.addClassCleanup(scratch.cleanup)
        environment = dict(os.environ, XDG_CACHE_HOME=scratch.name)
        begin = time.monotonic()
        cls.result = subprocess.run([cli_support.PROGRAM, "calibrate", "--device", "cpu"], capture_output=True, text=True, env=environment,
                                    check=False, timeout=250)
        cls.seconds = time.monotonic() - begin
        cls.is_whole = cls.seconds < 15  # after which nothing further is measured
        assert cls.result.returncode == 0, cls.result
        cls.path = Path(cls.result.stdout.strip())
        cls.text = cls.path.read_text()
        cls.files = [str(path.relative_to(scratch.name)) for path in Path(scratch.name).rglob("*") if path.is_file()]

    def setUp(self):
        super().setUp()
        self.cache = self.dir / "cache"
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(self.cache))
        self.planted = self.cache / "kizami" / self.path.name

    def plant(self, text=None, **measured):
        """The file of this processor, with other numbers or another text."""
        content = json.loads(self.text)
        content["measured"].update(measured)
        self.planted.parent.mkdir(parents=True, exist_ok=True)
        self.planted.write_text(json.dumps(content) if text is None else text)

    def plan(self, *args):
        return json.loads(self.succeed("plan", N, N, N, *args, "--json", env=self.environment))

    def predicted(self, *args):
        out = self.succeed("predict", N, N, N, "--device", "cpu", *args, "--json", env=self.environment)
        return {row["scheme"]: row for row in map(json.loads, out.splitlines())}

    def calibration(self):
        return json.loads(self.succeed("info", "--json", env=self.environment))["machine"]["calibration"]

    def test_file(self):
        self.assertEqual(self.files, [f"kizami/{self.path.name}"])
        self.assertRegex(self.path.name, r"\Aprocessor-[A-Za-z0-9-]+-\d+\.v1\.json\Z")
        if not IS_SANITIZED:
            self.assertLess(self.seconds, 25)
        content = json.loads(self.text)
        self.assertEqual((content["format"], "kizami " + content["kizami"] + "\n"), (1, self.succeed("--version")))
        machine = json.loads(self.succeed("info", "--json"))["machine"]
        self.assertEqual((content["threads"], content["blas"]), (machine["threads"], machine["native"]))
        for value in content["measured"].values():
            if not isinstance(value, list):
                self.assertGreater(value, 0)
        self.assertIn("copy_gbs", content["measured"])
        if content["threads"] == 1:
            self.assertNotIn("thread_start_us", content["measured"])
        if not self.is_whole:
            return
        self.assertLessEqual(set(NUMBERS), set(content["measured"]))
        for scalar in ("f64", "f32"):
            sizes = [n for n, _ in content["measured"][f"native_{scalar}_gmacs"]]
            self.assertEqual(sizes, sorted(set(sizes)))
            self.assertGreaterEqual(len(sizes), 2)

    def test_progress(self):
        if not self.is_whole:
            self.skipTest(f"{self.seconds:.0f} s: other programs have the processors, and the last numbers are left out")
        for text in ("copy ", "look at exponents ", "split ", "CRT ", "cpu_simd ", "tile ", "cpu_ref ", "tc_model ", "BLAS, FP64 ", "BLAS, FP32 "):
            self.assertRegex(self.result.stderr, "(?m)^" + text)
        for line in self.result.stderr.splitlines():
            self.assertRegex(line, r"\d")

    def test_is_read(self):
        self.assertIn("kizami calibrate --device cpu", self.calibration())
        self.assertIn("kizami calibrate --device cpu", self.predicted()["native"]["doubts"][0])
        self.plant()
        self.assertEqual(self.calibration(), str(self.planted))
        self.assertEqual(self.predicted()["native"]["doubts"], [])
        self.assertIn("kizami calibrate --device cpu", self.predicted("--basis", "sheet")["native"]["doubts"][0])

    def test_nothing_is_written_unasked(self):
        self.plan()
        self.predicted()
        self.calibration()
        self.assertFalse(self.cache.exists())

    def test_rates_change_predictions_and_the_choice(self):
        before = self.predicted()
        self.plant(native_f64_gmacs=[[64, 0.001]])
        self.assertAlmostEqual(self.predicted()["native"]["phases"][0]["seconds"] * json.loads(self.text)["threads"], N**3 / 1e6)
        self.assertEqual(self.plan("--reproducibility", "none")["scheme"], "ozaki2")
        self.plant(native_f64_gmacs=[[64, 1e5]])
        self.assertLess(self.predicted()["native"]["seconds"], before["native"]["seconds"])
        self.assertEqual(self.plan("--reproducibility", "none")["scheme"], "native")
        sheet = self.predicted("--basis", "sheet")
        for scheme in ("native", "ozaki2"):
            self.assertEqual(sheet[scheme]["seconds"], before[scheme]["seconds"])
        self.plant(split_ns=100)
        split, = (phase for phase in self.predicted()["ozaki2"]["phases"] if phase["phase"] == "split")
        self.assertGreater(split["seconds"], 0.01)

    def test_bits_that_are_promised_stay(self):
        usual = self.plan()
        for rate in (0.001, 1e5):
            self.plant(native_f64_gmacs=[[64, rate]], cpu_simd_share=0.01, split_ns=50)
            plan = self.plan()
            self.assertEqual((plan["scheme"], plan["numerics_hash"]), (usual["scheme"], usual["numerics_hash"]))

    def test_files_that_are_left_out(self):
        before = self.plan("--reproducibility", "none")["predicted_seconds"]
        content = json.loads(self.text)
        content["measured"].update(native_f64_gmacs=[[64, 0.001]], split_ns=100)
        for text, says in some(((self.text[:100], "no JSON"), ("", "no JSON"), (json.dumps(content | {"format": 0}), "of another format (format = 0, here 1)"),
                           (json.dumps(content | {"kizami": "0.0.1"}), "measured by another version"),
                           (json.dumps(content | {"processor": "Z80"}), "of another processor (processor = \"Z80\""),
                           (json.dumps(content | {"threads": 999}), "of other threads"), (json.dumps(content | {"blas": "other"}), "with another BLAS"),
                           (json.dumps(content | {"measured": {"split_ns": -1}}), "split_ns = -1, must be above 0")), 3):
            with self.subTest(says=says):
                self.plant(text)
                for command in (("plan", N, N, N, "--reproducibility", "none", "--json"), ("predict", N, N, N, "--device", "cpu")):
                    result = self.run_cli(*command, env=self.environment)
                    self.assertEqual(result.returncode, 0, result)
                    self.assertRegex(result.stderr, r"\Akizami: note: [^\n]+ is left out: [^\n]+; kizami calibrate --device cpu makes it anew\n\Z")
                    self.assertIn(says, result.stderr)
                    if command[0] == "plan":
                        self.assertEqual(json.loads(result.stdout)["predicted_seconds"], before)
                self.assertIn(says, self.calibration())
        self.planted.unlink()
        (self.planted.parent / "processor-Z80-1.v1.json").write_text(json.dumps(content))  # nobody opens it
        self.assertEqual(self.plan("--reproducibility", "none")["predicted_seconds"], before)
        self.assertIn("none", self.calibration())

    @unittest.skipIf(IS_SANITIZED, "seconds of the code of test_file")
    def test_threads_have_files_of_their_own(self):
        environment = self.environment | {"KIZAMI_THREADS": "1"}
        result = self.run_cli("calibrate", "--device", "cpu", env=environment)
        self.assertRegex(result.stdout, r"-1\.v1\.json\n\Z")
        self.assertEqual(json.loads(Path(result.stdout.strip()).read_text())["threads"], 1)

    def test_prediction(self):
        for scalar, scheme in (("f64", "ozaki2"), ("c128", "ozaki2"), ("f32", "native"), ("c64", "native")):
            row, = self.predicted("--type", scalar, "--scheme", scheme).values()
            self.assertAlmostEqual(sum(phase["seconds"] for phase in row["phases"]), row["seconds"])
            self.assertAlmostEqual(row["computation_seconds"] + row["data_handling_seconds"], row["seconds"])
            self.assertAlmostEqual(row["tflops"] * row["seconds"] * 1e12 / ((8 if scalar[0] == "c" else 2) * N**3), 1)
        plan = self.plan()
        row = self.predicted("--scheme", "ozaki2")["ozaki2"]
        self.assertEqual((row["seconds"], row["products"]), (plan["predicted_seconds"], plan["base_moduli"]))
        self.assertEqual(self.predicted("--scheme", "ozaki2", "--moduli", 10)["ozaki2"]["products"], 10)
        text = self.succeed("predict", N, N, N, "--device", "cpu,h200", env=self.environment)
        self.assertRegex(text, r"(?m)^cpu: ozaki2, program kizami, engine \w+ \(\d+ real products\)$")
        self.assertIn("h200: native", text)

    def test_refusals(self):
        on = ("predict", 9, 9, 9, "--device", "cpu")
        for args, code, says in (((*on, "--scheme", "ef_s"), REFUSED, "of a processor native and ozaki2 are predicted"),
                                 ((*on, "--program", "gemmul8"), REFUSED, "program = gemmul8"),
                                 ((*on, "--scheme", "ozaki2", "--format", "fp8"), REFUSED, "format = fp8"),
                                 ((*on, "--share", 2), USAGE, "--share is of GPUs"),
                                 (("calibrate", "--device", "gpu"), USAGE, "--device = 'gpu'")):
            self.expect_error(code, *args, says=says)
        bare = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
        self.expect_error(REFUSED, "calibrate", "--device", "cpu", says="neither XDG_CACHE_HOME nor HOME names a folder", env=bare)


if __name__ == "__main__":
    cli_support.main()
