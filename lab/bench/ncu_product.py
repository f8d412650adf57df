#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one launch of the product moves, by ncu: every form of bench_gpu_product --rounds 0.

  python3 lab/bench/ncu_product.py --n 4096 8192 --commit $(git rev-parse --short HEAD) --json phases.jsonl

Appends a line of JSON for each launch: microseconds and MB of device memory. ncu leaves the clocks as they are. On a machine with a CUDA device, after
the program has been built.
"""
import argparse
import csv
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
METRICS = {"us": ("gpu__time_duration.sum", 1e-3), "dram_read_mb": ("dram__bytes_read.sum", 1e-6), "dram_write_mb": ("dram__bytes_write.sum", 1e-6)}


def launches_of(text):
    """A dictionary of figures for each launch, in order, of ncu's table, which has a row for each launch and metric."""
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        raise ValueError("ncu wrote no table:\n" + "\n".join(lines[-20:]))
    launches = {}
    for row in csv.DictReader(lines[begin:]):
        for name, (metric, unit) in METRICS.items():
            if row["Metric Name"] == metric:
                launches.setdefault(int(row["ID"]), {})[name] = round(float(row["Metric Value"].replace(",", "")) * unit, 2)
    return [launches[number] for number in sorted(launches)]


def records_of(command, what):
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"ncu_product: {what} ended with {ran.returncode}: {' '.join(command)}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def self_test():
    table = ['==PROF== text', '"ID","Kernel Name","Metric Name","Metric Value"']
    for number in (0, 1):
        table += [f'"{number}","product","gpu__time_duration.sum","{number + 1},000,000"', f'"{number}","product","dram__bytes_read.sum","2000000"',
                  f'"{number}","product","dram__bytes_write.sum","500000"']
    found = launches_of("\n".join(table))
    assert found == [{"us": 1000.0, "dram_read_mb": 2.0, "dram_write_mb": 0.5}, {"us": 2000.0, "dram_read_mb": 2.0, "dram_write_mb": 0.5}], found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[4096, 8192])
    parser.add_argument("--planes", type=int, default=14)
    parser.add_argument("--planes-of-modulus", type=int, default=1)
    parser.add_argument("--form", nargs="+", default=[], help="without it what engines take")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--json", type=pathlib.Path, help="appends to this file; else prints")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bin/bench_gpu_product")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--self-test", action="store_true", help="checks that ncu's table is understood, without a device")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    program = [str(options.program), "--rounds", "0", "--planes", str(options.planes), "--planes-of-modulus", str(options.planes_of_modulus)]
    for name, values in (("--n", options.n), ("--form", options.form)):
        for value in values:
            program += [name, str(value)]
    if not options.form:
        program.append("--chosen")
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "ncu.csv"
        command = [options.ncu, "--clock-control", "none", "--kernel-name", "regex:product_i8", "--metrics", ",".join(metric for metric, _ in METRICS.values()),
                   "--print-units", "base", "--csv", "--log-file", str(report), *program]
        records = records_of(command, "ncu")
        launches = launches_of(report.read_text())
    if len(launches) != len(records):
        sys.exit(f"ncu_product: {len(launches)} launches of {len(records)} forms")
    lines = []
    for record, figures in zip(records, launches):
        lines.append(json.dumps({"date": datetime.date.today().isoformat(), "commit": options.commit, "tool": "ncu, clocks as they are",
                                 **{key: record[key] for key in ("case", "form", "raster", "correct", "device")}, **figures}))
    text = "".join(line + "\n" for line in lines)
    if options.json is None:
        sys.stdout.write(text)
    else:
        with options.json.open("a") as file:
            file.write(text)
    return None


if __name__ == "__main__":
    main()
