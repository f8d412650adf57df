#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/study/model_*.svg from the CSV files of `kizami_study model`, those that are in the folders.

usage: build/venv/bin/python docs/study/model_pictures.py FOLDER...
"""
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "accuracy"))

from sgemm_pictures import draw  # noqa: E402

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folders = [Path(folder) for folder in sys.argv[1:]]
    draw(folders, "claim", 2, has_log_y=False, to=HERE / "model")
    for name in ("roofline_slices", "roofline_moduli"):
        draw(folders, name, 3, lowest=0.1, to=HERE / "model")
