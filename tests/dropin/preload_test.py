#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with the interposer preloaded, without a device: a fake libcublas.so.13 and a double of kizami print what they are
called with.

usage: preload_test.py PRELOAD LINKED PLUGIN_HOST PLUGIN WITHOUT_CUBLAS BEHIND
"""
import os
import subprocess
import sys
import unittest

PRELOAD = LINKED = PLUGIN_HOST = PLUGIN = WITHOUT_CUBLAS = BEHIND = None
FACTORS = "factors 2%s -1%s bits 0 scheme auto engine auto"
REAL, COMPLEX = FACTORS % ("+0i", "+0i"), FACTORS % ("+3i", "+0.5i")
SMALL = "ops cn size 10x20x30 ld 30 31 12"
LARGE = "ops cn size 21474836480x21474836481x21474836482 ld 21474836482 21474836483 21474836482"
FROM_KIZAMI = [f"kizami {scalar} {shape} stream (nil) {factors}" for shape in (SMALL, LARGE)
               for scalar, factors in (("f32", REAL), ("f64", REAL), ("c64", COMPLEX), ("c128", COMPLEX))]
FROM_CUBLAS = [f"cublas cublas{letter}gemm_v2{suffix} {shape.replace('ops cn', 'ops 20')}"
               for suffix, shape in (("", SMALL), ("_64", LARGE)) for letter in "SDCZ"]
ONE_KIZAMI, ONE_CUBLAS = FROM_KIZAMI[1], FROM_CUBLAS[1]
REFUSED = "KIZAMI_ACCURACY = 'bits=99', must be native or bits=N with N of 1..52; every product is left to cuBLAS\n"


def run(command, preload=True, behind="", **variables):
    """Lines of stdout, and stderr."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KIZAMI_", "LD_PRELOAD"))}
    environment.update(variables)
    if preload:
        environment["LD_PRELOAD"] = f"{PRELOAD} {behind}"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.splitlines(), done.stderr


def with_status(lines, status=0):
    return [line for pair in ((line, f"status {status}") for line in lines) for line in pair]


class PreloadTest(unittest.TestCase):
    def test_without_the_library_nothing_changes(self):
        self.assertEqual(run([LINKED, "all"], preload=False), (with_status(FROM_CUBLAS), ""))

    def test_all_eight_functions_reach_kizami(self):
        self.assertEqual(run([LINKED, "all"]), (with_status(FROM_KIZAMI), ""))

    def test_cublas_loaded_out_of_order_is_found(self):
        self.assertEqual(run([PLUGIN_HOST, PLUGIN, "all"]), (with_status(FROM_KIZAMI), ""))
        self.assertEqual(run([PLUGIN_HOST, PLUGIN, "all"], KIZAMI_SCHEME="native"), (with_status(FROM_CUBLAS), ""))

    def test_no_cublas_at_all(self):
        self.assertEqual(run([WITHOUT_CUBLAS], LD_LIBRARY_PATH=""), (["status 1"], ""))

    def test_cublas_is_loaded_if_nobody_did(self):
        self.assertEqual(run([WITHOUT_CUBLAS], LD_LIBRARY_PATH=os.path.dirname(PLUGIN)),
                         (["cublas cublasDgemm_v2 ops 00 size 1x1x1 ld 1 1 1", "status 0"], ""))

    def test_another_preloaded_library_is_not_passed_over(self):
        self.assertEqual(run([LINKED, "one"], behind=BEHIND, KIZAMI_SCHEME="native"), (["behind", "status 0"], ""))
        self.assertEqual(run([LINKED, "one"], behind=BEHIND), (with_status([ONE_KIZAMI]), ""))

    def test_device_pointers_and_streams_pass(self):
        lines, _ = run([LINKED, "device_pointers"])
        self.assertEqual(lines, ["kizami f64 ops nt size 4x5x6 ld 4 5 4 stream 0x5000 factors at 0xd000 0xe000 "
                                 "bits 0 scheme auto engine auto", "status 0"])

    def test_settings_reach_kizami(self):
        lines, errors = run([LINKED, "one"], KIZAMI_ACCURACY="bits=40", KIZAMI_SCHEME="ozaki2", KIZAMI_ENGINE="cublaslt")
        self.assertEqual(lines, with_status([ONE_KIZAMI.replace("bits 0 scheme auto engine auto",
                                                                "bits 40 scheme ozaki2 engine cublaslt")]))
        self.assertEqual(errors, "")

    def test_a_bad_value_is_one_line_and_everything_is_forwarded(self):
        lines, errors = run([LINKED, "all"], KIZAMI_ACCURACY="bits=99")
        self.assertEqual(lines, with_status(FROM_CUBLAS))
        self.assertEqual(errors, "kizami: " + REFUSED)

    def test_a_program_without_products_prints_nothing(self):
        self.assertEqual(run(["true"], KIZAMI_ACCURACY="bits=99"), ([], ""))

    def test_small_products_are_forwarded(self):
        lines, _ = run([LINKED, "all"], KIZAMI_MIN_SIZE="19")  # 19^3 = 6859 > 6000
        self.assertEqual(lines, with_status(FROM_CUBLAS[:4] + FROM_KIZAMI[4:]))
        lines, _ = run([LINKED, "all"], KIZAMI_MIN_SIZE="18")  # 18^3 = 5832
        self.assertEqual(lines, with_status(FROM_KIZAMI))

    def test_errors_of_kizami_are_forwarded_with_the_status_of_cublas(self):
        lines, errors = run([LINKED, "all"], FAKE_KIZAMI_REFUSES="1", FAKE_CUBLAS_STATUS="13")
        self.assertEqual(lines, [line for triple in zip(FROM_KIZAMI, FROM_CUBLAS, ["status 13"] * 8) for line in triple])
        self.assertEqual(errors, "")

    def test_bad_arguments_are_forwarded_with_the_status_of_cublas(self):
        lines, _ = run([LINKED, "bad"], FAKE_CUBLAS_STATUS="7")
        self.assertEqual(lines, with_status(["cublas cublasDgemm_v2 ops 20 size -1x20x30 ld 30 31 1",
                                             "cublas cublasDgemm_v2 ops 00 size 1x1x1 ld 1 1 1"], 7))

    def test_calls_from_within_kizami_go_to_cublas(self):
        lines, _ = run([LINKED, "one"], FAKE_KIZAMI_NESTED="1")
        self.assertEqual(lines, [ONE_KIZAMI, "cublas cublasSgemm_v2 ops 00 size 1x1x1 ld 1 1 1", "status 0"])

    def test_calls_from_within_cublas_go_to_cublas(self):
        lines, _ = run([LINKED, "one"], KIZAMI_SCHEME="native", FAKE_CUBLAS_NESTED="1")
        self.assertEqual(lines, [ONE_CUBLAS, "cublas cublasDgemm_v2 ops 00 size 1x1x1 ld 1 1 1", "status 0"])

    def test_first_calls_of_many_threads(self):
        for program in ([LINKED], [PLUGIN_HOST, PLUGIN]):
            lines, errors = run(program + ["threads"], KIZAMI_ACCURACY="bits=99")
            self.assertEqual(sorted(lines), sorted(with_status([ONE_CUBLAS] * 8)))
            self.assertEqual(errors, "kizami: " + REFUSED)  # once
            lines, _ = run(program + ["threads"])
            self.assertEqual(sorted(lines), sorted(with_status([ONE_KIZAMI] * 8)))

    def test_verbose_is_one_line_a_call(self):
        _, errors = run([LINKED, "one"], KIZAMI_VERBOSE="1")
        self.assertEqual(errors, "kizami: cublasDgemm_v2 cn 10x20x30: kizami\n")
        _, errors = run([LINKED, "one"], KIZAMI_VERBOSE="1", FAKE_KIZAMI_REFUSES="1")
        self.assertEqual(errors, "kizami: cublasDgemm_v2 cn 10x20x30: cuBLAS: the test says so\n")
        _, errors = run([LINKED, "one"], KIZAMI_VERBOSE="1", KIZAMI_SCHEME="native")
        self.assertEqual(errors, "kizami: cublasDgemm_v2 cn 10x20x30: cuBLAS: KIZAMI_SCHEME = native\n")


if __name__ == "__main__":
    PRELOAD, LINKED, PLUGIN_HOST, PLUGIN, WITHOUT_CUBLAS, BEHIND = sys.argv[1:7]
    unittest.main(argv=sys.argv[:1])
