#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/accuracy/classes.svg and inner_dimension.svg from `kizami check`.

usage: build/venv/bin/python docs/accuracy/accuracy_pictures.py build/bin/kizami
"""
import re
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "kizami"
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
LINE = re.compile(r"ratio (\S+) .*; bound (\S+) entry")


def measure(program, case):
    """The bound and the largest error of a case; None if the library refuses or most of C is 0."""
    text = subprocess.run([program, "check", case], capture_output=True, text=True).stdout
    if not text.startswith("PASSED"):
        return None
    ratio, bound = LINE.search(text).groups()
    return float(bound), float(ratio) * float(bound)


def classes_of(program):
    """Names of the classes in the table of `kizami check --grammar`."""
    text = subprocess.run([program, "check", "--grammar"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z][a-z0-9_:]*)", text[text.index("matrix classes:"):], re.M)


def draw_classes(program):
    rows = []
    for name in classes_of(program):
        values = [measure(program, f"d nn 24x24x256 A={name} B={name} accuracy={accuracy}") for accuracy in ("native", "bits=30", "bits=52")]
        if any(values):
            rows.append((name, values))
    figure, axes = plt.subplots(figsize=(9, 7))
    for index, (accuracy, colour) in enumerate([("native", "tab:blue"), ("bits=30", "tab:orange"), ("bits=52", "tab:green")]):
        points = [(row, values[index]) for row, (_, values) in enumerate(rows) if values[index]]
        axes.scatter([value[0] for _, value in points], [row for row, _ in points], marker="|", s=90, color=colour, label=f"bound, {accuracy}")
        axes.scatter([max(value[1], 1e-22) for _, value in points], [row for row, _ in points], marker=".", color=colour, label=f"error, {accuracy}")
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=7)
    axes.set_xscale("log")
    axes.set_xlabel("relative to |A||B|; 1e-22 and below: exact")
    axes.legend(fontsize=7, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.1))
    figure.savefig(HERE / "classes.svg", bbox_inches="tight", metadata={"Date": None})


def draw_inner_dimension(program):
    sizes = [2**e for e in range(2, 15)]
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axes, name in zip(panels, ("randn", "exprand:phi=2")):
        for accuracy, colour in [("native", "tab:blue"), ("bits=40", "tab:orange"), ("bits=52", "tab:green"), ("correct", "tab:red")]:
            values = [(k, measure(program, f"d nn 12x12x{k} A={name} B={name} accuracy={accuracy}")) for k in sizes]
            values = [(k, value) for k, value in values if value]
            axes.plot([k for k, _ in values], [value[0] for _, value in values], "-", color=colour, label=f"bound, {accuracy}")
            axes.plot([k for k, _ in values], [max(value[1], 1e-22) for _, value in values], ".", color=colour, label=f"error, {accuracy}")
        axes.plot(sizes, [k * 2.0**-53 for k in sizes], ":", color="grey", label="k u, native BLAS")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(name)
        axes.set_xlabel("k")
    panels[0].set_ylabel("relative to |A||B|")
    panels[1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(HERE / "inner_dimension.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    draw_classes(sys.argv[1])
    draw_inner_dimension(sys.argv[1])
