#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kizami run and kizami audit: what they say of programs, and that programs are what they were.

usage: run_test.py KIZAMI CALLS
CALLS: calls.cpp, linked with a BLAS.
"""
import html.parser
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

KIZAMI = CALLS = None
COMPILER = shutil.which("cc") or shutil.which("gcc")
ALL_CALLS = 456  # of calls.cpp, as preload_test.py has it
TILE = """
#include <stdio.h>
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*,
            const int*, const double*, double*, const int*);
int main(void) {
  static double a[64 * 64], b[64 * 64], c[64 * 64];
  const int n = 64;
  const double one = 1, zero = 0;
  for (int i = 0; i < n * n; ++i) a[i] = 1 + i % 7, b[i] = 1.0 / (1 + i % 11);
  for (int i = 0; i < 20; ++i) dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  printf("%.17g\\n", c[5]);
  return 0;
}
"""
# A library of one routine, whose results are off by a part in 1000.
WRONG_BLAS = """
void dgemm_(const char* p, const char* q, const int* m, const int* n, const int* k, const double* alpha, const double* a,
            const int* lda, const double* b, const int* ldb, const double* beta, double* c, const int* ldc) {
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum * 1.001 + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]);
    }
}
"""
# A fork() after which the child goes first.
SLOW_FORK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char* program_invocation_short_name;
pid_t fork(void) {
  const pid_t child = ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
  if (child > 0 && strcmp(program_invocation_short_name, "kizami") == 0) usleep(500000);
  return child;
}
"""
# A shell script that says each interrupt, and goes on until it is ended.
SAYS_INT = "trap 'echo int' INT; trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"


class Page(html.parser.HTMLParser):
    """The tags of a page, and what it refers to."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]


class RunTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="kizami-run-")
        self.addCleanup(scratch.cleanup)
        self.dir = Path(scratch.name)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("KIZAMI_", "LD_"))}
        self.environment["TMPDIR"] = scratch.name

    def start(self, *words, **variables):
        return subprocess.run([str(w) for w in words], cwd=self.dir, env=self.environment | variables, capture_output=True,
                              text=True, timeout=200)

    def run_under(self, *words, **variables):
        done = self.start(KIZAMI, *words, **variables)
        self.assertFalse(list(self.dir.glob("kizami-report-*")), "a folder is left")
        return done

    def compiled(self, name, source, *flags):
        if COMPILER is None:
            self.skipTest("no C compiler")
        (self.dir / f"{name}.c").write_text(source)
        done = self.start(COMPILER, f"{name}.c", "-o", name, *flags)
        if done.returncode != 0 and "-static" in flags:
            self.skipTest("no static C library")
        self.assertEqual(done.returncode, 0, done.stderr)
        return f"./{name}"

    def test_every_call_is_emulated_and_the_program_is_as_under_the_library(self):
        library = Path(KIZAMI).resolve().parents[1] / "lib/libkizami_blas.so"
        under = self.start(CALLS, "all", "plain", 40, LD_PRELOAD=str(library), KIZAMI_MIN_SIZE="0")
        done = self.run_under("run", "--min-size", 0, "--json", "lines.jsonl", "--", CALLS, "all", "plain", 40)
        self.assertEqual((done.returncode, done.stdout), (under.returncode, under.stdout))
        self.assertRegex(done.stderr, rf"^kizami run: {ALL_CALLS} calls emulated, 0 native, in 1 process; .* exit status 0\n")
        lines = [json.loads(line) for line in (self.dir / "lines.jsonl").read_text().splitlines()]
        self.assertEqual(sum(x["calls"] for x in lines if x["event"] == "calls" and x["answer"] == "ozaki2"), ALL_CALLS)
        self.assertEqual(lines[-1]["ended"], "exit status 0")

    def test_ranks_of_mpi_have_files_of_their_own(self):
        for rank, size in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")):
            for number, of, name in (("0", "4", "x.0.jsonl"), ("3", "4", "x.3.jsonl"), ("0", "1", "x.jsonl")):
                done = self.run_under("run", "--json", "x.jsonl", "--", CALLS, "contract", "plain", 20, **{rank: number, size: of})
                self.assertEqual([p.name for p in self.dir.glob("*.jsonl")], [name])
                self.assertEqual("lines of this rank are in x." in done.stderr, of != "1", done.stderr)
                process, = [x for x in map(json.loads, (self.dir / name).read_text().splitlines()) if x["event"] == "process"]
                self.assertEqual(process["rank"], number)
                (self.dir / name).unlink()
        # Emulated: OpenBLAS's kernels of small products for AVX-512 read A where alpha is 0, and the program ends with 1.
        done = self.run_under("run", "--min-size", 0, "--json", "/dev/null", "--", CALLS, "contract", "plain", 20, PMI_RANK="2", PMI_SIZE="3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("lines of this rank", done.stderr)
        self.run_under("audit", "--json", "a.jsonl", "--html", "a", "--", CALLS, "contract", "plain", 20, PMI_RANK="2", PMI_SIZE="3")
        self.assertTrue((self.dir / "a.2.jsonl").exists() and (self.dir / "a.2").exists())

    def test_wishes_reach_the_library(self):
        done = self.run_under("run", "--scheme", "ozaki2", "--accuracy", "bits=20", "--threads", 1, "--json", "-", "--quiet", "--",
                              CALLS, "contract", "plain", 40)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        bounds = [x["bound"] for x in lines if x["event"] == "calls" and x["answer"] == "ozaki2"]
        self.assertTrue(max(bounds) == 9.53674e-07, bounds)  # 2^-20; products of inner size 0 have none

    def test_the_exit_status_and_signals_are_those_of_the_program(self):
        self.assertEqual(self.run_under("run", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.run_under("run", "--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(self.run_under("audit", "--", "sh", "-c", "exit 7").returncode, 7)

    def test_the_program_starts_with_the_signals_that_kizami_started_with(self):
        for name in ("PIPE", "XFSZ", "TERM", "INT", "HUP"):
            dies = f"kill -{name} $$; exit 5"
            done = self.run_under("run", "--quiet", "--", "sh", "-c", dies)
            self.assertEqual(done.returncode, -getattr(signal, f"SIG{name}"), name)
            done = self.start("sh", "-c", f"trap '' {name}; exec \"$@\"", "sh", KIZAMI, "run", "--quiet", "--", "sh", "-c", dies)
            self.assertEqual(done.returncode, 5, name)

    def test_a_signal_that_comes_before_kizami_knows_the_program_is_passed_on(self):
        self.compiled("slow_fork.so", SLOW_FORK, "-shared", "-fPIC", "-ldl")
        for name in ("INT", "TERM", "HUP", "USR1"):
            done = self.run_under("run", "--quiet", "--", "sh", "-c",
                                  f"trap 'exit 9' {name}; kill -{name} $PPID; for i in $(seq 200); do sleep 0.05; done",
                                  LD_PRELOAD=str(self.dir / "slow_fork.so"))
            self.assertEqual((done.returncode, done.stderr), (9, ""), name)

    def test_signals_are_passed_on(self):
        process = subprocess.Popen([KIZAMI, "run", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"],
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 9)
        self.assertLess(time.monotonic() - begin, 30)

    def test_signals_of_the_keyboard_are_passed_on_where_a_process_sends_them(self):
        process = subprocess.Popen([KIZAMI, "run", "--quiet", "--", "sh", "-c", SAYS_INT], env=self.environment, stdout=subprocess.PIPE,
                                   text=True, start_new_session=True)  # a group of its own, as of a terminal
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[0]
        self.assertEqual((process.returncode, said), (9, "int\n"))

    def test_a_key_of_the_terminal_reaches_the_program_once(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(KIZAMI, [KIZAMI, "run", "--quiet", "--", "sh", "-c", SAYS_INT], self.environment)
        said = os.read(terminal, 100)
        while b"ready" not in said:
            said += os.read(terminal, 100)
        os.write(terminal, b"\x03")
        time.sleep(0.5)
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 9)
        said = os.read(terminal, 1000)
        self.assertEqual(said.count(b"int\r\n"), 1, said)

    def test_what_cannot_be_started(self):
        done = self.run_under("run", "--", "no-such-program")
        self.assertEqual((done.returncode, done.stderr), (127, "kizami: error: no-such-program: no such program\n"))
        (self.dir / "data").write_text("x")
        done = self.run_under("run", "--", "./data")
        self.assertEqual(done.returncode, 126)
        self.assertIn("'./data' cannot be started: Permission denied", done.stderr)
        for words in (("run",), ("run", "--"), ("audit",), ("run", "--quiet", "true")):
            done = self.run_under(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertRegex(done.stderr, r"^kizami: error: [^\n]+\n$")

    def test_a_variable_that_is_not_understood_is_refused(self):
        for command in ("run", "audit"):
            done = self.run_under(command, "--", "sh", "-c", "echo started", KIZAMI_MIN_SIZE="abc")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, "kizami: error: KIZAMI_MIN_SIZE = 'abc', must be auto or an integer of 0..1048576\n")

    def test_reports_that_cannot_be_written_are_refused_before_the_start(self):
        for words in (("run", "--json", "/nodir/x"), ("audit", "--html", "/nodir/x"), ("audit", "--rules", "."), ("audit", "--json", "")):
            done = self.run_under(*words, "--", "sh", "-c", "echo started; exit 3")
            expected = (3, "started\n") if words[-1] == "" else (6, "")
            self.assertEqual((done.returncode, done.stdout), expected, done.stderr)
        self.assertFalse([path for path in self.dir.iterdir() if path.name.startswith(".kizami")])

    def test_without_a_folder_for_reports(self):
        done = self.run_under("run", "--", "sh", "-c", "echo started", TMPDIR="/nodir")
        self.assertEqual((done.returncode, done.stdout), (6, ""))
        self.assertEqual(done.stderr, "kizami: error: TMPDIR = '/nodir': no folder for the report can be made there: "
                                      "No such file or directory\n")

    def test_a_program_without_dashes_before_it(self):
        for words, meant in ((("run", "python3", "one.py", "-c", "a b"), "kizami run -- python3 one.py -c 'a b'"),
                             (("run", "--scheme", "ozaki2", "-q", "./solver"), "kizami run --scheme ozaki2 -q -- ./solver"),
                             (("audit", "--html=a.html", "sh", "it's"), "kizami audit --html=a.html -- sh 'it'\\''s'")):
            done = self.run_under(*words)
            self.assertEqual((done.returncode, done.stderr), (2, f"kizami: error: put -- before the program: {meant}\n"))

    def test_options_that_mean_nothing_are_refused(self):
        (self.dir / "bad.rules").write_text("routine=gemm : scheme=ozaki2\n: scheme=fast\n")
        misspelt = self.dir / ("a" * 100 + ".rules")
        misspelt.write_text(": shceme=ozaki2\n")
        for words, says in ((("--acuracy", "bits=40"), "run has no option '--acuracy'; did you mean --accuracy?"),
                            (("--accuracy", "correct"), "--accuracy = 'correct', must be native or bits=N with N of 1..52"),
                            (("--accuracy", "bits=60"), "--accuracy = 'bits=60', must be native or bits=N with N of 1..52; beyond: kizami "
                                                        "gemm has --accuracy correct, the exact product rounded once, and --dd"),
                            (("--accuracy", "natve"), "; did you mean native?"),
                            (("--min-size", "abc"), "--min-size = 'abc', must be auto or an integer of 0..1048576"),
                            (("--monitor", "-1"), "--monitor = '-1', must be an integer of 0..2147483647"),
                            (("--rules", "nofile"), "--rules = 'nofile': No such file or directory"),
                            (("--rules", "bad.rules"), "bad.rules:2: scheme = 'fast', must be one of auto, native"),
                            (("--rules", misspelt), f"{misspelt}:1: the setting 'shceme' is unknown, must be one of accuracy, "),
                            (("--rules", misspelt), "learned, log; did you mean scheme?\n"),
                            (("--before", "blsa"), "--before = 'blsa' is unknown; allowed: blas, cublas, all; did you mean blas?"),
                            (("--before", "mkl"), "--before = 'mkl' is unknown; allowed: blas, cublas, all")):
            done = self.run_under("run", *words, "--", "true")
            self.assertEqual((done.returncode, says in done.stderr), (2, True), done.stderr)

    def test_a_variable_that_is_none_is_said(self):
        done = self.run_under("run", "--quiet", "--", "true", KIZAMI_ACCURCY="bits=30")
        self.assertEqual(done.stderr, "kizami: note: the variable KIZAMI_ACCURCY is unknown and has no effect; did you mean "
                                      "KIZAMI_ACCURACY?\n")

    def test_a_variable_that_is_none_is_said_once(self):
        """By the command, and not again by each process that multiplies."""
        done = self.run_under("run", "--min-size", 0, "--", "sh", "-c", f"{CALLS} contract plain 20; {CALLS} child_exits plain 20",
                              KIZAMI_ACCURCY="bits=30")
        self.assertEqual(done.stderr.count("KIZAMI_ACCURCY"), 1, done.stderr)

    def test_processes_with_one_folder_say_once_that_a_variable_is_none(self):
        library = Path(KIZAMI).resolve().parents[1] / "lib/libkizami_blas.so"
        (self.dir / "reports").mkdir()
        done = self.start("sh", "-c", f"{CALLS} contract plain 20; {CALLS} contract plain 20", LD_PRELOAD=str(library),
                          KIZAMI_REPORT="reports", KIZAMI_ACCURCY="bits=30")
        self.assertEqual(done.stderr.count("KIZAMI_ACCURCY"), 1, done.stderr)

    def reason(self, *words):
        done = self.run_under("run", "--", *words)
        self.assertRegex(done.stderr, r"^kizami run: 0 calls seen, because ")
        return done.stderr

    def test_no_calls_because_no_blas_is_loaded(self):
        self.assertIn("no process had loaded a BLAS", self.reason("true"))

    def test_calls_of_a_process_that_does_not_understand_its_variables_are_native(self):
        done = self.run_under("run", "--", "env", "KIZAMI_RULES=nofile", CALLS, "contract", "plain", 20)
        self.assertRegex(done.stderr, r"kizami run: 0 calls emulated, [1-9]\d* native, in 1 process; ")
        self.assertIn("native: the configuration is not understood", done.stderr)

    def test_no_calls_because_the_preload_is_taken_out_of_the_environment(self):
        for words in (("-u", "LD_PRELOAD"), ("-i",)):
            self.assertRegex(self.reason("env", *words, CALLS, "contract", "plain", 20),
                             r"because no process had loaded a BLAS, but the end of 1 process was not seen \(exit status \d\): it may have become "
                             r"a program without LD_PRELOAD in its environment, as by env -i,")

    def test_processes_that_go_on_are_said(self):
        started = time.monotonic()
        done = self.run_under("run", "--", "sh", "-c", f"(sleep 2; {CALLS} contract plain 20) > later 2>&1 & exit 5")
        self.assertLess(time.monotonic() - started, 1.9)
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stderr, r"0 calls seen, because the program ended \(exit status 5\) before (1 process of it, which still runs"
                                      r"|2 processes of it, which still run)\n")
        done = self.run_under("audit", "--", "sh", "-c", f"{CALLS} contract plain 20; sleep 2 >&- 2>&- & sleep 0.5; {CALLS} contract plain 20")
        self.assertIn("the program has ended, but 1 process of it still runs: their calls from now on are not seen", done.stderr)
        time.sleep(2.5)
        self.assertIn("kizami run and audit take theirs away when the program ends", (self.dir / "later").read_text())

    def test_one_call_is_singular(self):
        self.compiled("libwrong.so", WRONG_BLAS, "-shared", "-fPIC")
        program = self.compiled("product", TILE.replace("i < 20", "i < 1"), "./libwrong.so", "-Wl,-rpath,$ORIGIN")
        done = self.run_under("run", "--min-size", 0, "--", program, KIZAMI_SUMMARY="1")
        self.assertIn("kizami run: 1 call emulated, 0 native, in 1 process; ", done.stderr)
        self.assertRegex(done.stderr, r"kizami summary of process \d+: 1 call emulated in .*, 0 calls native\n")

    def test_no_calls_because_none_is_made(self):
        self.assertRegex(self.reason(CALLS), r"lib\w*blas\S* was loaded, but no product of it was called by name")

    def test_no_calls_because_the_program_is_static(self):
        program = self.compiled("static", "int main(void) { return 0; }", "-static")
        self.assertIn("static is linked statically", self.reason(program))

    def test_no_calls_because_a_blas_is_linked_into_the_program(self):
        program = self.compiled("own", "int called; void dgemm_(void) { called = 1; }\nint main(void) { dgemm_(); return 0; }")
        self.assertIn("own has a BLAS linked into it", self.reason(program))

    def test_no_calls_because_of_the_name(self):
        program = self.compiled("named", "extern void dgemm_ilp64_(void) __attribute__((weak));\n"
                                         "int main(void) { if (dgemm_ilp64_) dgemm_ilp64_(); return 0; }")
        self.assertIn("named calls dgemm_ilp64_, a name that no drop-in library has", self.reason(program))

    def test_forks_and_a_crash_are_counted(self):
        done = self.run_under("run", "--min-size", 0, "--", CALLS, "child_exits", "plain", 20)
        self.assertIn(f"{3 * ALL_CALLS} calls emulated", done.stderr)
        done = self.run_under("run", "--min-size", 0, "--", "sh", "-c", f"{CALLS} contract plain 20; kill -SEGV $$")
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertRegex(done.stderr, r"8 calls emulated, 0 native, in 2 processes; .* signal 11 \(Segmentation fault\)\n"
                                      r"  1 process ended before the report was whole")

    def test_an_audit_leaves_the_results_alone_and_finds_no_fault(self):
        plain = self.start(CALLS, "common", "plain", 40)
        done = self.run_under("audit", "--json", "a.jsonl", "--html", "a.html", "--rules", "a.rules", "--", CALLS, "common", "plain",
                              40)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        lines = [json.loads(line) for line in (self.dir / "a.jsonl").read_text().splitlines()]
        sites = [x for x in lines if x["event"] == "site"]
        self.assertEqual(sum(x["calls"] for x in sites), 396)
        ratios = [x["error_over_bound"] for x in sites if "error_over_bound" in x]
        self.assertTrue(ratios and max(ratios) <= 1, ratios)
        self.assertGreater(max(ratios), 0)
        self.assertTrue(all(1 <= x["bits"] <= 53 + 64 for x in sites if x["samples"] > 0 and "trsm" not in x["routine"]))
        page = Page((self.dir / "a.html").read_text())
        self.assertEqual((page.tags.count("svg"), page.links), (4, []))
        cards = {x["card"]: x for x in lines if x["event"] == "card"}
        self.assertIn("h200", cards)
        self.assertTrue(all(0 < x["kizami_seconds"] <= x["native_seconds"] for x in cards.values()), cards)
        self.assertRegex(done.stderr, r"gain on cards, by the model, .*:\n    a100 \d")
        again = self.run_under("run", "--rules", "a.rules", "--", CALLS, "contract", "plain", 20)
        self.assertIn("calls emulated", again.stderr)
        self.assertNotIn("must be", again.stderr)

    def test_an_audit_names_what_the_planner_takes_and_counts_pieces(self):
        """On a processor the planner takes ozaki2 or none. syrk is emulated by pieces, which take longer than half a product of its size."""
        done = self.run_under("audit", "--json", "a.jsonl", "--", CALLS, "common", "plain", 300)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in (self.dir / "a.jsonl").read_text().splitlines()]
        predicted = [x for x in lines if x["event"] == "audited" and "predicted_seconds" in x]
        self.assertTrue(predicted)
        self.assertLessEqual({x["predicted_scheme"] for x in predicted}, {"native", "ozaki2"})
        self.assertTrue(all(x["predicted_native_seconds"] > 0 for x in predicted), predicted)
        for x in lines:
            if x["event"] == "site" and "predicted_gain" in x:
                taken = sum(y["seconds"] for y in predicted if (y["site"], y["offset"], y["routine"]) == (x["site"], x["offset"], x["routine"]))
                emulated = sum(y["predicted_seconds"] * y["calls"] for y in predicted
                               if (y["site"], y["offset"], y["routine"]) == (x["site"], x["offset"], x["routine"]))
                self.assertLessEqual(x["predicted_gain"], 1.001 * taken / emulated, x)
        rates = {stem: {x["type"]: x["part"] * x["m"] * x["n"] * x["k"] / x["predicted_seconds"] for x in predicted if x["stem"] == stem}
                 for stem in ("gemm", "syrk")}
        self.assertTrue(rates["gemm"].keys() & rates["syrk"].keys(), rates)
        for letter in rates["gemm"].keys() & rates["syrk"].keys():
            self.assertLess(1.1 * rates["syrk"][letter], rates["gemm"][letter], rates)

    def test_a_process_that_becomes_another_program_is_one(self):
        for command in ("run", "audit"):
            done = self.run_under(command, "--", "sh", "-c", f"exec sh -c 'exec {CALLS} contract plain 40'")
            self.assertRegex(done.stderr, r"^kizami \w+: \d+ .* in 1 process", command)
            self.assertNotIn("ended before the report was whole", done.stderr)

    def test_an_audit_says_what_a_variable_is_none(self):
        done = self.run_under("audit", "--quiet", "--", "true", KIZAMI_ACCURCY="bits=30")
        self.assertIn("did you mean KIZAMI_ACCURACY?", done.stderr)

    def test_an_audit_counts_forks_and_says_that_a_process_crashed(self):
        done = self.run_under("audit", "--json", "a.jsonl", "--", "sh", "-c", f"{CALLS} contract plain 20; kill -SEGV $$")
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertRegex(done.stderr, r"^kizami audit: 8 products in 2 processes, .*; signal 11 \(Segmentation fault\)\n")
        self.assertIn("1 process ended before the report was whole", done.stderr)
        self.assertEqual(json.loads((self.dir / "a.jsonl").read_text().splitlines()[-1])["incomplete"], 1)
        done = self.run_under("audit", "--", CALLS, "child_exits", "plain", 20)
        self.assertRegex(done.stderr, rf"^kizami audit: {3 * ALL_CALLS} products in \d processes, ")

    def test_an_audit_knows_ranks_of_mpi(self):
        done = self.run_under("audit", "--", "sh", "-c", f"for r in 0 1; do OMPI_COMM_WORLD_RANK=$r {CALLS} contract plain 20 & done; wait")
        self.assertIn("\n  2 ranks of MPI\n", done.stderr)

    def test_an_audit_finds_a_library_that_is_wrong(self):
        self.compiled("libwrong.so", WRONG_BLAS, "-shared", "-fPIC")
        program = self.compiled("product", TILE, "./libwrong.so", "-Wl,-rpath,$ORIGIN")
        plain = self.start(program).stdout
        done = self.run_under("audit", "--json", "a.jsonl", "--", program)
        self.assertEqual(done.stdout, plain)
        site, = [x for x in map(json.loads, (self.dir / "a.jsonl").read_text().splitlines()) if x["event"] == "site"]
        self.assertEqual((site["routine"], site["calls"]), ("dgemm_", 20))
        self.assertGreater(site["error_over_bound"], 1e6)

    def test_an_audit_of_a_program_without_products_says_why(self):
        done = self.run_under("audit", "--html", "a.html", "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertIn("0 calls seen, because no process had loaded a BLAS", done.stderr)
        self.assertIn("0 calls were seen", (self.dir / "a.html").read_text())


if __name__ == "__main__":
    KIZAMI, CALLS = (os.path.abspath(path) for path in sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main()
