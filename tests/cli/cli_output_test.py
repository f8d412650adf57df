# SPDX-License-Identifier: MIT
"""The output appears whole or not at all, whatever happens on the way."""
import array
import math
import os
import pty
import random
import resource
import signal
import stat
import subprocess
import time

import cli_support
from cli_support import IS_ROOT, IS_SANITIZED, MEMORY, OK, OUTPUT, REPORT, USAGE, CliTest, npy_bytes, random_matrix, read_npy

SLOW = ("gemm", "L.npy", "L.npy", "-o", "C.npy", "--engine", "cpu_ref", "--threads", "1")
LARGE = 512 if IS_SANITIZED else 1024


class OutputTest(CliTest):
    def setUp(self):
        super().setUp()
        self.matrix("A.npy", random_matrix(4, 6, 1))
        self.matrix("B.npy", random_matrix(6, 5, 2))

    def large_matrix(self, n):
        """L.npy, n x n: a product that is slow on one thread of the engine cpu_ref."""
        source = random.Random(n)
        values = array.array("d", (source.random() - 0.5 for _ in range(n * n)))
        self.file("L.npy", npy_bytes([], shape=(n, n)) + values.tobytes())

    def refuse(self, output, says, **options):
        before = self.names()
        self.expect_error(OUTPUT, "gemm", "A.npy", "B.npy", "-o", output, says=says, **options)
        self.assertEqual(self.names(), before)

    def test_refused_targets(self):
        self.refuse(self.dir, "directory")
        self.refuse("absent/C.npy", "absent/C.npy")
        self.refuse("A.npy/C.npy", "A.npy/C.npy")
        self.refuse("", "output")
        self.refuse("new/", "new/")
        self.refuse("x" * 300, "name too long")
        self.refuse("/proc/C.npy", "/proc/C.npy")

    def test_endings_have_any_case(self):
        self.expect_error(USAGE, "gemm", "A.npy", "B.npy", "-o", "C.CSV", says=".csv is not written")
        self.succeed("gemm", "A.npy", "B.npy", "-q", "-o", "C.MTX")
        self.assertTrue((self.dir / "C.MTX").read_bytes().startswith(b"%%MatrixMarket matrix array real general\n"))

    def test_standard_output_may_be_a_pipe(self):
        self.succeed("gemm", "A.npy", "B.npy", "-q", "-o", "C.npy")
        for name in ("/dev/stdout", "/proc/self/fd/1"):
            result = subprocess.run([cli_support.PROGRAM, "gemm", "A.npy", "B.npy", "-q", "-o", name], cwd=self.dir, capture_output=True,
                                    timeout=250)
            self.assertEqual((result.returncode, result.stderr, result.stdout), (OK, b"", (self.dir / "C.npy").read_bytes()))
        (self.dir / "link").symlink_to("/dev/stdout")
        result = subprocess.run([cli_support.PROGRAM, "gemm", "A.npy", "B.npy", "-q", "-o", "link"], cwd=self.dir, capture_output=True,
                                timeout=250)
        self.assertEqual(result.stdout, (self.dir / "C.npy").read_bytes())

    def test_full_disk(self):
        self.refuse("/dev/full", "No space left")
        self.file("C.npy", b"precious")
        self.refuse("C.npy", "too large", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)))
        self.assertEqual((self.dir / "C.npy").read_bytes(), b"precious")

    def without_report(self, stdout, *args, **options):
        """Runs before a standard output that takes nothing; returns what is said of it."""
        result = subprocess.run([cli_support.PROGRAM, *args], cwd=self.dir, stdout=stdout, stderr=subprocess.PIPE, text=True,
                                timeout=250, **options)
        self.assertEqual(result.returncode, REPORT)
        self.assertRegex(result.stderr, r"\Akizami: error: standard output: [^\n]+\n\Z")
        return result.stderr

    def outputs_that_take_nothing(self):
        """(stdout, what the child does first, what must be said) of a full device, a pipe that nobody reads, no stdout at all."""
        with open("/dev/full", "w") as full:
            yield full, None, "No space left on device"
        reader, writer = os.pipe()
        os.close(reader)
        yield writer, None, "Broken pipe"
        os.close(writer)
        yield None, lambda: os.close(1), "Bad file descriptor"

    def test_standard_output_that_takes_nothing(self):
        self.succeed("gemm", "A.npy", "B.npy", "-o", "good.npy", "-q")
        good = (self.dir / "good.npy").read_bytes()
        for stdout, first, reason in self.outputs_that_take_nothing():
            for form in (["--json"], []):
                self.file("C.npy", b"old")
                said = self.without_report(stdout, "gemm", "A.npy", "B.npy", "-o", "C.npy", *form, preexec_fn=first)
                self.assertIn(f"standard output: {reason}; the report is lost, C is complete in C.npy", said)
                self.assertEqual((self.dir / "C.npy").read_bytes(), good)
            self.without_report(stdout, "info", preexec_fn=first)
        self.assertIn("10  standard output is full or closed", self.succeed("--help"))

    def test_limited_address_space(self):
        """Threads of OpenBLAS that get no memory ask again forever; the command must end all the same."""
        if IS_SANITIZED:
            self.skipTest("sanitizers reserve terabytes of addresses")
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (160 << 20, 160 << 20)), "timeout": 60,
                   "env": dict(os.environ, OPENBLAS_NUM_THREADS="2")}
        self.succeed("gemm", "A.npy", "B.npy", "-o", "good.npy", "-q")
        self.assertIn("fp64 phases", self.succeed("info", **limited))
        self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q", **limited)
        self.assertEqual((self.dir / "C.npy").read_bytes(), (self.dir / "good.npy").read_bytes())
        self.refuse("absent/C.npy", "absent/C.npy", **limited)
        self.expect_error(MEMORY, "gemm", "A.npy", "B.npy", "-o", "C.npy", "--scheme", "native", **limited,
                          says="the address space is limited to 160.0 MiB, which leaves no room for the buffer of 128.1 MiB")

    def test_permissions(self):
        self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q", umask=0o027)
        self.assertEqual(stat.S_IMODE(os.stat(self.dir / "C.npy").st_mode), 0o640)
        os.chmod(self.dir / "C.npy", 0o604)
        self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q", umask=0o027)
        self.assertEqual(stat.S_IMODE(os.stat(self.dir / "C.npy").st_mode), 0o604)
        if IS_ROOT:
            self.skipTest("root may write everything")
        os.chmod(self.dir / "C.npy", 0o444)
        self.refuse("C.npy", "Permission denied")
        os.chmod(self.dir, 0o555)
        self.addCleanup(os.chmod, self.dir, 0o755)
        self.refuse("new.npy", "Permission denied")

    def test_links(self):
        (self.dir / "real").mkdir()
        self.file("real/C.npy", b"old")
        for link, target in (("link.npy", "real/C.npy"), ("chain.npy", "link.npy"), ("dangling.npy", "real/new.npy")):
            os.symlink(target, self.dir / link)
            self.succeed("gemm", "A.npy", "B.npy", "-o", link, "-q")
            self.assertTrue((self.dir / link).is_symlink())
            self.assertEqual(len(read_npy(self.dir / link)[0]), 4)
        self.assertEqual(sorted(os.listdir(self.dir / "real")), ["C.npy", "new.npy"])
        os.symlink("loop.npy", self.dir / "loop.npy")
        self.refuse("loop.npy", "symbolic links")

    def test_device_is_not_replaced(self):
        self.succeed("gemm", "A.npy", "B.npy", "-o", "/dev/null", "-q")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_idempotent(self):
        self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q")
        first = (self.dir / "C.npy").read_bytes()
        self.succeed("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q")
        self.assertEqual((self.dir / "C.npy").read_bytes(), first)
        self.assertEqual(self.names(), ["A.npy", "B.npy", "C.npy"])

    def start(self, *args, **options):
        process = subprocess.Popen([cli_support.PROGRAM, *args], cwd=self.dir, stdin=subprocess.DEVNULL, **options)
        self.addCleanup(process.kill)
        return process

    def test_interruption(self):
        self.large_matrix(LARGE)
        self.file("C.npy", b"precious")
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            process = self.start(*SLOW, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            deadline = time.monotonic() + 60
            while not any(name.startswith(".kizami-") for name in self.names()):
                self.assertLess(time.monotonic(), deadline, "no temporary file appeared")
                self.assertIsNone(process.poll(), "the product is too small for this test")
                time.sleep(0.005)
            time.sleep(0.2)
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=60)
            self.assertEqual((process.returncode, stdout, stderr), (code, b"", b""))
            self.assertEqual(self.names(), ["A.npy", "B.npy", "C.npy", "L.npy"])
            self.assertEqual((self.dir / "C.npy").read_bytes(), b"precious")

    def test_interruption_at_any_time(self):
        self.file("C.npy", b"precious")
        steps, pause = (8, 0.05) if IS_SANITIZED else (40, 0.0015)  # of a run that lasts 0.3 and 0.02 s
        for step in range(steps):
            process = self.start("gemm", "A.npy", "B.npy", "-o", "C.npy", "-q")
            time.sleep(step * pause)
            process.terminate()
            self.assertIn(process.wait(timeout=60), (OK, 143, -signal.SIGTERM))  # the last: before the program began
            self.assertEqual(self.names(), ["A.npy", "B.npy", "C.npy"])
            content = (self.dir / "C.npy").read_bytes()
            self.assertTrue(content == b"precious" or len(content) == 128 + 4 * 5 * 8)

    def on_terminal(self, *args, interrupt_at=None, interrupt_after=None):
        """What a run writes to a terminal as its stderr; interrupted once it shows a text, or after so many seconds."""
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a bare chroot without /dev/pts
            self.skipTest(f"no terminal to be had: {error}")
        process = self.start(*args, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        is_interrupted = interrupt_after is not None
        if is_interrupted:
            time.sleep(interrupt_after)
            self.assertIsNone(process.poll(), "the product is too small for this test")
            process.send_signal(signal.SIGINT)
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
                if interrupt_at and interrupt_at in seen and not is_interrupted:
                    process.send_signal(signal.SIGINT)
                    is_interrupted = True
        except OSError:  # the end, on Linux
            pass
        os.close(ours)
        self.assertEqual(process.wait(timeout=60), 130 if is_interrupted else OK)
        return seen

    def test_progress_bar(self):
        if IS_SANITIZED:  # one run, that ends when the bar is there; the rest below is about its text
            self.large_matrix(8 * LARGE)
            self.assertTrue(self.on_terminal(*SLOW, interrupt_at=b"kizami: ").endswith(b" \r"))
            return
        n = LARGE // 2
        while True:
            self.large_matrix(n)
            start = time.monotonic()
            seen = self.on_terminal(*SLOW)
            seconds = time.monotonic() - start
            if seconds > 3.3:  # the bar waits for two, and the last of these runs is looked at after 2.7
                break
            n = math.ceil(n * (4 / seconds) ** (1 / 3))
        self.assertIn(b"kizami: ", seen)
        self.assertTrue(seen.endswith(b" \r"), seen[-100:])
        seen = self.on_terminal(*SLOW, interrupt_at=b"kizami: ")
        self.assertIn(b"kizami: ", seen)
        self.assertTrue(seen.endswith(b" \r"), seen[-100:])
        self.assertEqual(self.on_terminal(*SLOW, "--quiet", interrupt_after=2.7), b"")
        self.assertEqual(self.on_terminal("gemm", "A.npy", "B.npy", "-o", "C.npy"), b"")


if __name__ == "__main__":
    cli_support.main()
