#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/study/ozaki_figure_*.svg from the CSV files of `kizami_study ozaki`, those that are in the folders.

usage: build/venv/bin/python docs/study/ozaki_pictures.py FOLDER...
"""
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "accuracy"))

from sgemm_pictures import draw  # noqa: E402

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in ("figure_1", "figure_2", "figure_floating", "figure_diagonals"):
        draw([Path(folder) for folder in sys.argv[1:]], name, 2, has_log_x=name != "figure_diagonals", has_log_y=False, to=HERE / "ozaki")
