#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/tile/gemm_speed.svg from gemm_speed.csv of `kizami study tile`: TFLOPS over n, a panel for each type.

usage: build/venv/bin/python docs/tile/gemm_pictures.py FOLDER
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


def main(folder):
    panels = defaultdict(lambda: defaultdict(list))
    with open(folder / "gemm_speed.csv", newline="") as file:
        for row in csv.DictReader(file):
            panels[row["data"]][row["series"]].append((float(row["n"]), float(row["tflops"])))
    rows = (len(panels) + COLUMNS - 1) // COLUMNS
    figure, grid = plt.subplots(rows, COLUMNS, figsize=(3.4 * COLUMNS, 2.9 * rows), squeeze=False)
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
        row[0].set_ylabel("TFLOPS")
    grid[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "gemm_speed.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
