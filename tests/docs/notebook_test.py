#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the notebooks of docs/tutorials and compares what their cells print with what is stored in them, but for times and what NumPy's BLAS rounds.
--update stores what was printed instead.

usage: notebook_test.py [--update] NOTEBOOK...    with a Python that has PySCF, nbclient and ipykernel, and the package kizami on its path
"""
import re
import sys
from pathlib import Path

try:
    import nbformat
    import pyscf  # noqa: F401
    from nbclient import NotebookClient
except ImportError as error:
    print(f"skipped: {error}, which ./kz test installs into build/pyscf")
    sys.exit(77)


def printed(cell):
    """The text that a cell printed; anything else is its type, so that a picture or an error is not overlooked."""
    return "".join(output["text"] if output["output_type"] == "stream" else f"<{output['output_type']}>" for output in cell.get("outputs", []))


def comparable(text):
    lines = [line for line in text.splitlines() if not line.startswith("NumPy,")]
    return [re.sub(r" +[\d.]+ ms", " TIME", line) for line in lines]


def problems_of(path, update):
    stored = nbformat.read(path, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}, record_timing=False).execute()
    if update:
        nbformat.write(notebook, path)
        return [], 0
    found, count = [], 0
    for number, (was, now) in enumerate(zip(stored.cells, notebook.cells)):
        if was.cell_type == "code":
            count += 1
            if comparable(printed(was)) != comparable(printed(now)):
                found.append(f"{path.name}, cell {number} printed\n{printed(now)}and should print\n{printed(was)}")
    return found, count


def main():
    update = sys.argv[1] == "--update"
    total = 0
    for name in sys.argv[1 + update:]:
        problems, count = problems_of(Path(name).resolve(), update)
        total += count
        if problems:
            sys.exit("\n".join(problems))
    print(f"{total} cells, 0 problems")
    if not update and total < 5:
        sys.exit("fewer than 5 cells were run: the notebooks are not found or not read")


if __name__ == "__main__":
    main()
