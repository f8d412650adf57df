#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Audits programs of others by `kizami audit`, and takes the time of runs without and with it, in turn: that of a processor; of programs on
a device what they clock themselves. With --run they go once more by `kizami run --scheme ozaki2`, and the record has what became of their calls.

usage: audits.py KIZAMI [--record FILE] [--rounds N] [--run] PROGRAM...
PROGRAM: octave (octave_products.m), r (r_products.R), system_numpy (the distribution's, on libblas.so.3, with SciPy), wheel_numpy (that of this Python), products_8, products_60,
products_600 (NumPy of this Python: nothing but products), pyscf (the Python of KIZAMI_PYSCF_PYTHON), hpcc;
on a CUDA device torch, cupy (device_products.py), cusolver (cusolver_factorizations.cpp, compiled as KIZAMI_CUSOLVER_PROGRAM). One thread. --record appends a
JSON line each; --reports keeps the pages and the lines there. Exit status 77 if a program is not installed.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from programs import Hpcc, Pyscf

HERE = Path(__file__).resolve().parent
PRODUCTS = str(HERE / "numpy_products.py")


def commands():
    python = sys.executable
    hpcc = Hpcc(2000)
    return {"system_numpy": (["/usr/bin/python3", PRODUCTS, "1500"], {}, {}), "wheel_numpy": ([python, PRODUCTS, "2000"], {}, {}),
            "products_8": ([python, PRODUCTS, "8", "products"], {}, {}), "products_60": ([python, PRODUCTS, "60", "products"], {}, {}),
            "products_600": ([python, PRODUCTS, "600", "products"], {}, {}), "pyscf": (Pyscf().command, {}, {}),
            "octave": (["octave-cli", "--quiet", str(HERE / "octave_products.m"), "1500"], {}, {}),
            "r": (["Rscript", "--vanilla", str(HERE / "r_products.R"), "1500"], {}, {}),
            "torch": ([python, str(HERE / "device_products.py"), "torch"], {}, {}),
            "cupy": ([python, str(HERE / "device_products.py"), "cupy"], {}, {}),
            "cusolver": ([os.environ.get("KIZAMI_CUSOLVER_PROGRAM", "cusolver_factorizations")], {}, {}),
            "hpcc": (hpcc.command, hpcc.environment, hpcc.files)}


ON_DEVICE = ("torch", "cupy", "cusolver")


def run(command, environment, files):
    """Seconds of a processor, of the program and what it waited for: the time by the clock is that of others, too. And what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("KIZAMI_", "LD_"))}
        variables |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | environment
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=600)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr[-2000:]}")
        return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime, done.stdout


def answers(kizami, command, environment, files):
    """Who answered the calls of the program under `kizami run --scheme ozaki2`."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "run.jsonl")
        run([kizami, "run", "--quiet", "--scheme", "ozaki2", "--json", str(report), "--", *command], environment, files)
        lines = [json.loads(line) for line in report.read_text().splitlines()]
    processes = [x for x in lines if x["event"] == "process"]
    return {key: sum(x[key] for x in processes) for key in ("emulated", "native")} | {"ended": lines[-1]["ended"]} | (
        {"why_native": sorted({x["why_native"] for x in lines if x.get("why_native")})})


def audit(kizami, name, command, environment, files, rounds, reports):
    is_on_device = name in ON_DEVICE

    def seconds(*run_of):
        of_processor, printed = run(*run_of)
        return float(printed.split()[0]) if is_on_device else of_processor, printed.split()[1:]

    plain, audited, results = [], [], set()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(reports or folder, f"{name}.jsonl")
        page = [] if reports is None else ["--html", str(Path(reports, f"{name}.html")), "--rules", str(Path(reports, f"{name}.rules"))]
        for _ in range(rounds):
            for times, words in ((plain, []), (audited, [kizami, "audit", "--quiet", "--json", str(report), *page, "--"])):
                took, elements = seconds(words + command, environment, files)
                times.append(took)
                results.add(tuple(elements))
        lines = [json.loads(line) for line in report.read_text().splitlines()]
    whole = lines[-1]
    sites = sorted((x for x in lines if x["event"] == "site"), key=lambda x: -x["seconds"])
    keep = ("site", "routine", "type", "calls", "captured", "samples", "spread_a", "spread_b", "bits", "error_over_bound", "predicted_gain", "predicted_scheme",
            "notes", "predicted_gain_on")
    worst = [x["error_over_bound"] for x in sites if "error_over_bound" in x]
    clock = "own_seconds" if is_on_device else "cpu_seconds"
    return {"program": name, f"{clock}_plain": round(min(plain), 3), f"{clock}_audited": round(min(audited), 3),
            "overhead": round(min(audited) / min(plain) - 1, 4), "rounds": rounds, "calls": whole["calls"],
            "share_of_time": whole["product_seconds"] / whole["process_seconds"] if whole["calls"] else 0,
            "sampled_share": whole["sampled_seconds"] / whole["process_seconds"] if whole["calls"] else 0,
            "worst_error_over_bound": max(worst) if worst else None, "places": len(sites),
            "first_places": [{key: x[key] for key in keep if key in x} | {"share": x["seconds"] / whole["process_seconds"]}
                             for x in sites[:5 if is_on_device else 3]]} | (
        {"devices": [x["name"] for x in lines if x["event"] == "device"], "same_results": len(results) == 1} if is_on_device else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kizami")
    parser.add_argument("program", nargs="+", choices=list(commands()))
    parser.add_argument("--record", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", action="store_true", help="once more with every product by Kizami that is large enough")
    parser.add_argument("--reports", type=Path, help="a folder for pages, lines and rules")
    options = parser.parse_args()
    is_any_absent = False
    for name in options.program:
        command, environment, files = commands()[name]
        if shutil.which(command[0]) is None:
            print(f"{name}: {command[0]} is not installed")
            is_any_absent = True
            continue
        record = audit(os.path.abspath(options.kizami), name, command, environment, files, options.rounds,
                       options.reports)
        if options.run:
            record["run"] = answers(os.path.abspath(options.kizami), command, environment, files)
        record["date"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record["processor"] = next((line.split(": ")[1] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "")
        print(json.dumps(record))
        if options.record:
            with options.record.open("a") as file:
                file.write(json.dumps(record) + "\n")
    return 77 if is_any_absent else 0


if __name__ == "__main__":
    sys.exit(main())
