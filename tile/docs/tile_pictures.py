#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of tile/docs/guide.md and tile/examples/README.md: tile/docs/*.svg.

usage: tile_pictures.py            write them
       tile_pictures.py --check    compare them with what is there
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CELL = 14  # of a drawn element
BLUE, ORANGE, GREEN, GREY, RED = "#9ecae9", "#fdbe85", "#a1d99b", "#e8e8e8", "#fb9a99"


class Picture:
    def __init__(self, width, height):
        self.size = (width, height)
        self.parts = [f'<rect width="{width}" height="{height}" fill="#ffffff"/>']

    def rect(self, x, y, width, height, fill="none", stroke="#333333", thick=1.0, dashed=False, opacity=1.0):
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" fill-opacity="{opacity}" '
                          f'stroke="{stroke}" stroke-width="{thick}"{dash}/>')

    def text(self, x, y, words, anchor="start", size=12):
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{words}</text>')

    def cells(self, x, y, rows, cols, fill):
        """A grid of elements; fill(row, col) is a colour."""
        for i in range(rows):
            for j in range(cols):
                self.rect(x + j * CELL, y + i * CELL, CELL, CELL, fill(i, j), "#bbbbbb", 0.5)

    def arrow(self, x1, y1, x2, y2):
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#333333" stroke-width="1.2" '
                          'marker-end="url(#head)"/>')

    def svg(self):
        width, height = self.size
        head = ('<defs><marker id="head" markerWidth="7" markerHeight="7" refX="6" refY="3" orient="auto">'
                '<path d="M0,0 L6,3 L0,6 z" fill="#333333"/></marker></defs>')
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                f'font-family="sans-serif">\n{head}\n' + "\n".join(self.parts) + "\n</svg>\n")


def partition():
    """A 10 x 15 span in tiles of 4 x 8: the last ones are cut."""
    p = Picture(560, 215)
    p.cells(30, 30, 12, 16, lambda i, j: BLUE if i < 10 and j < 15 else GREY)
    for i in range(3):
        for j in range(2):
            p.rect(30 + j * 8 * CELL, 30 + i * 4 * CELL, 8 * CELL, 4 * CELL, thick=2)
            p.text(30 + (j * 8 + 4) * CELL, 30 + (i * 4 + 2.4) * CELL, f"({i}, {j})", "middle")
    p.text(30, 20, "tensor_span, extents (10, 15)")
    p.text(290, 60, "partition_view, shape 4 x 8:")
    p.text(290, 80, "tile (i, j) starts at element (4 i, 8 j)")
    p.text(290, 120, "grey: outside the extents")
    p.text(290, 140, "load_masked pads it, store_masked")
    p.text(290, 158, "leaves it alone, load and store")
    p.text(290, 176, "may not touch it")
    return p


def region():
    """A region of interest is a span with the strides of what it is cut from."""
    p = Picture(560, 200)
    inside = lambda i, j: 3 <= i < 8 and 5 <= j < 13
    p.cells(30, 30, 10, 18, lambda i, j: ORANGE if inside(i, j) else GREY if j >= 16 else BLUE)
    p.rect(30 + 5 * CELL, 30 + 3 * CELL, 8 * CELL, 5 * CELL, thick=2)
    p.text(30, 20, "array of 10 x 16 in rows of 18")
    p.arrow(318, 62, 30 + 5.6 * CELL, 30 + 3.5 * CELL)
    p.text(324, 66, "pointer = array + 3 * 18 + 5")
    p.text(324, 96, "extents (5, 8): those of the region")
    p.text(324, 118, "strides (18, 1): those of the array")
    p.text(324, 156, "tiles and masks count from the")
    p.text(324, 174, "corner of the region")
    return p


def windows():
    """Overlapping tiles of a strided_view."""
    p = Picture(560, 165)
    p.cells(30, 30, 1, 24, lambda i, j: BLUE)
    p.text(30, 20, "strided_view, shape 8, strides 4: tile i starts at element 4 i")
    for i, fill in enumerate([ORANGE, GREEN, RED, ORANGE, GREEN, RED]):
        cols = min(8, 24 - 4 * i)
        y = 54 + i * 17
        p.rect(30 + 4 * i * CELL, y, cols * CELL, 12, fill)
        if cols < 8:
            p.rect(30 + (4 * i + cols) * CELL, y, (8 - cols) * CELL, 12, GREY, dashed=True)
        p.text(30 + 4 * i * CELL + 4, y + 10, f"tile {i}", size=10)
    p.text(430, 100, "the last one reaches")
    p.text(430, 116, "beyond the end")
    return p


def halo():
    """The neighbours of a tile are tiles of shifted spans."""
    p = Picture(560, 230)
    edge = lambda i, j: i in (0, 11) or j in (0, 15)
    p.cells(30, 30, 12, 16, lambda i, j: GREY if edge(i, j) else BLUE)
    x, y = 30 + 5 * CELL, 30 + 5 * CELL
    p.rect(x, y - CELL, 4 * CELL, 4 * CELL, GREEN, "#2c7a2c", 1.5, opacity=0.6)
    p.rect(x - CELL, y, 4 * CELL, 4 * CELL, ORANGE, "#b35806", 1.5, opacity=0.6)
    p.rect(x, y, 4 * CELL, 4 * CELL, thick=2.5)
    p.text(30, 20, "field with a border of one element")
    p.text(x + 2 * CELL, y + 2.4 * CELL, "c", "middle", 14)
    p.text(290, 60, "c: tile (i, j) of the inner elements")
    p.rect(290, 78, 12, 12, GREEN)
    p.text(310, 89, "the same tile of a span one row up:")
    p.text(310, 106, "c's neighbours to the north")
    p.rect(290, 122, 12, 12, ORANGE)
    p.text(310, 133, "... one element to the left: to the west")
    p.text(290, 170, "All spans have the inner extents, and the")
    p.text(290, 188, "strides of the field.")
    return p


def broadcast():
    """A reduction keeps its dimension, so that its result broadcasts back."""
    p = Picture(560, 120)
    p.cells(30, 40, 4, 8, lambda i, j: BLUE)
    p.text(30 + 4 * CELL, 30, "x: (4, 8)", "middle")
    p.arrow(155, 68, 205, 68)
    p.text(180, 60, "sum", "middle")
    p.cells(218, 40, 4, 1, lambda i, j: ORANGE)
    p.text(225, 30, "(4, 1)", "middle")
    p.arrow(245, 68, 330, 68)
    p.text(288, 60, "x - mean", "middle")
    p.cells(345, 40, 4, 8, lambda i, j: BLUE)
    p.cells(345 + 9 * CELL, 40, 4, 1, lambda i, j: ORANGE)
    p.rect(345 + 10 * CELL, 40, 4 * CELL, 4 * CELL, ORANGE, dashed=True, opacity=0.4)
    p.text(345 + 4 * CELL, 30, "(4, 8)", "middle")
    p.text(345 + 8.5 * CELL, 72, "-", "middle", 14)
    p.text(345 + 11.5 * CELL, 30, "stretched", "middle")
    return p


def slices():
    """A number cut into slices, and the pairs of slices that a product keeps."""
    p = Picture(560, 190)
    colours = [BLUE, ORANGE, GREEN, RED]
    p.text(20, 20, "x: 36 of its bits, in slices of 9")
    for bit in range(36):
        p.rect(20 + bit * 9, 30, 9, CELL, colours[bit // 9], "#bbbbbb", 0.5)
    for s in range(4):
        y = 64 + s * 22
        p.rect(20 + s * 81, y, 81, CELL, colours[s])
        p.text(20 + s * 81 + 40, y + 11, f"slice {s}", "middle", 10)
    p.text(20, 170, "rounded to nearest, each fits BF16; their sum is exact")
    p.text(390, 20, "pairs (p, q), d = 4")
    for i in range(4):
        for j in range(4):
            kept = i + j < 4
            p.rect(410 + j * 26, 40 + i * 26, 26, 26, BLUE if kept else GREY)
            p.text(423 + j * 26, 57 + i * 26, str(i + j), "middle", 11)
        p.text(402, 57 + i * 26, f"{i}", "end", 10)
        p.text(423 + i * 26, 35, f"{i}", "middle", 10)
    p.text(390, 170, "grey: p + q >= d, dropped")
    return p


if __name__ == "__main__":
    stale = []
    for draw in [partition, region, windows, halo, broadcast, slices]:
        file = HERE / f"{draw.__name__}.svg"
        svg = draw().svg()
        if "--check" not in sys.argv:
            file.write_text(svg)
        elif not file.is_file() or file.read_text() != svg:
            stale.append(file.name)
    for name in stale:
        print(f"{name}: not what this script draws")
    sys.exit(1 if stale else 0)
