#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws tile/docs/gemm_speed.svg, slices_speed.svg and host_speed.svg from the CSV files of `kizami_study tile`, those that
are in the folders: speed over n, a panel for each type.

usage: build/venv/bin/python tile/docs/gemm_pictures.py FOLDER...
"""
import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "kizami"
from matplotlib import pyplot as plt

COLUMNS = 4


UNITS = {"tflops": "TFLOPS", "gflops": "GFLOP/s"}


def draw(path):
    panels = defaultdict(lambda: defaultdict(list))
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        unit = reader.fieldnames[3]
        for row in reader:
            panels[row["data"]][row["series"]].append((float(row["n"]), float(row[unit])))
    columns = min(COLUMNS, len(panels))
    rows = (len(panels) + columns - 1) // columns
    size = (3.4, 2.9) if columns > 1 else (5.5, 4.0)
    figure, grid = plt.subplots(rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False)
    for axes in grid.flat[len(panels):]:
        axes.set_axis_off()
    for axes, (name, series) in zip(grid.flat, panels.items()):
        for label, points in series.items():
            axes.plot(*zip(*points), marker=".", label=label)
        axes.set_title(name, fontsize=9)
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("n")
    for row in grid:
        row[0].set_ylabel(UNITS[unit])
    grid[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / f"{path.stem}.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for folder in sys.argv[1:]:
        for name in ("gemm_speed", "slices_speed", "host_speed"):
            path = Path(folder) / f"{name}.csv"
            if path.exists():
                draw(path)
