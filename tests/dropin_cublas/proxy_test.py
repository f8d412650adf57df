#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that open cuBLAS by its name, with a proxy in its place: before a fake cuBLAS, and, where it is installed, before the
real one.

usage: proxy_test.py PROXY_OF_FAKES FAKE_CUBLAS OPENER LINKED NM [PROXY_FOLDER CUBLAS_FOLDER]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROXY = FAKE = OPENER = LINKED = NM = REAL_PROXIES = CUBLAS = None
PRODUCT = ("kizami f64 ops cn size 10x20x30 ld 30 31 12 stream (nil) factors 2+0i -1+0i bits 0 scheme auto engine auto")
LEFT = "cublas cublasDgemm_v2 2 0 10 20 30 30 31 12"
STATUSES = "statuses 0 0 1, math mode 1"
# Opens the real cuBLAS by its name: versions, a text, a product without a handle, and a library that is linked with cuBLAS.
ASK_REAL = """
import ctypes
blas, number = ctypes.CDLL("libcublas.so.13"), ctypes.c_int()
blas.cublasGetProperty(0, ctypes.byref(number))
blas.cublasGetStatusName.restype = ctypes.c_char_p
lt = ctypes.CDLL("libcublasLt.so.13")
lt.cublasLtGetVersion.restype = ctypes.c_size_t
print(number.value, blas.cublasGetStatusName(7).decode(), lt.cublasLtGetVersion() // 10000)
print(blas.cublasDgemm_v2(None, 0, 0, 1, 1, 1, None, None, 1, None, 1, None, None, 1))
"""


def run(command, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KIZAMI_", "LD_"))}
    done = subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, timeout=100)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.splitlines(), done.stderr


def symbols(library):
    lines = subprocess.run([NM, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[2] for line in lines.splitlines() if line.split()[1] != "A"}


class ProxyTest(unittest.TestCase):
    def setUp(self):
        self.fakes, self.proxies = os.path.dirname(FAKE), os.path.dirname(PROXY)
        self.path = f"{self.proxies}:{self.fakes}"

    def test_without_the_proxy_cublas_is_opened(self):
        lines, errors = run([OPENER], LD_LIBRARY_PATH=self.fakes)
        self.assertEqual(lines[0], "cublasDscal_v2 is not there")
        self.assertEqual(errors, "")

    def test_products_go_to_kizami_and_the_rest_to_cublas(self):
        self.assertEqual(run([OPENER], LD_LIBRARY_PATH=self.path), ([PRODUCT, STATUSES], ""))
        lines, _ = run([OPENER], LD_LIBRARY_PATH=self.path, KIZAMI_SCHEME="native", FAKE_CUBLAS_STATUS="13")
        self.assertEqual(lines, [LEFT, STATUSES.replace("0 0 1", "13 0 1")])

    def test_the_native_library_is_that_of_a_folder_or_beside_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(FAKE, os.path.join(folder, "libcublas.so.13"))
            for native in (folder, os.path.join(folder, "libcublas.so.13"), os.path.join(folder, "libanything.so")):
                lines, errors = run([OPENER], LD_LIBRARY_PATH=self.proxies, KIZAMI_NATIVE=native, KIZAMI_SCHEME="native")
                self.assertEqual((lines, errors), ([LEFT, STATUSES], ""))

    def test_the_proxy_does_not_take_itself_for_cublas(self):
        lines, errors = run([OPENER, "2"], LD_LIBRARY_PATH=self.proxies, KIZAMI_NATIVE=self.proxies)
        self.assertEqual(lines, ["statuses 1 1 1, math mode 0"] * 2)
        self.assertEqual(errors, "kizami: there is no libcublas.so.13 but the proxy; KIZAMI_NATIVE may name its folder\n")

    def test_linked_programs_find_it_too(self):
        lines, _ = run([LINKED, "one"], LD_LIBRARY_PATH=self.path)
        self.assertEqual(lines, [PRODUCT, "status 0"])
        lines, _ = run([LINKED, "one"], LD_PRELOAD=PROXY, KIZAMI_NATIVE=self.fakes, KIZAMI_SCHEME="native")
        self.assertEqual(lines, [LEFT, "status 0"])

    def test_first_calls_of_many_threads(self):
        lines, errors = run([OPENER, "8"], LD_LIBRARY_PATH=self.path)
        self.assertEqual((sorted(lines), errors), (sorted([PRODUCT, STATUSES] * 8), ""))

    def test_a_program_that_calls_nothing_opens_nothing(self):
        self.assertEqual(run(["true"], LD_PRELOAD=PROXY), ([], ""))

    def test_every_function_of_the_real_libraries_is_there_with_its_version(self):
        if CUBLAS is None:
            self.skipTest("no cuBLAS on this machine")
        for name in ("libcublas.so.13", "libcublasLt.so.13"):
            real, proxy = (symbols(os.path.join(folder, name)) for folder in (CUBLAS, REAL_PROXIES))
            self.assertGreater(len(real), 100)
            self.assertEqual(real - proxy, set())

    def test_the_real_library_answers_through_the_proxies(self):
        if CUBLAS is None:
            self.skipTest("no cuBLAS on this machine")
        preload = ":".join(os.path.join(REAL_PROXIES, name) for name in ("libcublas.so.13", "libcublasLt.so.13"))
        for variables in ({"LD_LIBRARY_PATH": f"{REAL_PROXIES}:{CUBLAS}"},
                          {"LD_PRELOAD": preload, "KIZAMI_NATIVE": CUBLAS}):
            lines, errors = run([sys.executable, "-c", ASK_REAL], KIZAMI_LOG="1", **variables)
            self.assertEqual(lines, ["13 CUBLAS_STATUS_INVALID_VALUE 13", "1"])
            self.assertRegex(errors, r"^kizami: cublasDgemm_v2 nn 1x1x1: native: an argument is not valid \[.*\]\n$")


if __name__ == "__main__":
    PROXY, FAKE, OPENER, LINKED, NM = sys.argv[1:6]
    if len(sys.argv) > 6:
        REAL_PROXIES, CUBLAS = sys.argv[6:8]
    unittest.main(argv=sys.argv[:1])
