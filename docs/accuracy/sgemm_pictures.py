#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/accuracy/sgemm_figure_*.svg from the CSV files of `kizami_study sgemm`, those that are in the folders.

usage: build/venv/bin/python docs/accuracy/sgemm_pictures.py FOLDER...
"""
import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "kizami"
from matplotlib import pyplot as plt

HERE = Path(__file__).parent


def curves(path):
    """{data: {series: [(x, y), ...]}} of one figure, and the names of its axes."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    found = defaultdict(lambda: defaultdict(list))
    for data, series, x, y, *_ in rows[1:]:
        found[data][series].append((float(x), float(y)))
    return found, rows[0][2], rows[0][3]


def draw(folders, name, columns, has_log_x=True, has_log_y=True, lowest=None, to=HERE / "sgemm"):
    path = next((folder / f"{name}.csv" for folder in folders if (folder / f"{name}.csv").exists()), None)
    if path is None:
        return
    found, x_name, y_name = curves(path)
    rows = (len(found) + columns - 1) // columns
    figure, panels = plt.subplots(rows, columns, figsize=(4.6 * columns, 3.6 * rows), sharey=True, squeeze=False)
    for axes in panels.flat[len(found):]:
        axes.set_axis_off()
    for axes, (data, series) in zip(panels.flat, found.items()):
        for index, (label, points) in enumerate(series.items()):
            points = [(x, max(y, lowest) if lowest else y) for x, y in points]
            points = [(x, y) for x, y in points if 0 < y < 1e100]  # 1e300: NaN
            axes.plot([x for x, _ in points], [y for _, y in points], marker=".", ms=4, lw=1, color=plt.cm.tab20(index % 20), label=label)
        axes.set_title(data, fontsize=9)
        axes.set_yscale("log" if has_log_y else "linear")
        if has_log_x:
            axes.set_xscale("log", base=2)
        axes.set_xlabel(x_name)
    for row in panels:
        row[0].set_ylabel(y_name.replace("_", " "))
    handles, labels = panels[0][0].get_legend_handles_labels()
    if len({tuple(series) for series in found.values()}) > 1:
        for axes in panels.flat[:len(found)]:
            axes.legend(fontsize=6)
    else:
        figure.legend(handles, labels, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    figure.savefig(f"{to}_{name}.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sources = [Path(folder) for folder in sys.argv[1:]]
    draw(sources, "figure_1", 2)
    draw(sources, "figure_1_device", 2)
    draw(sources, "figure_2", 1)
    draw(sources, "figure_2_device", 1)
    draw(sources, "figure_3", 1)
    draw(sources, "figure_3_device", 1)
    draw(sources, "figure_6", 3, has_log_x=False)
    draw(sources, "figure_7", 1, has_log_x=False, lowest=2.0**-26)
    draw(sources, "figure_8", 5)
    draw(sources, "figure_8_device", 4)
    draw(sources, "figure_9", 1, has_log_y=False)
