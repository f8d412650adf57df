#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with the interposer preloaded, without a device: a fake libcublas.so.13 and a double of kizami print what they are
called with.

usage: preload_test.py PRELOAD LINKED PLUGIN_HOST PLUGIN WITHOUT_CUBLAS BEHIND STOPPED_THREAD NAMED
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PRELOAD = LINKED = PLUGIN_HOST = PLUGIN = WITHOUT_CUBLAS = BEHIND = STOPPED_THREAD = NAMED = None
FACTORS = "factors 2%s -1%s bits 0 scheme auto engine auto"
REAL, COMPLEX = FACTORS % ("+0i", "+0i"), FACTORS % ("+3i", "+0.5i")
SMALL = "ops cn size 10x20x30 ld 30 31 12"
LARGE = "ops cn size 21474836480x21474836481x21474836482 ld 21474836482 21474836483 21474836482"
FROM_KIZAMI = [f"kizami {scalar} {shape} stream (nil) {factors}" for shape in (SMALL, LARGE)
               for scalar, factors in (("f32", REAL), ("f64", REAL), ("c64", COMPLEX), ("c128", COMPLEX))]
FROM_CUBLAS = [f"cublas cublas{letter}gemm_v2{suffix} 2 0 {sizes}"
               for suffix, sizes in (("", "10 20 30 30 31 12"),
                                     ("_64", "21474836480 21474836481 21474836482 21474836482 21474836483 21474836482"))
               for letter in "SDCZ"]
CALLER = "[libdropin_calls.so]"
ONE_KIZAMI, ONE_CUBLAS = FROM_KIZAMI[1], FROM_CUBLAS[1]
REFUSED = ("KIZAMI_ACCURACY = 'bits=99', must be native or bits=N with N of 1..52; every call is left to the native "
           "library\n")


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
                         (["cublas cublasDgemm_v2 0 0 1 1 1 1 1 1", "status 0"], ""))

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

    def test_a_limit_of_all_workspaces_reaches_kizami_when_the_library_is_loaded(self):
        lines, errors = run([LINKED, "one"], KIZAMI_WORKSPACE_TOTAL="256M")
        self.assertEqual((lines, errors), (["kizami holds at most 268435456 bytes"] + with_status([ONE_KIZAMI]), ""))
        lines, errors = run([LINKED, "one"], KIZAMI_WORKSPACE_TOTAL="256MB")
        self.assertEqual(lines, with_status([ONE_CUBLAS]))
        self.assertEqual(errors, "kizami: KIZAMI_WORKSPACE_TOTAL = '256MB', must be bytes of 0..1125899906842624, or a number "
                                 "with K, M or G; every call is left to the native library\n")

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
        self.assertEqual(lines, with_status(["cublas cublasDgemm_v2 2 0 -1 20 30 30 31 1",
                                             "cublas cublasDgemm_v2 0 0 1 1 1 1 1 1", ONE_CUBLAS], 7))

    def test_calls_from_within_kizami_go_to_cublas(self):
        lines, _ = run([LINKED, "one"], FAKE_KIZAMI_NESTED="1")
        self.assertEqual(lines, [ONE_KIZAMI, "cublas cublasSgemm_v2 0 0 1 1 1 1 1 1", "status 0"])

    def test_calls_from_within_cublas_go_to_cublas(self):
        lines, _ = run([LINKED, "one"], KIZAMI_SCHEME="native", FAKE_CUBLAS_NESTED="1")
        self.assertEqual(lines, [ONE_CUBLAS, "cublas cublasDgemm_v2 0 0 1 1 1 1 1 1", "status 0"])

    def test_first_calls_of_many_threads(self):
        for program in ([LINKED], [PLUGIN_HOST, PLUGIN]):
            lines, errors = run(program + ["threads"], KIZAMI_ACCURACY="bits=99")
            self.assertEqual(sorted(lines), sorted(with_status([ONE_CUBLAS] * 8)))
            self.assertEqual(errors, "kizami: " + REFUSED)  # once
            lines, _ = run(program + ["threads"])
            self.assertEqual(sorted(lines), sorted(with_status([ONE_KIZAMI] * 8)))

    def test_a_log_is_one_line_a_call(self):
        _, errors = run([LINKED, "one"], KIZAMI_LOG="1")
        self.assertEqual(errors, "kizami: cublasDgemm_v2 cn 10x20x30: ozaki2 on hopper, 14 or more moduli, bound 8.9e-16 "
                                 f"entry, 0.25 s predicted {CALLER}\n")
        _, errors = run([LINKED, "one"], KIZAMI_LOG="1", FAKE_KIZAMI_REFUSES="1")
        self.assertEqual(errors, f"kizami: cublasDgemm_v2 cn 10x20x30: native: the test says so, 0.25 s predicted {CALLER}\n")
        _, errors = run([LINKED, "strided"], KIZAMI_LOG="1", KIZAMI_SCHEME="native")
        self.assertEqual(errors, "kizami: cublasDgemmStridedBatched nn 10x20x30, 7 products: native: the scheme is native, "
                                 f"0.25 s predicted {CALLER}\n")

    def test_what_cannot_be_written_is_said_once(self):
        for path, reason in (("/nowhere/log", "No such file or directory"), ("/dev/full", "No space left on device")):
            lines, errors = run([LINKED, "all"], KIZAMI_LOG=path)
            self.assertEqual(lines, with_status(FROM_KIZAMI))
            self.assertEqual(errors, f"kizami: KIZAMI_LOG = '{path}': {reason}; calls that it does not take are not logged\n")
            _, errors = run([LINKED, "all"], KIZAMI_SUMMARY=path)
            self.assertTrue(errors.startswith(f"kizami: KIZAMI_SUMMARY = '{path}': {reason}; the summary goes to stderr\n"
                                              "kizami summary of process"), errors)

    def test_rules_in_a_fifo_are_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = f"{folder}/fifo"
            os.mkfifo(fifo)
            lines, errors = run([LINKED, "all"], KIZAMI_RULES=fifo)
            self.assertEqual((lines, errors), (with_status(FROM_CUBLAS), f"kizami: KIZAMI_RULES = '{fifo}': is not a regular "
                                               "file; every call is left to the native library\n"))

    def test_the_summary_counts_by_shape_and_answer(self):
        _, errors = run([LINKED, "threads"], KIZAMI_SUMMARY="1")
        lines = errors.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"kizami summary of process \d+: 8 calls emulated, predicted to take 2 s \(native: "
                                   r"2 s\), 0 calls native")
        self.assertEqual(lines[1], "         8 x cublasDgemm_v2 cn 10x20x30: ozaki2 on hopper, 14 or more moduli, bound "
                                   f"8.9e-16 entry, 2 s predicted (native 2 s) {CALLER}")
        _, errors = run([LINKED, "bad"], KIZAMI_SUMMARY="1")
        self.assertIn("0 calls emulated", errors)
        self.assertIn("cublasDgemm_v2 cn 10x20x30: native: the handle cannot be read", errors)
        self.assertEqual(errors.count("native: an argument is not valid"), 2)

    def test_parent_and_child_have_summaries_of_their_own(self):
        lines, errors = run([LINKED, "in_child"], KIZAMI_SUMMARY="1")
        self.assertEqual(lines, with_status([ONE_KIZAMI] * 4))
        self.assertEqual(sorted(line.split(": ")[1].split(" emulated")[0] for line in errors.splitlines()
                                if "summary" in line), ["2 calls", "2 calls"])

    def test_a_child_multiplies_though_a_thread_of_the_parent_held_a_lock(self):
        def num_locks(who, **variables):
            lines, _ = run([STOPPED_THREAD, who], KIZAMI_SUMMARY="1", **variables)
            self.assertRegex(lines[0], r"^\d+ locks$")
            return int(lines[0].split()[0])
        promised = num_locks("kizami", KIZAMI_SCHEME="ozaki2")
        self.assertGreaterEqual(promised, 8)  # the summary's, and those of what is kept under a name
        self.assertGreater(num_locks("kizami"), promised)  # of what is learned of places, too
        self.assertGreaterEqual(num_locks("cublas", FAKE_KIZAMI_UNUSABLE="1"), 2)  # of the texts of refusals, and the summary's

    def test_a_name_is_for_the_next_call_of_either_of_two_libraries(self):
        product = "ops nn size 10x20x30 ld 10 30 10 stream (nil) factors 1+0i 1+0i bits 0 scheme auto engine auto"
        plain, kept = f"kizami f64 {product}", f"kizami f64 prepared {product}"
        for libraries in (f"{PRELOAD} {NAMED}", f"{NAMED} {PRELOAD}"):
            lines, errors = run([LINKED, "named"], preload=False, LD_PRELOAD=libraries)
            self.assertEqual(lines, [kept, "status 0", "another 0",   # a call of cuBLAS uses up the name in both
                                     "another 1", plain, "status 0",  # and so does one of the other library
                                     kept, "status 0",
                                     "kept 101 201 4512", "forget 7", "kept 101 201 4000"], libraries)
            self.assertEqual(errors, "")

    def test_a_dry_run_counts_and_forwards(self):
        lines, errors = run([LINKED, "one"], KIZAMI_DRY_RUN="1", KIZAMI_LOG="1")
        self.assertEqual(lines, with_status([ONE_CUBLAS]))
        self.assertIn("native: dry run of ozaki2", errors)

    def test_rules_decide_by_call_site_and_bad_ones_are_refused_with_their_line(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = os.path.join(folder, "rules")
            Path(rules).write_text("site=libdropin_calls* type=d : scheme=native\n# all others\ntype=s,c : accuracy=bits=20\n")
            lines, errors = run([LINKED, "all"], KIZAMI_RULES=rules)
            bits = lambda line: line.replace("bits 0", "bits 20")
            small = [bits(FROM_KIZAMI[0]), FROM_CUBLAS[1], bits(FROM_KIZAMI[2]), FROM_KIZAMI[3]]
            large = [bits(FROM_KIZAMI[4]), FROM_CUBLAS[5], bits(FROM_KIZAMI[6]), FROM_KIZAMI[7]]
            self.assertEqual((lines, errors), (with_status(small + large), ""))
            Path(rules).write_text("type=d : scheme=native\ntype=q : scheme=native\n")
            lines, errors = run([LINKED, "all"], KIZAMI_RULES=rules)
            self.assertEqual(lines, with_status(FROM_CUBLAS))
            self.assertEqual(errors.count("\n"), 1)
            self.assertIn(f"{rules}:2: type = 'q'", errors)

    def test_what_cannot_be_used_is_said_once(self):
        lines, errors = run([LINKED, "threads"], FAKE_KIZAMI_UNUSABLE="1")
        self.assertEqual(sorted(lines), sorted(with_status([ONE_CUBLAS] * 8)))
        self.assertEqual(errors, "kizami: there is no engine; every call is left to the native library\n")

    def test_the_environment_is_read_when_the_library_is_loaded(self):
        lines, errors = run([PLUGIN_HOST, PLUGIN, "one", "KIZAMI_SCHEME=native"])
        self.assertEqual((lines, errors), (with_status([ONE_KIZAMI]), ""))

    def test_the_native_library_may_be_named(self):
        lines, _ = run([WITHOUT_CUBLAS], LD_LIBRARY_PATH="", KIZAMI_NATIVE=BEHIND)
        self.assertEqual(lines, ["behind", "status 0"])


if __name__ == "__main__":
    PRELOAD, LINKED, PLUGIN_HOST, PLUGIN, WITHOUT_CUBLAS, BEHIND, STOPPED_THREAD, NAMED = sys.argv[1:9]
    unittest.main(argv=sys.argv[:1])
