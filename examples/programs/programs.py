#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of other people before and after: each runs as it is, and with a library of Kizami preloaded and every product
emulated. What a program says of its own results must hold in both runs, and its calls must have been taken.

usage: programs.py LIBRARY PROGRAM... [--record FILE] [--quick] [--threads N] [--hpl-size N] [--only JOB,...]
PROGRAM, with libkizami_blas.so: numpy, scipy (their tests of linear algebra, on the reference BLAS and LAPACK), hpcc (HPL and its
companions), octave (its tests of linear algebra, and products of all types by octave_tests.m), r (residuals of its linear algebra and products by r_tests.R), pyscf (energies of a molecule; the Python of KIZAMI_PYSCF_PYTHON, else python3), lapack and scalapack (their own tests by
lapack_tests.py and scalapack_tests.py, with lapack.rules), elpa (eigenproblems on 1, 2 and 4 ranks, by elpa_tests.py, with lapack.rules); with libkizami_cublas.so, on a CUDA
device: torch, cupy, jax (linear_algebra.py). --record appends a JSON line each; --quick takes the parts of numpy's and
scipy's tests that last seconds; --only takes these jobs of lapack, scalapack or elpa, of lapack also a program's: xeigtstd.
Where the distribution has no hpcc, KIZAMI_HPCC names a folder with the program, its libraries in lib/ and Open MPI's below
lib/x86_64-linux-gnu/openmpi. Exit status 77 if a program is not installed.
"""
import argparse
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
SYSTEM_PYTHON = "/usr/bin/python3"
# Stacks of the same small matrices again, which take most of the time of numpy's tests; those of TestSolve stay.
QUICK_NUMPY = "not (generalized and (Cond or Det or Pinv or Eig or Inv or SVD))"
QUICK_SCIPY = ("basic", "blas", "decomp_cholesky", "decomp_ldl", "decomp_polar")
# Systems of order 200 by every driver of every type, two thirds of the time of those.
LESS_SCIPY = "not (TestLstsq and random and exact)"
# The numbers of a water molecule may differ by the thresholds that its iterations end at.
ENERGY_TOLERANCE = 1e-8


class Run:
    """One run of a program: its exit status, what it printed, the summary of its calls."""

    def __init__(self, program, library, threads):
        with tempfile.TemporaryDirectory() as folder:
            environment = {n: v for n, v in os.environ.items() if not n.startswith(("KIZAMI_", "LD_", "PYTEST"))}
            environment |= program.environment | {"OMP_NUM_THREADS": str(threads)}
            if library:
                environment |= program.preload(library) | {"KIZAMI_MIN_SIZE": "0", "KIZAMI_SUMMARY": f"{folder}/summary",
                                "KIZAMI_MONITOR": "100"}
            for name, text in program.files.items():
                Path(folder, name).write_text(text)
            begin = time.perf_counter()
            done = subprocess.run(program.command, env=environment, cwd=folder, capture_output=True, text=True)
            self.seconds = time.perf_counter() - begin
            self.status, self.errors = done.returncode, done.stderr
            outputs = [Path(folder, name) for name in program.outputs]
            self.text = done.stdout + "".join(path.read_text() for path in outputs if path.exists())
            summary = Path(folder, "summary")
            self.summary = summary.read_text() if summary.exists() else ""

    def calls(self, kind):
        return sum(int(n) for n in re.findall(rf"(\d+) calls? {kind}", self.summary))

    def emulated_routines(self):
        """Names of functions with emulated calls, as the program called them."""
        lines = [line for line in self.summary.splitlines() if " x " in line and ": native: " not in line]
        return sorted({line.split(" x ")[1].split()[0] for line in lines} - {"(other"})  # shapes beyond the summary

    def worst_ratio(self):
        """The largest error / bound of the samples that were computed again."""
        return max((float(x) for x in re.findall(r"sample error / bound (\S+?),", self.summary)), default=None)


class Program:
    """A command, what it needs, and what it says of its results."""

    environment, files, outputs = {}, {}, ()

    def is_there(self):
        return shutil.which(self.command[0]) is not None

    def preload(self, library):
        return {"LD_PRELOAD": library}


def reference_libraries():
    """The folders of the reference BLAS and LAPACK: OpenBLAS's LAPACK never calls dgemm_ by its name."""
    return sorted(glob.glob("/usr/lib/*/blas")) + sorted(glob.glob("/usr/lib/*/lapack"))


class PythonTests(Program):
    def __init__(self, modules, least, routines, selection=""):
        self.command = [SYSTEM_PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", selection, "--pyargs", *modules]
        self.environment = {"LD_LIBRARY_PATH": ":".join(reference_libraries())}
        self.module, self.least, self.routines = modules[0].split(".")[0], least, routines

    def is_there(self):
        found = subprocess.run([SYSTEM_PYTHON, "-c", f"import {self.module}.linalg, {self.module}.conftest"], capture_output=True)
        return found.returncode == 0 and len(reference_libraries()) == 2

    def results(self, run):
        counts = {kind: int(n) for n, kind in re.findall(r"(\d+) (passed|failed|error)", run.text.splitlines()[-1])}
        return {"passed": counts.get("passed", 0), "failed": counts.get("failed", 0) + counts.get("error", 0)}

    def problems(self, before, after):
        found = [] if after["failed"] == 0 else [f"{after['failed']} tests failed"]
        found += [] if before == after else [f"before {before}, after {after}"]
        return found + ([] if after["passed"] >= self.least else [f"{after['passed']} tests, must be {self.least}"])


class Hpcc(Program):
    command, outputs, routines = ["hpcc"], ("hpccoutf.txt",), ("cblas_dgemm",)
    environment = {"LD_LIBRARY_PATH": ":".join(reference_libraries()), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def __init__(self, size):
        folder = os.environ.get("KIZAMI_HPCC")
        if folder:  # one process, which needs no daemon of Open MPI's
            self.command = [f"{folder}/hpcc"]
            self.environment = self.environment | {"LD_LIBRARY_PATH": f"{folder}/lib", "OPAL_PREFIX": folder,
                                                   "OMPI_MCA_ess_singleton_isolated": "1", "OMPI_MCA_btl": "self",
                                                   "OMPI_MCA_mca_base_component_show_load_errors": "0"}
        lines = ["HPLinpack benchmark input file", "Kizami", "HPL.out", "8", "1", str(size), "1", "80", "0", "1", "1", "1", "16.0",
                 "1", "2", "1", "4", "1", "2", "1", "1", "1", "1", "1", "1", "2", "64", "0", "0", "1", "8",
                 "# the rest is of the companions", "0", "1200", "0", "40"]
        self.files = {"hpccinf.txt": "\n".join(lines) + "\n"}

    def results(self, run):
        residual = re.search(r"^\|\|Ax-b\|\|_oo.*=\s*(\S+) \.+ (PASSED|FAILED)$", run.text, re.M)
        success = re.search(r"^Success=(\d)$", run.text, re.M)
        line = re.search(r"^W\S+\s+(\d+)\s+\d+\s+\d+\s+\d+\s+(\S+)\s+(\S+)$", run.text, re.M)
        return {"n": int(line[1]) if line else None, "hpl_seconds": float(line[2]) if line else None,
                "gflops": float(line[3]) if line else None, "scaled_residual": float(residual[1]) if residual else None,
                "verdict": residual[2] if residual else None,
                "success": bool(success and success[1] == "1"), "failed": run.text.count("FAILED")}

    def problems(self, before, after):
        good = after["verdict"] == "PASSED" and after["success"] and after["failed"] == 0
        return [] if good else [f"before {before}, after {after}"]


class Octave(Program):
    command, routines = ["octave-cli", "--quiet", "--no-init-file", str(HERE.resolve() / "octave_tests.m")], ("dgemm_", "dsyrk_", "sgemm_", "zgemm_")

    def results(self, run):
        tests = [(int(passed), int(of)) for passed, of in re.findall(r"^\w+: (\d+) of (\d+)$", run.text, re.M)]
        products = re.findall(r"^product \w+ \d+: (\d)$", run.text, re.M)
        return {"passed": sum(passed for passed, _ in tests), "of": sum(of for _, of in tests), "products": products.count("1"), "of_products": len(products)}

    def problems(self, before, after):
        found = [] if before == after else [f"before {before}, after {after}"]
        if after["products"] != 20 or after["of_products"] != 20:
            found.append(f"{after['products']} of {after['of_products']} products are within k u |A||B|, must be 20 of 20")
        return found + ([] if after["passed"] >= 400 else [f"{after['passed']} tests, must be 400"])


class R(Program):
    command, routines = ["Rscript", "--vanilla", str(HERE.resolve() / "r_tests.R")], ("dgemm_", "dsyrk_", "dtrsm_", "zgemm_")

    def results(self, run):
        verdicts = re.findall(r"^(product )?.+ \d+: (\d)$", run.text, re.M)
        kinds = {"tests": [v for is_product, v in verdicts if not is_product], "products": [v for is_product, v in verdicts if is_product]}
        return {kind: f"{of.count('1')} of {len(of)}" for kind, of in kinds.items()}

    def problems(self, before, after):
        wanted = {"tests": "40 of 40", "products": "20 of 20"}
        return [] if after == wanted else [f"before {before}, after {after}, must be {wanted}"]


class Pyscf(Program):
    routines = ("dgemm_",)

    def __init__(self):
        self.command = [os.environ.get("KIZAMI_PYSCF_PYTHON", "python3"), str(HERE.resolve() / "water.py")]

    def is_there(self):
        return super().is_there() and subprocess.run([self.command[0], "-c", "import pyscf"], capture_output=True).returncode == 0

    def results(self, run):
        return {name: float(energy) for name, energy in re.findall(r"^(RHF|MP2|CCSD) (\S+)$", run.text, re.M)}

    def problems(self, before, after):
        if len(after) != 3 or before.keys() != after.keys():
            return [f"before {before}, after {after}"]
        return [f"{n}: {before[n]} before, {after[n]} after" for n in after if not abs(before[n] - after[n]) <= ENERGY_TOLERANCE]


class OwnTests(Program):
    """Tests of LAPACK, ScaLAPACK or ELPA: as many pass as before, but for those that are known to compare roundings."""

    # Attempts of ScaLAPACK's testers with nothing preloaded that hung or aborted, of all: lab/results/cpu/scalapack_retries.jsonl. Those not here
    # needed none; one in 20 is taken for their rate, for machines may be busier.
    NATIVE_RATES = {"xdllt": 2 / 3}
    LEAST_RATE = 1 / 20
    LEAST_CHANCE = 1 / 1000
    # Two solutions of an ill-conditioned triangular system, by stfsm and by strsm: they differ by it whenever a product rounds otherwise.
    KNOWN = {"xlintstrfs/stest_rfp": 1, "xlintstrfc/ctest_rfp": 1}

    def __init__(self, script, least, routines, only):
        self.command = [SYSTEM_PYTHON, str(HERE.resolve() / script), *only]
        self.environment = {"LD_LIBRARY_PATH": ":".join(reference_libraries())}
        self.least, self.routines = (1, ()) if only else (least, routines)

    def is_there(self):
        return len(reference_libraries()) == 2 and subprocess.run(self.command + ["--list"], capture_output=True).returncode != 77

    def preload(self, library):
        return super().preload(library) | {"KIZAMI_RULES": str(HERE.resolve() / "lapack.rules"), "KIZAMI_THREADS": "1"}

    def results(self, run):
        lines = [json.loads(line) for line in run.text.splitlines() if line.startswith("{")]
        again = {line["job"]: line["again"] for line in lines if line.get("again")}
        self.names = [line["job"] for line in lines]
        return {"jobs": len(lines), "failed": {line["job"]: line["failed"] for line in lines if line["failed"] > 0}} | (
            {"again": again} if again else {})

    def rate(self, job):
        return max(self.NATIVE_RATES.get(job, 0), self.LEAST_RATE)

    def too_often(self, before, after):
        """Attempts again that native's rate does not explain: of a job, whose chance to need so many is below LEAST_CHANCE, and of all
        jobs together, a sum by Poisson's law. What native needed itself just before is always explained: that is how busy the machine is."""
        native, found = ({job: len(reasons) for job, reasons in x.get("again", {}).items()} for x in (before, after))
        problems = [f"{job} was run again {count} times, native {native.get(job, 0)} times" for job, count in found.items()
                    if count > native.get(job, 0) and self.rate(job)**count < self.LEAST_CHANCE]
        total = sum(found.values())
        expected = sum(self.rate(job) / (1 - self.rate(job)) for job in self.names)
        chance = 1 - sum(math.exp(-expected) * expected**n / math.factorial(n) for n in range(total))
        if total > sum(native.values()) and chance < self.LEAST_CHANCE:
            problems.append(f"{total} attempts again of {after['jobs']} jobs, native {sum(native.values())}, {expected:.1f} expected")
        return problems

    def problems(self, before, after):
        found = [] if before["jobs"] == after["jobs"] >= self.least else [f"{before['jobs']} and {after['jobs']} jobs, must be {self.least}"]
        allowed = {job: max(before["failed"].get(job, 0), self.KNOWN.get(job, 0)) for job in after["failed"]}
        found += self.too_often(before, after)
        return found + [f"{job}: {count} tests failed, {allowed[job]} may" for job, count in after["failed"].items() if count > allowed[job]]


class DeviceLibrary(Program):
    """linear_algebra.py with PyTorch, CuPy or JAX."""

    # The threshold of HPL for residuals on this scale.
    THRESHOLD = 16
    routines = ()  # which of cuBLAS's names it is differs from one release to the next

    def __init__(self, library):
        self.library = library
        self.command = ["python3", str(HERE.resolve() / "linear_algebra.py"), library]

    def is_there(self):
        count = {"torch": "torch.cuda.device_count()", "cupy": "cupy.cuda.runtime.getDeviceCount()", "jax": "len(jax.devices('gpu'))"}[self.library]
        found = subprocess.run(["python3", "-c", f"import {self.library}; assert {count} > 0"], capture_output=True)
        return found.returncode == 0

    def results(self, run):
        lines = [json.loads(line) for line in run.text.splitlines() if line.startswith("{")]
        return {f"{line['what']} {line['dtype']}": line["residual"] for line in lines}

    def problems(self, before, after):
        found = [f"{name}: residual {after[name]} of {self.THRESHOLD}" for name in after if not after[name] <= self.THRESHOLD]
        return found + ([] if len(after) == 32 and before.keys() == after.keys() else [f"{len(after)} results, must be 32"])


class Jax(DeviceLibrary):
    """It opens cuBLAS by name, so the proxies go before it; the real one is that of its Python packages, or the system's."""

    def __init__(self):
        super().__init__("jax")

    def preload(self, library):
        folders = [Path(library).parent / name for name in ("proxy", "kizami")]
        proxies = next((folder for folder in folders if folder.is_dir()), folders[0])
        code = "import nvidia.cu13; print(list(nvidia.cu13.__path__)[0] + '/lib')"
        found = subprocess.run(["python3", "-c", code], capture_output=True, text=True)
        native = {"KIZAMI_NATIVE": found.stdout.strip()} if found.returncode == 0 else {}
        return {"LD_PRELOAD": f"{proxies}/libcublas.so.13:{proxies}/libcublasLt.so.13"} | native


def programs(is_quick, hpl_size, only):
    # The quick part has a tenth of the tests.
    modules = [f"scipy.linalg.tests.test_{name}" for name in QUICK_SCIPY] if is_quick else ["scipy.linalg"]
    return {"numpy": PythonTests(["numpy.linalg"], 350, ("dgemm_", "zgemm_", "cblas_dgemm", "dtrsm_"),
                                 QUICK_NUMPY if is_quick else ""),
            "scipy": PythonTests(modules, 200 if is_quick else 1000, ("dgemm_", "zgemm_", "dtrsm_", "dsyrk_"),
                                 LESS_SCIPY if is_quick else ""),
            "hpcc": Hpcc(hpl_size), "octave": Octave(), "r": R(), "pyscf": Pyscf(),
            "lapack": OwnTests("lapack_tests.py", 80, ("dgemm_", "zgemm_", "dsyrk_"), only),
            "scalapack": OwnTests("scalapack_tests.py", 29, ("dgemm_", "zgemm_"), only),
            "elpa": OwnTests("elpa_tests.py", 12, ("dgemm_", "zgemm_"), only), "torch": DeviceLibrary("torch"), "cupy": DeviceLibrary("cupy"), "jax": Jax()}


def compare(name, program, library, threads):
    """Runs the program before and after: (what is wrong, the record)."""
    before, after = Run(program, "", threads), Run(program, library, threads)
    found = [f"ended with {run.status}: {(run.text + run.errors)[-2000:]}" for run in (before, after) if run.status != 0]
    if found:
        return found, None
    results = [program.results(run) for run in (before, after)]
    found = program.problems(*results)
    found += [f"stderr: {after.errors[-4000:]}"] if found and after.errors else []
    routines = after.emulated_routines()
    found += [f"no call of {routine} was emulated, only of {routines}" for routine in program.routines if routine not in routines]
    found += [] if routines else ["no call was emulated"]
    ratio = after.worst_ratio()
    found += [] if ratio is not None and ratio <= 1 else [f"error / bound of the samples is {ratio}"]
    return found, {"program": name, "threads": threads, "cores": os.cpu_count(), "before": results[0], "after": results[1],
                   "seconds_before": round(before.seconds, 2), "seconds_after": round(after.seconds, 2), "calls_emulated": after.calls("emulated"),
                   "calls_native": after.calls("native"), "worst_sample_error_over_bound": ratio,
                   "routines": routines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("program", nargs="+", choices=["numpy", "scipy", "hpcc", "octave", "r", "pyscf", "lapack", "scalapack", "elpa", "torch", "cupy", "jax"])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--hpl-size", type=int, default=600)
    parser.add_argument("--only", default=[], type=lambda text: text.split(","))
    options = parser.parse_args()
    if options.only and not set(options.program) <= {"lapack", "scalapack", "elpa"}:
        parser.error(f"--only is for lapack, scalapack and elpa, got {' '.join(options.program)}")
    table = programs(options.quick, options.hpl_size, options.only)
    is_ok, is_any_absent = True, False
    for name in options.program:
        if not table[name].is_there():
            print(f"{name}: skipped, it is not installed")
            is_any_absent = True
            continue
        found, record = compare(name, table[name], str(Path(options.library).resolve()), options.threads)
        is_ok = is_ok and not found
        print("\n".join(f"{name}: {problem}" for problem in found))
        for when in ("before", "after") if record else ():
            again = record[when].get("again", {}) if isinstance(record[when], dict) else {}
            for job, reasons in again.items():
                print(f"{name} run again: {job} {when}, {' '.join(reasons)}")
        if record:
            print(f"{name}: {record['calls_emulated']} calls emulated, {record['calls_native']} native; before {record['before']}"
                  f" in {record['seconds_before']} s, after {record['after']} in {record['seconds_after']} s")
        if record and options.record and not found:
            commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
            record = {"date": time.strftime("%Y-%m-%d"), "commit": commit.stdout.strip() or "unknown"} | record
            with options.record.open("a") as file:
                file.write(json.dumps(record) + "\n")
    return 1 if not is_ok else 77 if is_any_absent else 0


if __name__ == "__main__":
    sys.exit(main())
