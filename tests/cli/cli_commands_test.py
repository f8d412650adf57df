# SPDX-License-Identifier: MIT
"""kizami plan, check, info, help and --version."""
import json
import os
import re

import cli_support
from cli_support import BAD_INPUT, CHECK_FAILED, IS_SANITIZED, OK, REFUSED, SPOILER, USAGE, CliTest, random_matrix, some

CASES = ["d nn 5x7x9 a=1 b=0", "s tt 33x17x65 a=-1 b=0.5 A=exprand:phi=2 B=randn ld+3", "d nt 16x16x300 a=1 b=0 gauge=norm",
         "d nn 4x4x4 a=1 b=0 A=randn,nan@middle B=randn,inf@corner", "s nn 8x8x8 a=1 b=0 accuracy=bits=20 layout=row",
         "d tn 0x3x4 a=1 b=0", "d nn 3x3x0 a=2 b=-1"]


class CommandsTest(CliTest):
    def test_every_wish_is_an_option(self):
        """With the default that `help policy` says, the plan is that of no option."""
        wishes = re.findall(r"^  (\w+) = .* \[(.*)\]$", self.succeed("help", "policy"), re.M)
        self.assertGreater(len(wishes), 20)
        plain = self.succeed("plan", 30, 20, 10)
        for key, default in some(wishes, 5):
            option = "--" + key.replace("_", "-")
            self.assertEqual(self.succeed("plan", 30, 20, 10, f"{option}={default}"), plain, option)
            self.expect_error(USAGE, "plan", 30, 20, 10, f"{option}=nonsense", says=f"{option} = 'nonsense', must be ")

    def test_help(self):
        top = self.succeed("--help")
        for text in ("gemm", "plan", "check", "info", "Examples:", "Exit codes:", "9  a check failed"):
            self.assertIn(text, top)
        self.assertEqual(self.succeed("help"), top)
        for command in ("gemm", "plan", "check", "info"):
            text = self.succeed(command, "--help")
            self.assertIn(f"kizami {command}", text)
            self.assertEqual(self.succeed("help", command), text)
        self.expect_error(USAGE, "help", "gemn", says=("'gemn'", "; did you mean gemm?"))
        self.expect_error(USAGE, "help", "polcy", says="; did you mean policy?")
        self.expect_error(USAGE, "--verison", says="; did you mean --version?")
        self.assertRegex(self.succeed("--version"), r"\Akizami \d+\.\d+\.\d+\n\Z")

    def test_info(self):
        report = self.succeed("info")
        facts = json.loads(self.succeed("info", "--json"))
        self.assertEqual("kizami " + facts["version"] + "\n", self.succeed("--version"))
        self.assertRegex(report, rf"\Aversion +{facts['version']}\ncuda +{facts['cuda'] or 'none'}\ndevice")
        self.assertIn("cpu_ref", report)
        self.assertGreaterEqual(facts["machine"]["threads"], 1)
        self.assertIs(type(facts["machine"]["avx2"]), bool)
        self.assertNotIn("--device", facts.get("why_no_device", ""))
        self.assertTrue(any("cpu_ref" in engine for engine in facts["machine"]["engine"]))
        self.assertNotEqual(facts["device"] is None, "why_no_device" not in facts)
        self.assertEqual(facts["device"] is None, facts["devices"] == [])
        self.assertTrue(facts["cuda"] is None or "." in facts["cuda"])
        self.assertIn("calibration", facts["machine"])

    def test_threads_of_the_environment(self):
        """OMP_NUM_THREADS, and KIZAMI_THREADS before it, limit what is asked for by nobody; never beyond the processors."""
        def threads(**variables):
            environment = {k: v for k, v in os.environ.items() if k not in ("KIZAMI_THREADS", "OMP_NUM_THREADS")}
            return json.loads(self.succeed("info", "--json", env=environment | variables))["machine"]["threads"]
        most = threads()
        self.assertLessEqual(most, len(os.sched_getaffinity(0)))
        self.assertEqual(threads(OMP_NUM_THREADS="1"), 1)
        self.assertEqual(threads(KIZAMI_THREADS="1", OMP_NUM_THREADS="2"), 1)
        self.assertEqual(threads(KIZAMI_THREADS="0", OMP_NUM_THREADS="1"), most)
        self.assertEqual(threads(OMP_NUM_THREADS="30000"), most)

    def test_gemm_names_the_threads_of_the_environment(self):
        self.matrix("A.npy", [[1.0]])
        for variable in ("OMP_NUM_THREADS", "KIZAMI_THREADS"):
            environment = {k: v for k, v in os.environ.items() if k not in ("KIZAMI_THREADS", "OMP_NUM_THREADS")} | {variable: "1"}
            for more in ((), ("--dd",)):
                words = ("gemm", "A.npy", "A.npy", "-o", "C.npy", *more)
                self.assertEqual(json.loads(self.succeed(*words, "--json", env=environment))["threads"], 1)
            self.assertIn("at most 1 thread\n", self.succeed("gemm", "A.npy", "A.npy", "-o", "C.npy", env=environment))

    def test_variables_without_effect_are_said(self):
        self.matrix("A.npy", [[1.0]])
        plain = {k: v for k, v in os.environ.items() if k not in ("KIZAMI_THREADS", "OMP_NUM_THREADS")}
        for variable, value, says in (("OMP_NUM_THREADS", "abc", "OMP_NUM_THREADS = 'abc' has no effect, must be in 0..32767"),
                                      ("KIZAMI_THREADS", "-1", "KIZAMI_THREADS = '-1' has no effect, must be in 0..32767"),
                                      ("KIZAMI_TREADS", "1", "the variable KIZAMI_TREADS is unknown and has no effect; did you mean "
                                                             "KIZAMI_THREADS?")):
            for words in (("plan", 30, 20, 10), ("gemm", "A.npy", "A.npy", "-o", "C.npy")):
                result = self.run_cli(*words, env=plain | {variable: value})
                self.assertEqual((result.returncode, result.stderr), (OK, f"kizami: note: {says}\n"))
            self.succeed("gemm", "A.npy", "A.npy", "-o", "C.npy", "-q", env=plain | {variable: value})
        for value in ("", "4,2", " 2 "):
            self.succeed("plan", 30, 20, 10, env=plain | {"OMP_NUM_THREADS": value})

    def test_misspelt_values_have_a_suggestion(self):
        for words, says in ((("plan", 3, 3, 3, "--accuracy", "corect"), "; did you mean correct?"),
                            (("plan", 3, 3, 3, "--scheme", "ozkai2"), "; did you mean ozaki2?"),
                            (("plan", 3, 3, 3, "--dtype", "float46"), "; did you mean float64?"),
                            (("check", "d nn 3x3x3 A=exprnd:phi=4"), "; did you mean exprand?"),
                            (("check", "d nn 3x3x3 scheme=ozkai2"), "; did you mean ozaki2?"),
                            (("check", "d nn 3x3x3 shceme=ozaki2"), "; did you mean scheme=?")):
            self.assertIn(says, self.run_cli(*words).stderr, words)

    def test_help_of_variables(self):
        text = self.succeed("help", "variables")
        for name in ("KIZAMI_SUMMARY", "KIZAMI_REPORT", "OMP_NUM_THREADS"):
            self.assertIn(name, text)

    def test_help_of_each_command_has_examples(self):
        for command in ("gemm", "plan", "check", "bench", "predict", "calibrate", "run", "audit", "info", "help"):
            self.assertIn("Examples:\n  kizami " + command, self.succeed("help", command))

    def test_digits_beyond_those_of_a_type(self):
        """What is said to reach further does, for that type."""
        for dtype, digits, wider in (("f32", 23, ", or matrices of float64"), ("f64", 52, ", or gemm --dd, double-double up to bits=100"),
                                     ("c64", 23, ", or matrices of complex128"), ("c128", 52, "")):
            says = f"bits = 60, must be in 1..{digits} for {dtype}; beyond: --accuracy correct, the exact product rounded once{wider}\n"
            self.expect_error(USAGE, "plan", 9, 9, 9, "--dtype", dtype, "--accuracy", "bits=60", says=says)
            self.succeed("plan", 9, 9, 9, "--dtype", dtype, "--accuracy", "correct")

    def test_plan(self):
        text = self.succeed("plan", 100, 200, 300)
        self.assertIn("ozaki2", text)
        for dtype, bits in (("f32", 20), ("f64", 40), ("c64", 20), ("c128", 40), ("dd", 50)):
            plan = json.loads(self.succeed("plan", 100, 200, 300, "--dtype", dtype, "--accuracy", f"bits={bits}", "--json"))
            self.assertEqual((plan["dtype"], plan["m"], plan["n"], plan["k"]), (dtype, 100, 200, 300))
            self.assertLessEqual(plan["bound"], 2.0**-bits)
            for key in ("scheme", "engine", "gauge", "base_moduli", "max_moduli", "workspace_bytes", "predicted_seconds", "explanation"):
                self.assertIn(key, plan)
        self.assertEqual(json.loads(self.succeed("plan", 9, 9, 9, "--dtype", "complex64", "--json"))["dtype"], "c64")
        self.assertNotIn("ozaki2", json.loads(self.succeed("plan", 9, 9, 9, "--scheme", "native", "--json"))["scheme"])
        sliced = ("plan", 9, 9, 9, "--scheme", "ozaki1", "--slices", 7, "--slice-sums")
        self.assertRegex(self.succeed(*sliced, "pairs"), r"(?m)^sums +pairs$")
        self.assertRegex(self.succeed(*sliced, "grouped"), r"(?m)^sums +grouped, [1-9]\d* products in one accumulator at most$")
        self.expect_error(USAGE, "plan", 1, 2, says="K is required")
        self.expect_error(USAGE, "plan", 1, 2, "x", says="K = 'x' is not an integer")
        self.expect_error(USAGE, "plan", 1, 2, 2**34, says="17179869183")
        self.expect_error(USAGE, "plan", 1, 2, 3, "--dtype", "f16", says="allowed: f32, f64, c64, c128, dd")
        self.expect_error(REFUSED, "plan", 10, 10, 10, "--scheme", "native", "--accuracy", "bits=52")

    def test_bench(self):
        self.succeed("bench", "--sizes", 96, "--dtype", "f64", "--rounds", 1, "--elements", "exprand:phi=4", "--json", "wide.jsonl")
        with open(os.path.join(self.dir, "wide.jsonl"), encoding="utf-8") as lines:
            records = {record["candidate"]: record for record in map(json.loads, lines)}
        native = records["accuracy native"]
        self.assertIn("A=exprand:phi=4 B=exprand:phi=4", native["case"])
        self.assertGreater(native["moduli"], 14)
        self.assertEqual(records[f"{native['moduli']} moduli (forced)"]["moduli"], native["moduli"])
        self.expect_error(USAGE, "bench", "--elements", "wild", says=("--elements", "wild"))

    def test_check_passes(self):
        text = self.succeed("check", *CASES)
        self.assertEqual(text.count("PASSED"), len(CASES), text)
        self.assertTrue(text.endswith(f"\n{len(CASES)} passed, 0 failed, 0 skipped\n"), text)
        self.assertEqual(self.succeed("check", "--quiet", *CASES), f"{len(CASES)} passed, 0 failed, 0 skipped\n")

    def test_check_reads_files(self):
        self.file("cases.txt", ("# a comment\n\n" + "\n".join(CASES[:3]) + "   # another\n").encode())
        self.assertTrue(self.succeed("check", "--file", "cases.txt").endswith("\n3 passed, 0 failed, 0 skipped\n"))
        self.file("bad.txt", b"# a comment\nd nn 5x7x9\nd nn 5y7x9\n")
        self.expect_error(USAGE, "check", "--file", "bad.txt", says=("bad.txt:3", "5y7x9"))
        self.expect_error(BAD_INPUT, "check", "--file", "absent.txt", says="absent.txt")
        self.expect_error(BAD_INPUT, "check", "--file", ".", says=".")

    def test_check_skips(self):
        text = self.succeed("check", "d nn 9x9x9 scheme=native accuracy=bits=52", "d nn 9x9x9 A=zeros")
        self.assertRegex(text, r"(?m)^REFUSED .*\n +accuracy_unreachable: ")
        self.assertRegex(text, r"(?m)^MISTRUSTED ")
        self.assertTrue(text.endswith("\n0 passed, 0 failed, 2 skipped (1 refused, 1 mistrusted)\n"), text)

    def test_check_usage(self):
        self.expect_error(USAGE, "check", says="no case")
        self.expect_error(USAGE, "check", "d nn 5x7x9 engine=gpu", says="gpu")
        self.assertIn("exprand", self.succeed("check", "--grammar"))

    def test_check_rejects_as_asked(self):
        self.assertIn("1 passed", self.succeed("check", "d nn 9x9x9 A=randn,nan@last nonfinite=reject"))

    def test_check_takes_complex_cases(self):
        lines = ("z nc 33x20x65 a=1-2i b=0.5 A=randn,im2^-40 B=gram,nani@middle", "c rt 9x8x7 a=1i",
                 "z cr 9x8x70 A=exprand:phi=4 accuracy=correct")
        self.assertTrue(self.succeed("check", *lines).endswith("3 passed, 0 failed, 0 skipped\n"))
        self.expect_error(USAGE, "check", "d nn 5x7x9 a=1-2i", says="real numbers")

    def test_campaign(self):
        count = 12 if IS_SANITIZED else 40
        text = self.succeed("check", "--campaign", "--count", count, "--seed", 7)
        found = re.search(r"(?m)^campaign of seed 7, cases 0 to %d, \d+ s: (\d+) refused, (\d+) mistrusted\n(\d+) passed, 0 failed, (\d+) skipped$" % (count - 1), text)
        refused, mistrusted, passed, skipped = map(int, found.groups())
        self.assertEqual((refused + mistrusted, passed + skipped), (skipped, count))
        self.assertGreater(passed, count // 2)
        again = self.succeed("check", "--campaign", "--count", count - 10, "--first", 10, "--seed", 7) + self.succeed("check", "--campaign", "--count", 10, "--seed", 7)
        self.assertEqual(sum(map(int, re.findall(r"(?m)^(\d+) passed", again))), passed, "a case is its seed and number")
        self.expect_error(USAGE, "check", "--campaign", "--count", "none", says="--count")
        self.expect_error(USAGE, "check", "--campaign", "--seed", "-1", says="--seed")

    def test_campaign_shrinks_a_failure(self):
        if not SPOILER:
            self.skipTest("KIZAMI_TEST_SPOILER is not set: sanitizers do not allow preloading")
        spoiled = {"env": {**os.environ, "LD_PRELOAD": SPOILER}}
        result = self.run_cli("check", "--campaign", "--count", 200, "--seed", 1, **spoiled)
        self.assertEqual(result.returncode, CHECK_FAILED)
        self.assertRegex(result.stderr, r"^kizami: error: case \d+ of seed 1 failed\n$")
        case = re.search(r"repro: kizami check '(.*)'", result.stdout).group(1)
        self.assertRegex(case, r"^d nn 1x1x\d+ a=1 b=0 ")
        self.assertLess(len(case), 60)
        self.assertEqual(self.run_cli("check", case, **spoiled).returncode, CHECK_FAILED)
        self.succeed("check", case)

    def test_campaign_of_devices(self):
        campaign = ("check", "--campaign", "--seed", 9, "--count", 30, "-q")
        self.assertIn("hashes of cases 0 to 29 of seed 9", self.succeed(*campaign, "--write-hashes", "hashes"))
        text = self.succeed(*campaign, "--hashes", "hashes", "--json", "record.jsonl", "--commit", "abc")
        self.assertRegex(text, r"(?m)^\d+ equal, \d+ within bound, \d+ refused, 0 failed$")
        record = json.loads((self.dir / "record.jsonl").read_text())
        self.assertEqual((record["cases"], record["failed"], record["commit"]), (30, 0, "abc"))
        self.assertEqual(record["equal_bits"] + record["within_bound"] + record["refused"], 30)
        self.assertGreater(record["equal_bits"], 20)
        # A library that is wrong by a little.
        if SPOILER:
            result = self.run_cli(*campaign, "--hashes", "hashes", env={**os.environ, "LD_PRELOAD": SPOILER})
            self.assertEqual(result.returncode, CHECK_FAILED)
            self.assertRegex(result.stdout, r"(?m)^FAILED     case \d+ of seed 9: d ")
        self.expect_error(USAGE, "check", "--hashes", "hashes", says="--campaign")
        self.expect_error(USAGE, *campaign, "--hashes", "hashes", "--write-hashes", "other", says="--write-hashes")
        self.expect_error(BAD_INPUT, *campaign, "--hashes", "absent", says="absent")

    def test_wrong_results_are_seen(self):
        if not SPOILER:
            self.skipTest("KIZAMI_TEST_SPOILER is not set: sanitizers do not allow preloading")
        spoiled = {"env": {**os.environ, "LD_PRELOAD": SPOILER}}
        line = "d nn 5x7x9 a=1 b=0 A=randn B=randn seed=3"
        result = self.run_cli("check", line, "s nn 5x7x9", **spoiled)
        self.assertEqual(result.returncode, CHECK_FAILED)
        self.assertEqual(result.stderr, "kizami: error: 1 of 2 cases failed\n")
        self.assertRegex(result.stdout, r"(?m)^FAILED .*\n +ratio [0-9.e+]+ at \(0, 0\) is not <= 1;")
        self.assertIn(f"repro: kizami check '{line}'\n", result.stdout)
        self.assertTrue(result.stdout.endswith("\n1 passed, 1 failed, 0 skipped\n"))

        self.matrix("A.npy", random_matrix(5, 7, 1))
        self.matrix("B.npy", random_matrix(7, 6, 2))
        self.file("C.npy", b"precious")
        product = ("gemm", "A.npy", "B.npy", "-o", "C.npy")
        says = ("element (0, 0) of C errs by", "nothing was written")
        self.expect_error(CHECK_FAILED, *product, "--check", says=says, **spoiled)
        self.expect_error(CHECK_FAILED, *product, "--check", "--accuracy", "correct", says=("C is not correctly rounded", "nothing was written"), **spoiled)
        result = self.run_cli(*product, "--check", "--json", **spoiled)
        report = json.loads(result.stdout)
        self.assertEqual((result.returncode, report["output"]), (CHECK_FAILED, None))
        self.assertGreater(report["error_over_bound"], 1)
        self.assertEqual(self.names(), ["A.npy", "B.npy", "C.npy"])
        self.assertEqual((self.dir / "C.npy").read_bytes(), b"precious")


if __name__ == "__main__":
    cli_support.main()
