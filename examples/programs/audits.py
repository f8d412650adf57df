#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Audits programs of others by `kizami audit`, and takes the processor time of runs without and with it, in turn.

usage: audits.py KIZAMI [--record FILE] [--rounds N] PROGRAM...
PROGRAM: octave (octave_products.m), system_numpy (the distribution's, on libblas.so.3, with SciPy), wheel_numpy (that of this Python), products_8, products_60,
products_600 (NumPy of this Python: nothing but products), pyscf (the Python of KIZAMI_PYSCF_PYTHON), hpcc. One thread. --record appends a
JSON line each. Exit status 77 if a program is not installed.
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
            "hpcc": (hpcc.command, hpcc.environment, hpcc.files)}


def run(command, environment, files):
    """Seconds of a processor, of the program and what it waited for: the time by the clock is that of others, too."""
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
        return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def audit(kizami, name, command, environment, files, rounds):
    plain, audited = [], []
    for _ in range(rounds):
        plain.append(run(command, environment, files))
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as report:
            audited.append(run([kizami, "audit", "--quiet", "--json", report.name, "--", *command], environment, files))
            lines = [json.loads(line) for line in Path(report.name).read_text().splitlines()]
    whole = lines[-1]
    sites = sorted((x for x in lines if x["event"] == "site"), key=lambda x: -x["seconds"])
    keep = ("site", "routine", "calls", "spread_a", "spread_b", "bits", "error_over_bound", "predicted_gain")
    worst = [x["error_over_bound"] for x in sites if "error_over_bound" in x]
    return {"program": name, "cpu_seconds_plain": round(min(plain), 3), "cpu_seconds_audited": round(min(audited), 3),
            "overhead": round(min(audited) / min(plain) - 1, 4), "rounds": rounds, "calls": whole["calls"],
            "share_of_time": whole["product_seconds"] / whole["process_seconds"] if whole["calls"] else 0,
            "sampled_share": whole["sampled_seconds"] / whole["process_seconds"] if whole["calls"] else 0,
            "worst_error_over_bound": max(worst) if worst else None, "places": len(sites),
            "first_places": [{key: x[key] for key in keep if key in x} | {"share": x["seconds"] / whole["process_seconds"]}
                             for x in sites[:3]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kizami")
    parser.add_argument("program", nargs="+", choices=list(commands()))
    parser.add_argument("--record", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    is_any_absent = False
    for name in options.program:
        command, environment, files = commands()[name]
        if shutil.which(command[0]) is None:
            print(f"{name}: {command[0]} is not installed")
            is_any_absent = True
            continue
        record = audit(os.path.abspath(options.kizami), name, command, environment, files, options.rounds)
        record["date"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record["processor"] = next((line.split(": ")[1] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "")
        print(json.dumps(record))
        if options.record:
            with options.record.open("a") as file:
                file.write(json.dumps(record) + "\n")
    return 77 if is_any_absent else 0


if __name__ == "__main__":
    sys.exit(main())
