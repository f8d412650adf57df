#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An ordinary program with libkizami_blas.so preloaded, or linked before its BLAS: results, settings, threads, fork.

usage: preload_test.py LIBRARY CALLS LINKED_CALLS OWN_LINES
CALLS: calls.cpp, linked with a BLAS; LINKED_CALLS: the same with the library before that BLAS; OWN_LINES: own_lines.cpp.
"""
import ctypes.util
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import command

LIBRARY = CALLS = LINKED = OWN_LINES = None
QEMU = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
FORCED = {"KIZAMI_MIN_SIZE": "0"}
BLAS = ctypes.util.find_library("blas") or ctypes.util.find_library("openblas")
ALL_CALLS = 456  # of calls.cpp: 6 kinds of routines in all options, types and interfaces
COMMON_CALLS = 396  # without gemm3m and gemmt


def run(mode, names="plain", size=40, program=None, preload=True, **variables):
    return command.run([program or CALLS, mode, names, str(size)], preload=LIBRARY if preload else "", **variables)


class PreloadTest(unittest.TestCase):
    def test_every_routine_is_emulated_within_its_bound(self):
        for size in (40, 150):  # below and above the largest diagonal block of trmm and trsm
            done = run("all", size=size, KIZAMI_MONITOR="1", **FORCED)
            self.assertEqual((done.status, done.errors), (0, ""), done.out)
            self.assertEqual((done.calls("emulated"), done.calls("native")), (ALL_CALLS, 0), done.summary)
            ratios = done.ratios()
            self.assertEqual(len(ratios), len(done.summary.splitlines()) - 1)
            self.assertTrue(all(0 <= ratio <= 1 for ratio in ratios), max(ratios))
            self.assertGreater(max(ratios), 0)

    def test_by_default_everything_has_the_bits_of_the_native_library(self):
        native = run("common", preload=False)
        done = run("common")
        self.assertEqual((done.status, done.errors, done.out), (0, "", native.out))
        self.assertEqual((done.calls("emulated"), done.calls("native")), (0, COMMON_CALLS))
        self.assertNotEqual(run("common", **FORCED).out, native.out)

    def test_linked_before_the_blas(self):
        done = run("all", program=LINKED, preload=False, **FORCED)
        self.assertEqual((done.out, done.calls("emulated")), (run("all", **FORCED).out, ALL_CALLS))

    def test_all_names_reach_the_library(self):
        plain = run("all", **FORCED).out
        for names in ("wide", "scipy", "scipy_wide"):
            done = run("all", names=names, **FORCED)
            self.assertEqual((done.out, done.calls("emulated")), (plain, ALL_CALLS), names)

    def test_names_that_the_native_library_lacks_are_answered_natively(self):
        done = run("all", names="scipy_wide", KIZAMI_SCHEME="native")
        self.assertEqual((done.status, done.errors, done.calls("emulated")), (0, "", 0), done.out)

    def test_rules_of_blas(self):
        for variables in (FORCED, {"KIZAMI_ACCURACY": "bits=40", "KIZAMI_SCHEME": "ozaki2"}):
            done = run("contract", **variables)
            self.assertEqual((done.status, done.errors), (0, ""), done.out)
            self.assertEqual((done.calls("emulated"), done.calls("native")), (8, 0), done.summary)

    @unittest.skipIf(QEMU is None and os.environ.get("CI") != "true", "no qemu-x86_64-static (Debian: qemu-user-static)")
    @unittest.skipIf(platform.machine() != "x86_64", "a processor of x86-64 is emulated")
    def test_on_a_processor_without_avx(self):
        # KIZAMI_MONITOR has every product judged; cli_processors_test.py compares bits.
        emulator = [QEMU, "-cpu", "Nehalem", "-E", f"LD_PRELOAD={LIBRARY}"]
        done = command.run([*emulator, CALLS, "contract", "plain", "12"], KIZAMI_MONITOR="1", OPENBLAS_NUM_THREADS="1",
                           **FORCED)
        self.assertEqual((done.status, done.errors), (0, ""), done.out)
        self.assertEqual((done.calls("emulated"), done.calls("native")), (8, 0), done.summary)
        self.assertTrue(all(0 <= ratio <= 1 for ratio in done.ratios()), done.summary)

    def test_threads(self):
        self.assertEqual(run("threads", size=20, **FORCED).status, 0)
        self.assertEqual(run("all", size=20, KIZAMI_THREADS="1", **FORCED).out, run("all", size=20, **FORCED).out)

    def test_fork(self):
        done = run("fork", size=20, **FORCED)
        self.assertEqual((done.status, done.calls("emulated")), (0, 2 * ALL_CALLS), done.out)
        done = run("child_exits", size=20, **FORCED)  # the child writes a summary of its own calls
        self.assertEqual((done.status, done.calls("emulated")), (0, 3 * ALL_CALLS), done.out)

    def test_forks_beside_threads(self):
        # By chance: tests/after_fork stops a thread wherever it may hold something.
        done = run("forks", size=80, **FORCED)
        self.assertEqual((done.status, done.errors), (0, ""), done.out)
        self.assertGreater(done.calls("emulated"), 0)

    def test_errors_are_reported_with_the_number_of_the_argument(self):
        for names in ("plain", "wide"):  # by the native library, and for it where it has no such name
            for variables in ({}, FORCED):
                done = run("bad", names=names, **variables)
                self.assertEqual((done.status, done.errors), (0, ""), done.out)
                self.assertRegex(done.out, r"xerbla DGEMM *8\n")
                self.assertEqual(done.calls("emulated"), 0)
                self.assertGreater(done.calls("native"), 200)
                self.assertEqual(done.summary.count("native: an argument is not valid"),
                                 len(done.summary.splitlines()) - 1)

    def test_a_bad_value_is_one_line_and_everything_is_native(self):
        native = run("common", preload=False).out
        done = run("common", KIZAMI_ACCURACY="bits=99", **FORCED)
        self.assertEqual(done.out, native)
        self.assertEqual(done.errors, "kizami: KIZAMI_ACCURACY = 'bits=99', must be native or bits=N with N of 1..52; "
                                      "every call is left to the native library\n")

    def test_a_product_beyond_the_workspace_is_native_and_says_why(self):
        # 10 bytes for each of k: 1.1 GB.
        for variables in ({}, {"KIZAMI_SCHEME": "ozaki2"}, FORCED):
            done = run("long", size=110000000, **variables)
            self.assertEqual((done.status, done.errors, done.calls("emulated"), done.calls("native")), (0, "", 0, 1), done.out)
            self.assertRegex(done.summary, r"native: workspace limit = 1073741824 bytes \(the default\), must be >= [0-9]+ for "
                                           r"this shape.*; KIZAMI_WORKSPACE sets the limit")

    def test_an_unknown_variable_is_one_line_and_changes_nothing(self):
        done = run("contract", KIZAMI_ACCURCY="bits=30", **FORCED)
        self.assertEqual((done.status, done.calls("emulated")), (0, 8))
        self.assertEqual(done.errors, "kizami: the variable KIZAMI_ACCURCY is unknown and has no effect; did you mean KIZAMI_ACCURACY?\n")

    def test_a_summary_in_lines_of_json(self):
        done = run("contract", KIZAMI_SUMMARY="calls.jsonl", **FORCED)
        process, *calls = [json.loads(line) for line in done.files["calls.jsonl"].splitlines()]
        self.assertEqual((process["event"], process["library"], process["complete"], process["emulated"], process["native"]),
                         ("process", "libkizami_blas.so", True, 8, 0))
        self.assertEqual(sum(line["calls"] for line in calls), 8)
        plain = {line["routine"]: line for line in calls if line["k"] == 40}
        self.assertEqual((plain["dgemm_"]["m"], plain["dgemm_"]["answer"], plain["dgemm_"]["gauge"]), (40, "ozaki2", "entry"))

    def test_a_report_is_there_after_a_kill(self):
        with tempfile.TemporaryDirectory() as folder:
            # The child of the shell is complete, the shell itself is not: it made no calls, and lists what it had loaded.
            command.run(["sh", "-c", f"{CALLS} contract plain 20; kill -KILL $$"], preload=LIBRARY, KIZAMI_REPORT=folder, **FORCED)
            lines = [json.loads(line) for path in Path(folder).glob("*.jsonl") for line in path.read_text().splitlines()]
            processes = sorted((x for x in lines if x["event"] == "process"), key=lambda x: x["complete"])
            self.assertEqual([(x["complete"], x["emulated"]) for x in processes], [(False, 0), (True, 8)])
            self.assertTrue(any("libc.so" in path for path in processes[0]["objects"]))
            self.assertFalse(list(Path(folder).glob("*.tmp")))

    def test_a_report_of_tiny_calls_is_there_after_a_kill(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("killed", size=1000, KIZAMI_AUDIT="1", KIZAMI_REPORT=folder, OPENBLAS_NUM_THREADS="1")
            self.assertEqual(done.status, -9, done.out)
            (report,) = Path(folder).glob("*.jsonl")
            process = json.loads(report.read_text().splitlines()[0])
        self.assertFalse(process["complete"])
        self.assertGreater(process["native"], 250)  # told of at twice as many calls, or after a second

    def test_a_report_that_cannot_be_written_is_said_once(self):
        done = run("contract", KIZAMI_REPORT="/nowhere", **FORCED)
        self.assertEqual((done.status, done.calls("emulated")), (0, 8))
        self.assertEqual(done.errors, "kizami: KIZAMI_REPORT = '/nowhere': No such file or directory; there is no report "
                                      "(kizami run and audit take theirs away when the program ends)\n")

    def test_an_audit_needs_a_report(self):
        done = run("contract", KIZAMI_AUDIT="1")
        self.assertIn("KIZAMI_AUDIT = '1' needs a folder in KIZAMI_REPORT", done.errors)

    def test_an_audit_changes_nothing(self):
        """Where the native library itself breaks a rule (OpenBLAS 0.3.21 reads A in small products with alpha = 0), it does so audited, too."""
        for size in (20, 70, 150):
            plain = run("contract", size=size, preload=False, OPENBLAS_NUM_THREADS="1")
            with tempfile.TemporaryDirectory() as folder:
                audited = run("contract", size=size, KIZAMI_AUDIT="1", KIZAMI_REPORT=folder, OPENBLAS_NUM_THREADS="1")
            self.assertEqual((audited.status, audited.out, audited.errors), (plain.status, plain.out, plain.errors), size)

    def test_operands_stay_split_under_names(self):
        done = command.run([sys.executable, "-c", """
import ctypes
blas = ctypes.CDLL(None)
n, size = 60, 3600
one, zero = ctypes.c_double(1), ctypes.c_double(0)
r, int_n = ctypes.byref, ctypes.c_int(n)
matrix = lambda seed: (ctypes.c_double * size)(*[((i * seed) % 1009) / 7.0 for i in range(size)])
name = lambda side, id, version: blas.kizami_dropin_name_operand(side, ctypes.c_uint64(id), ctypes.c_uint64(version))
def kept():
    counts = [ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_size_t()]
    blas.kizami_dropin_kept(*map(r, counts))
    return counts[0].value, counts[1].value, counts[2].value > 0
def product(a, b, op=b"N"):
    c = (ctypes.c_double * size)()
    blas.dgemm_(op, b"N", r(int_n), r(int_n), r(int_n), r(one), a, r(int_n), b, r(int_n), r(zero), c, r(int_n))
    return bytes(c)
def rows(a, b):  # row-major: A^T and B^T of column-major ones are exchanged
    c = (ctypes.c_double * size)()
    blas.cblas_dgemm(101, 111, 111, n, n, n, one, a, n, b, n, zero, c, n)
    return bytes(c)
a, b, other = matrix(17), matrix(23), matrix(31)
plain, of_other, transposed, by_rows = product(a, b), product(other, b), product(a, b, b"T"), rows(a, b)
assert kept() == (0, 0, False), kept()
name(0, 7, 1)
assert product(a, b) == plain and kept() == (1, 0, True)
assert product(other, b) == of_other and kept()[:2] == (1, 0)  # a name is for one call
name(0, 7, 1)
name(1, 8, 1)
assert product(a, b) == plain and kept()[:2] == (2, 1)
name(0, 7, 1)
assert product(other, b) == plain and kept()[:2] == (2, 2)  # by name, whatever the address holds
name(0, 7, 2)
assert product(other, b) == of_other and kept()[:2] == (3, 2)
name(0, 7, 1)
assert product(a, b) == plain and kept()[:2] == (4, 2)  # the first version was replaced
name(0, 7, 1)
assert product(a, b, b"T") == transposed and kept()[:2] == (5, 2)
name(0, 9, 1)
assert rows(a, b) == by_rows and kept()[:2] == (6, 2)
name(0, 9, 1)
assert rows(a, other) == rows(a, other) and kept()[:2] == (6, 3)
assert name(2, 1, 1) == 1
for id in (7, 8, 9):
    blas.kizami_dropin_forget_operand(ctypes.c_uint64(id))
assert kept() == (6, 3, False), kept()
print("kept")
"""], preload=f"{LIBRARY} {BLAS}", OPENBLAS_NUM_THREADS="1", KIZAMI_SCHEME="ozaki2", **FORCED)
        self.assertEqual((done.status, done.out, done.errors), (0, "kept\n", ""))
        limited = command.run([sys.executable, "-c", """
import ctypes
blas = ctypes.CDLL(None)
n = ctypes.c_int(50)
one = ctypes.c_double(1)
r = ctypes.byref
a, c = (ctypes.c_double * 2500)(*range(2500)), (ctypes.c_double * 2500)()
for id in range(9):
    blas.kizami_dropin_name_operand(0, ctypes.c_uint64(id), ctypes.c_uint64(0))
    blas.dgemm_(b"N", b"N", r(n), r(n), r(n), r(one), a, r(n), a, r(n), r(one), c, r(n))
split, taken, size = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_size_t()
blas.kizami_dropin_kept(r(split), r(taken), r(size))
print(split.value, taken.value, 0 < size.value <= 200 * 1024)
"""], preload=f"{LIBRARY} {BLAS}", OPENBLAS_NUM_THREADS="1", KIZAMI_SCHEME="ozaki2", KIZAMI_KEPT="200K", **FORCED)
        self.assertEqual((limited.status, limited.out, limited.errors), (0, "9 0 True\n", ""))

    def test_omp_num_threads_limits_threads(self):
        # The threads of the process when it ends, those of the native library beside them.
        counts = {}
        for name, variables in (("one", {"OMP_NUM_THREADS": "1"}), ("own", {"OMP_NUM_THREADS": "1", "KIZAMI_THREADS": "2"})):
            done = command.run([sys.executable, "-c", f"""
import ctypes, os
library = ctypes.CDLL({LIBRARY!r})
blas = ctypes.CDLL(None)
n = ctypes.c_int(300)
one = ctypes.c_double(1)
a = (ctypes.c_double * 90000)(*[1 + i % 7 for i in range(90000)])
c = (ctypes.c_double * 90000)()
before = len(os.listdir("/proc/self/task"))
r = ctypes.byref
blas.dgemm_(b"N", b"N", r(n), r(n), r(n), r(one), a, r(n), a, r(n), r(one), c, r(n))
print(len(os.listdir("/proc/self/task")) - before, c[0])
"""], preload=f"{LIBRARY} {BLAS}", OPENBLAS_NUM_THREADS="1", **variables, **FORCED)
            self.assertEqual((done.status, done.calls("emulated")), (0, 1), done.errors)
            counts[name] = done.out.split()
        self.assertEqual(counts["one"][0], "0")
        if len(os.sched_getaffinity(0)) > 1:
            self.assertEqual(counts["own"][0], "1")
        self.assertEqual(counts["one"][1], counts["own"][1])

    def test_a_program_without_calls_prints_nothing(self):
        done = command.run(["true"], preload=LIBRARY, KIZAMI_ACCURACY="bits=99")
        self.assertEqual((done.status, done.errors, done.summary), (0, "", ""))

    def test_rules(self):
        with tempfile.NamedTemporaryFile("w", suffix=".rules") as rules:
            rules.write("routine=trsm : scheme=native\ntype=s site=nowhere* : scheme=native\n"
                        "type=z site=calls* : min_size=0\n")
            rules.flush()
            done = run("all", KIZAMI_RULES=rules.name)
            self.assertEqual(done.errors, "")
            emulated = [line for line in done.summary.splitlines() if "ozaki2" in line]
            self.assertTrue(emulated and all(re.search(r" (scipy_)?(cblas_)?z", line) for line in emulated), done.summary)
            self.assertFalse([line for line in emulated if "trsm" in line])
            rules.write("type=q : scheme=native\n")
            rules.flush()
            done = run("all", KIZAMI_RULES=rules.name)
            self.assertEqual(done.errors, f"kizami: {rules.name}:4: type = 'q', must be s, d, c, z or several with commas "
                                          "between; every call is left to the native library\n")
            self.assertEqual(done.calls("emulated"), 0)

    def test_own_lines_give_each_element_the_bits_that_it_has_alone(self):
        done = command.run([OWN_LINES], preload=LIBRARY, KIZAMI_OWN_LINES="1")
        self.assertEqual((done.status, done.out), (0, "other bits: s 0, d 0, c 0, z 0, syrk and symm 0\n"))
        self.assertEqual(done.calls("native"), 0, done.summary)
        self.assertGreater(done.calls("emulated"), 4 * 40 * 40)
        self.assertNotIn(" entry", done.summary)
        done = command.run([OWN_LINES], preload=LIBRARY, **FORCED)  # the data tell the two apart
        self.assertRegex(done.out, r"^other bits: s [1-9]\d*, d [1-9]\d*, c [1-9]\d*, z [1-9]")

    def test_own_lines_need_a_scheme_that_has_them(self):
        done = run("contract", KIZAMI_OWN_LINES="1", KIZAMI_SCHEME="ec")
        self.assertEqual(done.errors, "kizami: own_lines = 1 with scheme = 'ec', whose bits depend on other lines: must be auto or "
                                      "ozaki2 or native; every call is left to the native library\n")

    def test_min_size(self):
        done = run("contract", size=20, KIZAMI_SCHEME="ozaki2", KIZAMI_MIN_SIZE="21")
        self.assertEqual(done.calls("emulated"), 0)
        done = run("contract", size=20, KIZAMI_SCHEME="ozaki2", KIZAMI_MIN_SIZE="20")
        self.assertEqual(done.calls("emulated"), 6)  # but the two with k = 0

    def test_what_the_accuracy_of_native_blocks_cannot_reach_is_native_and_said(self):
        done = run("all", KIZAMI_ACCURACY="bits=20", KIZAMI_SCHEME="ozaki2")
        lines = [line for line in done.summary.splitlines() if "trmm" in line or "trsm" in line]
        self.assertTrue(lines and all("native: diagonal blocks are native" in line for line in lines), done.summary)
        self.assertEqual(done.calls("emulated") + sum(int(line.split()[0]) for line in lines), ALL_CALLS)

    def test_a_dry_run_has_the_bits_of_the_native_library(self):
        done = run("common", KIZAMI_DRY_RUN="1", **FORCED)
        self.assertEqual(done.out, run("common", preload=False).out)
        self.assertEqual(done.summary.count("native: dry run of ozaki2"), len(done.summary.splitlines()) - 1)

    def test_log_is_one_line_a_call(self):
        done = run("contract", KIZAMI_LOG="1", **FORCED)
        lines = done.errors.splitlines()
        self.assertEqual(len(lines), 8)
        self.assertRegex(lines[0], r"kizami: dgemm_ nn 40x40x40: ozaki2 on cpu_\w+, \d+ moduli, bound \S+ entry, \S+ s \[calls")
        done = run("contract", KIZAMI_LOG="lines.txt", **FORCED)
        self.assertEqual((done.errors, done.files["lines.txt"].count("\n")), ("", 8))

    def test_what_cannot_be_written_is_said_once(self):
        plain = run("contract", **FORCED)
        for path, reason in (("/nowhere/log", "No such file or directory"), ("/dev/full", "No space left on device")):
            done = run("contract", KIZAMI_LOG=path, **FORCED)
            self.assertEqual((done.status, done.out, done.calls("emulated")), (0, plain.out, 8))
            self.assertEqual(done.errors, f"kizami: KIZAMI_LOG = '{path}': {reason}; calls that it does not take are not logged\n")
            done = run("contract", KIZAMI_SUMMARY=path, **FORCED)
            self.assertEqual((done.status, done.out), (0, plain.out))
            first, second = done.errors.splitlines()[:2]
            self.assertEqual(first, f"kizami: KIZAMI_SUMMARY = '{path}': {reason}; the summary goes to stderr")
            self.assertRegex(second, r"^kizami summary of process \d+: 8 calls emulated")

    def test_a_fifo_is_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = f"{folder}/fifo"
            os.mkfifo(fifo)
            done = run("contract", KIZAMI_RULES=fifo, **FORCED)
            self.assertEqual(done.errors, f"kizami: KIZAMI_RULES = '{fifo}': is not a regular file; every call is left to the "
                                          "native library\n")
            done = run("contract", KIZAMI_LOG=fifo, **FORCED)  # that nobody reads
            self.assertRegex(done.errors, "^kizami: KIZAMI_LOG = .*No such device or address")


if __name__ == "__main__":
    LIBRARY, CALLS, LINKED, OWN_LINES = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1])
