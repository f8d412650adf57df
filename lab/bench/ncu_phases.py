#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What every kernel of a call takes by itself, by ncu: calls of bench_gpu_certificate, of elements of growing width.

  python3 lab/bench/ncu_phases.py --type d --n 4096 --commit $(git rev-parse --short HEAD) --json phases.jsonl

Appends a line of JSON for each kernel, in the order of the call: one that knows of a call before. ncu runs kernels one after another, those too that a
call has side by side, and leaves the clocks as they are. On a machine with a CUDA device, after ./kz gpu-bench certificate has built the program.
"""
import argparse
import csv
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST_KERNELS = ("begin_call", "begin_and_scout")
# ncu leaves out the namespaces of kernels in an anonymous one, so the program's own are told by name.
OF_PROGRAM = re.compile(r"\b(?:fill|wait_cycles)\b")


def short_name(kernel):
    """Without parameters and what says nothing: certify::block_rungs<double, certify::WgmmaCore<1, 2>>."""
    name = kernel.split(">(")[0] + ">" if ">(" in kernel else kernel.split("(")[0]
    name = re.sub(r"^void ", "", name)
    name = re.sub(r"\(anonymous namespace\)::|<?unnamed>::|kizami::|second_look::|kernels::", "", name)
    return re.sub(r"\((?:int|bool|kizami[\w:]*|[\w:]+)\)", "", name)


def kernels_of(report):
    """(name, microseconds) of all kernels but the program's own, in order."""
    lines = report.read_text().splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        sys.exit("ncu_phases: ncu wrote no table:\n" + "\n".join(lines[-20:]))
    return [(row["Kernel Name"], float(row["Metric Value"].replace(",", "")) / 1e3)
            for row in csv.DictReader(lines[begin:]) if not OF_PROGRAM.search(row["Kernel Name"])]


def calls_of(kernels):
    calls = []
    for name, us in kernels:
        if any(first in name for first in FIRST_KERNELS):
            calls.append([])
        if calls:
            calls[-1].append((name, us))
    return calls


def profile(options, n, accuracy):
    """The kernels of a call for each phi."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "ncu.csv"
        command = [options.ncu, "--clock-control", "none", "--metrics", "gpu__time_duration.sum", "--print-units", "base", "--csv",
                   "--log-file", str(report), str(options.program), "--type", options.type, "--n", str(n), "--accuracy", accuracy,
                   "--repeats", "1", "--warm-ups", "0"]
        for phi in options.phi:
            command += ["--phi", str(phi)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"ncu_phases: {' '.join(command)} ended with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        calls = calls_of(kernels_of(report))
    # Two calls of each phi that look; then of each a call, and one whose phases are timed.
    count = len(options.phi)
    if len(calls) != 4 * count:
        sys.exit(f"ncu_phases: {len(calls)} calls of {count} widths, where 4 of each were expected")
    return [calls[2 * count + 2 * i] for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--type", default="d", choices=list("sdcz"))
    parser.add_argument("--n", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--phi", type=float, nargs="+", default=[0.5, 1, 2, 4, 6])
    parser.add_argument("--accuracy", nargs="+", default=["native"])
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--json", type=pathlib.Path, help="appends to this file; else prints")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bin/bench_gpu_certificate")
    parser.add_argument("--ncu", default="ncu")
    options = parser.parse_args()
    asked = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"], capture_output=True, text=True, check=True)
    device, driver = (field.strip() for field in asked.stdout.split(","))
    lines = []
    for n in options.n:
        for accuracy in options.accuracy:
            for phi, call in zip(options.phi, profile(options, n, accuracy)):
                for name, us in call:
                    lines.append(json.dumps({"date": datetime.date.today().isoformat(), "commit": options.commit,
                                             "device": device, "driver": driver, "tool": "ncu, clocks as they are",
                                             "case": f"{options.type} nn {n}x{n}x{n} phi={phi:g}", "accuracy": accuracy, "who": "hopper",
                                             "kernel": short_name(name), "us": round(us, 2)}))
    text = "".join(line + "\n" for line in lines)
    if options.json is None:
        sys.stdout.write(text)
    else:
        with options.json.open("a") as file:
            file.write(text)


if __name__ == "__main__":
    main()
